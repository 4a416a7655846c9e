//! What each number means, in a sentence or two: one text for the page and for whoever reads the code.

use super::format::{count, duration, ratio};
use crate::metrics::PolicyNumbers;

/// A number of the report: its id, its name, what it means, and how a policy's value is written.
pub(super) struct Definition {
    /// The key in the JSON report.
    pub(super) key: &'static str,
    /// The name in tables.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) meaning: &'static str,
    /// A policy's value in words, `None` where it has no meaning.
    pub(super) value: fn(&PolicyNumbers) -> Option<String>,
}

/// All numbers shown in the page, in the order in which they answer: what passed, how hard, how well, at what price.
pub(super) const DEFINITIONS: [Definition; 21] = [
    Definition {
        key: "requests.allowed",
        name: "allowed",
        meaning: "Requests admitted.",
        value: |p| Some(count(p.requests.allowed)),
    },
    Definition {
        key: "requests.denied",
        name: "denied",
        meaning: "Requests refused for now: the same request would have been admitted later.",
        value: |p| Some(count(p.requests.denied)),
    },
    Definition {
        key: "requests.never",
        name: "never",
        meaning: "Requests refused for good: their cost exceeds what the policy can ever admit.",
        value: |p| Some(count(p.requests.never)),
    },
    Definition {
        key: "peak",
        name: "peak in any window",
        meaning: "The most units let through in any window of length W for one client (of all clients, where they share one \
                  limit), and that divided by the limit. Windows are half-open: a unit let through at s counts at t while \
                  t - s < W. For the leaky bucket, times are those of release.",
        value: |p| {
            let peak = p.peak.as_ref()?;
            Some(format!("{} ({}x)", count(peak.units), ratio(peak.overshoot?)))
        },
    },
    Definition {
        key: "instant",
        name: "peak in an instant",
        meaning: "The same for windows a hundredth as long: what hits the service at practically one moment.",
        value: |p| {
            let instant = p.instant?;
            Some(format!("{} in {}", count(instant.units), duration(instant.span_ns)))
        },
    },
    Definition {
        key: "over_limit_time",
        name: "time over the limit",
        meaning: "The share of the trace's span in which some client's trailing window holds more than the limit. For the leaky \
                  bucket, times are those of release, as in the peak.",
        value: |p| p.over_limit_time.map(percent),
    },
    Definition {
        key: "over_limit_accepts",
        name: "admitted over the limit",
        meaning: "Requests admitted although, by what this policy itself had admitted in the trailing window, the limit was \
                  used up. The judge is the policy's own history, not a second run of the sliding log: that one diverges \
                  after its first difference. Here times are those of arrival, for the leaky bucket too: what it admits at \
                  once it releases later, so its peak may be within the limit and this not.",
        value: |p| p.over_limit_accepts.map(|n| with_share(n, p.requests.offered)),
    },
    Definition {
        key: "needless_denials",
        name: "needless denials",
        meaning: "Requests denied although, by the same judge, there was room for them.",
        value: |p| p.needless_denials.map(|n| with_share(n, p.requests.offered)),
    },
    Definition {
        key: "contested",
        name: "contested",
        meaning: "Requests that were denied, or made when at least 90 % of the limit was used: those on which policies can \
                  differ at all.",
        value: |p| p.contested.map(|n| with_share(n, p.requests.offered)),
    },
    Definition {
        key: "efficiency",
        name: "efficiency",
        meaning: "Units admitted, divided by what the exact sliding log admits with the same limit. Below 1 the policy turned \
                  away what had room. Above 1 (marked: over) it admitted more than the exact log, and that is no merit: the \
                  number of those admitted over the limit says how.",
        value: |p| p.efficiency.map(efficiency),
    },
    Definition {
        key: "delay_ns",
        name: "wait (median, 99 %, longest)",
        meaning: "How long admitted requests wait before they are released; only the leaky bucket makes them wait. \
                  Percentiles by nearest rank over all admitted requests.",
        value: |p| {
            let delay = p.delay_ns?;
            let part = |ns: Option<u64>| match ns {
                None => "-".to_string(),
                Some(0) => "0".to_string(),
                Some(ns) => duration(ns),
            };
            Some(if delay.max == 0 {
                "0".into()
            } else {
                format!("{} / {} / {}", part(delay.p50), part(delay.p99), part(Some(delay.max)))
            })
        },
    },
    Definition {
        key: "waiting.queued_at_end",
        name: "queued at the end",
        meaning: "Requests admitted but not yet released when the trace ends.",
        value: |p| Some(count(p.waiting.queued_at_end)),
    },
    Definition {
        key: "retry.herd",
        name: "herd",
        meaning: "The most clients that were told to come back at the same instant, as a fixed window does at its edge.",
        value: |p| p.retry.map(|retry| count(retry.herd)),
    },
    Definition {
        key: "retry.kept",
        name: "promises kept",
        meaning: "Denials say when to come back. Of those after which the client did come back then or later, with a cost no \
                  larger: how many found that first request admitted. Others of the same client may have come between.",
        value: |p| p.retry.map(|retry| format!("{} of {}", count(retry.kept), count(retry.tested))),
    },
    Definition {
        key: "clients.limited",
        name: "clients limited",
        meaning: "Clients with at least one denial.",
        value: |p| Some(with_share(p.clients.limited, p.clients.total)),
    },
    Definition {
        key: "clients.starved",
        name: "clients starved",
        meaning: "Clients that asked and were never admitted.",
        value: |p| Some(count(p.clients.starved)),
    },
    Definition {
        key: "fairness",
        name: "fairness",
        meaning: "Jain's index over what each client got, divided by its max-min fair share of all that was admitted: 1 is \
                  even, 1/n is everything for one of n.",
        value: |p| p.fairness.map(|value| format!("{value:.3}")),
    },
    Definition {
        key: "largest_share",
        name: "largest share",
        meaning: "The share of all admitted units that the client with the most got.",
        value: |p| p.largest_share.map(percent),
    },
    Definition {
        key: "most_affected",
        name: "most affected client",
        meaning: "The client refused most often, and how many of its requests were refused.",
        value: |p| {
            let affected = p.most_affected.as_ref()?;
            let name = affected.client.as_deref().unwrap_or("everybody");
            Some(format!("{name}: {} of {}", count(affected.rejected), count(affected.offered)))
        },
    },
    Definition {
        key: "state_bytes",
        name: "bytes a client",
        meaning: "The most memory that the state of one client took.",
        value: |p| p.state_bytes.map(count),
    },
    Definition {
        key: "memory",
        name: "bytes at the peak",
        meaning: "The most memory that the states of all clients took at one moment. A state counts from the request that first \
                  uses it until it is fresh again and may be forgotten: what a store that keeps them all must have room for, \
                  its own bookkeeping and the clients' names apart.",
        value: |p| {
            let memory = p.memory?;
            let states = if memory.states == 1 { "state" } else { "states" };
            Some(format!("{} in {} {states}", count(memory.peak_bytes), count(memory.states)))
        },
    },
];

/// The quotient, marked where it is above 1.
fn efficiency(value: f64) -> String {
    let text = format!("{value:.3}");
    if value > 1.0 && text != "1.000" { format!("{text} (over)") } else { text }
}

/// A share in percent with three significant digits at most.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0".into(),
        percent if percent < 0.01 => "<0.01 %".into(),
        percent => format!("{percent:.2} %"),
    }
}

/// A count and its share of a total.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn with_share(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        count(part)
    } else {
        format!("{} ({})", count(part), percent(part as f64 / whole as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_efficiency_above_one_is_marked() {
        assert_eq!([0.5, 1.0, 1.0004].map(efficiency), ["0.500", "1.000", "1.000"]);
        assert_eq!(efficiency(1.076), "1.076 (over)");
    }
}

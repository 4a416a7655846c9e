//! What the states of all clients take at the peak: a replay of its own, since it asks for what decisions do not say. It
//! costs about as much as deciding every event once more, and 17 bytes an event while it runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use ratelimit_core::{Algorithm, Decision, Nanos, Policy};

use super::dispatch::with_algorithm;
use super::{By, Grouped};
use crate::metrics::{Holding, Memory};
use crate::trace::{Costs, Trace};

/// Clients that a thread takes at a time.
const CHUNK: usize = 1024;

/// The most that the states of each policy take at one moment of the trace. Does not depend on the number of threads.
pub fn memory(trace: &Trace, by: By, policies: &[Policy], threads: usize) -> Vec<Memory> {
    let grouped = match by {
        By::Client => Some(Grouped::new(trace)),
        By::Global => None,
    };
    let of = |policy: &Policy| {
        let holding = Holding::new(&trace.at);
        match &grouped {
            Some(grouped) => by_client(policy, grouped, threads, &holding),
            None => with_algorithm!(policy, |algorithm| hold(algorithm, &trace.at, &trace.cost, 0, &holding)),
        }
        holding.peak()
    };
    policies.iter().map(of).collect()
}

fn by_client(policy: &Policy, grouped: &Grouped, threads: usize, holding: &Holding<'_>) {
    let next = AtomicUsize::new(0);
    let work = || loop {
        let first = next.fetch_add(CHUNK, Ordering::Relaxed);
        if first >= grouped.clients() {
            return;
        }
        for client in first..(first + CHUNK).min(grouped.clients()) {
            let (start, end) = (grouped.starts[client], grouped.starts[client + 1]);
            let at = &grouped.at[start..end];
            with_algorithm!(policy, |algorithm| hold(algorithm, at, &grouped.cost, start, holding));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(grouped.clients().div_ceil(CHUNK)) {
            scope.spawn(work);
        }
        work();
    });
}

/// What one subject's state takes: from the request that uses it until it is fresh again. Its costs begin at `first`.
fn hold<A: Algorithm>(algorithm: &A, at: &[u64], costs: &Costs, first: usize, holding: &Holding<'_>) {
    let mut state = algorithm.fresh();
    // Bytes held, and when they go: `None` is never.
    let mut held: Option<(i64, Option<u64>)> = None;
    let release = |held: &mut Option<(i64, Option<u64>)>, now: u64| {
        if let Some((bytes, Some(fresh))) = *held
            && fresh <= now
        {
            holding.change(fresh, -bytes, -1);
            *held = None;
        }
    };
    for (i, &now) in at.iter().enumerate() {
        release(&mut held, now);
        let cost = costs.get(first + i);
        let decision = algorithm.decide(&mut state, Nanos::new(now), cost);
        // Nothing else changes a state.
        if let (Decision::Allowed { reset_after, .. }, true) = (decision, cost > 0) {
            let bytes = i64::try_from(algorithm.state_bytes(&state)).unwrap_or(i64::MAX);
            let (before, states) = held.map_or((0, 1), |(bytes, _)| (bytes, 0));
            if bytes != before {
                holding.change(now, bytes - before, states);
            }
            held = Some((bytes, now.checked_add(reset_after.get())));
        }
    }
    release(&mut held, u64::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Facts;
    use proptest::prelude::*;

    fn trace(events: &[(u64, u32, u64)]) -> Trace {
        Trace {
            at: events.iter().map(|event| event.0).collect(),
            client: events.iter().map(|event| event.1).collect(),
            cost: Costs::Each(events.iter().map(|event| event.2).collect()),
            names: (0..5_u8).map(|client| vec![client].into_boxed_slice()).collect(),
            facts: Facts::default(),
        }
    }

    /// The definition, instant by instant: the bytes of all states that are not fresh.
    fn expected<A: Algorithm>(algorithm: &A, events: &[(u64, u32, u64)], by: By, until: u64) -> Memory {
        let mut states = vec![algorithm.fresh(); 5];
        let mut events = events.iter().peekable();
        let mut most = Memory::default();
        for now in 0..until {
            while let Some((at, client, cost)) = events.next_if(|event| event.0 <= now) {
                let state = &mut states[if by == By::Client { *client as usize } else { 0 }];
                algorithm.decide(state, Nanos::new(*at), *cost);
            }
            let held = states.iter().filter(|state| !algorithm.is_fresh(state, Nanos::new(now)));
            let sizes: Vec<_> = held.map(|state| algorithm.state_bytes(state) as u64).collect();
            if sizes.iter().sum::<u64>() > most.peak_bytes {
                most = Memory { peak_bytes: sizes.iter().sum(), states: sizes.len() as u64, at_ns: now };
            }
        }
        most
    }

    proptest! {
        #[test]
        fn the_peak_is_that_of_the_definition(
            steps in prop::collection::vec((0_u64..9, 0_u32..5, 0_u64..4), 1..60),
            limit in 1_u64..6,
            window in 1_u64..40,
            global in any::<bool>(),
        ) {
            let by = if global { By::Global } else { By::Client };
            let events: Vec<_> =
                steps.iter().scan(0, |at, (gap, client, cost)| { *at += gap; Some((*at, *client, *cost)) }).collect();
            let quota = format!("{limit}/{window}ns");
            for text in [
                format!("fixed-window:{quota}"),
                format!("sliding-log:{quota}"),
                format!("sliding-counter:{quota}"),
                format!("token-bucket:{quota}"),
                format!("leaky-bucket:{quota},burst=3"),
                format!("sliding-log:{quota}+token-bucket:3/7ns"),
                "unlimited".to_owned(),
            ] {
                let policy: Policy = text.parse().expect("a policy");
                let found = memory(&trace(&events), by, &[policy], 2);
                let expected = with_algorithm!(&policy, |algorithm| expected(algorithm, &events, by, 700));
                prop_assert_eq!(found, vec![expected], "{}", text);
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let events: Vec<_> = (0..4000_u32).map(|i| (u64::from(i / 7), i * i % 3001, u64::from(i % 3))).collect();
        let mut trace = trace(&events);
        trace.names = (0..3001_u32).map(|client| client.to_string().into_bytes().into()).collect();
        let policies =
            ["sliding-log:2/50ns", "fixed-window:2/50ns"].map(|text| text.parse::<Policy>().expect("a policy"));
        assert_eq!(memory(&trace, By::Client, &policies, 1), memory(&trace, By::Client, &policies, 8));
    }
}

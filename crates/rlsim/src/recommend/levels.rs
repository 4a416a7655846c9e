//! The burstiness curves of the whole trace, and what other shares of clients would need and cost.

use super::fit::{self, Bursts, Demand, Parameters};
use super::guarantee::most_in_a_window;
use super::part::Part;
use super::{Answer, Curve, CurveLevel, LEVELS, Level, Task, algorithm, burstiness, by, policy};
use crate::error::Result;
use crate::sweep::measure;
use crate::trace::Trace;

/// The shares of clients that curves are drawn for. Under a global limit there is one client: all or nothing.
pub(super) fn shares(task: &Task) -> &'static [u64] {
    if task.promise.is_global() { &LEVELS[3..] } else { &LEVELS }
}

/// What those shares ask of a part.
pub(super) fn demands(task: &Task, part: &Part) -> Vec<Demand> {
    shares(task).iter().map(|kept| Demand::share(part, *kept)).collect()
}

/// The parameters of the answer's algorithm at each level, and what they do to the trace. `bursts` begins with those of
/// [`demands`].
pub(super) fn levels(trace: &Trace, task: &Task, whole: &Part, answer: &Answer, bursts: &Bursts) -> Result<Vec<Level>> {
    let Some(algorithm) = algorithm(answer.algorithm).filter(|_| !task.promise.is_global()) else {
        return Ok(Vec::new());
    };
    let window = task.window_ns;
    let one = |(i, demand): (usize, &Demand)| {
        if algorithm.has_burst() { bursts.chosen(i) } else { fit::smallest_limit(whole, algorithm, demand, window) }
    };
    let parameters: Vec<Parameters> = demands(task, whole).iter().enumerate().map(one).collect();
    let policies =
        parameters.iter().map(|p| Ok((policy(algorithm, *p, window)?, window))).collect::<Result<Vec<_>>>()?;
    let measured = measure(trace, by(task), &policies, (0, 0), task.threads);
    let level = |(((kept, p), (policy, _)), measured): (((&u64, &Parameters), &(_, u64)), _)| Level {
        kept_millionths: *kept,
        policy: ratelimit_core::Policy::to_string(policy),
        most_in_a_window: most_in_a_window(algorithm, p.limit, p.burst.unwrap_or(p.limit), window, whole.largest_cost),
        measured,
    };
    Ok(shares(task).iter().zip(&parameters).zip(&policies).zip(measured).map(level).collect())
}

/// The curves, from bursts measured at once for answers and levels.
pub(super) fn curve(task: &Task, whole: &Part, bursts: Bursts) -> Curve {
    let levels = shares(task).iter().zip(bursts.needed);
    Curve {
        levels: levels.map(|(kept, bursts)| CurveLevel { kept_millionths: *kept, bursts }).collect(),
        rates: bursts.rates,
        exact: burstiness(&whole.grouped),
    }
}

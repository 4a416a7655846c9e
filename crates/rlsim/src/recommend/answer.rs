//! The answer of each algorithm: fitted, checked, measured; and which of them to recommend.

use super::check;
use super::fit::{self, Bursts, Demand, Parameters};
use super::guarantee::most_in_a_window;
use super::part::{Part, Parts};
use super::{Answer, Promise, Task, algorithm, by, policy};
use crate::error::Result;
use crate::sweep::{Algorithm, Measured, measure};
use crate::trace::Trace;

/// The answers of all algorithms that can keep the promise. `bursts` are those of the whole trace, the promise's own at
/// index `own`.
pub(super) fn answers(trace: &Trace, task: &Task, parts: &Parts, bursts: &Bursts, own: usize) -> Result<Vec<Answer>> {
    let refitted = fitted(task, &parts.whole, parts.whole.largest_cost, bursts, own);
    let fitted = if parts.rest.is_none() {
        refitted.clone()
    } else {
        let demand = [Demand::of(task.promise, &parts.fit, task.window_ns)];
        // A service's limit does not depend on the needs of its clients.
        let needed = if task.promise.is_global() { &demand[..0] } else { &demand[..] };
        let bursts = Bursts::measured(&parts.fit, needed, task.window_ns, task.threads);
        fitted(task, &parts.fit, parts.whole.largest_cost, &bursts, 0)
    };
    let mut answers = Vec::new();
    for ((algorithm, fitted), refitted) in task.algorithms.iter().zip(fitted).zip(refitted) {
        if let Some((fitted, refitted)) = fitted.zip(refitted) {
            answers.push(answer(task, *algorithm, (fitted, refitted), parts)?);
        }
    }
    measure_answers(trace, task, &mut answers, parts.whole.largest_cost)?;
    Ok(answers)
}

/// The parameters of each algorithm that keep the promise on a part; `None` where it cannot.
fn fitted(task: &Task, part: &Part, largest_cost: u64, bursts: &Bursts, own: usize) -> Vec<Option<Parameters>> {
    let demand = Demand::of(task.promise, part, task.window_ns);
    let one = |algorithm: &Algorithm| match task.promise {
        Promise::ServiceAtMost { units, window_ns } => {
            fit::largest_for_service(part, *algorithm, (units, window_ns), largest_cost, task.threads)
        }
        _ if algorithm.has_burst() => Some(bursts.chosen(own)),
        _ => Some(fit::smallest_limit(part, *algorithm, &demand, task.window_ns)),
    };
    task.algorithms.iter().map(one).collect()
}

/// Checks what was fitted on the rest and on the whole trace, and takes what was fitted on the whole trace where the promise
/// does not hold on both: a client may keep within its limit on either part, and not across the cut.
fn answer(
    task: &Task,
    algorithm: Algorithm,
    (fitted, refitted): (Parameters, Parameters),
    parts: &Parts,
) -> Result<Answer> {
    let on = |demand: &Demand, part: &Part| check::check(task, algorithm, fitted, demand, part);
    let rest = parts.rest.as_ref();
    let check = rest.map(|rest| on(&check::demand_of_the_rest(task, &parts.fit, rest), rest)).transpose()?;
    let whole = rest.map(|_| on(&Demand::of(task.promise, &parts.whole, task.window_ns), &parts.whole)).transpose()?;
    let holds = check.iter().chain(&whole).all(|check| check.holds);
    let parameters = if holds { fitted } else { refitted };
    Ok(Answer {
        algorithm: algorithm.name(),
        policy: policy(algorithm, parameters, task.window_ns)?.to_string(),
        parameters,
        fitted: policy(algorithm, fitted, task.window_ns)?.to_string(),
        fitted_bound: bound(algorithm, fitted, task.window_ns, parts.whole.largest_cost),
        check,
        most_in_a_window: 0,
        measured: Measured::default(),
        refused_share: 0.0,
        whole,
    })
}

/// Measures all answers on the whole trace, attack included, in one replay.
fn measure_answers(trace: &Trace, task: &Task, answers: &mut [Answer], largest_cost: u64) -> Result<()> {
    let inside = match task.promise {
        Promise::Attack { from_ns, until_ns } => (from_ns, until_ns),
        _ => (0, 0),
    };
    let mut policies = Vec::new();
    for answer in answers.iter_mut() {
        let Some(algorithm) = algorithm(answer.algorithm) else { continue };
        policies.push((policy(algorithm, answer.parameters, task.window_ns)?, task.window_ns));
        answer.most_in_a_window = bound(algorithm, answer.parameters, task.window_ns, largest_cost);
    }
    let measured = measure(trace, by(task), &policies, inside, task.threads);
    for (answer, measured) in answers.iter_mut().zip(measured) {
        answer.measured = measured;
        answer.refused_share = crate::inspect::ratio(measured.refused().into(), measured.offered.into()).unwrap_or(0.0);
    }
    Ok(())
}

fn bound(algorithm: Algorithm, parameters: Parameters, window: u64, largest_cost: u64) -> u64 {
    let Parameters { limit, burst } = parameters;
    most_in_a_window(algorithm, limit, burst.unwrap_or(limit), window, largest_cost)
}

/// The answer to recommend. To clients: the smallest bound, with a state of constant size and without waiting (the log and
/// the leaky bucket are taken only where nothing else was asked for). Whether an answer holds on the rest is no reason to
/// choose it: what is chosen by a check is no longer checked by it. To a service all bounds are alike, and there is one
/// state: the fewest refusals without waiting.
pub(super) fn best(answers: &[Answer], global: bool) -> Option<usize> {
    let rank = |answer: &Answer| {
        (is_set_aside(answer, global), if global { answer.measured.refused() } else { answer.fitted_bound })
    };
    answers.iter().enumerate().min_by_key(|(i, answer)| (rank(answer), *i)).map(|(i, _)| i)
}

/// Whether an answer is taken only where nothing else was asked for.
pub(super) fn is_set_aside(answer: &Answer, global: bool) -> bool {
    answer.algorithm == "leaky-bucket" || (!global && answer.algorithm == "sliding-log")
}

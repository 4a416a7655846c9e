//! Recommendations: a promise in, a limit out that can be defended.
//!
//! ```text
//! promise -> fit (on the first part of the trace) -> check (on the rest) -> measure (on all of it) -> text, TOML, JSON
//! ```
//!
//! [`need`] says what each client needs of each algorithm, exactly; [`guarantee`] what an algorithm lets through at most;
//! [`burstiness`] is the curve behind a bucket's two parameters. The method is explained in `docs/recommend.md`.

pub mod burstiness;
mod check;
mod fit;
pub mod guarantee;
pub mod need;
mod output;
mod part;
pub mod promise;
mod report;

use std::num::NonZeroUsize;

use ratelimit_core::Policy;

pub use burstiness::{Burstiness, burstiness};
pub use check::Check;
pub use fit::Parameters;
pub(crate) use output::sentences;
pub use output::{json, text, toml};
pub use promise::Promise;
pub(crate) use promise::share;
pub use report::{Answer, Curve, CurveLevel, Extent, Level, RecommendMeta, Recommendation, Split};

use crate::error::{Error, Result};
use crate::inspect::{Finding, Inspection, Severity};
use crate::replay::By;
use crate::sweep::{Algorithm, Measured, measure};
use crate::trace::Trace;
use fit::{Bursts, Demand};
use part::Part;

/// The name and version of the JSON report's shape.
pub const SCHEMA: &str = "rlsim.recommend/1";

/// Shares of clients that are never limited, in millionths, for the table of what they cost.
pub const LEVELS: [u64; 4] = [950_000, 990_000, 999_000, 1_000_000];

/// What to recommend for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The promise.
    pub promise: Promise,
    /// The window in nanoseconds, at least 1.
    pub window_ns: u64,
    /// The algorithms to answer for.
    pub algorithms: Vec<Algorithm>,
    /// The share of the events to fit on, in millionths; the rest checks the answer.
    pub fit_millionths: u64,
    /// Threads to use; the result does not depend on it.
    pub threads: NonZeroUsize,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
}

/// Recommends a limit for `trace`, which `inspection` has looked at.
///
/// # Errors
/// [`Error::Failed`] where no algorithm can keep the promise; [`Error::Usage`] where an attack lies outside the trace.
pub fn recommend(trace: &Trace, task: &Task, inspection: &Inspection) -> Result<Recommendation> {
    let global = task.promise.is_global();
    let normal = |at: u64| match task.promise {
        Promise::Attack { from_ns, until_ns } => !(from_ns..until_ns).contains(&at),
        _ => true,
    };
    let whole = Part::of(trace, global, |_, at| normal(at));
    if whole.is_empty() || (whole.trace.at.len() == trace.at.len() && matches!(task.promise, Promise::Attack { .. })) {
        return Err(Error::usage(
            "--attack: the interval holds all of the trace or none of it, expected a part (times as in the output of inspect)",
        ));
    }
    let cut = check::cut(trace, task.fit_millionths);
    let fit = Part::of(trace, global, |_, at| normal(at) && cut.is_none_or(|cut| at < cut));
    // Without normal traffic before the cut there is nothing to fit on but all of it.
    let cut = cut.filter(|_| !fit.is_empty());
    let fit = if cut.is_some() { fit } else { Part::of(trace, global, |_, at| normal(at)) };
    let rest = cut.map(|cut| Part::of(trace, global, |_, at| normal(at) && at >= cut)).filter(|rest| !rest.is_empty());
    let pairs = |part: &Part| -> Vec<Option<Parameters>> {
        let demand = Demand::of(task.promise, part, task.window_ns);
        let bursts = Bursts::measured(part, std::slice::from_ref(&demand), task.window_ns, task.threads);
        let one = |algorithm: &Algorithm| match task.promise {
            Promise::ServiceAtMost { units, window_ns } => {
                fit::largest_for_service(part, *algorithm, (units, window_ns), whole.largest_cost, task.threads)
            }
            _ if algorithm.has_burst() => Some(bursts.chosen(0)),
            _ => Some(fit::smallest_limit(part, *algorithm, &demand, task.window_ns)),
        };
        task.algorithms.iter().map(one).collect()
    };
    let (fitted, refitted) = (pairs(&fit), pairs(&whole));
    let mut answers = Vec::new();
    for ((algorithm, fitted), refitted) in task.algorithms.iter().zip(fitted).zip(refitted) {
        if let Some((fitted, refitted)) = fitted.zip(refitted) {
            answers.push(answer(task, *algorithm, (fitted, refitted), &fit, rest.as_ref())?);
        }
    }
    let largest_cost = whole.largest_cost;
    measure_answers(trace, task, &mut answers, largest_cost)?;
    let Some(recommended) = best(&answers, global) else {
        return Err(Error::failed(format!(
            "no algorithm can promise that {}: a single request may cost {largest_cost} units; raise the number",
            task.promise.words()
        )));
    };
    let (curve, levels) = curve_and_levels(trace, task, &whole, &answers[recommended])?;
    let extent = |part: &Part| Extent {
        requests: part.trace.at.len() as u64,
        clients: part.trace.names.len() as u64,
        span_ns: part.span_ns(),
    };
    Ok(Recommendation {
        schema: SCHEMA,
        meta: RecommendMeta {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: task.command.clone(),
            trace: inspection.meta.trace.clone(),
        },
        promise: task.promise,
        by: if global { "global" } else { "client" },
        window_ns: task.window_ns,
        split: Split { at_ns: rest.as_ref().and(cut), fit: extent(&fit), rest: rest.as_ref().map(extent) },
        warnings: warnings(task, inspection, &whole, rest.as_ref()),
        answers,
        recommended,
        levels,
        curve,
    })
}

fn policy(algorithm: Algorithm, parameters: Parameters, window: u64) -> Result<Policy> {
    algorithm.policy(parameters.limit, window, parameters.burst)
}

/// Checks what was fitted, and takes what was fitted on the whole trace where it does not hold.
fn answer(
    task: &Task,
    algorithm: Algorithm,
    (fitted, refitted): (Parameters, Parameters),
    fit: &Part,
    rest: Option<&Part>,
) -> Result<Answer> {
    let check = rest.map(|rest| check::check(task, algorithm, fitted, fit, rest)).transpose()?;
    let holds = check.is_none_or(|check| check.holds);
    let parameters = if holds { fitted } else { refitted };
    Ok(Answer {
        algorithm: algorithm.name(),
        policy: policy(algorithm, parameters, task.window_ns)?.to_string(),
        parameters,
        fitted: policy(algorithm, fitted, task.window_ns)?.to_string(),
        check,
        most_in_a_window: 0,
        measured: Measured::default(),
        refused_share: 0.0,
    })
}

fn by(task: &Task) -> By {
    if task.promise.is_global() { By::Global } else { By::Client }
}

/// Measures all answers on the whole trace, attack included, in one replay.
fn measure_answers(trace: &Trace, task: &Task, answers: &mut [Answer], largest_cost: u64) -> Result<()> {
    let inside = match task.promise {
        Promise::Attack { from_ns, until_ns } => (from_ns, until_ns),
        _ => (0, 0),
    };
    let algorithm = |name: &str| Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let mut policies = Vec::new();
    for answer in answers.iter_mut() {
        let Some(algorithm) = algorithm(answer.algorithm) else { continue };
        let Parameters { limit, burst } = answer.parameters;
        policies.push((policy(algorithm, answer.parameters, task.window_ns)?, task.window_ns));
        let burst = burst.unwrap_or(limit);
        answer.most_in_a_window = guarantee::most_in_a_window(algorithm, limit, burst, task.window_ns, largest_cost);
    }
    let measured = measure(trace, by(task), &policies, inside, task.threads);
    for (answer, measured) in answers.iter_mut().zip(measured) {
        answer.measured = measured;
        answer.refused_share = crate::inspect::ratio(measured.refused().into(), measured.offered.into()).unwrap_or(0.0);
    }
    Ok(())
}

/// The answer to recommend. To clients: the smallest guarantee to the service among those that hold, with a state of
/// constant size and without waiting (the log and the leaky bucket are taken only where nothing else was asked for). To a
/// service all guarantees are alike: the fewest refusals.
fn best(answers: &[Answer], global: bool) -> Option<usize> {
    let rank = |answer: &Answer| {
        let fails = answer.check.is_some_and(|check| !check.holds);
        let last = answer.algorithm == "leaky-bucket" || (!global && answer.algorithm == "sliding-log");
        let number = if global { answer.measured.refused() } else { answer.most_in_a_window };
        (last, fails, number)
    };
    answers.iter().enumerate().min_by_key(|(i, answer)| (rank(answer), *i)).map(|(i, _)| i)
}

/// The curve of the whole trace, and what other shares of clients would cost.
fn curve_and_levels(trace: &Trace, task: &Task, whole: &Part, answer: &Answer) -> Result<(Curve, Vec<Level>)> {
    let shares: &[u64] = if task.promise.is_global() { &LEVELS[3..] } else { &LEVELS };
    let demands: Vec<Demand> = shares.iter().map(|share| Demand::share(whole, *share)).collect();
    let bursts = Bursts::measured(whole, &demands, task.window_ns, task.threads);
    let mut levels = Vec::new();
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == answer.algorithm);
    if let Some(algorithm) = algorithm.filter(|_| !task.promise.is_global()) {
        let parameters = demands.iter().enumerate().map(|(i, demand)| {
            if algorithm.has_burst() {
                bursts.chosen(i)
            } else {
                fit::smallest_limit(whole, algorithm, demand, task.window_ns)
            }
        });
        let parameters: Vec<Parameters> = parameters.collect();
        let policies = parameters.iter().map(|p| Ok((policy(algorithm, *p, task.window_ns)?, task.window_ns)));
        let policies = policies.collect::<Result<Vec<_>>>()?;
        let measured = measure(trace, by(task), &policies, (0, 0), task.threads);
        for (((share, p), (policy, _)), measured) in shares.iter().zip(&parameters).zip(&policies).zip(measured) {
            let (limit, burst) = (p.limit, p.burst.unwrap_or(p.limit));
            levels.push(Level {
                kept_millionths: *share,
                policy: policy.to_string(),
                most_in_a_window: guarantee::most_in_a_window(
                    algorithm,
                    limit,
                    burst,
                    task.window_ns,
                    whole.largest_cost,
                ),
                measured,
            });
        }
    }
    let curve = Curve {
        levels: shares
            .iter()
            .zip(bursts.needed)
            .map(|(share, bursts)| CurveLevel { kept_millionths: *share, bursts })
            .collect(),
        rates: bursts.rates,
        exact: burstiness(&whole.grouped),
    };
    Ok((curve, levels))
}

/// What inspection warns of, and what the promise itself asks of a trace.
fn warnings(task: &Task, inspection: &Inspection, whole: &Part, rest: Option<&Part>) -> Vec<Finding> {
    let about_clients =
        |finding: &&Finding| !(task.promise.is_global() && matches!(finding.code, "one-client" | "few-clients"));
    let serious = |finding: &&Finding| finding.severity >= Severity::Warning || finding.code == "status-unknown";
    let mut warnings: Vec<Finding> =
        inspection.findings.iter().filter(serious).filter(about_clients).cloned().collect();
    if let Promise::LimitedClients { millionths } = task.promise {
        let too_few = |part: &Part| {
            let clients = part.grouped.clients() as u128;
            millionths > 0 && clients * u128::from(millionths) < 1_000_000
        };
        let warning = |code, part: &Part, advice: &str| Finding {
            code,
            severity: Severity::Warning,
            found: format!("{} clients are too few to show a share of {}", part.grouped.clients(), share(millionths)),
            advice: advice.to_owned(),
        };
        if too_few(whole) {
            let advice = "the answer keeps every client of the trace; take a longer trace, or promise a larger share";
            warnings.push(warning("share-below-one", whole, advice));
        } else if let Some(rest) = rest.filter(|rest| too_few(rest)) {
            let advice = "they are those of the rest, where a single limited client counts as a failure: a strict check, and \
                          no proof either way; take a longer trace, or promise a larger share";
            warnings.push(warning("share-below-one-on-the-rest", rest, advice));
        }
    }
    warnings
}

//! Recommendations: a promise in, a limit out that can be defended.
//!
//! ```text
//! promise -> fit (on the first part of the trace) -> check (on the rest) -> measure (on all of it) -> text, TOML, JSON
//! ```
//!
//! [`need`] says what each client needs of each algorithm, exactly; [`guarantee`] what an algorithm lets through at most;
//! [`burstiness()`] is the curve behind a bucket's two parameters. The method is explained in `docs/recommend.md`.

mod answer;
pub mod burstiness;
mod check;
mod fit;
pub mod guarantee;
mod levels;
pub mod need;
mod output;
mod part;
pub mod promise;
mod report;
mod warnings;

use std::num::NonZeroUsize;

use ratelimit_core::Policy;

pub use burstiness::{Burstiness, burstiness};
pub use check::Check;
pub use fit::Parameters;
pub(crate) use output::{is_unconfirmed, sentences, unfit};
pub use output::{json, text, toml};
pub use promise::Promise;
pub(crate) use promise::share;
pub use report::{Answer, Curve, CurveLevel, Extent, Level, RecommendMeta, Recommendation, Split};

use crate::error::{Error, Result};
use crate::inspect::Inspection;
use crate::replay::By;
use crate::sweep::Algorithm;
use crate::trace::Trace;
use part::Parts;

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

/// Recommends a limit for `trace`, which `inspection` has looked at. Linear in events times about fifty rates.
///
/// # Errors
/// [`Error::Failed`] where no algorithm can keep the promise; [`Error::Usage`] where an attack lies outside the trace.
pub fn recommend(trace: &Trace, task: &Task, inspection: &Inspection) -> Result<Recommendation> {
    let parts = Parts::of(trace, task)?;
    // The needs of clients are measured once for the levels and the promise itself.
    let mut demands = levels::demands(task, &parts.whole);
    let own = demands.len();
    demands.push(fit::Demand::of(task.promise, &parts.whole, task.window_ns));
    let bursts = fit::Bursts::measured(&parts.whole, &demands, task.window_ns, task.threads);
    let answers = answer::answers(trace, task, &parts, &bursts, own)?;
    let Some(recommended) = answer::best(&answers, task.promise.is_global()) else {
        return Err(Error::failed(format!(
            "no algorithm can promise that {}: a single request may cost {} units; raise the number",
            task.promise.words(),
            parts.whole.largest_cost
        )));
    };
    Ok(Recommendation {
        schema: SCHEMA,
        meta: RecommendMeta {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: task.command.clone(),
            trace: inspection.meta.trace.clone(),
        },
        promise: task.promise,
        by: if task.promise.is_global() { "global" } else { "client" },
        window_ns: task.window_ns,
        split: parts.split(),
        levels: levels::levels(trace, task, &parts.whole, &answers[recommended], &bursts)?,
        curve: levels::curve(task, &parts.whole, bursts),
        warnings: warnings::warnings(task, inspection, &parts.whole, parts.rest.as_ref()),
        nameless: trace.names.iter().all(|name| name.is_empty()),
        answers,
        recommended,
    })
}

fn policy(algorithm: Algorithm, parameters: Parameters, window: u64) -> Result<Policy> {
    algorithm.policy(parameters.limit, window, parameters.burst)
}

/// The algorithm of that name.
fn algorithm(name: &str) -> Option<Algorithm> {
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}

fn by(task: &Task) -> By {
    if task.promise.is_global() { By::Global } else { By::Client }
}

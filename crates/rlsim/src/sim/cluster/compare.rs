//! Several strategies on the same requests, on all cores.

use super::arrivals::Arrival;
use super::exact::Exact;
use super::outcome::Outcome;
use super::strategy::Strategy;
use super::world::{Cluster, run};
use crate::sim::parallel;

/// One strategy and what came of it.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The strategy.
    pub strategy: Strategy,
    /// What came of it.
    pub outcome: Outcome,
}

/// Runs each strategy on the same requests. The result does not depend on `threads`.
pub fn compare(
    cluster: &Cluster,
    strategies: &[Strategy],
    arrivals: &[Arrival],
    exact: &Exact,
    threads: usize,
) -> Vec<Compared> {
    parallel::map(strategies, threads, |&strategy| Compared {
        strategy,
        outcome: run(cluster, strategy, arrivals, exact),
    })
}

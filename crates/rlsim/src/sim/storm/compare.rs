//! All variants of a scenario, each from several seeds, on all cores.

use super::outcome::Outcome;
use super::scenario::Scenario;
use super::world::run;
use crate::error::Result;
use crate::sim::parallel;

/// One variant and what came of it.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The variant's name.
    pub name: String,
    /// One outcome a seed, in the order of the seeds; at least one.
    pub outcomes: Vec<Outcome>,
}

impl Compared {
    /// The outcome of the first seed: the one that is drawn.
    pub fn first(&self) -> &Outcome {
        &self.outcomes[0]
    }

    /// One number of every outcome.
    pub fn each(&self, number: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.outcomes.iter().map(number).collect()
    }
}

/// Runs every variant from the seeds `seed`, `seed + 1`, ... The result does not depend on `threads`.
///
/// # Errors
/// As [`run`].
pub fn compare(scenario: &Scenario, seed: u64, replicates: u32, threads: usize) -> Result<Vec<Compared>> {
    let variants = scenario.variants();
    let seeds = || (0..u64::from(replicates.max(1))).map(|n| seed.wrapping_add(n));
    let jobs: Vec<_> = variants.iter().flat_map(|(_, scenario)| seeds().map(move |seed| (scenario, seed))).collect();
    let outcomes = parallel::map(&jobs, threads, |&(scenario, seed)| run(scenario, seed));
    let mut outcomes = outcomes.into_iter();
    variants
        .iter()
        .map(|(name, _)| {
            let outcomes = outcomes.by_ref().take(seeds().count()).collect::<Result<Vec<_>>>()?;
            Ok(Compared { name: name.clone(), outcomes })
        })
        .collect()
}

//! Vectors: what the tests of well-known limiters assert, restated as data in `vectors/`, and a runner.
//!
//! A vector passes, or it is listed as different with one of a closed list of reasons; a vector that is neither,
//! or that is listed and passes all the same, fails the run.

mod config;
mod data;
mod different;
mod seeds;
mod story;

use std::collections::BTreeMap;

pub use different::Reason;
pub use seeds::run_seeds;

use crate::subject::Subject;
use data::Vector;
use different::reason_of;
use story::{Trouble, tell};

/// How many vectors passed, and how many are different for which reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Vectors that agree in every expectation.
    pub passed: usize,
    /// Vectors that are listed, by reason.
    pub different: BTreeMap<Reason, usize>,
    /// Vectors that need an operation or a policy which this implementation declares absent.
    pub skipped: usize,
}

impl Tally {
    /// How many differ for this reason.
    pub fn different_by(&self, reason: Reason) -> usize {
        self.different.get(&reason).copied().unwrap_or(0)
    }
}

/// Runs the 94 textbook sequences of `limiters.json`, and prints the tally.
///
/// # Panics
/// With every vector that is neither passed nor listed.
pub fn run_limiters<S: Subject>(subject: &S) -> Tally {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../../vectors/limiters.json")).expect("limiters.json is a list of vectors");
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for vector in &vectors {
        let outcome = tell(subject, vector);
        match (outcome, reason_of(&vector.id)) {
            (Ok(()), None) => tally.passed += 1,
            (Ok(()), Some(reason)) => failures.push(format!("{} passes, but is listed: {reason}", vector.id)),
            (Err(Trouble::NotOffered), _) => tally.skipped += 1,
            (Err(Trouble::Unknown(_)), Some(reason @ Reason::NoSuchOperation)) => {
                *tally.different.entry(reason).or_default() += 1;
            }
            (Err(Trouble::Differs(_)), Some(reason)) if reason != Reason::NoSuchOperation => {
                *tally.different.entry(reason).or_default() += 1;
            }
            (Err(trouble), listed) => {
                failures.push(format!("{} ({}): {trouble}; listed: {listed:?}", vector.id, vector.source));
            }
        }
    }
    println!("{} passed, {} skipped", tally.passed, tally.skipped);
    for (reason, count) in &tally.different {
        println!("{count} different: {reason}");
    }
    assert!(failures.is_empty(), "{} vectors fail:\n{}", failures.len(), failures.join("\n"));
    tally
}

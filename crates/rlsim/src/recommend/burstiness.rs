//! The exact burstiness curve sigma(rho): for each rate the smallest burst with which a bucket refuses nobody anything.
//!
//! Each stretch of a client's events is a line `units - rho * span`, and the curve is the highest of all lines: convex, with
//! a corner wherever another stretch takes over. Its lines are found without looking at all stretches: two neighbours known,
//! the curve is measured where they cross, and a line that is higher there is new.

use serde::Serialize;

use super::need::{Steepest, clients};
use crate::replay::Grouped;

/// Lines that are looked for at most; each costs two passes over the events.
const MOST_LINES: usize = 64;

/// The curve as its lines, from the rate 0 on: `sigma(rho) = max(units - rho * span)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Burstiness {
    /// `[units, nanoseconds]` of each stretch, the longest first. The last one is the largest burst at one instant.
    pub lines: Vec<(u64, u64)>,
    /// Whether these are all; otherwise the curve lies above them in places.
    pub complete: bool,
}

/// The curve over all clients of `grouped`.
pub fn burstiness(grouped: &Grouped) -> Burstiness {
    let at = |limit: u64, window: u64| {
        clients(grouped).map(|client| client.steepest(limit, window)).fold(Steepest::default(), Steepest::higher)
    };
    // At the rate 0 the longest stretch of the largest client, and at an endless rate the largest instant.
    let first = line(at(0, 1));
    let last = (clients(grouped).map(|client| client.sliding_log(1)).max().unwrap_or(0), 0);
    let mut lines = vec![first, last];
    let mut open = std::collections::VecDeque::from([(first, last)]);
    while let Some((long, short)) = open.pop_front() {
        if lines.len() >= MOST_LINES {
            return sorted(lines, false);
        }
        if long.1 <= short.1 || long.0 <= short.0 {
            continue;
        }
        // They cross at the rate (difference of units) / (difference of spans).
        let (limit, window) = (long.0 - short.0, long.1 - short.1);
        let found = at(limit, window);
        let expected = u128::from(long.0) * u128::from(window)
            - (u128::from(limit) * u128::from(long.1)).min(u128::from(long.0) * u128::from(window));
        if found.level > expected {
            lines.push(line(found));
            open.extend([(long, line(found)), (line(found), short)]);
        }
    }
    sorted(lines, true)
}

fn line(found: Steepest) -> (u64, u64) {
    (found.units, found.span_ns)
}

fn sorted(mut lines: Vec<(u64, u64)>, complete: bool) -> Burstiness {
    lines.sort_unstable_by_key(|(units, span)| std::cmp::Reverse((*span, *units)));
    lines.dedup();
    Burstiness { lines, complete }
}

impl Burstiness {
    /// The burst at the rate `limit` per `window`, at least 1; too small where the curve is not complete.
    pub fn burst(&self, limit: u64, window: u64) -> u64 {
        let level = |&(units, span): &(u64, u64)| {
            (u128::from(units) * u128::from(window)).saturating_sub(u128::from(limit) * u128::from(span))
        };
        let highest = self.lines.iter().map(level).max().unwrap_or(0);
        u64::try_from(highest.div_ceil(u128::from(window))).unwrap_or(u64::MAX).max(1)
    }
}

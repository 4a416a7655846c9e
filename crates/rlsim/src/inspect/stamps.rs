//! What is odd about the time stamps: a coarse clock, many events on one stamp, stamps that avoid most of the clock.

use serde::Serialize;

use super::ratio;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// What the stamps look like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stamps {
    /// Different stamps.
    pub distinct: u64,
    /// The share of events whose stamp another event has too.
    pub shared: f64,
    /// The most events on one stamp.
    pub most_on_one: u64,
    /// That stamp, in nanoseconds; the first of equals.
    pub most_on_one_ns: u64,
    /// A step coarser than the resolution that most stamps are multiples of, and the share of events that are.
    pub coarser_step: Option<CoarserStep>,
    /// A part of the clock that holds nearly all events although there are events in many turns of it.
    pub concentrated: Option<Concentrated>,
}

/// Most stamps are multiples of a coarser step, some are not: two clocks, or a truncated one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoarserStep {
    /// The step in nanoseconds.
    pub step_ns: u64,
    /// The share of events on it.
    pub share: f64,
}

/// Nearly all events fall into a small part of each turn of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Concentrated {
    /// The turn, such as an hour, in nanoseconds.
    pub turn_ns: u64,
    /// The parts a turn is cut into, such as minutes, in nanoseconds.
    pub part_ns: u64,
    /// Parts a turn has.
    pub parts: u64,
    /// Parts that hold 99 % of the events.
    pub used: u64,
    /// The fullest part, counted from 0.
    pub fullest: u64,
    /// Turns with events.
    pub turns: u64,
}

/// Clocks to look at: the turn and its parts.
const CLOCKS: [(u64, u64); 3] = [(HOUR, MINUTE), (MINUTE, SECOND), (SECOND, 10 * MILLISECOND)];
/// Turns with events that a concentration must be seen in.
const FEWEST_TURNS: u64 = 10;
/// Events a part should have on average before its emptiness means anything.
const EVENTS_A_PART: u64 = 5;

/// Looks at stamps in time order. Linear but for one short sort.
pub(super) fn stamps(at: &[u64], resolution_ns: u64) -> Stamps {
    let mut found = Stamps {
        distinct: 0,
        shared: 0.0,
        most_on_one: 0,
        most_on_one_ns: 0,
        coarser_step: coarser_step(at, resolution_ns),
        concentrated: in_first_clock(at, resolution_ns),
    };
    let mut shared = 0;
    for same in at.chunk_by(|a, b| a == b) {
        let count = same.len() as u64;
        found.distinct += 1;
        shared += if count > 1 { count } else { 0 };
        if count > found.most_on_one {
            (found.most_on_one, found.most_on_one_ns) = (count, same[0]);
        }
    }
    found.shared = ratio(shared.into(), at.len() as u128).unwrap_or(0.0);
    found
}

/// Stamps looked at for a word of warning beside other work.
const SAMPLE: usize = 1 << 16;

/// As in [`stamps`], where a sample spread over the whole shows it too: constant work for nearly every trace. A sample may show its own
/// stride, so the whole decides.
pub(super) fn suspected(at: &[u64], resolution_ns: u64) -> Option<Concentrated> {
    let sample: Vec<u64> = at.iter().copied().step_by(at.len().div_ceil(SAMPLE).max(1)).collect();
    in_first_clock(&sample, resolution_ns).and_then(|_| in_first_clock(at, resolution_ns))
}

fn in_first_clock(at: &[u64], resolution_ns: u64) -> Option<Concentrated> {
    CLOCKS.into_iter().find_map(|clock| concentrated(at, resolution_ns, clock))
}

fn coarser_step(at: &[u64], resolution_ns: u64) -> Option<CoarserStep> {
    const STEPS: [u64; 8] =
        [MINUTE, 10 * SECOND, SECOND, 100 * MILLISECOND, 10 * MILLISECOND, MILLISECOND, 10_000, 1_000];
    // A multiple of ten steps is a tenth of the stamps by chance; half of them is not chance.
    let coarser = STEPS.into_iter().filter(|step| *step >= resolution_ns.saturating_mul(10) && resolution_ns > 0);
    let on_step = |step: u64| at.iter().filter(|at| at.is_multiple_of(step)).count() as u64;
    coarser
        .map(|step| (step, on_step(step)))
        .find(|(_, on)| at.len() >= 20 && on * 2 > at.len() as u64)
        .and_then(|(step_ns, on)| Some(CoarserStep { step_ns, share: ratio(on.into(), at.len() as u128)? }))
}

fn concentrated(at: &[u64], resolution_ns: u64, (turn_ns, part_ns): (u64, u64)) -> Option<Concentrated> {
    let parts = turn_ns / part_ns;
    // A clock that ticks in coarser steps than a part leaves parts empty by itself.
    if resolution_ns > part_ns || (at.len() as u64) < parts * EVENTS_A_PART {
        return None;
    }
    let turns = at.chunk_by(|a, b| a / turn_ns == b / turn_ns).count() as u64;
    if turns < FEWEST_TURNS {
        return None;
    }
    // At most 100 parts.
    let mut counts: Vec<(u64, u64)> = (0..parts).map(|part| (0, part)).collect();
    for at in at {
        let part = usize::try_from(at % turn_ns / part_ns).ok()?;
        counts.get_mut(part)?.0 += 1;
    }
    counts.sort_unstable_by_key(|(count, part)| (std::cmp::Reverse(*count), *part));
    let enough = (at.len() as u64 * 99).div_ceil(100);
    let mut held = 0;
    let used = counts.iter().take_while(|(count, _)| {
        let before = held;
        held += count;
        before < enough
    });
    let used = used.count() as u64;
    (used * 4 <= parts).then_some(Concentrated { turn_ns, part_ns, parts, used, fullest: counts[0].1, turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_rewritten_to_one_minute_of_the_hour_are_seen() {
        let rewritten: Vec<u64> = (0..600).map(|i| i / 6 * HOUR + 5 * MINUTE + i % 60 * SECOND).collect();
        let mut sorted = rewritten;
        sorted.sort_unstable();
        let found = stamps(&sorted, SECOND).concentrated.unwrap();
        assert_eq!((found.turn_ns, found.used, found.fullest, found.turns), (HOUR, 1, 5, 100));
        let many: Vec<u64> = sorted.iter().flat_map(|at| [*at; 1000]).collect();
        assert_eq!(
            suspected(&many, SECOND).map(|found| (found.turn_ns, found.fullest, found.turns)),
            Some((HOUR, 5, 100))
        );
        // Each that a sample takes lies in the first minute, and the whole does not.
        let steady: Vec<u64> = (0..20 * SAMPLE as u64).map(|i| i * 3 * MINUTE + i % 20 * 3 * SECOND).collect();
        let sample: Vec<u64> = steady.iter().copied().step_by(20).collect();
        assert!(in_first_clock(&sample, SECOND).is_some());
        assert_eq!(suspected(&steady, SECOND), None);
        // Every seven minutes and a bit: all of the clock is used.
        let even: Vec<u64> = (0..600).map(|i| i * 427 * SECOND).collect();
        assert_eq!(stamps(&even, SECOND).concentrated, None);
    }

    #[test]
    fn whole_seconds_among_milliseconds_are_seen() {
        let mixed: Vec<u64> = (0..100).map(|i| i * SECOND + u64::from(i % 10 == 0) * 7 * MILLISECOND).collect();
        let found = stamps(&mixed, MILLISECOND).coarser_step.unwrap();
        assert_eq!((found.step_ns, found.share), (SECOND, 0.9));
        let fine: Vec<u64> = (0..100).map(|i| i * 1_001 * MILLISECOND).collect();
        assert_eq!(stamps(&fine, MILLISECOND).coarser_step, None);
    }

    #[test]
    fn ties_are_counted() {
        let found = stamps(&[1, 1, 1, 2, 3, 3], 1);
        assert_eq!((found.distinct, found.most_on_one, found.most_on_one_ns), (3, 3, 1));
        assert!((found.shared - 5.0 / 6.0).abs() < 1e-12);
    }
}

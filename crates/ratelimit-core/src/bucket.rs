//! The arithmetic that token bucket and leaky bucket share: a level of units that drains at L/W, exactly.
//!
//! With `g = gcd(L, W)`, `L' = L/g` and `W' = W/g`, one unit is `W'` parts and the level drains by `L'` parts a
//! nanosecond. Everything is an integer number of parts, so no remainder is ever lost, however often the state is asked.
//! "tokens >= cost" of the token bucket and "the cost fits into the queue" of the leaky bucket are the same comparison:
//! `level <= (B - cost) * W'`.

use crate::{Decision, Nanos, Quota, QuotaError};

/// What a bucket keeps: 24 bytes.
///
/// Invariant: `used` is the level, in parts, at the instant `last`; it is 0 if and only if the bucket has nothing used
/// at `last`, and then `last` is 0 too, so that a state with nothing used records no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "RecordedBucket"))]
pub struct BucketState {
    /// When the level was recorded, in nanoseconds.
    last: u64,
    /// The level in parts, split so that the state is 24 bytes and not the 32 that an aligned `u128` would make it.
    used_high: u64,
    used_low: u64,
}

/// A state as it is read: the invariant holds for whatever numbers a file may say.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename = "BucketState")]
struct RecordedBucket {
    last: u64,
    used_high: u64,
    used_low: u64,
}

#[cfg(feature = "serde")]
impl From<RecordedBucket> for BucketState {
    fn from(read: RecordedBucket) -> Self {
        let state = BucketState { last: read.last, used_high: read.used_high, used_low: read.used_low };
        BucketState::new(state.last, state.used())
    }
}

impl BucketState {
    #[inline]
    fn new(last: u64, used: u128) -> Self {
        if used == 0 {
            return Self::default();
        }
        // The two halves of the 128 bits.
        BucketState { last, used_high: (used >> 64) as u64, used_low: used as u64 }
    }

    #[inline]
    fn used(&self) -> u128 {
        u128::from(self.used_high) << 64 | u128::from(self.used_low)
    }

    #[inline]
    fn is_unused(&self) -> bool {
        self.used_high == 0 && self.used_low == 0
    }

    /// The effective time: law 5 has the last charge hold it up.
    #[inline]
    fn effective(&self, now: u64) -> u64 {
        if self.is_unused() { now } else { now.max(self.last) }
    }
}

/// A level that drains at L/W and admits while it stays within B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    quota: Quota,
    burst: u64,
    /// L': parts drained in a nanosecond.
    drain: u64,
    /// W': parts of one unit.
    unit: u64,
    /// B * W' where the `u64` path may be taken.
    narrow: Option<u64>,
}

/// Quotas with B * W' below this leave room for every sum of the narrow path.
const NARROW: u128 = 1 << 62;

impl Bucket {
    pub(crate) const fn new(quota: Quota) -> Self {
        let (limit, window) = (quota.limit(), quota.window().get());
        let divisor = gcd(limit, window);
        Bucket { quota, burst: 0, drain: limit / divisor, unit: window / divisor, narrow: None }.with_burst(limit)
    }

    pub(crate) const fn burst(self, burst: u64) -> Result<Self, QuotaError> {
        if burst == 0 { Err(QuotaError::ZeroBurst) } else { Ok(self.with_burst(burst)) }
    }

    const fn with_burst(self, burst: u64) -> Self {
        // 64 by 64 bits cannot overflow 128, and the comparison proves that the cast cuts nothing off.
        let capacity = burst as u128 * self.unit as u128;
        let narrow = if capacity < NARROW { Some(capacity as u64) } else { None };
        Bucket { burst, narrow, ..self }
    }

    pub(crate) const fn quota(&self) -> Quota {
        self.quota
    }

    pub(crate) const fn capacity(&self) -> u64 {
        self.burst
    }

    /// B, when it differs from L.
    pub(crate) fn own_burst(&self) -> Option<u64> {
        (self.burst != self.quota.limit()).then_some(self.burst)
    }

    /// Decides, and charges what is allowed. A queue (the leaky bucket) has requests wait until the level ahead of them has
    /// drained; a meter (the token bucket) does not.
    #[inline]
    pub(crate) fn decide<const QUEUE: bool>(&self, state: &mut BucketState, now: Nanos, cost: u64) -> Decision {
        if cost > self.burst {
            return Decision::Never { capacity: self.burst };
        }
        match self.narrow {
            Some(capacity) if state.used_high == 0 => self.decide_narrow::<QUEUE>(capacity, state, now.get(), cost),
            _ => self.decide_wide::<QUEUE>(state, now.get(), cost),
        }
    }

    /// The decision in 64 bits: the capacity is below 2^62 parts, the recorded level below 2^64.
    #[expect(clippy::inline_always, reason = "the hot path of both buckets: a call costs as much as the decision")]
    #[inline(always)]
    fn decide_narrow<const QUEUE: bool>(
        &self,
        capacity: u64,
        state: &mut BucketState,
        now: u64,
        cost: u64,
    ) -> Decision {
        let effective = state.effective(now);
        let behind = effective - now;
        // Saturating is exact: a product beyond `u64::MAX` drains any level of 64 bits.
        let level = state.used_low.saturating_sub((effective - state.last).saturating_mul(self.drain));
        // `cost <= burst`, so this is at most `capacity`.
        let charged = cost * self.unit;
        let after = |parts: u64| Nanos::new(self.drained_in(parts).saturating_add(behind));
        if cost == 0 {
            return self.idle(capacity, level, after);
        }
        if level > capacity - charged {
            return Decision::Denied {
                retry_after: after(level - (capacity - charged)),
                remaining: capacity.saturating_sub(level) / self.unit,
                reset_after: after(level),
            };
        }
        // At most `capacity`, by the comparison above.
        let filled = level + charged;
        *state = BucketState { last: effective, used_high: 0, used_low: filled };
        Decision::Allowed {
            remaining: (capacity - filled) / self.unit,
            reset_after: after(filled),
            delay: if QUEUE { after(level) } else { Nanos::ZERO },
        }
    }

    /// The answer to cost 0, which changes nothing.
    fn idle(&self, capacity: u64, level: u64, after: impl Fn(u64) -> Nanos) -> Decision {
        Decision::Allowed {
            remaining: capacity.saturating_sub(level) / self.unit,
            reset_after: if level == 0 { Nanos::ZERO } else { after(level) },
            delay: Nanos::ZERO,
        }
    }

    /// Nanoseconds in which `parts` drain, rounded up.
    #[inline]
    fn drained_in(&self, parts: u64) -> u64 {
        // Whole numbers of nanoseconds a unit are the common case, and then there is nothing to divide.
        if self.drain == 1 { parts } else { parts.div_ceil(self.drain) }
    }

    /// The same decision in 128 bits.
    #[inline(never)]
    fn decide_wide<const QUEUE: bool>(&self, state: &mut BucketState, now: u64, cost: u64) -> Decision {
        let effective = state.effective(now);
        let behind = u128::from(effective - now);
        let level = self.level_at(state, effective);
        let capacity = self.parts(self.burst);
        // `cost <= burst`, so this is at most `capacity`.
        let room = capacity - self.parts(cost);
        let after = |parts: u128| Nanos::saturating_from(parts.div_ceil(u128::from(self.drain)).saturating_add(behind));
        if cost > 0 && level > room {
            return Decision::Denied {
                retry_after: after(level - room),
                remaining: self.whole_units(capacity.saturating_sub(level)),
                reset_after: after(level),
            };
        }
        // At most the capacity, unless the cost is 0 in debt.
        let filled = level + self.parts(cost);
        if cost > 0 {
            *state = BucketState::new(effective, filled);
        }
        Decision::Allowed {
            remaining: self.whole_units(capacity.saturating_sub(filled)),
            reset_after: if filled == 0 { Nanos::ZERO } else { after(filled) },
            delay: if QUEUE && cost > 0 { after(level) } else { Nanos::ZERO },
        }
    }

    /// The level at an effective time, in parts.
    fn level_at(&self, state: &BucketState, effective: u64) -> u128 {
        // The product of two 64-bit numbers fits; a state with nothing used is empty at any time.
        let drained = u128::from(effective.saturating_sub(state.last)) * u128::from(self.drain);
        state.used().saturating_sub(drained)
    }

    fn parts(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.unit)
    }

    /// Whole units in `parts`, which are at most the capacity, so that they fit.
    fn whole_units(&self, parts: u128) -> u64 {
        (parts / u128::from(self.unit)) as u64
    }

    pub(crate) fn charge(&self, state: &mut BucketState, now: Nanos, cost: u64) {
        if cost > 0 {
            let effective = state.effective(now.get());
            let filled = self.level_at(state, effective).saturating_add(self.parts(cost));
            *state = BucketState::new(effective, filled);
        }
    }

    pub(crate) fn refund(&self, state: &mut BucketState, cost: u64) {
        *state = BucketState::new(state.last, state.used().saturating_sub(self.parts(cost)));
    }

    pub(crate) fn used(&self, state: &BucketState, now: Nanos) -> u64 {
        let level = self.level_at(state, state.effective(now.get()));
        u64::try_from(level.div_ceil(u128::from(self.unit))).unwrap_or(u64::MAX)
    }

    pub(crate) fn is_fresh(&self, state: &BucketState, now: Nanos) -> bool {
        self.level_at(state, state.effective(now.get())) == 0
    }

    /// The level in this bucket's parts of a state of the bucket `old`, rounded up.
    pub(crate) fn migrate(&self, old: &Self, state: &BucketState, now: Nanos) -> BucketState {
        let effective = state.effective(now.get());
        let level = old.level_at(state, effective);
        let (old_unit, unit) = (u128::from(old.unit), u128::from(self.unit));
        // ceil(level * unit / old_unit) without a product beyond 128 bits: the remainder is below `old_unit`.
        let whole = (level / old_unit).saturating_mul(unit);
        let rest = (level % old_unit * unit).div_ceil(old_unit);
        BucketState::new(effective, whole.saturating_add(rest))
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::time::Duration;

    /// Both paths on the same states: the narrow one is only a faster way to the same answer.
    #[test]
    fn narrow_and_wide_agree() {
        let mut seed = 1_u64;
        let mut next = move |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for _ in 0..200 {
            let quota = Quota::per(1 + next(50), Duration::from_nanos(1 + next(1000))).unwrap();
            let bucket = Bucket::new(quota).burst(1 + next(30)).unwrap();
            let capacity = bucket.narrow.unwrap();
            let mut state = BucketState::default();
            let mut now = 0_u64;
            for _ in 0..200 {
                now = (now + next(60)).saturating_sub(next(20));
                let cost = next(1 + bucket.burst.min(6));
                let mut other = state;
                let narrow = bucket.decide_narrow::<true>(capacity, &mut state, now, cost);
                let wide = bucket.decide_wide::<true>(&mut other, now, cost);
                assert_eq!((narrow, state), (wide, other));
                if next(40) == 0 {
                    bucket.charge(&mut state, Nanos::new(now), next(40));
                }
            }
        }
    }

    #[test]
    fn the_narrow_path_is_taken_below_two_to_the_62() {
        let bucket = |limit, secs| Bucket::new(Quota::per(limit, Duration::from_secs(secs)).unwrap());
        assert!(bucket(100, 60).narrow.is_some());
        assert!(bucket(1, 30 * 86_400).burst(100_000).unwrap().narrow.is_none());
    }
}

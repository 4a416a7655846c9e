//! The null algorithm: everything is allowed. The baseline that every comparison needs.

use crate::{Algorithm, Decision, Nanos};

/// Allows everything, and keeps nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Unlimited;

impl Algorithm for Unlimited {
    type State = ();

    fn fresh(&self) -> Self::State {}

    fn capacity(&self) -> u64 {
        u64::MAX
    }

    fn decide(&self, _state: &mut Self::State, _now: Nanos, _cost: u64) -> Decision {
        Decision::Allowed { remaining: u64::MAX, reset_after: Nanos::ZERO, delay: Nanos::ZERO }
    }

    fn charge(&self, _state: &mut Self::State, _now: Nanos, _cost: u64) {}

    fn refund(&self, _state: &mut Self::State, _cost: u64) {}

    fn used(&self, _state: &Self::State, _now: Nanos) -> u64 {
        0
    }

    fn is_fresh(&self, _state: &Self::State, _now: Nanos) -> bool {
        true
    }

    fn migrate(&self, _old: &Self, _state: &Self::State, _now: Nanos) -> Self::State {}
}

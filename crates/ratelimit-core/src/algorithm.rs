//! What every algorithm offers, and the laws that every implementation obeys.
//!
//! # Laws
//!
//! They hold for every `u64` time, every cost and every policy that can be constructed, and the conformance crate
//! tests each of them on every algorithm and every implementation (this crate, the store, Redis).
//!
//! 1. **Refusals are free.** A denial or a `Never` changes nothing. So does cost 0, which is always allowed, without
//!    delay. (Also of a state that another policy made, which counts as fresh where it is of another form.)
//! 2. **`retry_after` is exact.** Alone, the same cost is allowed at `now + retry_after` and not 1 ns earlier.
//! 3. **`remaining` is exact.** That many units would be allowed now, and one more would not.
//! 4. **`reset_after` is exact.** After it the state is fresh, and 1 ns earlier it is not.
//! 5. **Time may step back.** The effective time is the later of `now` and the time recorded in the state (the window
//!    start for fixed window and sliding counter, the newest entry of the log, the last charge of a bucket; a state
//!    with nothing used records none). For one state, what is allowed at t is allowed at every later t.
//! 6. **No input panics, overflows or wraps.** Durations saturate at [`Nanos::MAX`], which says "at least"; instants
//!    beyond it count as the integers they are.
//! 7. **A fresh state and a forgotten client are the same.** `is_fresh(state, now)` implies answers equal to those of a
//!    fresh state at every time from `now` on, whatever is called then.
//! 8. **Monotonicity.** A larger cost never turns a denial into an admission; with unit costs, a larger burst or limit
//!    never admits less of a trace.
//! 9. **The bound of each algorithm's file holds on every trace, and a constructed trace reaches it.**
//!
//! # Conventions
//!
//! Peers disagree on each of these, so each is pinned. A window is half-open: an event at `s` still counts at `t` if
//! and only if `t - s < W`. An instant on a boundary belongs to the new window. Windows are aligned to multiples of W
//! since the origin of time. Denied requests are not charged.

use core::fmt::Debug;

use crate::{Decision, Nanos};

/// A policy: an algorithm with its quota. Immutable, and shared by all clients; what is kept for one client is its
/// [`State`](Algorithm::State).
pub trait Algorithm {
    /// What is kept for one client: small, plain data.
    type State: Clone + Debug + PartialEq + Eq;

    /// The state of a client that has used nothing.
    fn fresh(&self) -> Self::State;

    /// The largest cost that can ever be allowed, in units.
    fn capacity(&self) -> u64;

    /// Decides one request of `cost` units at `now`, and charges it if it is allowed. This is the one place where
    /// anything is decided.
    fn decide(&self, state: &mut Self::State, now: Nanos, cost: u64) -> Decision;

    /// Decides as [`decide`](Algorithm::decide) does, and says only whether the request passes: the same as
    /// `decide(..).is_allowed()`, faster where the rest of the answer takes time to compute.
    #[inline]
    fn admit(&self, state: &mut Self::State, now: Nanos, cost: u64) -> bool {
        self.decide(state, now, cost).is_allowed()
    }

    /// The decision that [`decide`](Algorithm::decide) would take, with nothing charged.
    fn peek(&self, state: &Self::State, now: Nanos, cost: u64) -> Decision {
        self.decide(&mut state.clone(), now, cost)
    }

    /// Records `cost` units at `now` whatever the limit: for costs that are known only afterwards. What exceeds the
    /// capacity is debt: everything but cost 0 is denied until it has been worked off as ordinary use is. Cost 0
    /// changes nothing. What is recorded saturates (at `u64::MAX` units; in a bucket at `u128::MAX` internal parts).
    fn charge(&self, state: &mut Self::State, now: Nanos, cost: u64);

    /// Gives back `cost` units, the newest charge first, and at most what is recorded.
    ///
    /// Right after its charge it is exact: from that instant on the state answers as if the charge had never been
    /// (unless the charge saturated). Later it gives back what is then the newest; units that a window has already
    /// rolled past count no more, so that giving them back has no effect, and a bucket never holds more than its burst.
    fn refund(&self, state: &mut Self::State, cost: u64);

    /// Units in use at `now` as decisions count them, debt included: what remains is the capacity less these. Started
    /// units of a bucket count in full, the estimate of the sliding counter is rounded down. 0 if and only if the state
    /// is fresh.
    fn used(&self, state: &Self::State, now: Nanos) -> u64;

    /// Whether the state answers like a fresh one at every time from `now` on, so that it may be forgotten.
    fn is_fresh(&self, state: &Self::State, now: Nanos) -> bool;

    /// The state for this policy of a client whose state under the policy `old` is `state`: a live change of the
    /// quota. What was used stays used (in a bucket rounded up to the new parts; a sliding log keeps the instants, of which
    /// a shorter window counts fewer), and time idle until `now` has earned at the old rate.
    #[must_use]
    fn migrate(&self, old: &Self, state: &Self::State, now: Nanos) -> Self::State;

    /// Bytes that the state takes, those behind a pointer included, room that a list keeps to grow into aside.
    fn state_bytes(&self, state: &Self::State) -> usize {
        core::mem::size_of_val(state)
    }
}

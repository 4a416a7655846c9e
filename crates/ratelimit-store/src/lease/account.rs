//! What one server holds of one client's quota: a state machine whose every transition is a function here. Time is an
//! argument; nothing waits.
//!
//! ```text
//!            ask: a slice is worth taking              granted / failed / cancelled
//!   at rest ─────────────────────────────▶ taking ─────────────────────────────────▶ at rest
//! ```
//!
//! Meanwhile units go one way, each through one of the doors:
//!
//! ```text
//!   granted ─▶ left ─▶ spent             spend (a refund may put it back into `left`, once)
//!                ├───▶ returning ─▶ returned, or doubtful for a while when that failed
//!                └───▶ expired           it has drained, or the policy takes nothing back
//! ```
//!
//! Invariants, over the life of an account:
//! 1. taken = spent + left + returning + returned + expired: no transition makes a unit.
//! 2. `left + returning + doubtful` and what is being taken are together at most `terms.largest`.
//! 3. Refunds put back at most what has been spent of the present slice.
//! 4. At most one slice is being taken. What of a take is not known to have been granted is never spent.
//!
//! 2 is what makes a token bucket exact: see the module above.

use std::sync::Arc;

use ratelimit_core::{Decision, Nanos};

use super::lender::{Grant, Slice};
use super::terms::Terms;

/// One client's lease. `E` is why a take may fail.
#[derive(Debug)]
pub(super) struct Account<E> {
    /// Units that may still be spent.
    left: u64,
    /// Until when.
    until: Nanos,
    /// When the oldest of them were asked for.
    taken_at: Nanos,
    /// Units spent of the present slice.
    spent: u64,
    /// Units on their way back.
    returning: u64,
    /// Units whose return failed, and may yet be executed before `doubt_until`.
    doubtful: u64,
    doubt_until: Nanos,
    /// Whether a slice is being taken; which is the how many-eth.
    taking: bool,
    attempt: u64,
    /// Until when it is no use to take, and when the shared limiter said that there would be something.
    dry_until: Nanos,
    retry_at: Nanos,
    /// When the shared limiter said it would be fresh.
    fresh_at: Nanos,
    /// The last failure, unless a slice has come since.
    failed: Option<Failed<E>>,
    /// After a failure or a cancelled take no more than what is missing is taken.
    cautious: bool,
    /// The size of the last slice that demand asked for.
    slice: u64,
    /// Units asked for since the last slice came.
    asked: u64,
}

#[derive(Debug)]
struct Failed<E> {
    attempt: u64,
    error: Arc<E>,
    /// Until when nothing is taken.
    until: Nanos,
}

/// What to do about a request.
#[derive(Debug)]
pub(super) enum Step<E> {
    /// It is decided.
    Decided(Decision),
    /// The last take failed a moment ago.
    Failed(Arc<E>),
    /// Take this slice, and report.
    Take(Slice),
    /// Wait until this take has ended, and ask again.
    Wait { attempt: u64 },
    /// It is too large for a slice: ask the shared limiter for it alone.
    Alone,
}

/// Units that are to be given back. They count as returning until one of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Back {
    pub(super) units: u64,
    taken_at: Nanos,
}

impl<E> Account<E> {
    pub(super) fn new() -> Self {
        let zero = Nanos::ZERO;
        Account {
            left: 0,
            until: zero,
            taken_at: zero,
            spent: 0,
            returning: 0,
            doubtful: 0,
            doubt_until: zero,
            taking: false,
            attempt: 0,
            dry_until: zero,
            retry_at: zero,
            fresh_at: zero,
            failed: None,
            cautious: false,
            slice: 1,
            asked: 0,
        }
    }

    /// Counts a request, once, and decides it if that takes no slice.
    pub(super) fn ask(&mut self, now: Nanos, cost: u64) -> Option<Decision> {
        self.asked = self.asked.saturating_add(cost);
        self.decide(now, cost)
    }

    /// What to do about a request that has been counted.
    pub(super) fn ask_again(&mut self, now: Nanos, cost: u64, terms: &Terms) -> Step<E> {
        if let Some(decision) = self.decide(now, cost) {
            return Step::Decided(decision);
        }
        if cost > terms.largest {
            return self.failure(now).map_or(Step::Alone, Step::Failed);
        }
        if self.taking {
            return Step::Wait { attempt: self.attempt };
        }
        self.failure(now).map_or_else(|| self.plan(now, cost, terms), Step::Failed)
    }

    /// The decision that a request would get that takes no slice, with nothing spent.
    pub(super) fn peek(&self, now: Nanos, cost: u64) -> Option<Decision> {
        if self.held(now) >= cost {
            Some(self.allowed(now, self.held(now) - cost))
        } else if now < self.dry_until {
            Some(self.denied(now))
        } else {
            None
        }
    }

    fn decide(&mut self, now: Nanos, cost: u64) -> Option<Decision> {
        let decision = self.peek(now, cost)?;
        if decision.is_allowed() {
            self.left -= cost;
            self.spent = self.spent.saturating_add(cost);
        }
        Some(decision)
    }

    /// The units that may be spent now.
    fn held(&self, now: Nanos) -> u64 {
        if now < self.until { self.left } else { 0 }
    }

    fn allowed(&self, now: Nanos, remaining: u64) -> Decision {
        Decision::Allowed { remaining, reset_after: self.fresh_at.saturating_sub(now), delay: Nanos::ZERO }
    }

    fn denied(&self, now: Nanos) -> Decision {
        let retry_after = self.dry_until.max(self.retry_at).saturating_sub(now).max(Nanos::new(1));
        let reset_after = self.fresh_at.saturating_sub(now).max(retry_after);
        Decision::Denied { retry_after, remaining: self.held(now), reset_after }
    }

    fn failure(&self, now: Nanos) -> Option<Arc<E>> {
        let failed = self.failed.as_ref().filter(|failed| now < failed.until)?;
        Some(Arc::clone(&failed.error))
    }

    /// Why this take failed, if it did.
    pub(super) fn failure_of(&self, attempt: u64) -> Option<Arc<E>> {
        self.failed.as_ref().filter(|failed| failed.attempt == attempt).map(|failed| Arc::clone(&failed.error))
    }

    /// A slice that was spent before its time was too small: twice as much. One that was not was too large: as much as
    /// was asked for in that time.
    fn plan(&mut self, now: Nanos, cost: u64, terms: &Terms) -> Step<E> {
        if now >= self.doubt_until {
            self.doubtful = 0;
        }
        let out = self.left.saturating_add(self.returning).saturating_add(self.doubtful);
        let room = terms.largest.saturating_sub(out);
        // More than is held.
        let least = cost - self.held(now);
        if least > room {
            return Step::Alone;
        }
        let demand = if now >= self.until { self.asked } else { self.slice.saturating_mul(2) };
        self.slice = if self.cautious { 1 } else { demand.clamp(1, terms.largest) };
        self.taking = true;
        self.attempt += 1;
        Step::Take(Slice { least, most: self.slice.max(least).min(room), keep: terms.keep })
    }

    /// The slice that was asked for at `asked_at` has come: adds it, and decides the request for which it was taken, which is
    /// the first that it serves. `None` when others have spent in the meantime what the request had counted on.
    pub(super) fn granted(
        &mut self,
        (asked_at, now): (Nanos, Nanos),
        cost: u64,
        wanted: Slice,
        grant: Grant,
        terms: &Terms,
    ) -> Option<Decision> {
        self.taking = false;
        self.cautious = false;
        self.failed = None;
        self.asked = cost;
        let (retry, reset) = match grant.decision {
            Decision::Allowed { reset_after, .. } => (Nanos::ZERO, reset_after),
            Decision::Denied { retry_after, reset_after, .. } => (retry_after, reset_after),
            Decision::Never { .. } => (Nanos::ZERO, Nanos::ZERO),
        };
        self.fresh_at = now.saturating_add(reset);
        if grant.units < wanted.most {
            self.dry_until = now.saturating_add(terms.pause);
            self.retry_at = now.saturating_add(retry);
        }
        if grant.units == 0 {
            return self.decide(now, cost);
        }
        let had = self.held(now);
        self.left = self.left.saturating_add(grant.units);
        let serves = had.saturating_add(grant.units) >= cost;
        self.spent = 0;
        if had == 0 || serves {
            // Older units are spent first, on this request: what is left of it is new.
            self.taken_at = asked_at;
            self.until = asked_at.saturating_add(lifetime(reset, terms));
        }
        if !serves {
            return None;
        }
        self.left -= cost;
        self.spent = cost.saturating_sub(had);
        Some(self.allowed(now, self.left))
    }

    /// The take failed. Whether it was executed is not known: if so, its units stay charged.
    pub(super) fn failed(&mut self, now: Nanos, error: Arc<E>, terms: &Terms) {
        self.cancelled();
        self.failed = Some(Failed { attempt: self.attempt, error, until: now.saturating_add(terms.pause) });
    }

    /// Whoever was taking has gone away.
    pub(super) fn cancelled(&mut self) {
        self.taking = false;
        self.cautious = true;
    }

    /// Takes spent units back into the lease, and says how many must go to the shared limiter instead: while a slice is
    /// being taken all of them, since there may be no room for both.
    pub(super) fn unspend(&mut self, now: Nanos, units: u64) -> u64 {
        let back = if now < self.until && !self.taking { units.min(self.spent) } else { 0 };
        self.spent -= back;
        self.left = self.left.saturating_add(back);
        units - back
    }

    /// Ends the lease if its time is over.
    pub(super) fn expire(&mut self, now: Nanos, terms: &Terms) -> Option<Back> {
        if now < self.until || self.left == 0 { None } else { self.close(now, terms) }
    }

    /// Ends the lease: what has not been spent of it and has not drained yet is to be given back, the rest has expired.
    pub(super) fn close(&mut self, now: Nanos, terms: &Terms) -> Option<Back> {
        let left = std::mem::take(&mut self.left);
        self.until = Nanos::ZERO;
        self.spent = 0;
        let drained = terms.drained(now.saturating_sub(self.taken_at));
        let units = left.saturating_sub(drained);
        if units == 0 {
            return None;
        }
        self.returning = self.returning.saturating_add(units);
        Some(Back { units, taken_at: self.taken_at })
    }

    /// The shared limiter has the units again.
    pub(super) fn returned(&mut self, back: Back) {
        self.returning = self.returning.saturating_sub(back.units);
    }

    /// The call that gives them back failed: it may yet be executed, so for a lifetime they count as held, and are not spent.
    pub(super) fn not_returned(&mut self, now: Nanos, back: Back, terms: &Terms) {
        self.returned(back);
        self.doubtful = self.doubtful.saturating_add(back.units);
        self.doubt_until = now.saturating_add(terms.lifetime);
    }

    /// They were never sent: they wait for the next one to give them back.
    pub(super) fn put_back(&mut self, back: Back) {
        self.returned(back);
        self.taken_at = if self.left == 0 { back.taken_at } else { self.taken_at.min(back.taken_at) };
        self.left = self.left.saturating_add(back.units);
    }

    /// Whether nothing would be lost by forgetting the account: it holds nothing, and it has been so for a while.
    pub(super) fn is_idle(&self, now: Nanos) -> bool {
        let holds = self.left > 0 || self.returning > 0 || self.taking || now < self.doubt_until;
        !holds && now >= self.until && now >= self.dry_until && self.failure(now).is_none()
    }

    /// Units that leave no room for others.
    #[cfg(test)]
    pub(super) fn out(&self) -> u64 {
        self.live() + self.doubtful
    }

    /// Units that were granted and are neither spent nor back nor expired.
    #[cfg(test)]
    pub(super) fn live(&self) -> u64 {
        self.left + self.returning
    }
}

/// How long a slice may be spent, of which the shared limiter said that it would be fresh after `reset`.
fn lifetime(reset: Nanos, terms: &Terms) -> Nanos {
    if terms.ends_with_window { terms.lifetime.min(reset) } else { terms.lifetime }
}

//! What one server holds of one client's quota, and how much it takes next. Time is an argument; nothing waits here.

use ratelimit_core::{Decision, Nanos};

use super::lender::Grant;

/// What bounds every lease of a limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The largest slice, in units; at least 2, or there are no leases.
    pub(super) largest: u64,
    /// How long after it was taken a slice may be spent.
    pub(super) lifetime: Nanos,
    /// After a slice that was smaller than wanted, so long nothing is taken.
    pub(super) pause: Nanos,
}

/// One client's lease.
///
/// Units in `left` have been charged to the shared limiter already: spending them admits nothing that it has not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    /// Units that may still be spent.
    left: u64,
    /// Until when.
    until: Nanos,
    /// Until when it is no use to take.
    dry_until: Nanos,
    /// When the shared limiter said it would be fresh.
    fresh_at: Nanos,
    /// What to take next, unless demand says otherwise.
    slice: u64,
    /// Units asked for since the last slice was taken.
    asked: u64,
}

/// What to do about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It is decided.
    Decided(Decision),
    /// A slice has to be taken, and unspent units of an old one given back first.
    Take { units: u64, give_back: u64 },
}

impl Account {
    pub(super) fn new() -> Self {
        let zero = Nanos::ZERO;
        Account { left: 0, until: zero, dry_until: zero, fresh_at: zero, slice: 1, asked: 0 }
    }

    /// Spends `cost` if it is there, and counts the demand.
    pub(super) fn ask(&mut self, now: Nanos, cost: u64, terms: &Terms) -> Step {
        self.asked = self.asked.saturating_add(cost);
        match self.spend(now, cost) {
            Some(decision) => Step::Decided(decision),
            None if now < self.dry_until => Step::Decided(self.denied(now)),
            None => self.next_slice(now, cost, terms),
        }
    }

    /// The same for a request that has been counted and has waited for others to take.
    pub(super) fn ask_again(&mut self, now: Nanos, cost: u64, terms: &Terms) -> Step {
        self.asked = self.asked.saturating_sub(cost);
        self.ask(now, cost, terms)
    }

    fn spend(&mut self, now: Nanos, cost: u64) -> Option<Decision> {
        if now >= self.until || cost > self.left {
            return None;
        }
        self.left -= cost;
        Some(Decision::Allowed {
            remaining: self.left,
            reset_after: self.fresh_at.saturating_sub(now),
            delay: Nanos::ZERO,
        })
    }

    fn denied(&self, now: Nanos) -> Decision {
        let retry_after = self.dry_until.saturating_sub(now).max(Nanos::new(1));
        let reset_after = self.fresh_at.saturating_sub(now).max(retry_after);
        let remaining = if now < self.until { self.left } else { 0 };
        Decision::Denied { retry_after, remaining, reset_after }
    }

    /// A slice that was spent before its time was too small: twice as much. One that was not was too large: as much as
    /// was asked for in that time.
    fn next_slice(&mut self, now: Nanos, cost: u64, terms: &Terms) -> Step {
        let give_back = if now >= self.until { std::mem::take(&mut self.left) } else { 0 };
        self.slice = if now >= self.until { self.asked } else { self.slice.saturating_mul(2) }.clamp(1, terms.largest);
        // `spend` found less than the cost.
        let missing = cost - self.left;
        Step::Take { units: self.slice.max(missing), give_back }
    }

    /// Adds what was taken, and decides the request for which it was.
    pub(super) fn add(&mut self, now: Nanos, cost: u64, wanted: u64, grant: Grant, terms: &Terms) -> Decision {
        let had = self.left;
        self.left = self.left.saturating_add(grant.units);
        // The request for which it was taken is the first that it serves.
        self.asked = cost;
        let (retry, reset) = match grant.decision {
            Decision::Allowed { reset_after, .. } => (Nanos::ZERO, reset_after),
            Decision::Denied { retry_after, reset_after, .. } => (retry_after, reset_after),
            Decision::Never { .. } => (Nanos::ZERO, Nanos::ZERO),
        };
        self.fresh_at = now.saturating_add(reset);
        if grant.units < wanted {
            self.dry_until = now.saturating_add(retry.max(terms.pause));
        }
        // Older units are spent first. Where they are not (it was not enough), nothing may lengthen their life.
        if had == 0 || self.left >= cost {
            self.until = now.saturating_add(terms.lifetime);
        }
        self.spend(now, cost).unwrap_or_else(|| self.denied(now))
    }

    /// Takes units back that were spent. `false` when there is no lease to take them.
    pub(super) fn unspend(&mut self, now: Nanos, units: u64) -> bool {
        let open = now < self.until;
        if open {
            self.left = self.left.saturating_add(units);
        }
        open
    }

    /// Ends the lease, and says what was not spent of it.
    pub(super) fn close(&mut self) -> u64 {
        self.until = Nanos::ZERO;
        std::mem::take(&mut self.left)
    }

    /// Whether nothing would be lost by forgetting the lease: nothing is left, and it has been so for a while.
    pub(super) fn is_idle(&self, now: Nanos) -> bool {
        now >= self.until && self.left == 0 && now >= self.dry_until
    }

    /// Whether units wait to be given back.
    pub(super) fn has_expired(&self, now: Nanos) -> bool {
        now >= self.until && self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { largest: 16, lifetime: Nanos::from_millis(1000), pause: Nanos::from_millis(50) };

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// A shared limiter that has `units` at the moment, and more in 7 ms.
    fn grant(units: u64) -> Grant {
        let decision = if units > 0 {
            Decision::Allowed { remaining: 0, reset_after: ms(500), delay: Nanos::ZERO }
        } else {
            Decision::Denied { retry_after: ms(7), remaining: 0, reset_after: ms(500) }
        };
        Grant { units, decision }
    }

    /// Asks for `cost`, from a shared limiter that grants everything; what was taken for it.
    fn taken(account: &mut Account, at: u64, cost: u64) -> u64 {
        match account.ask(ms(at), cost, &TERMS) {
            Step::Decided(_) => 0,
            Step::Take { units, .. } => {
                assert!(account.add(ms(at), cost, units, grant(units), &TERMS).is_allowed());
                units
            }
        }
    }

    #[test]
    fn slices_double_while_they_are_spent_in_time() {
        let mut account = Account::new();
        let takes: Vec<u64> = (0..100).map(|i| taken(&mut account, i, 1)).filter(|&units| units > 0).collect();
        assert_eq!(takes, [1, 2, 4, 8, 16, 16, 16, 16, 16, 16]);
    }

    #[test]
    fn what_is_not_spent_in_time_is_given_back_and_the_next_slice_is_what_was_asked_for() {
        let mut account = Account::new();
        for at in 0..40 {
            taken(&mut account, at, 1);
        }
        // 47 taken, 40 spent, 9 of the last slice; then it is quiet, and one more.
        assert_eq!(account.ask(ms(1100), 1, &TERMS), Step::Take { units: 10, give_back: 7 });
        assert!(account.add(ms(1100), 1, 10, grant(10), &TERMS).is_allowed());
        assert!(account.has_expired(ms(2100)) && !account.has_expired(ms(2099)));
        assert_eq!(account.close(), 9);
        assert!(account.is_idle(ms(2100)));
    }

    #[test]
    fn dry_it_denies_without_asking_until_there_may_be_more() {
        let mut account = Account::new();
        assert_eq!(account.ask(ms(0), 1, &TERMS), Step::Take { units: 1, give_back: 0 });
        let denied = account.add(ms(0), 1, 1, grant(0), &TERMS);
        assert_eq!(denied, Decision::Denied { retry_after: ms(50), remaining: 0, reset_after: ms(500) });
        let denied = account.ask(ms(30), 1, &TERMS);
        let expected = Decision::Denied { retry_after: ms(20), remaining: 0, reset_after: ms(470) };
        assert_eq!(denied, Step::Decided(expected));
        assert!(matches!(account.ask(ms(50), 1, &TERMS), Step::Take { .. }));
    }

    #[test]
    fn part_of_a_slice_serves_as_far_as_it_goes() {
        let mut account = Account::new();
        assert_eq!(account.ask(ms(0), 5, &TERMS), Step::Take { units: 5, give_back: 0 });
        let denied = account.add(ms(0), 5, 5, grant(3), &TERMS);
        assert!(matches!(denied, Decision::Denied { remaining: 3, .. }));
        assert!(matches!(account.ask(ms(1), 3, &TERMS), Step::Decided(Decision::Allowed { remaining: 0, .. })));
        assert!(matches!(account.ask(ms(1), 1, &TERMS), Step::Decided(Decision::Denied { .. })));
    }

    #[test]
    fn units_that_wait_for_more_do_not_live_longer() {
        let mut account = Account::new();
        for round in 0..10 {
            let at = round * 100;
            let Step::Take { units, give_back: 0 } = account.ask(ms(at), 9, &TERMS) else { panic!("too few") };
            assert!(!account.add(ms(at), 9, units, grant(u64::from(round == 0)), &TERMS).is_allowed());
        }
        assert!(matches!(account.ask(ms(1000), 9, &TERMS), Step::Take { give_back: 1, .. }));
    }

    #[test]
    fn what_is_given_back_while_the_lease_lives_is_spent_again() {
        let mut account = Account::new();
        taken(&mut account, 0, 1);
        assert!(account.unspend(ms(1), 1));
        assert!(matches!(account.ask(ms(2), 1, &TERMS), Step::Decided(Decision::Allowed { .. })));
        assert!(!account.unspend(ms(1000), 1), "the lease is over");
    }
}

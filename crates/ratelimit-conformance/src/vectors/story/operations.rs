//! The operations that vectors use.

use ratelimit_core::{Decision, Nanos, Policy, Rule, TokenBucket};

use super::{Story, Trouble, near, same};
use crate::subject::{Client, Subject};
use crate::vectors::config;
use crate::vectors::data::Event;

impl<S: Subject> Story<'_, S> {
    pub(super) fn event(&mut self, event: &Event) -> Result<(), Trouble> {
        let now = self.time(event.t_ms);
        if let Some(before) = event.expect.remaining_before {
            self.compare_left("remaining before", now, before)?;
        }
        match (event.op.as_deref(), u64::try_from(event.cost)) {
            (None, Ok(cost)) => self.request(event, now, cost)?,
            (None, Err(_)) => self.give_back(now, event.cost.unsigned_abs())?,
            (Some("add_tokens" | "decrement" | "reward"), Ok(cost)) => self.give_back(now, cost)?,
            (Some("increment" | "penalty" | "add"), Ok(cost)) => self.charge(now, cost)?,
            (Some("consume_ignoring_limit"), Ok(cost)) => self.charge_into_debt(event, now, cost)?,
            (Some("peek" | "weight"), _) => {}
            (Some("test"), Ok(cost)) => self.test(event, now, cost)?,
            (Some("reset"), _) => self.forget()?,
            (Some("reserve"), Ok(cost)) => self.reserve(event, now, cost)?,
            (Some("cancel"), _) => self.cancel(event, now)?,
            (Some("wait"), Ok(cost)) => self.wait(event, now, cost)?,
            (Some("set_rate"), _) => self.set_rate(event, now)?,
            (Some("acquire_at_most"), Ok(cost)) => self.acquire_at_most(event, now, cost)?,
            (Some("flood" | "concurrent"), Ok(cost)) => self.flood(event, cost)?,
            (Some("take"), Ok(cost)) => self.take(event, now, cost)?,
            (Some("paced_run"), Ok(cost)) => self.paced_run(event, now, cost)?,
            (Some(other), _) => return Err(Trouble::Unknown(format!("operation {other}"))),
        }
        self.compare_state(event, now)
    }

    fn request(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        let answer = self.client.decide(now, cost);
        compare_answer(self, event, now, answer)
    }

    fn test(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        self.needs(|can| can.peek)?;
        let answer = self.client.peek(now, cost);
        compare_answer(self, event, now, answer)
    }

    fn charge(&mut self, now: Nanos, cost: u64) -> Result<(), Trouble> {
        self.needs(|can| can.charge)?;
        self.client.charge(now, cost);
        Ok(())
    }

    fn give_back(&mut self, now: Nanos, cost: u64) -> Result<(), Trouble> {
        self.needs(|can| can.refund)?;
        self.client.refund(now, cost);
        Ok(())
    }

    /// A charge that may exceed the capacity; the debt is paid off after exactly the time that is expected.
    fn charge_into_debt(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        self.charge(now, cost)?;
        let Some(wait) = event.expect.overflow_wait_ms.map(Nanos::from_millis) else { return Ok(()) };
        let paid = now.saturating_add(wait);
        same("in debt after the wait", self.left(paid)? < 0, false)?;
        if wait > Nanos::ZERO {
            same("in debt just before", self.left(paid.saturating_sub(Nanos::new(1)))? < 0, true)?;
        }
        Ok(())
    }

    /// A client that is reset is a new one.
    fn forget(&mut self) -> Result<(), Trouble> {
        self.client = self.subject.client(&self.policy).ok_or(Trouble::NotOffered)?;
        Ok(())
    }

    /// Takes the units now, in debt if need be, to act when they will have been paid. `None`: never, or not within the
    /// longest wait, and nothing is taken.
    fn book(&mut self, now: Nanos, cost: u64, longest: Option<Nanos>) -> Result<Option<Nanos>, Trouble> {
        self.needs(|can| can.charge)?;
        match self.client.decide(now, cost) {
            Decision::Allowed { .. } => Ok(Some(now)),
            Decision::Denied { retry_after, .. } if longest.is_none_or(|longest| retry_after <= longest) => {
                self.client.charge(now, cost);
                Ok(Some(now.saturating_add(retry_after)))
            }
            Decision::Denied { .. } | Decision::Never { .. } => Ok(None),
        }
    }

    fn reserve(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        let act_at = self.book(now, cost, event.max_wait_ms.map(Nanos::from_millis))?;
        same("allowed", Some(act_at.is_some()), event.expect.allowed)?;
        if let (Some(ours), Some(theirs)) = (act_at, event.expect.act_at_ms) {
            near("acts at", ours, Nanos::from_millis(theirs), event)?;
        }
        if let (Some(name), Some(act_at)) = (&event.name, act_at) {
            self.reserved.insert(name.clone(), (cost, act_at));
        }
        Ok(())
    }

    /// Gives a reservation back, unless it has acted already or was refused.
    fn cancel(&mut self, event: &Event, now: Nanos) -> Result<(), Trouble> {
        let reserved = event.of.as_ref().and_then(|name| self.reserved.remove(name));
        match reserved {
            Some((cost, act_at)) if act_at > now => self.give_back(now, cost),
            _ => Ok(()),
        }
    }

    fn wait(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        use ratelimit_core::Algorithm as _;
        let expect = &event.expect;
        if event.cancelled_before == Some(true) {
            return same("error", Some("cancelled"), expect.error.as_deref());
        }
        let longest = event.max_wait_ms.or(event.deadline_ms).map(Nanos::from_millis);
        let Some(act_at) = self.book(now, cost, longest)? else {
            let why = if cost > self.policy.capacity() { "exceeds_burst" } else { "would_exceed_deadline" };
            let as_expected = expect.error.as_deref().map_or(expect.allowed == Some(false), |error| error == why);
            same("refused without a sleep", (as_expected, Some(0)), (true, expect.slept_ms))?;
            return Ok(());
        };
        let slept = act_at.saturating_sub(now);
        if let Some(cancel_at) = event.cancel_at_ms.map(Nanos::from_millis).filter(|at| *at < act_at) {
            self.give_back(cancel_at, cost)?;
            same("error", Some("cancelled"), expect.error.as_deref())?;
            return near(
                "slept",
                cancel_at.saturating_sub(now),
                Nanos::from_millis(expect.slept_ms.unwrap_or(0)),
                event,
            );
        }
        same("allowed", Some(true), expect.allowed)?;
        near("slept", slept, Nanos::from_millis(expect.slept_ms.unwrap_or(0)), event)
    }

    /// The same burst at another rate.
    fn set_rate(&mut self, event: &Event, now: Nanos) -> Result<(), Trouble> {
        self.needs(|can| can.migrate)?;
        let quota = event.rate_per_s.and_then(config::per_second);
        let burst = self.policy.rules()[0].burst();
        let rule = quota.zip(burst).and_then(|(quota, burst)| TokenBucket::new(quota).burst(burst).ok());
        let to = rule.map(|bucket| Policy::from(Rule::TokenBucket(bucket)));
        self.policy = to.ok_or_else(|| Trouble::Unknown("a rate of 0".into()))?;
        self.client.migrate(&self.policy, now);
        Ok(())
    }

    fn acquire_at_most(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        let Decision::Allowed { remaining, .. } = self.client.decide(now, 0) else {
            return Err(Trouble::Differs("cost 0 is refused".into()));
        };
        let granted = remaining.min(cost);
        same("granted", Some(granted), event.expect.granted)?;
        // With nothing granted, the question is when one unit could be.
        let answer = self.client.decide(now, granted.max(1));
        compare_answer(self, event, now, answer)
    }

    /// The same request again and again, until a time or so many times.
    fn flood(&mut self, event: &Event, cost: u64) -> Result<(), Trouble> {
        let (mut allowed, mut denied, mut longest) = (0, 0, Nanos::ZERO);
        let start = u64::try_from(event.t_ms).unwrap_or(0);
        let every = event.every_ms.unwrap_or(0);
        let count = event.n.or(event.until_ms.map(|until| (until - start).div_ceil(every))).unwrap_or(0);
        for i in 0..count {
            match self.client.decide(Nanos::from_millis(start + i * every), cost) {
                Decision::Allowed { .. } => allowed += 1,
                answer => {
                    denied += 1;
                    longest = longest.max(answer.retry_after().unwrap_or(Nanos::MAX));
                }
            }
        }
        let expect = &event.expect;
        let within = expect.allowed_count.is_none_or(|count| allowed == count)
            && expect.allowed_count_min.is_none_or(|least| allowed >= least)
            && expect.allowed_count_max.is_none_or(|most| allowed <= most)
            && expect.denied_count.is_none_or(|count| denied == count)
            && expect.denied_retry_after_max_ms.is_none_or(|most| longest <= Nanos::from_millis(most));
        if within {
            Ok(())
        } else {
            Err(Trouble::Differs(format!("{allowed} allowed, {denied} denied, longest wait {longest}")))
        }
    }

    /// A place in the queue.
    fn take(&mut self, event: &Event, now: Nanos, cost: u64) -> Result<(), Trouble> {
        let Decision::Allowed { delay, .. } = self.client.decide(now, cost) else {
            return Err(Trouble::Differs("no place in the queue".into()));
        };
        near("acts at", now.saturating_add(delay), Nanos::from_millis(event.expect.act_at_ms.unwrap_or(0)), event)
    }

    /// One caller who sleeps each delay, and a gap after each turn.
    fn paced_run(&mut self, event: &Event, start: Nanos, cost: u64) -> Result<(), Trouble> {
        let gap = Nanos::from_millis(event.gap_ms.unwrap_or(0));
        let (mut now, mut last_turn) = (start, start);
        for _ in 0..event.n.unwrap_or(0) {
            let Decision::Allowed { delay, .. } = self.client.decide(now, cost) else {
                return Err(Trouble::Differs("no place in the queue".into()));
            };
            last_turn = now.saturating_add(delay);
            now = last_turn.saturating_add(gap);
        }
        let total = last_turn.saturating_sub(start);
        near("total", total, Nanos::from_millis(event.expect.total_ms.unwrap_or(0)), event)
    }
}

/// Compares an answer with what is expected of it. An error for a cost that can never pass is our `Never`.
fn compare_answer<S: Subject>(
    story: &Story<'_, S>,
    event: &Event,
    now: Nanos,
    answer: Decision,
) -> Result<(), Trouble> {
    let expect = &event.expect;
    if let Some(allowed) = expect.allowed {
        same("allowed", answer.is_allowed(), allowed)?;
    }
    let is_never = matches!(answer, Decision::Never { .. });
    if expect.never == Some(true) || expect.error.as_deref() == Some("overflow") {
        same("never", is_never, true)?;
    }
    let ours = answer.retry_after();
    if let Some(wait) = expect.retry_after_ms.map(Nanos::from_millis) {
        // A wait of 0 is their word for "allowed".
        near("retry_after", ours.unwrap_or(if is_never { Nanos::MAX } else { Nanos::ZERO }), wait, event)?;
    }
    if let Some(least) = expect.retry_after_min_ms.map(Nanos::from_millis) {
        same("retry_after is at least that", ours.unwrap_or(Nanos::MAX) >= least, true)?;
    }
    if let (Some(ours), Some(at)) = (ours, expect.retry_at_ms) {
        let theirs = story.time(i64::try_from(at).unwrap_or(i64::MAX));
        near("may be retried at", now.saturating_add(ours), theirs, event)?;
    }
    Ok(())
}

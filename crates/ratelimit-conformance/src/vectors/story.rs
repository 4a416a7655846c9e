//! Tells a vector's events to a limiter and compares what it answers. Operations that others have as one call
//! (reservations, waits with a deadline, partial grants) are made of ours here, as a user would make them.

mod operations;

use std::collections::BTreeMap;
use std::fmt;

use ratelimit_core::{Decision, Nanos, Policy};

use super::config;
use super::data::{Event, Vector};
use crate::subject::{Abilities, Client, Subject, offered};

/// Why a vector did not pass.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An expectation does not hold.
    Differs(String),
    /// An operation or a parameter that we do not have.
    Unknown(String),
    /// The implementation declares absent what the vector needs.
    NotOffered,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Differs(what) => write!(f, "differs: {what}"),
            Trouble::Unknown(what) => write!(f, "unknown here: {what}"),
            Trouble::NotOffered => f.write_str("not offered by the implementation"),
        }
    }
}

/// A limiter in the middle of a vector.
struct Story<'a, S: Subject> {
    subject: &'a S,
    client: S::Client,
    policy: Policy,
    /// What is added to the vector's times, in ms, so that none is negative.
    shift: i64,
    /// Reservations by name: units, and when they act.
    reserved: BTreeMap<String, (u64, Nanos)>,
}

/// Runs one vector.
pub(super) fn tell<S: Subject>(subject: &S, vector: &Vector) -> Result<(), Trouble> {
    let policy = config::policy(vector).map_err(Trouble::Unknown)?;
    if vector.config.slack.is_some_and(|slack| slack > 0) {
        return Err(Trouble::Unknown("idle credit of a pacer".into()));
    }
    let client = offered(subject, &policy).ok_or(Trouble::NotOffered)?;
    let earliest = vector.events.iter().map(|event| event.t_ms).min().unwrap_or(0);
    let mut story = Story { subject, client, policy, shift: -earliest.min(0), reserved: BTreeMap::new() };
    story.begin(vector)?;
    for (i, event) in vector.events.iter().enumerate() {
        story.event(event).map_err(|trouble| match trouble {
            Trouble::Differs(what) => Trouble::Differs(format!("event {i}, {event:?}: {what}")),
            other => other,
        })?;
    }
    Ok(())
}

impl<S: Subject> Story<'_, S> {
    /// Fails where the implementation lacks an operation.
    fn needs(&self, has: impl Fn(Abilities) -> bool) -> Result<(), Trouble> {
        if has(self.subject.domain().can) { Ok(()) } else { Err(Trouble::NotOffered) }
    }

    /// A bucket that begins with fewer tokens than it holds has used the others. (Several limits begin alike, but for
    /// one vector of interval refills, which differs in any case.)
    fn begin(&mut self, vector: &Vector) -> Result<(), Trouble> {
        let mut configs = vector.config.limits.iter().flatten().chain([&vector.config]);
        let missing = configs.find_map(|config| {
            let capacity = config.burst.or(config.capacity)?;
            Some(capacity - config.initial?)
        });
        if let Some(missing) = missing.filter(|missing| *missing > 0) {
            self.needs(|can| can.charge)?;
            self.client.charge(Nanos::from_millis(vector.config.started_at_ms.unwrap_or(0)), missing);
        }
        Ok(())
    }

    /// A time of the vector.
    fn time(&self, ms: i64) -> Nanos {
        Nanos::from_millis(u64::try_from(ms + self.shift).unwrap_or(0))
    }

    /// Capacity less what is used: negative in debt.
    fn left(&mut self, now: Nanos) -> Result<i64, Trouble> {
        use ratelimit_core::Algorithm as _;
        self.needs(|can| can.used)?;
        let left = i128::from(self.policy.capacity()) - i128::from(self.client.used(now));
        i64::try_from(left).map_err(|_| Trouble::Unknown("a number beyond i64".into()))
    }

    /// Compares what is left; without `used`, debt cannot be told from nothing left.
    fn compare_left(&mut self, what: &str, now: Nanos, theirs: i64) -> Result<(), Trouble> {
        if self.subject.domain().can.used {
            return same(what, self.left(now)?, theirs);
        }
        match self.client.decide(now, 0) {
            Decision::Allowed { remaining, .. } if theirs >= 0 => same(what, remaining, theirs.unsigned_abs()),
            _ => Err(Trouble::NotOffered),
        }
    }

    /// Compares what can be asked after any event: the numbers of `expect` that belong to the state.
    fn compare_state(&mut self, event: &Event, now: Nanos) -> Result<(), Trouble> {
        let expect = &event.expect;
        if let Some(remaining) = expect.remaining {
            self.compare_left("remaining", now, remaining)?;
        }
        for used in [expect.used, expect.count].into_iter().flatten() {
            self.needs(|can| can.used)?;
            same("used", self.client.used(now), used)?;
        }
        let reset_at =
            expect.reset_at_ms.map(|at| self.time(i64::try_from(at).unwrap_or(i64::MAX)).saturating_sub(now));
        for reset in [expect.reset_after_ms.map(Nanos::from_millis), reset_at].into_iter().flatten() {
            if let Decision::Allowed { reset_after, .. } = self.client.decide(now, 0) {
                near("reset_after", reset_after, reset, event)?;
            }
        }
        Ok(())
    }
}

/// Compares.
fn same<T: Copy + PartialEq + fmt::Debug>(what: &str, ours: T, theirs: T) -> Result<(), Trouble> {
    if ours == theirs { Ok(()) } else { Err(Trouble::Differs(format!("{what}: ours {ours:?}, theirs {theirs:?}"))) }
}

/// Compares durations with the event's tolerance.
fn near(what: &str, ours: Nanos, theirs: Nanos, event: &Event) -> Result<(), Trouble> {
    let tolerance = Nanos::from_millis(event.expect.tol_ms.unwrap_or(0));
    if ours.saturating_sub(theirs).max(theirs.saturating_sub(ours)) <= tolerance {
        Ok(())
    } else {
        Err(Trouble::Differs(format!("{what}: ours {ours}, theirs {theirs}")))
    }
}

//! One request under several limits: decided in one step by the shared limiter, and while that is down by the local ones,
//! in one step as well.

use ratelimit_core::{Decision, Nanos};

use super::breaker::{Breaker, Entry, Pass};
use super::{Answer, Fallback, Source};
use crate::{Backend, Clock, DecideAll};

/// One limit's part: the client and the cost.
struct Part<B, C> {
    limiter: Fallback<B, C>,
    key: Vec<u8>,
    cost: u64,
}

/// `None` where the shared limiter cannot.
pub(super) fn check_all<B, C>(asked: &[(&Fallback<B, C>, &[u8], u64)]) -> Option<DecideAll<std::convert::Infallible>>
where
    B: Backend + 'static,
    C: Clock + 'static,
{
    let shared: Vec<_> = asked.iter().map(|(limiter, key, cost)| (&limiter.inner.shared, *key, *cost)).collect();
    let call = B::check_all(&shared)?;
    let part = |&(limiter, key, cost): &(&Fallback<B, C>, &[u8], u64)| Part {
        limiter: limiter.clone(),
        key: key.to_vec(),
        cost,
    };
    let parts: Vec<_> = asked.iter().map(part).collect();
    Some(Box::pin(async move {
        let answers = match ask(&parts, call).await {
            Ok(answers) => answers,
            Err(wait) => alone(&parts, wait),
        };
        let counted = |(part, answer): (&Part<B, C>, &Answer)| part.limiter.inner.counters.answered(*answer).decision;
        Ok(parts.iter().zip(&answers).map(counted).collect())
    }))
}

/// Asks the shared limiter if all breakers let the call through; the error is how long until they do again.
async fn ask<B: Backend, C: Clock>(parts: &[Part<B, C>], call: DecideAll<B::Error>) -> Result<Vec<Answer>, Nanos> {
    let mut passes: Vec<(&Part<B, C>, Pass<'_>)> = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        // One that several limits have is asked once: it lets a single probe through.
        if parts[..i].iter().any(|other| std::ptr::eq(other.breaker(), part.breaker())) {
            continue;
        }
        match part.breaker().enter(part.limiter.inner.clock.now()) {
            Entry::Pass(pass) => passes.push((part, pass)),
            Entry::Shut { wait } => return Err(wait),
        }
    }
    match call.await {
        Ok(decisions) => {
            for (part, pass) in passes {
                part.limiter.inner.answers(pass);
            }
            if decisions.iter().all(Decision::is_allowed) {
                for part in parts {
                    part.limiter.inner.warm(&part.key, part.cost);
                }
            }
            Ok(decisions.into_iter().map(|decision| Answer { decision, source: Source::Shared }).collect())
        }
        Err(error) => Err(failed::<B, C>(passes, &error)),
    }
}

/// Tells the breakers: how long until all of them are worth another call.
fn failed<B: Backend, C: Clock>(passes: Vec<(&Part<B, C>, Pass<'_>)>, error: &B::Error) -> Nanos {
    let told = |(part, pass): (&Part<B, C>, Pass<'_>)| part.limiter.inner.fails(pass, error);
    passes.into_iter().map(told).max().unwrap_or(Nanos::ZERO)
}

/// The answers without the shared limiter, which is asked again after `wait`: first all are looked at, then all are
/// charged, and given back where one refuses after all (another thread has just used what was there).
fn alone<B: Backend, C: Clock>(parts: &[Part<B, C>], wait: Nanos) -> Vec<Answer> {
    let all_allow = |answers: &[Answer]| answers.iter().all(|answer| answer.decision.is_allowed());
    let mut answers: Vec<Answer> = parts.iter().map(|part| part.peek(part.cost, wait)).collect();
    if all_allow(&answers) {
        answers = parts.iter().map(|part| part.charge(wait)).collect();
        if all_allow(&answers) {
            return answers;
        }
        for (part, answer) in parts.iter().zip(&answers) {
            if answer.decision.is_allowed() && answer.source == Source::Local {
                part.limiter.inner.local.refund(&part.key, part.cost);
            }
        }
    }
    let idle = |(part, answer): (&Part<B, C>, &Answer)| {
        if answer.decision.is_allowed() { part.peek(0, wait) } else { *answer }
    };
    parts.iter().zip(&answers).map(idle).collect()
}

impl<B: Backend, C: Clock> Part<B, C> {
    fn breaker(&self) -> &Breaker {
        self.limiter.inner.breaker(&self.key)
    }

    fn peek(&self, cost: u64, wait: Nanos) -> Answer {
        let inner = &self.limiter.inner;
        inner.alone(&self.key, cost, wait, |now| inner.local.peek_at(&self.key, now, cost))
    }

    fn charge(&self, wait: Nanos) -> Answer {
        let inner = &self.limiter.inner;
        inner.alone(&self.key, self.cost, wait, |now| inner.local.check_n_at(&self.key, now, self.cost))
    }
}

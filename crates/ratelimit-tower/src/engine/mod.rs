//! The decision about one request: who asks for what, and what all policies say together.

mod alone;
mod charge;
mod memory;
mod respond;
mod shared;
mod stripes;

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Method, Response, header};
use ratelimit_core::{Decision, Nanos, Rule};
use ratelimit_store::Clock;

pub use charge::{ActualCost, ChargeError, ChargeHandle};
use respond::Refused;
pub(crate) use stripes::Stripes;

use crate::ask::{Answer, Ask, Outcome};
use crate::few::Few;
use crate::headers::{Fields, Level, Partition, Report, Stated, described};
use crate::key::{ClientKey, Head, KeyError, Secret};
use crate::limit::Limit;
use crate::settings::Settings;
use crate::stats::{Counters, count};
use crate::store::{Boxed, Memory, Shared, Unavailable};

/// Everything that the clones of a layer share.
pub(crate) struct Engine {
    pub(crate) limits: Vec<Limit>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) stated: Vec<Stated>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) secret: Secret,
    pub(crate) fields: Fields,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) stripes: Stripes,
    pub(crate) all_in_memory: bool,
}

/// Where the clients of one policy are.
pub(crate) enum Kept {
    Memory(Box<dyn Memory>),
    Shared(Arc<dyn Shared>),
}

/// The first step with a request.
pub(crate) enum Begin {
    /// No policy has a say, or none could have one in shadow mode.
    Exempt,
    /// A client cannot be told.
    Unidentified(KeyError),
    /// Memory has answered.
    Decided(Outcome),
    /// A shared backend is asked.
    Pending(Boxed<Result<Outcome, Unavailable>>),
}

impl Engine {
    pub(crate) fn begin(self: &Arc<Self>, head: &Head<'_>, has_body: bool) -> Begin {
        if self.is_exempt(head, has_body) {
            count(&self.counters.exempt);
            return Begin::Exempt;
        }
        if let Some((limit, memory)) = self.alone() {
            return self.begin_alone(limit, memory, head);
        }
        let asks = match self.asks(head) {
            Ok(asks) => asks,
            Err(error) => return self.unidentified(error),
        };
        if asks.as_slice().is_empty() {
            count(&self.counters.exempt);
            return Begin::Exempt;
        }
        let partitions = if self.settings.partition_key { self.partitions(head) } else { Box::default() };
        if self.all_in_memory {
            return Begin::Decided(self.decide_in_memory(asks, partitions));
        }
        let engine = Arc::clone(self);
        Begin::Pending(Box::pin(async move { engine.decide_shared(asks, partitions).await }))
    }

    #[cold]
    fn unidentified(&self, error: KeyError) -> Begin {
        count(&self.counters.unidentified);
        if self.settings.shadow { Begin::Exempt } else { Begin::Unidentified(error) }
    }

    fn is_exempt(&self, head: &Head<'_>, has_body: bool) -> bool {
        let preflight = self.settings.exempt_preflight && !has_body && is_preflight(head.method, head.headers);
        preflight || self.settings.skip.as_ref().is_some_and(|skip| skip(head))
    }

    /// What each policy that applies is asked.
    fn asks(&self, head: &Head<'_>) -> Result<Few<Ask>, KeyError> {
        let ask = |(policy, limit): (usize, &Limit)| {
            let mut key = ClientKey::new(&self.secret);
            limit.key.extract(head, &mut key)?;
            Ok(Ask { policy, cost: limit.cost_of(head), key: key.stored() })
        };
        self.limits.iter().enumerate().filter(|(_, limit)| limit.applies_to(head)).map(ask).collect()
    }

    /// What `pk` shows of each policy that applies. All keys have been had already.
    fn partitions(&self, head: &Head<'_>) -> Box<[Partition]> {
        let applying = self.limits.iter().filter(|limit| limit.applies_to(head));
        applying
            .map(|limit| {
                let mut key = ClientKey::showing(&self.secret);
                match limit.key.extract(head, &mut key) {
                    Ok(()) => key.partition(),
                    Err(_) => ClientKey::showing(&self.secret).partition(),
                }
            })
            .collect()
    }

    /// Adds the fields that describe an answer, of the policies of which something is known.
    pub(crate) fn write_fields<B>(&self, levels: &[Level], partitions: &[Partition], response: &mut Response<B>) {
        if levels.iter().all(|level| level.known) {
            return self.write_known(levels, partitions, response);
        }
        let known = levels.iter().enumerate().filter(|(_, level)| level.known);
        let partitions: Vec<_> = known.clone().filter_map(|(place, _)| partitions.get(place).cloned()).collect();
        let levels: Vec<Level> = known.map(|(_, level)| *level).collect();
        if !levels.is_empty() {
            self.write_known(&levels, &partitions, response);
        }
    }

    fn write_known<B>(&self, levels: &[Level], partitions: &[Partition], response: &mut Response<B>) {
        let report = Report {
            policies: &self.stated,
            levels,
            described: described(levels),
            partitions,
            refused_within: response.extensions().get::<Refused>().is_some(),
            wall: &*self.settings.wall,
        };
        self.fields.write(&report, response.headers_mut());
    }

    /// The names of the policies that refused.
    pub(crate) fn violated(&self, levels: &[Level]) -> Vec<&str> {
        levels.iter().filter(|level| level.refused()).map(|level| self.limits[level.policy].name.as_str()).collect()
    }

    /// A queue's answer, where the turn comes later than the layer is willing to wait.
    fn bounded(&self, decision: Decision) -> Decision {
        match decision {
            Decision::Allowed { delay, reset_after, .. } if delay > self.settings.max_delay => Decision::Denied {
                retry_after: delay.saturating_sub(self.settings.max_delay),
                remaining: 0,
                reset_after,
            },
            decision => decision,
        }
    }
}

/// The answers of all policies as one: refused for ever, by the smallest capacity; refused for now, until the latest
/// time; or passed, after the longest delay.
#[inline]
fn answer(decisions: impl Iterator<Item = Decision>) -> Answer {
    decisions.fold(Answer::Pass { delay: Nanos::ZERO }, |answer, decision| match (answer, decision) {
        (Answer::Never { capacity: known }, Decision::Never { capacity }) => {
            Answer::Never { capacity: known.min(capacity) }
        }
        (_, Decision::Never { capacity }) => Answer::Never { capacity },
        (Answer::Refuse { retry_after: known }, Decision::Denied { retry_after, .. }) => {
            Answer::Refuse { retry_after: known.max(retry_after) }
        }
        (Answer::Never { .. }, _) | (Answer::Refuse { .. }, Decision::Allowed { .. }) => answer,
        (Answer::Pass { .. }, Decision::Denied { retry_after, .. }) => Answer::Refuse { retry_after },
        (Answer::Pass { delay: known }, Decision::Allowed { delay, .. }) => Answer::Pass { delay: known.max(delay) },
    })
}

/// A browser's question before the request proper. Only OPTIONS counts, only with both of its fields, and only with
/// nothing to say (no body, no `Content-Type`): anything else would be a way past the limits, as tonic, a proxy or a
/// handler of any method serves it like a POST.
fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && !headers.contains_key(header::CONTENT_TYPE)
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("limits", &self.limits).finish_non_exhaustive()
    }
}

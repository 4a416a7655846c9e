//! The choices of a layer.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use ratelimit_core::{Nanos, Rule};
use ratelimit_store::{Clock, SystemClock};

use crate::build_error::BuildError;
use crate::engine::{Engine, Kept, Stripes};
use crate::headers::{Dialect, Fields, Stated, sf};
use crate::key::{Head, Secret};
use crate::layer::RateLimitLayer;
use crate::limit::Limit;
use crate::problem;
use crate::refusal::Refusal;
use crate::settings::{Settings, WhenUnavailable};
use crate::stats::Counters;
use crate::store;
use crate::timer::Timer;

/// Builds a [`RateLimitLayer`].
///
/// Unless chosen otherwise: draft -11 and the triple, problem details with 429, preflights exempt, no fields on
/// redirects, at most a million clients a policy, and a shared backend that fails lets requests pass.
#[must_use]
pub struct Builder {
    limits: Vec<Limit>,
    settings: Settings,
    secret: Option<Secret>,
    clock: Arc<dyn Clock>,
    max_clients: usize,
    exact_keys: bool,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let clock = Arc::new(SystemClock::new());
        Builder {
            limits: Vec::new(),
            settings: Settings::default(),
            secret: None,
            clock,
            max_clients: 1_000_000,
            exact_keys: false,
        }
    }

    /// Adds a policy; all of them must allow, and a refusal charges none.
    pub fn limit(mut self, limit: Limit) -> Builder {
        self.limits.push(limit);
        self
    }

    /// The dialects in which answers tell what is left; none at all with an empty list.
    pub fn dialects(mut self, dialects: impl IntoIterator<Item = Dialect>) -> Builder {
        self.settings.dialects = dialects.into_iter().collect();
        self
    }

    /// Tells clients under which partition key they are counted (`pk`): a keyed hash, or plain text such as a route.
    pub fn partition_key(mut self, shown: bool) -> Builder {
        self.settings.partition_key = shown;
        self
    }

    /// Adds `Access-Control-Expose-Headers` to answers to requests with an `Origin`, so that pages of other origins can
    /// read the fields, and `Vary: Origin` to all. Not needed where a CORS layer exposes [`RateLimitLayer::exposed_fields`].
    pub fn expose_fields(mut self, exposed: bool) -> Builder {
        self.settings.expose = exposed;
        self
    }

    /// Sends the fields on redirects too. A client that obeys them may wait before it follows.
    pub fn fields_on_redirects(mut self, sent: bool) -> Builder {
        self.settings.on_redirects = sent;
        self
    }

    /// Whether CORS preflights (OPTIONS with `Origin` and `Access-Control-Request-Method`, without a body and a
    /// `Content-Type`) pass uncharged, as they do unless told otherwise. They reach the inner service, whoever made them:
    /// say `false` where that service does not look at the method (gRPC, a proxy, axum's `any` or a fallback), or where a
    /// CORS layer outside of this one answers them anyway.
    pub fn exempt_preflight(mut self, exempt: bool) -> Builder {
        self.settings.exempt_preflight = exempt;
        self
    }

    /// Passes these requests on, uncharged and without fields: health checks, say. They reach your handlers however often
    /// they come, so let nothing decide that a client can write, except where the handler is cheap.
    pub fn skip(mut self, skip: impl Fn(&Head<'_>) -> bool + Send + Sync + 'static) -> Builder {
        self.settings.skip = Some(Arc::new(skip));
        self
    }

    /// Decides and counts, but refuses nothing (not for want of a key or a backend either), delays nothing and sends no
    /// fields: to try a limit out. What would have been refused is charged nothing, also not afterwards.
    pub fn shadow(mut self, shadow: bool) -> Builder {
        self.settings.shadow = shadow;
        self
    }

    /// Gives back what a request was charged if its response has such a status. To count only failures (a login, say):
    /// `|status| status.is_success()`. What has aged by then is not given back, so slow responses do not come together as
    /// a burst of later windows. Only the HTTP status is seen: gRPC calls that fail have 200.
    pub fn refund_when(mut self, refund: impl Fn(StatusCode) -> bool + Send + Sync + 'static) -> Builder {
        self.settings.refund = Some(Arc::new(refund));
        self
    }

    /// Puts a [`ChargeHandle`](crate::ChargeHandle) into the extensions of each request.
    pub fn charge_handles(mut self, given: bool) -> Builder {
        self.settings.charge_handles = given;
        self
    }

    /// Puts what was [`Decided`](crate::Decided) into the extensions of each response, for logs and metrics.
    pub fn report_decisions(mut self, reported: bool) -> Builder {
        self.settings.report_decisions = reported;
        self
    }

    /// What to do while a shared backend has no answer.
    pub fn when_unavailable(mut self, unavailable: WhenUnavailable) -> Builder {
        self.settings.unavailable = unavailable;
        self
    }

    /// Refuses for want of quota with another status than 429; the problem says the same one. `Retry-After` goes with 429
    /// and 503 only.
    pub fn refusal_status(mut self, status: StatusCode) -> Builder {
        self.settings.respond = Arc::new(move |refusal| problem::respond(refusal, status));
        self
    }

    /// Shapes the response to a refusal. The fields and `Cache-Control: no-store` are added to it, and with 429 and 503
    /// `Retry-After`.
    pub fn respond(mut self, respond: impl Fn(&Refusal<'_>) -> Response<Bytes> + Send + Sync + 'static) -> Builder {
        self.settings.respond = Arc::new(respond);
        self
    }

    /// Waits with this timer for the turn of a request in a leaky bucket, at most so long; one whose turn comes later
    /// is refused at once. A request that is dropped while it waits gives its place back if it was the last one (in a
    /// layer that keeps all its clients in memory); a place in the middle of the queue stays used.
    pub fn wait(mut self, timer: impl Timer, at_most: Duration) -> Builder {
        self.settings.timer = Some(Arc::new(timer));
        self.settings.max_delay = Nanos::try_from(at_most).unwrap_or(Nanos::MAX);
        self
    }

    /// The secret under which credentials and long keys are kept and `pk` is made; random for this process unless set, so
    /// limits on a shared backend need it, unless their keys are short and no credentials, as addresses are.
    pub fn secret(mut self, secret: Secret) -> Builder {
        self.secret = Some(secret);
        self
    }

    /// Reads the time from `clock`.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Builder {
        self.clock = Arc::new(clock);
        self
    }

    /// The wall clock in nanoseconds since the Unix epoch; read only for `X-RateLimit-Reset` as an instant.
    pub fn wall_clock(mut self, nanos: impl Fn() -> u64 + Send + Sync + 'static) -> Builder {
        self.settings.wall = Arc::new(nanos);
        self
    }

    /// At most so many clients are kept for each policy in memory. When it is full, newcomers share one quota, and
    /// nobody who is exhausted is forgotten.
    pub fn max_clients(mut self, clients: usize) -> Builder {
        self.max_clients = clients;
        self
    }

    /// Keeps whole keys in memory instead of 64-bit fingerprints of them, which two clients may share by chance.
    pub fn exact_keys(mut self, exact: bool) -> Builder {
        self.exact_keys = exact;
        self
    }

    /// The layer, or what is wrong with it.
    pub fn build(self) -> Result<RateLimitLayer, BuildError> {
        let rules = self.rules()?;
        let stated = self.stated(&rules)?;
        check_names(&stated)?;
        self.check_dialects(&stated)?;
        if self.settings.timer.is_none() && rules.iter().any(|rule| matches!(rule, Rule::LeakyBucket(_))) {
            return Err(BuildError::NoTimer);
        }
        if let Some((limit, why)) = self.limits.iter().find_map(|limit| Some((limit, limit.key.mistake()?))) {
            return Err(BuildError::Key(limit.name.clone(), why));
        }
        let shared = |limit: &&Limit| limit.shared.is_some();
        if self.secret.is_none() && self.limits.iter().filter(shared).any(|limit| limit.key.uses_secret()) {
            return Err(BuildError::NoSecret);
        }
        let kept = |(limit, rule): (&Limit, &Rule)| match &limit.shared {
            Some(shared) => Kept::Shared(Arc::clone(shared)),
            None => Kept::Memory(store::memory(*rule, self.max_clients, self.exact_keys, Arc::clone(&self.clock))),
        };
        Ok(RateLimitLayer::new(Engine {
            kept: self.limits.iter().zip(&rules).map(kept).collect(),
            all_in_memory: self.limits.iter().all(|limit| limit.shared.is_none()),
            fields: Fields::new(&self.settings.dialects, &stated),
            secret: self.secret.unwrap_or_else(Secret::random),
            counters: Counters::default(),
            stripes: Stripes::new(),
            limits: self.limits,
            rules,
            stated,
            clock: self.clock,
            settings: self.settings,
        }))
    }

    fn rules(&self) -> Result<Vec<Rule>, BuildError> {
        if self.limits.is_empty() {
            return Err(BuildError::NoLimit);
        }
        let rule = |limit: &Limit| match limit.policy.rules() {
            [rule] => Ok(*rule),
            _ => Err(BuildError::SeveralRules(limit.name.clone())),
        };
        self.limits.iter().map(rule).collect()
    }

    fn stated(&self, rules: &[Rule]) -> Result<Vec<Stated>, BuildError> {
        let stated = |(limit, rule): (&Limit, &Rule)| {
            Stated::new(limit.name.clone(), rule, limit.unit.clone()).ok_or(BuildError::Unlimited(limit.name.clone()))
        };
        self.limits.iter().zip(rules).map(stated).collect()
    }

    fn check_dialects(&self, stated: &[Stated]) -> Result<(), BuildError> {
        let mut fields = HashSet::new();
        for field in self.settings.dialects.iter().flat_map(|dialect| dialect.fields()) {
            if !fields.insert(field) {
                return Err(BuildError::SameField(field.clone()));
            }
        }
        let by_quota = self.settings.dialects.iter().any(|dialect| dialect.identifies_by_quota());
        let mut quotas = HashSet::new();
        match stated.iter().find(|policy| !quotas.insert(policy.quota)) {
            Some(policy) if by_quota => Err(BuildError::SameQuota(policy.name.clone())),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn check_names(stated: &[Stated]) -> Result<(), BuildError> {
    let mut names = HashSet::new();
    for policy in stated {
        if !sf::is_string(&policy.name) || !policy.unit.as_deref().is_none_or(sf::is_string) {
            return Err(BuildError::NotAscii(policy.name.clone()));
        }
        if policy.quota.max(policy.seconds) > sf::MAX_INTEGER {
            return Err(BuildError::TooLarge(policy.name.clone()));
        }
        if !names.insert(&policy.name) {
            return Err(BuildError::SameName(policy.name.clone()));
        }
    }
    Ok(())
}

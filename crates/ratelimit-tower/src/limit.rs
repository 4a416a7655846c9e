//! One policy of a layer: its name, its quota, whom it limits, and what a request costs.

use std::fmt;
use std::sync::Arc;

use ratelimit_core::{Policy, PolicyError};
use ratelimit_store::Backend;

use crate::key::{ClientIp, Head, KeyExtractor};
use crate::store::{Remote, Shared};

type OfHead<T> = Arc<dyn Fn(&Head<'_>) -> T + Send + Sync>;

/// What a request takes of a policy, in units.
#[derive(Clone)]
pub(crate) enum Cost {
    Fixed(u64),
    By(OfHead<u64>),
}

/// One named policy. A layer can have several: all must allow.
///
/// ```
/// use ratelimit_tower::Limit;
/// use ratelimit_tower::key::{ApiKey, ClientIp, FirstOf};
///
/// let api_key = ApiKey::header(http::HeaderName::from_static("x-api-key"));
/// let burst = Limit::parse("burst", "token-bucket:100/1m,burst=20")?
///     .key(FirstOf::of(api_key).or(ClientIp::peer()))
///     .cost_by(|head| if head.route() == Some("/search") { 10 } else { 1 });
/// # Ok::<(), ratelimit_core::PolicyError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Limit {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) key: Arc<dyn KeyExtractor>,
    pub(crate) cost: Cost,
    pub(crate) unit: Option<String>,
    pub(crate) applies: Option<OfHead<bool>>,
    pub(crate) shared: Option<Arc<dyn Shared>>,
}

impl Limit {
    /// A limit for each client address, as seen by the socket, of 1 unit a request. The name is what clients are told.
    pub fn new(name: impl Into<String>, policy: impl Into<Policy>) -> Limit {
        Limit {
            name: name.into(),
            policy: policy.into(),
            key: Arc::new(ClientIp::peer()),
            cost: Cost::Fixed(1),
            unit: None,
            applies: None,
            shared: None,
        }
    }

    /// The same from policy text, such as `token-bucket:100/1m,burst=20`.
    pub fn parse(name: impl Into<String>, policy: &str) -> Result<Limit, PolicyError> {
        Ok(Limit::new(name, policy.parse::<Policy>()?))
    }

    /// Who is limited.
    pub fn key(mut self, key: impl KeyExtractor) -> Limit {
        self.key = Arc::new(key);
        self
    }

    /// Every request takes so many units. With 0, requests are free until a cost is charged afterwards.
    pub fn cost(mut self, units: u64) -> Limit {
        self.cost = Cost::Fixed(units);
        self
    }

    /// A request takes what this function says.
    pub fn cost_by(mut self, units: impl Fn(&Head<'_>) -> u64 + Send + Sync + 'static) -> Limit {
        self.cost = Cost::By(Arc::new(units));
        self
    }

    /// What the units are, where they are not requests: `content-bytes`, `concurrent-requests`, or a word of your own.
    pub fn unit(mut self, unit: impl Into<String>) -> Limit {
        self.unit = Some(unit.into());
        self
    }

    /// Applies only to these requests: a limit for one plan, or for one method.
    pub fn when(mut self, applies: impl Fn(&Head<'_>) -> bool + Send + Sync + 'static) -> Limit {
        self.applies = Some(Arc::new(applies));
        self
    }

    /// Keeps the clients in `backend`, shared with other servers, instead of in memory. The backend must have been
    /// built with the same policy; what it decides is what counts.
    pub fn on<B>(mut self, backend: B) -> Limit
    where
        B: Backend + 'static,
    {
        self.shared = Some(Arc::new(Remote(backend)));
        self
    }

    pub(crate) fn cost_of(&self, head: &Head<'_>) -> u64 {
        match &self.cost {
            Cost::Fixed(units) => *units,
            Cost::By(function) => function(head),
        }
    }

    pub(crate) fn applies_to(&self, head: &Head<'_>) -> bool {
        self.applies.as_ref().is_none_or(|applies| applies(head))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limit { name, policy, key, .. } = self;
        write!(f, "Limit({name}: {policy} by {key:?})")
    }
}

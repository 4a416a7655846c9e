//! Whose policy is which: one for everybody, and those of clients that have their own.

use std::sync::Arc;

use super::key::KeyForm;

/// The policies that hold in one page. Pages without a client of its own policy share one of these.
#[derive(Debug, Clone)]
pub(super) struct Rules<P, K> {
    /// For every client without an own policy.
    pub(super) default: P,
    own: Vec<Own<P, K>>,
}

/// A client with its own policy.
#[derive(Debug, Clone)]
struct Own<P, K> {
    fingerprint: u64,
    key: K,
    policy: Arc<P>,
}

impl<P, K: KeyForm> Rules<P, K> {
    /// One policy for all.
    pub(super) fn new(default: P) -> Self {
        Rules { default, own: Vec::new() }
    }

    /// Whether nobody has an own policy.
    pub(super) fn is_uniform(&self) -> bool {
        self.own.is_empty()
    }

    /// The policy of the client with this fingerprint whose key satisfies `is`.
    #[inline]
    pub(super) fn of(&self, fingerprint: u64, is: impl Fn(&K) -> bool) -> &P {
        if self.is_uniform() { &self.default } else { self.own(fingerprint, is).unwrap_or(&self.default) }
    }

    /// The client's own policy, if it has one.
    pub(super) fn own(&self, fingerprint: u64, is: impl Fn(&K) -> bool) -> Option<&P> {
        self.own.iter().find(|own| own.fingerprint == fingerprint && is(&own.key)).map(|own| &*own.policy)
    }

    /// The same with another default.
    pub(super) fn with_default(&self, default: P) -> Self
    where
        P: Clone,
    {
        Rules { default, own: self.own.clone() }
    }

    /// The same with another policy of its own for one client, or none.
    pub(super) fn with_own(&self, fingerprint: u64, key: &[u8], policy: Option<P>) -> Self
    where
        P: Clone,
    {
        let mut rules = self.clone();
        rules.own.retain(|own| own.fingerprint != fingerprint || !own.key.is(key));
        if let Some(policy) = policy {
            rules.own.push(Own { fingerprint, key: K::keep(key), policy: Arc::new(policy) });
        }
        rules
    }
}

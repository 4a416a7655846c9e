//! Whose policy is which: one for everybody, and those of clients that have their own.

use std::sync::Arc;

use super::key::KeyForm;

/// The policies that hold in one page. Pages with the same ones share one of these.
#[derive(Debug, Clone)]
pub(super) struct Rules<P, K> {
    /// For every client without an own policy.
    pub(super) default: P,
    /// Own policies, sorted by fingerprint; none if nobody has one. A page that was split off keeps sharing the list of the
    /// page it came from, and finds in it what concerns it, until one of its own clients' policies changes.
    own: Option<Arc<Vec<Own<P, K>>>>,
}

/// A client with its own policy.
#[derive(Debug)]
struct Own<P, K> {
    fingerprint: u64,
    key: K,
    policy: Arc<P>,
}

impl<P, K: Clone> Clone for Own<P, K> {
    fn clone(&self) -> Self {
        Own { fingerprint: self.fingerprint, key: self.key.clone(), policy: Arc::clone(&self.policy) }
    }
}

impl<P, K: KeyForm> Rules<P, K> {
    /// One policy for all.
    pub(super) fn new(default: P) -> Self {
        Rules { default, own: None }
    }

    /// The policy of the client with this fingerprint whose key satisfies `is`.
    #[inline]
    pub(super) fn of(&self, fingerprint: u64, is: impl Fn(&K) -> bool) -> &P {
        if self.own.is_none() { &self.default } else { self.own(fingerprint, is).unwrap_or(&self.default) }
    }

    /// The client's own policy, if it has one.
    pub(super) fn own(&self, fingerprint: u64, is: impl Fn(&K) -> bool) -> Option<&P> {
        let own = self.own.as_deref()?;
        let first = own.partition_point(|own| own.fingerprint < fingerprint);
        let mut same = own[first..].iter().take_while(|own| own.fingerprint == fingerprint);
        same.find(|own| is(&own.key)).map(|own| &*own.policy)
    }

    /// The same own policies with another default. Copies no list.
    pub(super) fn with_default(&self, default: P) -> Self {
        Rules { default, own: self.own.clone() }
    }

    /// Gives one client another policy of its own, or none. A list that is shared with other pages is copied, but for the
    /// clients that do not `belong` here.
    pub(super) fn set_own(&mut self, fingerprint: u64, key: &[u8], policy: Option<P>, belong: impl Fn(u64) -> bool) {
        let mut own = match self.own.take().map(Arc::try_unwrap) {
            None => Vec::new(),
            Some(Ok(alone)) => alone,
            Some(Err(shared)) => shared.iter().filter(|own| belong(own.fingerprint)).cloned().collect(),
        };
        own.retain(|own| own.fingerprint != fingerprint || !own.key.is(key));
        if let Some(policy) = policy {
            let at = own.partition_point(|own| own.fingerprint < fingerprint);
            own.insert(at, Own { fingerprint, key: K::keep(key), policy: Arc::new(policy) });
        }
        self.own = (!own.is_empty()).then(|| Arc::new(own));
    }
}

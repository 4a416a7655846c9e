//! Live changes of policy: for everybody, or for one client.

use std::collections::HashMap;
use std::sync::Arc;

use ratelimit_core::{Algorithm, Nanos};

use super::key::KeyForm;
use super::rules::Rules;
use super::table::Table;
use crate::cell::lock;

impl<P: Algorithm + Clone, K: KeyForm> Table<P, K> {
    /// Another policy for all clients without their own, page by page: each is migrated once.
    pub(super) fn set_policy(&self, policy: &P, now: Nanos) {
        let _one_at_a_time = lock(&self.change);
        lock(&self.overflow).migrate(policy.clone(), now);
        let mut changed = Changed { policy, rules: HashMap::new() };
        for page in self.pages.iter() {
            let mut page = page.lock();
            let old = Arc::clone(page.rules());
            page.migrate(changed.of(&old), now, |fingerprint, key| old.own(fingerprint, |own| own == key).is_none());
        }
    }

    /// An own policy for one client, or none any more.
    pub(super) fn set_own_policy(&self, key: &[u8], policy: Option<P>, now: Nanos) {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        page.set_own(fingerprint, key, policy, now, |other| self.pages.same(other, fingerprint));
    }

    /// The policy of a client.
    pub(super) fn policy_of(&self, key: &[u8]) -> P {
        let fingerprint = self.hash.of(key);
        self.pages.lock(fingerprint).policy_of(fingerprint, key).clone()
    }

    /// The policy of the clients without their own.
    pub(super) fn policy(&self) -> P {
        lock(&self.overflow).policy.clone()
    }
}

/// The new rules in place of the old: pages that shared theirs share them again.
struct Changed<'a, P, K> {
    policy: &'a P,
    /// By the address of the old ones, which are kept too, so that no address is used twice meanwhile.
    rules: HashMap<*const Rules<P, K>, Change<P, K>>,
}

struct Change<P, K> {
    _old: Arc<Rules<P, K>>,
    new: Arc<Rules<P, K>>,
}

impl<P: Clone, K: KeyForm> Changed<'_, P, K> {
    fn of(&mut self, old: &Arc<Rules<P, K>>) -> Arc<Rules<P, K>> {
        let change = self
            .rules
            .entry(Arc::as_ptr(old))
            .or_insert_with(|| Change { _old: Arc::clone(old), new: Arc::new(old.with_default(self.policy.clone())) });
        Arc::clone(&change.new)
    }
}

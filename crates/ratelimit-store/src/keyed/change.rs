//! Live changes of policy: for everybody, or for one client.

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
        let uniform = Arc::new(Rules::new(policy.clone()));
        for page in self.pages.iter() {
            let mut page = lock(page);
            let old = Arc::clone(page.rules());
            let rules =
                if old.is_uniform() { Arc::clone(&uniform) } else { Arc::new(old.with_default(policy.clone())) };
            page.migrate(rules, now, |fingerprint, key| old.own(fingerprint, |own| own == key).is_none());
        }
    }

    /// An own policy for one client, or none any more.
    pub(super) fn set_own_policy(&self, key: &[u8], policy: Option<P>, now: Nanos) {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let rules = Arc::new(page.rules().with_own(fingerprint, key, policy));
        page.migrate(rules, now, |other, kept| other == fingerprint && kept.is(key));
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

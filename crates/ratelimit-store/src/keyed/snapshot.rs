//! All states as plain data, to be kept over a restart.
//!
//! A snapshot speaks in terms of the common policy: states of clients with their own are migrated to it, and what they
//! used stays used. To come back, build a limiter with the policy that is wanted now and hand the snapshot with the policy
//! of then to [`Builder::restore`]; after that, set the own policies again.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use std::time::Duration;
//! use ratelimit_core::TokenBucket;
//! use ratelimit_store::{KeyedLimiter, Snapshot};
//!
//! let policy = TokenBucket::per(2, Duration::from_secs(3600))?;
//! let limiter = KeyedLimiter::new(policy);
//! limiter.check_n("alice", 2);
//! let file = serde_json::to_string(&limiter.snapshot()).unwrap();
//!
//! let snapshot = serde_json::from_str(&file).unwrap();
//! let twice = TokenBucket::per(4, Duration::from_secs(3600))?;
//! let restored = KeyedLimiter::builder(twice).restore(snapshot, &policy).unwrap();
//! assert!(!restored.check_n("alice", 3).is_allowed());
//! assert!(restored.check_n("alice", 2).is_allowed());
//! # }
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```

use std::fmt;

use ratelimit_core::{Algorithm, Nanos};
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::hash::KeyHash;
use super::key::KeyForm;
use super::table::Table;
use super::{KeyedLimiter, page::fresh_at};
use crate::Clock;
use crate::cell::{Cell, lock};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The states of all clients. In fingerprint form it holds the secret of the fingerprints: keep it like one, since whoever
/// knows it can choose keys that are mistaken for each other. Whoever can write it decides what the clients may do, and up to
/// when time stands still: restore only what is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot<S> {
    version: u32,
    /// The secret of the fingerprints; none with exact keys.
    secret: Option<(u64, u64)>,
    /// No client was forgotten at a later time.
    floor: Nanos,
    clients: Vec<Client<S>>,
    /// What newcomers to the full table shared.
    shared: S,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Client<S> {
    id: Id,
    state: S,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Id {
    Fingerprint(u64),
    Key(Vec<u8>),
}

impl<S> Snapshot<S> {
    /// Number of clients in it.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }
}

/// Why a snapshot cannot be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// It was written in a form that this version does not read.
    Version {
        /// The version found.
        found: u32,
    },
    /// It has exact keys where fingerprints are wanted, or the other way round.
    KeyForm {
        /// Whether it has exact keys.
        exact: bool,
    },
    /// It lists a client more than once.
    Twice,
    /// More clients have something used than places are there, and none of them may be forgotten.
    TooMany {
        /// Clients in the snapshot.
        clients: usize,
        /// Places.
        max_clients: usize,
    },
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Version { found } => {
                write!(f, "snapshot version {found} found, expected {VERSION}: write it anew with this version")
            }
            RestoreError::KeyForm { exact: true } => {
                f.write_str("the snapshot has exact keys, expected fingerprints: build with exact_keys")
            }
            RestoreError::KeyForm { exact: false } => {
                f.write_str("the snapshot has fingerprints, expected exact keys: build without exact_keys")
            }
            RestoreError::Twice => f.write_str("a client stands in the snapshot twice, expected once: write it anew"),
            RestoreError::TooMany { clients, max_clients } => {
                write!(f, "{clients} clients in the snapshot, {max_clients} places: raise max_clients")
            }
        }
    }
}

impl std::error::Error for RestoreError {}

impl<P: Algorithm, K: KeyForm, C: Clock> KeyedLimiter<P, K, C> {
    /// The states of all clients, of each as a whole. Page by page, while others decide.
    pub fn snapshot(&self) -> Snapshot<P::State>
    where
        P: Clone,
    {
        self.snapshot_at(self.clock.now())
    }

    /// [`snapshot`](Self::snapshot) at `now`, from which own policies are migrated.
    pub fn snapshot_at(&self, now: Nanos) -> Snapshot<P::State>
    where
        P: Clone,
    {
        self.table.snapshot(now)
    }
}

impl<P: Algorithm + Clone, K: KeyForm> Table<P, K> {
    fn snapshot(&self, now: Nanos) -> Snapshot<P::State> {
        // No policy changes and no page is split while they are read.
        let _unchanged = lock(&self.change);
        let Cell { policy, state: shared } = lock(&self.overflow).clone();
        let mut floor = Nanos::ZERO;
        let mut clients = Vec::with_capacity(self.len());
        for page in self.pages.iter() {
            let page = page.lock();
            floor = floor.max(page.floor());
            let now = page.effective(now);
            clients.extend(page.clients().map(|(fingerprint, key, own, state)| Client {
                id: key.bytes().map_or(Id::Fingerprint(fingerprint), |key| Id::Key(key.to_vec())),
                state: own.map_or_else(|| state.clone(), |own| policy.migrate(own, state, now)),
            }));
        }
        let secret = (!K::EXACT).then(|| self.hash.secret());
        Snapshot { version: VERSION, secret, floor, clients, shared }
    }

    /// The table of a snapshot whose states were made under the policy `old`.
    fn restore(
        snapshot: Snapshot<P::State>,
        old: &P,
        policy: &P,
        max_clients: usize,
        now: Nanos,
    ) -> Result<Self, RestoreError> {
        if snapshot.version != VERSION {
            return Err(RestoreError::Version { found: snapshot.version });
        }
        let hash = match snapshot.secret {
            Some(secret) if !K::EXACT => KeyHash::with_secret(secret),
            None if K::EXACT => KeyHash::random(),
            secret => return Err(RestoreError::KeyForm { exact: secret.is_none() }),
        };
        let table = Table::with_hash(hash, policy.clone(), max_clients);
        let now = now.max(snapshot.floor);
        lock(&table.overflow).state = policy.migrate(old, &snapshot.shared, now);
        for page in table.pages.iter() {
            page.lock().raise_floor(snapshot.floor);
        }
        let too_many = RestoreError::TooMany { clients: snapshot.clients.len(), max_clients };
        for Kept { fingerprint, key, state } in table.in_order(snapshot.clients)? {
            let state = policy.migrate(old, &state, now);
            let mut page = table.pages.lock(fingerprint);
            if policy.is_fresh(&state, now) {
                // It is forgotten, at this time.
                page.raise_floor(now);
                continue;
            }
            if !table.enter() {
                return Err(too_many);
            }
            let fresh_at = fresh_at(policy, &state, now);
            page.insert(fingerprint, key, state, fresh_at);
            drop(page);
            table.grow();
        }
        Ok(table)
    }
}

/// A client as the table keeps it.
struct Kept<K, S> {
    fingerprint: u64,
    key: K,
    state: S,
}

impl<P: Algorithm + Clone, K: KeyForm> Table<P, K> {
    /// The clients by fingerprint, so that each comes at the end of its page and inserting them takes no longer for fingerprints
    /// that somebody chose. None twice.
    fn in_order(&self, clients: Vec<Client<P::State>>) -> Result<Vec<Kept<K, P::State>>, RestoreError> {
        let kept = |Client { id, state }| match (&id, K::EXACT) {
            (Id::Key(key), true) => Ok(Kept { fingerprint: self.hash.of(key), key: K::keep(key), state }),
            (Id::Fingerprint(fingerprint), false) => Ok(Kept { fingerprint: *fingerprint, key: K::keep(&[]), state }),
            (id, _) => Err(RestoreError::KeyForm { exact: matches!(id, Id::Key(_)) }),
        };
        let mut kept = clients.into_iter().map(kept).collect::<Result<Vec<_>, _>>()?;
        kept.sort_by(|a, b| (a.fingerprint, a.key.bytes()).cmp(&(b.fingerprint, b.key.bytes())));
        let twice =
            |pair: &[Kept<K, P::State>]| pair[0].fingerprint == pair[1].fingerprint && pair[0].key == pair[1].key;
        if kept.windows(2).any(twice) { Err(RestoreError::Twice) } else { Ok(kept) }
    }
}

impl<P: Algorithm + Clone, K: KeyForm, C: Clock> Builder<P, K, C> {
    /// The limiter, with the clients of a snapshot whose common policy was `old`: they are migrated to the policy of this
    /// builder.
    ///
    /// # Errors
    /// Another version, the other key form, a client twice, or more clients than places.
    pub fn restore(self, snapshot: Snapshot<P::State>, old: &P) -> Result<KeyedLimiter<P, K, C>, RestoreError> {
        let table = Table::restore(snapshot, old, &self.policy, self.max_clients, self.clock.now())?;
        Ok(self.build_on(table))
    }
}

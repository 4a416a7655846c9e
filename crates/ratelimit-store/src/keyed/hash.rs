//! The keyed hash that finds a client's place, and is its fingerprint.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// SipHash-1-3 under a 128-bit secret.
#[derive(Clone)]
pub(super) struct KeyHash {
    sip: SipHasher13,
}

impl KeyHash {
    /// Under a secret of its own, drawn from the random numbers that std seeds its hash maps with.
    pub(super) fn random() -> Self {
        let source = RandomState::new();
        // Two outputs of a keyed hash on different inputs: unrelated to whoever does not know the key.
        Self::with_secret((source.hash_one(0_u8), source.hash_one(1_u8)))
    }

    pub(super) fn with_secret((high, low): (u64, u64)) -> Self {
        KeyHash { sip: SipHasher13::new_with_keys(high, low) }
    }

    #[cfg(feature = "serde")]
    pub(super) fn secret(&self) -> (u64, u64) {
        self.sip.keys()
    }

    #[inline]
    pub(super) fn of(&self, key: &[u8]) -> u64 {
        let mut hasher = self.sip;
        hasher.write(key);
        hasher.finish()
    }
}

/// Says nothing of the secret.
impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_secret() {
        let (one, other) = (KeyHash::random(), KeyHash::random());
        assert_eq!(one.of(b"alice"), one.clone().of(b"alice"));
        assert_ne!(one.of(b"alice"), one.of(b"bob"));
        assert_ne!(one.of(b"alice"), other.of(b"alice"));
        assert_eq!(format!("{one:?}"), "KeyHash");
    }
}

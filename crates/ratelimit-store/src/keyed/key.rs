//! How a client is told from the others: by a fingerprint, or by its exact key.
//!
//! | form | bytes beside the state | two clients share a state |
//! |---|---|---|
//! | [`Fingerprint`] | 8 | with a chance of n^2 / 2^65 for n clients: 3 in 10^8 for a million |
//! | [`Exact`] | 32, and the heap for keys above 22 bytes | never |
//!
//! The fingerprint is SipHash-1-3 under a random 128-bit secret: whoever does not know the secret can neither choose keys
//! that collide nor keys that crowd one place of the table, which is why a faster hash without that claim will not do.

use std::fmt;

/// How keys are kept: [`Fingerprint`] or [`Exact`].
pub trait KeyForm: sealed::Sealed + Clone + PartialEq + Send + Sync + 'static {
    /// What is kept of `key`, beside its fingerprint.
    fn keep(key: &[u8]) -> Self;

    /// Whether this was kept of `key`, given that the fingerprints are equal.
    fn is(&self, key: &[u8]) -> bool;

    /// Whether the keys themselves are kept.
    const EXACT: bool;

    /// The key, if it is kept.
    fn bytes(&self) -> Option<&[u8]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Fingerprint {}
    impl Sealed for super::Exact {}
}

/// Keeps 64 bits of a keyed hash of the key, and nothing of the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint;

impl KeyForm for Fingerprint {
    #[inline]
    fn keep(_key: &[u8]) -> Self {
        Fingerprint
    }

    #[inline]
    fn is(&self, _key: &[u8]) -> bool {
        true
    }

    const EXACT: bool = false;

    fn bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// Keeps the key, in place up to 22 bytes and on the heap beyond.
#[derive(Clone, PartialEq, Eq)]
pub struct Exact(Bytes);

/// 24 bytes. Invariant: a key is in place if and only if it has at most `IN_PLACE` bytes; bytes beyond `len` are 0.
#[derive(Clone, PartialEq, Eq)]
enum Bytes {
    InPlace { len: u8, bytes: [u8; IN_PLACE] },
    Apart(Box<[u8]>),
}

const IN_PLACE: usize = 22;

impl Exact {
    /// The key.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::InPlace { len, bytes } => &bytes[..usize::from(*len)],
            Bytes::Apart(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl KeyForm for Exact {
    fn keep(key: &[u8]) -> Self {
        let mut bytes = [0; IN_PLACE];
        match (u8::try_from(key.len()), bytes.get_mut(..key.len())) {
            (Ok(len), Some(place)) => {
                place.copy_from_slice(key);
                Exact(Bytes::InPlace { len, bytes })
            }
            _ => Exact(Bytes::Apart(key.into())),
        }
    }

    #[inline]
    fn is(&self, key: &[u8]) -> bool {
        self.as_bytes() == key
    }

    const EXACT: bool = true;

    fn bytes(&self) -> Option<&[u8]> {
        Some(self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_keys_come_back_whole() {
        for len in [0, 1, 19, 22, 23, 255, 256, 1000] {
            let key = vec![b'k'; len];
            let kept = Exact::keep(&key);
            assert_eq!(kept.as_bytes(), key);
            assert!(kept.is(&key));
            assert!(!kept.is(b"another"));
        }
    }

    #[test]
    fn an_exact_key_takes_24_bytes() {
        assert_eq!(size_of::<Exact>(), 24);
        assert_eq!(size_of::<Fingerprint>(), 0);
    }
}

//! The keyed hash that finds a client's place, and is its fingerprint: SipHash-1-3, in one go over a short key.
//!
//! The published algorithm, written out because the streaming form of the libraries takes twice as long for a key that is at
//! hand; a test holds it against one of them.

use std::hash::{BuildHasher, RandomState};

/// SipHash-1-3 under a 128-bit secret.
#[derive(Clone)]
pub(super) struct KeyHash {
    secret: (u64, u64),
}

impl KeyHash {
    /// Under a secret of its own, drawn from the random numbers that std seeds its hash maps with.
    pub(super) fn random() -> Self {
        let source = RandomState::new();
        // Two outputs of a keyed hash on different inputs: unrelated to whoever does not know the key.
        Self::with_secret((source.hash_one(0_u8), source.hash_one(1_u8)))
    }

    pub(super) fn with_secret(secret: (u64, u64)) -> Self {
        KeyHash { secret }
    }

    #[cfg(feature = "serde")]
    pub(super) fn secret(&self) -> (u64, u64) {
        self.secret
    }

    #[inline]
    pub(super) fn of(&self, key: &[u8]) -> u64 {
        let (k0, k1) = self.secret;
        let mut state = Sip([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        let (words, rest) = key.as_chunks::<8>();
        for word in words {
            state.take(u64::from_le_bytes(*word));
        }
        // The length modulo 256 fills the last byte.
        state.take(low_bytes(key, rest) | (key.len() as u64) << 56);
        state.0[2] ^= 0xff;
        for _ in 0..3 {
            state.round();
        }
        state.0.iter().fold(0, |hash, word| hash ^ word)
    }
}

/// The last bytes of `key` that fill no word, at most 7, little-endian.
#[inline]
fn low_bytes(key: &[u8], rest: &[u8]) -> u64 {
    match key.last_chunk::<8>() {
        // The last word overlaps the one before; what belongs to that is shifted out.
        Some(last) if !rest.is_empty() => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        Some(_) => 0,
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

struct Sip([u64; 4]);

impl Sip {
    #[inline]
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
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
    use std::hash::Hasher;

    #[test]
    fn it_is_siphash_1_3() {
        let bytes: Vec<u8> = (0..=255).cycle().take(600).map(|byte: u8| byte.wrapping_mul(167)).collect();
        for (len, secret) in
            (0..600).zip([(0, 0), (1, u64::MAX), (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)].iter().cycle())
        {
            let mut library = siphasher::sip::SipHasher13::new_with_keys(secret.0, secret.1);
            library.write(&bytes[..len]);
            assert_eq!(KeyHash::with_secret(*secret).of(&bytes[..len]), library.finish(), "{len} bytes");
        }
    }

    #[test]
    fn each_has_its_own_secret() {
        let (one, other) = (KeyHash::random(), KeyHash::random());
        assert_eq!(one.of(b"alice"), one.clone().of(b"alice"));
        assert_ne!(one.of(b"alice"), one.of(b"bob"));
        assert_ne!(one.of(b"alice"), other.of(b"alice"));
        assert_eq!(format!("{one:?}"), "KeyHash");
    }
}

//! A key in parts, and its two encodings: bytes for the store, and what the `pk` parameter may show.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::StoredKey;
use crate::headers::Partition;

/// The key of a keyed hash (SipHash-2-4 with 128 bits out). Credentials are stored, and clients named in `pk`, only
/// through it: a plain hash of an address can be undone by trying all addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// A secret that several servers share. Take it from a random source and keep it out of the code.
    pub const fn new(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// A secret of this process alone.
    pub fn random() -> Secret {
        // Each state is keyed by the operating system's randomness.
        let half = || RandomState::new().hash_one(0u64).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half());
        bytes[8..].copy_from_slice(&half());
        Secret(bytes)
    }

    fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish128().as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Who is limited, in parts that cannot run into one another. Each part is encoded when it is added, and kept as it is
/// only where the layer shows partition keys.
#[derive(Debug, Clone)]
pub struct ClientKey<'r> {
    encoded: Encoded,
    secret: &'r Secret,
    shown: Option<Vec<Part<'r>>>,
}

#[derive(Debug, Clone)]
struct Part<'r> {
    dimension: &'static str,
    value: Value<'r>,
}

#[derive(Debug, Clone)]
enum Value<'r> {
    Address(IpAddr),
    Credential(&'r [u8]),
    Text(Cow<'r, str>),
}

impl<'r> ClientKey<'r> {
    /// No parts yet. A key that stays so is everybody's.
    #[inline]
    pub fn new(secret: &'r Secret) -> Self {
        ClientKey { encoded: Encoded::default(), secret, shown: None }
    }

    /// A key that can tell what [`Self::partition`] says.
    pub(crate) fn showing(secret: &'r Secret) -> Self {
        ClientKey { shown: Some(Vec::new()), ..ClientKey::new(secret) }
    }

    /// An address, cut to its prefix already.
    #[inline]
    pub fn push_address(&mut self, dimension: &'static str, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.encoded.push(4, &address.octets(), self.secret),
            IpAddr::V6(address) => self.encoded.push(6, &address.octets(), self.secret),
        }
        self.show(dimension, || Value::Address(address));
    }

    /// A credential: only its keyed hash is kept.
    pub fn push_credential(&mut self, dimension: &'static str, credential: &'r [u8]) {
        self.encoded.push(1, &self.secret.hash(credential), self.secret);
        self.show(dimension, || Value::Credential(credential));
    }

    /// Text that may be shown to the client itself, such as a route or a plan.
    pub fn push_text(&mut self, dimension: &'static str, text: impl Into<Cow<'r, str>>) {
        let text = text.into();
        self.encoded.push(2, text.as_bytes(), self.secret);
        self.show(dimension, || Value::Text(text));
    }

    #[inline]
    fn show(&mut self, dimension: &'static str, value: impl FnOnce() -> Value<'r>) {
        if let Some(shown) = &mut self.shown {
            shown.push(Part { dimension, value: value() });
        }
    }

    /// Bytes for the store: at most [`Encoded::CAPACITY`], whatever a client sends.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.encoded.as_bytes()
    }

    /// The same, to be kept.
    #[inline]
    pub(crate) fn stored(&self) -> StoredKey {
        StoredKey::of(&self.encoded.bytes, self.encoded.len)
    }

    /// What `pk` shows: text as it is, anything else under a keyed hash. In the order of the sorted dimensions.
    pub(crate) fn partition(&self) -> Partition {
        let mut parts: Vec<&Part<'_>> = self.shown.iter().flatten().collect();
        parts.sort_by_key(|part| part.dimension);
        let values: Vec<Vec<u8>> = parts.iter().map(|part| shown(&part.value, self.secret)).collect();
        Partition { dimensions: parts.iter().map(|part| part.dimension).collect(), key: values.join(&0x1F) }
    }
}

fn shown(value: &Value<'_>, secret: &Secret) -> Vec<u8> {
    let hash = match value {
        Value::Text(text) if !text.contains('\u{1F}') => return text.as_bytes().to_vec(),
        Value::Text(text) => secret.hash(text.as_bytes()),
        Value::Credential(bytes) => secret.hash(bytes),
        Value::Address(address) => secret.hash(address.to_string().as_bytes()),
    };
    // Another hash than the store's key, so that what a client is shown says nothing about what is stored.
    let shown = secret.hash(&[&hash[..], b"pk"].concat());
    shown[..8].iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// A key as the store sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Encoded {
    bytes: [u8; Encoded::CAPACITY],
    len: usize,
}

impl Default for Encoded {
    fn default() -> Self {
        Encoded { bytes: [0; Encoded::CAPACITY], len: 0 }
    }
}

impl Encoded {
    const CAPACITY: usize = 64;

    /// What a part takes beside its bytes: a tag and a length, which keep `a:b` + `c` and `a` + `b:c` apart.
    const FRAME: usize = 2;

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Adds a part; one that does not fit is folded, with all before it, into a hash.
    #[inline]
    fn push(&mut self, tag: u8, part: &[u8], secret: &Secret) {
        if part.len() + Self::FRAME + self.len > Self::CAPACITY {
            return self.fold(tag, part, secret);
        }
        // A part that fits is shorter than 64 bytes.
        let frame = [tag, part.len() as u8];
        let body = self.len + Self::FRAME;
        self.bytes[self.len..body].copy_from_slice(&frame);
        self.bytes[body..body + part.len()].copy_from_slice(part);
        self.len = body + part.len();
    }

    #[cold]
    fn fold(&mut self, tag: u8, part: &[u8], secret: &Secret) {
        let mut whole = self.as_bytes().to_vec();
        whole.push(tag);
        whole.extend_from_slice(part);
        self.len = 0;
        self.push(0, &secret.hash(&whole), secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = Secret::new([7; 16]);

    fn encoded(parts: &[&str]) -> Encoded {
        let mut key = ClientKey::new(&SECRET);
        for part in parts {
            key.push_text("part", *part);
        }
        key.encoded
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        let long = "x".repeat(100);
        let keys = [
            encoded(&[]),
            encoded(&[""]),
            encoded(&["a:b", "c"]),
            encoded(&["a", "b:c"]),
            encoded(&["a", "b", "c"]),
            encoded(&[&long]),
            encoded(&[&long, "a"]),
            encoded(&["a", &long]),
            encoded(&[&long[..99]]),
            encoded(&["a", "b", "c", "d", "e"]),
            encoded(&["a", "b", "c", "e", "e"]),
            encoded(&["a", "b", "c", "d", &long]),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(key.len <= Encoded::CAPACITY);
            assert!(!keys[..i].contains(key), "{i}");
        }
    }

    #[test]
    fn kinds_do_not_run_into_one_another() {
        let mut credential = ClientKey::new(&SECRET);
        credential.push_credential("key", b"abcd");
        let mut address = ClientKey::new(&SECRET);
        address.push_address("client", "97.98.99.100".parse().unwrap());
        assert_ne!(credential.encoded, encoded(&["abcd"]));
        assert_ne!(address.encoded, encoded(&["abcd"]));
    }

    #[test]
    fn a_credential_is_nowhere_in_the_key() {
        let key = |secret| {
            let mut key = ClientKey::showing(secret);
            key.push_credential("key", b"secret-123");
            key
        };
        let key_of_ours = key(&SECRET);
        for bytes in [key_of_ours.encoded.as_bytes(), &key_of_ours.partition().key] {
            assert!(!bytes.windows(6).any(|window| window == b"secret"));
        }
        assert_ne!(key_of_ours.encoded, key(&Secret::new([8; 16])).encoded);
    }

    #[test]
    fn a_partition_is_sorted_by_dimension() {
        let mut key = ClientKey::showing(&SECRET);
        key.push_text("user_id", "alice");
        key.push_text("method", "GET");
        let partition = key.partition();
        assert_eq!(partition.dimensions, ["method", "user_id"]);
        assert_eq!(partition.key, b"GET\x1Falice");
    }

    #[test]
    fn random_secrets_differ() {
        assert_ne!(Secret::random(), Secret::random());
    }
}

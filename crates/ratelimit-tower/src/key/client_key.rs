//! A key in parts, and its two encodings: bytes for the store, and what the `pk` parameter may show.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;

use siphasher::sip128::{Hasher128, SipHasher24};

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

/// The most parts that one key can have; further ones replace the last.
const MAX_PARTS: usize = 4;

/// Who is limited, in parts that cannot run into one another.
#[derive(Debug, Clone, Default)]
pub struct ClientKey<'r> {
    parts: [Option<Part<'r>>; MAX_PARTS],
    len: usize,
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
    pub fn new() -> Self {
        ClientKey::default()
    }

    /// An address, cut to its prefix already.
    pub fn push_address(&mut self, dimension: &'static str, address: IpAddr) {
        self.push(dimension, Value::Address(address));
    }

    /// A credential: only its keyed hash is kept.
    pub fn push_credential(&mut self, dimension: &'static str, credential: &'r [u8]) {
        self.push(dimension, Value::Credential(credential));
    }

    /// Text that may be shown to the client itself, such as a route or a plan.
    pub fn push_text(&mut self, dimension: &'static str, text: impl Into<Cow<'r, str>>) {
        self.push(dimension, Value::Text(text.into()));
    }

    fn push(&mut self, dimension: &'static str, value: Value<'r>) {
        let place = self.len.min(MAX_PARTS - 1);
        self.parts[place] = Some(Part { dimension, value });
        self.len = place + 1;
    }

    fn parts(&self) -> impl Iterator<Item = &Part<'r>> {
        self.parts.iter().flatten()
    }

    /// Bytes for the store: at most [`Encoded::CAPACITY`], whatever a client sends.
    pub(crate) fn encode(&self, secret: &Secret) -> Encoded {
        let mut encoded = Encoded::default();
        for part in self.parts() {
            match &part.value {
                Value::Address(IpAddr::V4(address)) => encoded.push(4, &address.octets(), secret),
                Value::Address(IpAddr::V6(address)) => encoded.push(6, &address.octets(), secret),
                Value::Credential(bytes) => encoded.push(1, &secret.hash(bytes), secret),
                Value::Text(text) => encoded.push(2, text.as_bytes(), secret),
            }
        }
        encoded
    }

    /// What `pk` shows: text as it is, anything else under a keyed hash. In the order of the sorted dimensions.
    pub(crate) fn partition(&self, secret: &Secret) -> Partition {
        let mut parts: Vec<_> = self.parts().collect();
        parts.sort_by_key(|part| part.dimension);
        let values: Vec<Vec<u8>> = parts.iter().map(|part| shown(&part.value, secret)).collect();
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
pub(crate) struct Encoded {
    bytes: [u8; Encoded::CAPACITY],
    len: usize,
}

impl Default for Encoded {
    fn default() -> Self {
        Encoded { bytes: [0; Encoded::CAPACITY], len: 0 }
    }
}

impl Encoded {
    pub(crate) const CAPACITY: usize = 64;

    /// What a part takes beside its bytes: a tag and a length, which keep `a:b` + `c` and `a` + `b:c` apart.
    const FRAME: usize = 2;

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Adds a part; one that does not fit is folded, with all before it, into a hash.
    fn push(&mut self, tag: u8, part: &[u8], secret: &Secret) {
        if part.len() + Self::FRAME + self.len > Self::CAPACITY {
            let mut whole = self.as_bytes().to_vec();
            whole.push(tag);
            whole.extend_from_slice(part);
            let folded = secret.hash(&whole);
            self.len = 0;
            return self.push(0, &folded, secret);
        }
        // A part that fits is shorter than 64 bytes.
        let frame = [tag, part.len() as u8];
        let body = self.len + Self::FRAME;
        self.bytes[self.len..body].copy_from_slice(&frame);
        self.bytes[body..body + part.len()].copy_from_slice(part);
        self.len = body + part.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = Secret::new([7; 16]);

    fn texts<'a>(parts: &[&'a str]) -> ClientKey<'a> {
        let mut key = ClientKey::new();
        for part in parts {
            key.push_text("part", *part);
        }
        key
    }

    fn encoded(parts: &[&str]) -> Encoded {
        texts(parts).encode(&SECRET)
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
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(key.len <= Encoded::CAPACITY);
            assert!(!keys[..i].contains(key), "{i}");
        }
    }

    #[test]
    fn kinds_do_not_run_into_one_another() {
        let mut credential = ClientKey::new();
        credential.push_credential("key", b"abcd");
        let mut address = ClientKey::new();
        address.push_address("client", "97.98.99.100".parse().unwrap());
        assert_ne!(credential.encode(&SECRET), encoded(&["abcd"]));
        assert_ne!(address.encode(&SECRET), encoded(&["abcd"]));
    }

    #[test]
    fn a_credential_is_nowhere_in_the_key() {
        let mut key = ClientKey::new();
        key.push_credential("key", b"secret-123");
        for bytes in [key.encode(&SECRET).as_bytes(), &key.partition(&SECRET).key] {
            assert!(!bytes.windows(6).any(|window| window == b"secret"));
        }
        assert_ne!(key.encode(&SECRET), key.encode(&Secret::new([8; 16])));
    }

    #[test]
    fn a_partition_is_sorted_by_dimension() {
        let mut key = ClientKey::new();
        key.push_text("user_id", "alice");
        key.push_text("method", "GET");
        let partition = key.partition(&SECRET);
        assert_eq!(partition.dimensions, ["method", "user_id"]);
        assert_eq!(partition.key, b"GET\x1Falice");
    }

    #[test]
    fn random_secrets_differ() {
        assert_ne!(Secret::random(), Secret::random());
    }
}

//! Names of keys: `{PREFIX:CLIENT}RULE`, such as `{rl:alice}token-bucket:100/1m`.
//!
//! - All keys of a client carry the same hash tag, so that a cluster keeps them in one slot. A tag ends at the first `}`,
//!   also at one of the client's own: then it is shorter, but still the same for all keys of that client. It is never empty,
//!   since the prefix is followed by a colon.
//! - The client's bytes are taken as they are: two clients never share a key, since the prefix is the limiter's, and a
//!   rule has no `}` in it.
//! - The rule is in the name, so that the state of another quota is never read as one of this quota: whoever changes a
//!   limit starts fresh under the new one.

use std::fmt;

use ratelimit_core::Rule;

/// The first part of all keys of a limiter: ASCII letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix(String);

/// Why a prefix is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPrefix {
    found: String,
}

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key prefix {:?} is refused, expected ASCII letters, digits, `-`, `_` or `.`", self.found)
    }
}

impl std::error::Error for BadPrefix {}

impl Prefix {
    pub(crate) fn new(text: &str) -> Result<Self, BadPrefix> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if text.bytes().all(allowed) { Ok(Prefix(text.into())) } else { Err(BadPrefix { found: text.into() }) }
    }

    /// The prefix of clients whose quota is split.
    pub(crate) fn split(&self) -> Self {
        // A slash is in no prefix that a user can choose.
        Prefix(format!("{}/", self.0))
    }

    /// The key of one rule of one client.
    pub(crate) fn key(&self, client: &[u8], rule: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.0.len() + client.len() + rule.len() + 3);
        key.push(b'{');
        key.extend_from_slice(self.0.as_bytes());
        key.push(b':');
        key.extend_from_slice(client);
        key.push(b'}');
        key.extend_from_slice(rule.as_bytes());
        key
    }
}

/// The slot of a cluster, of 16384, in which all keys of the client lie: CRC-16/XMODEM of the tag.
pub(crate) fn slot(prefix: &Prefix, client: &[u8]) -> u16 {
    let own = client.iter().position(|&byte| byte == b'}').unwrap_or(client.len());
    let tag = prefix.0.bytes().chain([b':']).chain(client[..own].iter().copied());
    let crc = tag.fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    });
    crc % 16384
}

/// What a rule is called in a key.
pub(crate) fn rule_name(rule: &Rule) -> String {
    rule.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_client_share_a_tag_that_is_never_empty() {
        for client in [&b"alice"[..], b"", b"}", b"{}", b"a}b", b"\xff\n \0"] {
            let prefix = Prefix::new("").unwrap();
            let (one, other) = (prefix.key(client, "fixed-window:5/1m"), prefix.key(client, "token-bucket:5/1m"));
            assert_eq!(tag(&one), tag(&other));
            assert!(!tag(&one).is_empty());
        }
    }

    /// What a cluster hashes: from the first `{` to the first `}` after it.
    fn tag(key: &[u8]) -> &[u8] {
        let start = key.iter().position(|&byte| byte == b'{').unwrap() + 1;
        let length = key[start..].iter().position(|&byte| byte == b'}').unwrap();
        &key[start..start + length]
    }

    /// What CLUSTER KEYSLOT says of `{rl:alice}x` and so on.
    #[test]
    fn slots_are_those_of_a_cluster() {
        let slots = [(&b"alice"[..], 13752), (b"", 12086), (b"a}b", 6094), (b"client-0", 7350), (b"\xff\x00", 3710)];
        for (client, expected) in slots {
            assert_eq!(slot(&Prefix::new("rl").unwrap(), client), expected, "{client:?}");
        }
    }

    #[test]
    fn prefixes_that_would_cut_the_tag_are_refused() {
        assert!(Prefix::new("rl-2.api_v1").is_ok());
        for bad in ["a}b", "a:b", "a/b", "a b", "\u{e9}"] {
            assert!(Prefix::new(bad).unwrap_err().to_string().contains("prefix"), "{bad}");
        }
    }

    #[test]
    fn clients_never_share_a_key() {
        let prefix = Prefix::new("rl").unwrap();
        let rules = ["fixed-window:5/1m", "token-bucket:5/1m"];
        let clients = [&b"a"[..], b"", b"}", b"a}", b"a}fixed-window:5/1m", b"}fixed-window:5/1m", b"{rl:a}"];
        let keys: Vec<_> = clients.iter().flat_map(|client| rules.map(|rule| prefix.key(client, rule))).collect();
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }
}

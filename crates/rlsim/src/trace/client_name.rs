//! Client names: opaque bytes, or addresses brought to one form.

use std::net::{IpAddr, Ipv6Addr};

use super::intern::{Interner, Short};
use super::options::{ClientAs, ReadOptions};

/// Names to indices, after the normal form asked for.
pub(crate) struct ClientNames {
    interner: Interner,
    normal: ClientAs,
    ipv6_prefix: u8,
}

impl ClientNames {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        ClientNames { interner: Interner::new(), normal: options.client_as, ipv6_prefix: options.ipv6_prefix }
    }

    /// The index of a client; `None` when there are too many.
    pub(crate) fn index(&mut self, name: &[u8]) -> Option<u32> {
        match self.normal {
            ClientAs::Raw => self.interner.intern(name),
            ClientAs::Ip => match normal_address(name, self.ipv6_prefix) {
                Some(address) => self.interner.intern(address.as_bytes()),
                None => self.interner.intern(name),
            },
        }
    }

    /// A short name, if the client of this name has one.
    pub(crate) fn short(&self, name: &[u8]) -> Option<Short> {
        match self.normal {
            ClientAs::Raw => Short::of(name),
            ClientAs::Ip => match normal_address(name, self.ipv6_prefix) {
                Some(address) => Short::of(address.as_bytes()),
                None => Short::of(name),
            },
        }
    }

    /// The index of a client by its short name.
    pub(crate) fn index_of_short(&mut self, name: Short) -> Option<u32> {
        self.interner.intern_short(name)
    }

    /// The index of a name that has its normal form already.
    pub(crate) fn index_of_normal(&mut self, name: &[u8]) -> Option<u32> {
        self.interner.intern(name)
    }

    /// The names so far, by index.
    pub(crate) fn names(&self) -> &[Box<[u8]>] {
        self.interner.names()
    }

    pub(crate) fn into_names(self) -> Vec<Box<[u8]>> {
        self.interner.into_names()
    }
}

/// The first address of a list (the client, where proxies append), without port and brackets; `None` if it is no address.
///
/// A mapped IPv4 address is that IPv4 address. An IPv6 address is cut to its prefix and written with it, as one network
/// is one client: `2001:db8:1:2::/64`.
pub(crate) fn normal_address(name: &[u8], ipv6_prefix: u8) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let first = text.split(',').next()?.trim();
    Some(match parse_address(first)?.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) if ipv6_prefix >= 128 => address.to_string(),
        IpAddr::V6(address) => format!("{}/{ipv6_prefix}", cut(address, ipv6_prefix)),
    })
}

/// `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`, `fe80::1%eth0`.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        let port = after.is_empty() || after.strip_prefix(':').is_some_and(|p| p.parse::<u16>().is_ok());
        return if port { without_zone(inside).parse::<Ipv6Addr>().ok().map(IpAddr::V6) } else { None };
    }
    if let Ok(address) = without_zone(text).parse() {
        return Some(address);
    }
    let (address, port) = text.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    address.parse().ok().map(IpAddr::V4)
}

fn without_zone(text: &str) -> &str {
    text.split('%').next().unwrap_or(text)
}

fn cut(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
    Ipv6Addr::from(u128::from(address) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for (text, prefix, expect) in [
            ("10.0.0.1", 64, Some("10.0.0.1")),
            ("10.0.0.1:4711", 64, Some("10.0.0.1")),
            ("::ffff:10.0.0.1", 64, Some("10.0.0.1")),
            ("[::ffff:10.0.0.1]:80", 64, Some("10.0.0.1")),
            ("2001:db8:1:2:3:4:5:6", 64, Some("2001:db8:1:2::/64")),
            ("[2001:db8:1:2:3:4:5:6]", 64, Some("2001:db8:1:2::/64")),
            ("[2001:db8:1:2:3:4:5:6]:443", 64, Some("2001:db8:1:2::/64")),
            ("2001:db8:1:2:3:4:5:6", 48, Some("2001:db8:1::/48")),
            ("2001:db8:1:2:3:4:5:6", 128, Some("2001:db8:1:2:3:4:5:6")),
            ("2001:db8::1", 0, Some("::/0")),
            ("fe80::1%eth0", 64, Some("fe80::/64")),
            ("203.0.113.7, 10.0.0.1, 10.0.0.2", 64, Some("203.0.113.7")),
            ("host.example", 64, None),
            ("host.example:80", 64, None),
            ("10.0.0.256", 64, None),
            ("10.0.0.1:70000", 64, None),
            ("[2001:db8::1", 64, None),
            ("[2001:db8::1]x", 64, None),
            ("[10.0.0.1]:80", 64, None),
            ("-", 64, None),
            ("", 64, None),
        ] {
            assert_eq!(normal_address(text.as_bytes(), prefix).as_deref(), expect, "{text}");
        }
        assert_eq!(normal_address(b"\xff", 64), None);
    }
}

//! The client's address. By default the socket's peer, and no header is read at all: anybody can write a header.
//!
//! Behind proxies, declare them (by network or by number) and exactly one header that the nearest of them writes. Lists
//! are read from the right, where the nearest proxy has added what it saw; what stands further left is a client's claim.
//!
//! ```text
//! X-Forwarded-For: 1.1.1.1, 203.0.113.9, 10.0.0.2        peer 10.0.0.1
//!                  claimed  ^ the client  ^ trusted       trusted
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use http::Extensions;
use http::header::{FORWARDED, HeaderMap, HeaderName};

use super::forwarded::{self, Entry};
use super::{ClientKey, Head, KeyError, KeyExtractor};

/// The peer of the connection, attached to a request by a server that is not axum's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// The address of the client. IPv4-mapped IPv6 addresses, and those that a NAT64 made of one (`64:ff9b::/96`), count as the
/// IPv4 address; IPv6 addresses count by their /64, which is what one customer gets at least.
#[derive(Debug, Clone)]
pub struct ClientIp {
    proxies: Option<Proxies>,
    ipv6_prefix: u8,
}

#[derive(Debug, Clone)]
struct Proxies {
    trusted: Trusted,
    header: HeaderName,
}

#[derive(Debug, Clone)]
enum Trusted {
    Networks(Vec<Cidr>),
    Hops(usize),
}

impl ClientIp {
    /// The socket's peer; no header is read.
    pub const fn peer() -> ClientIp {
        ClientIp { proxies: None, ipv6_prefix: 64 }
    }

    /// Behind proxies in these networks, which write `header`: `X-Forwarded-For`, `Forwarded`, or a header that holds
    /// one address. The client is the rightmost address that is in none of the networks. A request that does not come
    /// from one of the proxies is its peer's, whatever it says. No network at all is an error when the layer is built.
    pub fn behind(trusted: impl IntoIterator<Item = Cidr>, header: HeaderName) -> ClientIp {
        ClientIp::proxied(Trusted::Networks(trusted.into_iter().collect()), header)
    }

    /// Behind exactly so many proxies, which write `header`: the client is that many entries from the right. Only for
    /// servers that nobody can reach past the proxies. 0 is an error when the layer is built.
    pub fn behind_hops(hops: usize, header: HeaderName) -> ClientIp {
        ClientIp::proxied(Trusted::Hops(hops), header)
    }

    fn proxied(trusted: Trusted, header: HeaderName) -> ClientIp {
        ClientIp { proxies: Some(Proxies { trusted, header }), ipv6_prefix: 64 }
    }

    /// How many leading bits of an IPv6 address make a client (at most 128).
    #[must_use]
    pub fn ipv6_prefix(mut self, bits: u8) -> ClientIp {
        self.ipv6_prefix = bits.min(128);
        self
    }

    /// The client of this request, before it is cut to a prefix.
    #[inline]
    pub fn address(&self, head: &Head<'_>) -> Result<IpAddr, KeyError> {
        let peer = peer_of(head.extensions).ok_or(KeyError::NoPeer)?.ip().to_canonical();
        let seen = self.proxies.as_ref().and_then(|proxies| proxies.client(peer, head.headers));
        Ok(seen.map_or(peer, |address| address.to_canonical()))
    }
}

impl KeyExtractor for ClientIp {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        key.push_address("client", cut(self.address(head)?, self.ipv6_prefix));
        Ok(())
    }

    fn uses_secret(&self) -> bool {
        false
    }

    fn mistake(&self) -> Option<&'static str> {
        match &self.proxies.as_ref()?.trusted {
            Trusted::Networks(networks) if networks.is_empty() => {
                Some("`ClientIp::behind` without a network trusts nobody: name the proxies', or say `ClientIp::peer()`")
            }
            Trusted::Hops(0) => {
                Some("`ClientIp::behind_hops(0, ..)` would read what clients write: say `ClientIp::peer()`")
            }
            _ => None,
        }
    }
}

impl Proxies {
    /// What the proxies say of the client; `None` leaves the peer.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        match &self.trusted {
            Trusted::Networks(networks) => {
                let trusts = |address: &IpAddr| networks.iter().any(|network| network.contains(*address));
                trusts(&peer).then(|| self.walk(headers, |entries| rightmost_untrusted(entries, trusts)))?
            }
            Trusted::Hops(hops) => {
                let nearer = hops.checked_sub(1)?;
                self.walk(headers, |entries| entries.nth(nearer)?)
            }
        }
    }

    /// What the declared header says, its entries given from the right. `None` if a header that holds one address
    /// occurs twice.
    fn walk(
        &self,
        headers: &HeaderMap,
        client: impl FnOnce(&mut dyn Iterator<Item = Entry>) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        if self.header == FORWARDED {
            return client(&mut forwarded::forwarded(headers, &self.header));
        }
        if self.header.as_str() == "x-forwarded-for" {
            return client(&mut forwarded::x_forwarded_for(headers, &self.header));
        }
        let mut lines = headers.get_all(&self.header).iter();
        let entry = forwarded::address(lines.next()?.as_bytes());
        if lines.next().is_some() {
            return None;
        }
        client(&mut std::iter::once(entry))
    }
}

/// Walks from the right over trusted proxies. What cannot be read stops the walk with the peer: what stands left of it
/// is hearsay. Where all are trusted, the leftmost is the client: a request from inside.
fn rightmost_untrusted(
    from_right: &mut dyn Iterator<Item = Entry>,
    trusts: impl Fn(&IpAddr) -> bool,
) -> Option<IpAddr> {
    let mut leftmost = None;
    for entry in from_right {
        let address = entry?.to_canonical();
        if !trusts(&address) {
            return Some(address);
        }
        leftmost = Some(address);
    }
    leftmost
}

#[inline]
fn peer_of(extensions: &Extensions) -> Option<SocketAddr> {
    #[cfg(feature = "axum")]
    if let Some(info) = extensions.get::<axum::extract::ConnectInfo<SocketAddr>>() {
        return Some(info.0);
    }
    extensions.get::<PeerAddr>().map(|peer| peer.0)
}

/// The first 96 bits of `64:ff9b::/96`.
const NAT64: u128 = 0x0064_ff9b << 64;

#[inline]
fn cut(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        // The well-known prefix of RFC 6052: all of IPv4 would be one client.
        IpAddr::V6(v6) if v6.to_bits() >> 32 == NAT64 => IpAddr::V4(Ipv4Addr::from_bits(v6.to_bits() as u32)),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask(prefix))),
    }
}

/// `prefix` leading ones.
fn mask(prefix: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0)
}

/// A network such as `10.0.0.0/8`; an address alone is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    /// IPv4 networks as IPv4-mapped IPv6, so that one comparison serves both.
    network: u128,
    prefix: u8,
}

impl Cidr {
    /// Whether the address lies in the network. IPv4-mapped IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        to_bits(address) & mask(self.prefix) == self.network
    }
}

fn to_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CidrError(String);

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no network: expected an address and a prefix length, such as 10.0.0.0/8 or fd00::/8", self.0)
    }
}

impl std::error::Error for CidrError {}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let error = || CidrError(text.to_owned());
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let (most, offset) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| error())?;
        if bits > most {
            return Err(error());
        }
        let prefix = bits + offset;
        Ok(Cidr { network: to_bits(address) & mask(prefix), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses_in_every_spelling() {
        for (network, address, inside) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "255.255.255.255", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("fd00::/8", "fd12::1", true),
            ("::1", "::1", true),
            ("::1/128", "0.0.0.1", false),
        ] {
            let found = network.parse::<Cidr>().unwrap().contains(address.parse().unwrap());
            assert_eq!(found, inside, "{address} in {network}");
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "proxy/8"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_of_every_length() {
        let address: IpAddr = "2001:db8:1:1::1".parse().unwrap();
        assert_eq!(cut(address, 64), "2001:db8:1:1::".parse::<IpAddr>().unwrap());
        assert_eq!(cut(address, 48), "2001:db8:1::".parse::<IpAddr>().unwrap());
        assert_eq!(cut(address, 0), "::".parse::<IpAddr>().unwrap());
        assert_eq!(cut(address, 128), address);
        let nat64 = |text: &str| cut(text.parse().unwrap(), 64).to_string();
        assert_eq!(nat64("64:ff9b::192.0.2.33"), "192.0.2.33");
        assert_eq!(nat64("64:ff9b:1::192.0.2.33"), "64:ff9b:1::");
        assert_eq!(nat64("64:ff9b::1:0:0"), "64:ff9b::");
    }
}

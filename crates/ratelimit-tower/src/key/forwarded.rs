//! Reading what proxies wrote: lists of addresses in `X-Forwarded-For` or `Forwarded` (RFC 7239), nearest proxy last.
//! They are read from the right, and no further than is asked: what a client adds on the left costs nothing.

use std::net::{IpAddr, SocketAddr};

use http::header::{HeaderMap, HeaderName};

/// One entry: an address, or something that is none ("unknown", "_hidden", garbage).
pub(super) type Entry = Option<IpAddr>;

/// The entries of all lines of `X-Forwarded-For`, the last first.
pub(super) fn x_forwarded_for(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = Entry> {
    let lines = headers.get_all(name).iter().rev();
    lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')).map(address)
}

/// The `for` of every element of all lines of `Forwarded`, the last first; an element without one is no address.
pub(super) fn forwarded(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = Entry> {
    let lines = headers.get_all(name).iter().rev();
    lines.flat_map(|line| split_unquoted(line.as_bytes(), b',').into_iter().rev()).map(forwarded_for)
}

/// An address as proxies write it: with or without a port, IPv6 with or without brackets.
pub(super) fn address(text: &[u8]) -> Entry {
    let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '\t']);
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    text.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip())).or_else(bracketed)
}

/// Every pair must be well formed, not only the one that counts: a client could open a quotation that swallows the start
/// of what the proxy appends, and so make one element of its own claim and the proxy's word.
fn forwarded_for(element: &[u8]) -> Entry {
    let mut found = None;
    for pair in split_unquoted(element, b';') {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), unquote(pair[equals + 1..].trim_ascii())?);
        if !is_unquoted(name) {
            return None;
        }
        if name.eq_ignore_ascii_case(b"for") {
            // A second `for` in one element is not allowed: which to believe is anybody's guess.
            if found.is_some() {
                return None;
            }
            found = Some(value);
        }
    }
    address(&found?)
}

/// A token as it is, or the content of a quoted string.
fn unquote(value: &[u8]) -> Option<Vec<u8>> {
    let Some(rest) = value.strip_prefix(b"\"") else {
        return is_unquoted(value).then(|| value.to_vec());
    };
    let mut content = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter();
    loop {
        match bytes.next()? {
            b'"' => return bytes.as_slice().is_empty().then_some(content),
            b'\\' => content.push(*bytes.next()?),
            byte => content.push(*byte),
        }
    }
}

/// Whether nothing in it means anything to whoever splits: laxer than a token, as proxies leave out the quotation marks
/// around ports and brackets.
fn is_unquoted(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_graphic() && !b"\",;\\=".contains(byte))
}

/// Splits at `separator` outside quoted strings.
fn split_unquoted(text: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if *byte == separator && !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports_and_brackets() {
        for (text, expected) in [
            ("203.0.113.9", Some("203.0.113.9")),
            (" 203.0.113.9:1111\t", Some("203.0.113.9")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("[2001:db8::1]:80", Some("2001:db8::1")),
            ("", None),
            ("unknown", None),
            ("203.0.113", None),
            ("203.0.113.009", None),
            ("[203.0.113.9]", None),
            ("203.0.113.9:99999", None),
            ("fe80::1%eth0", None),
            ("\u{ff11}.1.1.1", None),
        ] {
            assert_eq!(address(text.as_bytes()), expected.map(|text| text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn elements_of_forwarded() {
        for (element, expected) in [
            ("for=192.0.2.1", Some("192.0.2.1")),
            ("proto=https;For=\"[2001:db8::1]:4711\"", Some("2001:db8::1")),
            ("For=\"192.0.2.1:80\";by=\"a;b,c\"", Some("192.0.2.1")),
            ("for=\"192.0.2\\.1\"", Some("192.0.2.1")),
            ("for=unknown", None),
            ("for=_hidden", None),
            ("for=\"192.0.2.1", None),
            ("for=\"192.0.2.1\"x", None),
            ("for=1.1.1.1;for=2.2.2.2", None),
            ("for=1.1.1.1;by=\", for=\"[2001:db8::1]:80\"", None),
            ("for=1.1.1.1;by=x\"", None),
            ("for=1.1.1.1;by=\"x", None),
            ("for=1.1.1.1;by=\"x\\\"", None),
            ("for=1.1.1.1;by\"=x, for=203.0.113.9", None),
            ("for=1.1.1.1;by x=y", None),
            ("for=1.1.1.1;by=x y", None),
            ("for=1.1.1.1;", None),
            ("proto=https", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(forwarded_for(element.as_bytes()), expected.map(|text| text.parse().unwrap()), "{element}");
        }
    }

    #[test]
    fn quoted_commas_do_not_split() {
        assert_eq!(split_unquoted(b"a=\"1,\\\",2\",b", b','), [&b"a=\"1,\\\",2\""[..], b"b"]);
    }
}

//! What stands before the time of an access log line: `[vhost] host ident user`.
//!
//! Whoever is taken for the client decides every number, so a word counts as the host only if it can be one: a word of a
//! prefix that is not known makes the line a bad record, never a client.

use super::line_format::field;
use super::prefix::prefix_length;
use crate::trace::client_name::parse_address;
use crate::trace::record::Field;
use crate::trace::time_text::date_prefix;

/// Who sent a request.
pub(super) struct Visitor<'a> {
    /// Empty without one.
    pub(super) vhost: Field<'a>,
    /// One address or name, or a list of them as proxies write it.
    pub(super) host: Field<'a>,
    /// Empty without one.
    pub(super) ident: Field<'a>,
    /// Empty without one.
    pub(super) user: Field<'a>,
}

/// Takes apart `line[..end]`, behind a prefix if need be; `None` if no word of it can be the host.
pub(super) fn visitor(line: &[u8], end: usize) -> Option<Visitor<'_>> {
    let mut words = Vec::with_capacity(8);
    behind(line, 0, end, &mut words).or_else(|| match prefix_length(&line[..end]) {
        0 => None,
        prefix => behind(line, prefix, end, &mut words),
    })
}

fn behind<'a>(line: &'a [u8], start: usize, end: usize, words: &mut Vec<Field<'a>>) -> Option<Visitor<'a>> {
    words.clear();
    split(line, start, end, words);
    let none = Field::default();
    let (vhost, rest) = match words.as_slice() {
        // An ident is nearly always `-`, so the word before the first of them is the host, unless it is the first word.
        [vhost, host, _, _, ..] if host.text != b"-" => (*vhost, &words[1..]),
        all => (none, all),
    };
    let (host, ident, user) = match rest {
        [host] => (*host, none, none),
        [host, ident] if is_address(host.text) => (*host, *ident, none),
        [host, ident, user] => (*host, *ident, *user),
        // A user's name may have spaces, but a second ident, user or address begins another line.
        [host, ident, first, middle @ .., last] if ident.text == b"-" && !first.text.is_empty() => {
            let whole = [&[*first], middle, &[*last]].concat();
            if whole.iter().any(|word| word.text == b"-" || is_address(word.text)) {
                return None;
            }
            (*host, *ident, joined(line, *first, *last))
        }
        _ => return None,
    };
    // An address in the place of the ident may as well be the client.
    let fits = is_vhost(vhost.text) && is_host_list(host.text, vhost.text.is_empty()) && !is_address(ident.text);
    fits.then_some(Visitor { vhost, host, ident, user })
}

/// The words between two places of a line. One that a comma ends goes on: `198.51.100.1, 10.0.0.1`.
fn split<'a>(line: &'a [u8], start: usize, end: usize, words: &mut Vec<Field<'a>>) {
    let mut at = start;
    let mut open = false;
    for next in memchr::memchr2_iter(b' ', b'\t', &line[start..end]).map(|i| start + i).chain([end]) {
        if at < next {
            let word = field(line, at, next);
            match words.last_mut() {
                Some(list) if open => *list = joined(line, *list, word),
                _ => words.push(word),
            }
            open = word.text.ends_with(b",");
        }
        at = next + 1;
    }
}

/// From the first byte of one field to the last of another.
fn joined<'a>(line: &'a [u8], first: Field<'a>, last: Field<'a>) -> Field<'a> {
    field(line, first.column - 1, last.column - 1 + last.text.len())
}

/// A host, or several with commas between; a number, which stands for a client in logs without names, only as the first word.
fn is_host_list(text: &[u8], first_word: bool) -> bool {
    let number = |host: &[u8]| first_word && host.iter().all(u8::is_ascii_digit);
    let mut hosts = text.split(|&b| b == b',').map(<[u8]>::trim_ascii);
    hosts.all(|host| !host.is_empty() && (host == b"-" || is_host(host) || number(host)))
}

/// A virtual host, or none.
fn is_vhost(text: &[u8]) -> bool {
    matches!(text, b"" | b"-" | b"_") || is_host(text)
}

/// An address, or a name that may be one of a host; with its port or without.
fn is_host(text: &[u8]) -> bool {
    if is_address(text) {
        return true;
    }
    let colon = memchr::memchr(b':', text).unwrap_or(text.len());
    let (name, port) = text.split_at(colon);
    let port = port.is_empty() || (port.len() > 1 && port[1..].iter().all(u8::is_ascii_digit));
    // Names in logs have more characters than the rules of DNS allow, but not those that put something around a word.
    let word = name.iter().all(|b| !b.is_ascii_whitespace() && !b"[](){}<>|=\"';,`".contains(b));
    let letter = name.iter().any(|b| b.is_ascii_alphabetic() || !b.is_ascii() || *b == b'*');
    port && word && letter && date_prefix(text) == 0
}

fn is_address(text: &[u8]) -> bool {
    let likely = text.first().is_some_and(|b| b.is_ascii_hexdigit() || matches!(b, b'[' | b':'));
    likely && std::str::from_utf8(text).is_ok_and(|text| parse_address(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Virtual host, host, ident and user.
    fn parts(text: &str) -> Option<[String; 4]> {
        let found = visitor(text.as_bytes(), text.len())?;
        let text = |f: Field<'_>| String::from_utf8_lossy(f.text).into_owned();
        Some([found.vhost, found.host, found.ident, found.user].map(text))
    }

    #[test]
    fn hosts_with_and_without_virtual_hosts() {
        for (text, expect) in [
            ("10.0.0.1 - - ", ["", "10.0.0.1", "-", "-"]),
            ("10.0.0.1", ["", "10.0.0.1", "", ""]),
            ("10.0.0.1 bob", ["", "10.0.0.1", "bob", ""]),
            ("::1 - - ", ["", "::1", "-", "-"]),
            ("[2001:db8::1]:443 - - ", ["", "[2001:db8::1]:443", "-", "-"]),
            ("fe80::1%eth0 - - ", ["", "fe80::1%eth0", "-", "-"]),
            ("- - - ", ["", "-", "-", "-"]),
            ("1042 - - ", ["", "1042", "-", "-"]),
            ("ix-esc_ca2-07.ix.netcom.com - - ", ["", "ix-esc_ca2-07.ix.netcom.com", "-", "-"]),
            ("***.novo.dk - - ", ["", "***.novo.dk", "-", "-"]),
            ("www.example.com:443 10.0.0.1 - alice ", ["www.example.com:443", "10.0.0.1", "-", "alice"]),
            ("*:80 10.0.0.1 - - ", ["*:80", "10.0.0.1", "-", "-"]),
            ("- 10.0.0.1 - - ", ["-", "10.0.0.1", "-", "-"]),
            ("a.example 10.0.0.1 id bob ", ["a.example", "10.0.0.1", "id", "bob"]),
            ("10.0.0.1 - john smith jr ", ["", "10.0.0.1", "-", "john smith jr"]),
            ("a.example 10.0.0.1 - bob b ", ["a.example", "10.0.0.1", "-", "bob b"]),
            ("198.51.100.1, 10.0.0.1 - - ", ["", "198.51.100.1, 10.0.0.1", "-", "-"]),
            ("198.51.100.1,10.0.0.1 - - ", ["", "198.51.100.1,10.0.0.1", "-", "-"]),
            ("unknown, 10.0.0.1, ::1 - bob ", ["", "unknown, 10.0.0.1, ::1", "-", "bob"]),
            ("a.example 198.51.100.1, 10.0.0.1 - - ", ["a.example", "198.51.100.1, 10.0.0.1", "-", "-"]),
            ("<190>May 12 08:00:00 web1 nginx: 10.0.0.1 - - ", ["", "10.0.0.1", "-", "-"]),
            ("web | a.example 198.51.100.1, ::1 - - ", ["a.example", "198.51.100.1, ::1", "-", "-"]),
        ] {
            assert_eq!(parts(text).unwrap(), expect, "{text}");
        }
    }

    #[test]
    fn what_can_be_no_host_is_none() {
        for text in [
            "",
            "12 13 - - ",
            "May 12 - - ",
            "one two 10.0.0.1 - - ",
            "one two three 10.0.0.1 - - ",
            "nginx[312] 10.0.0.1 - - ",
            "web1 nginx[312] - - ",
            "a.example 10.0.0.1 - ",
            "a.example 10.0.0.1 ",
            "2024-05-12T08:00:00Z web1 nginx 312 - - 10.0.0.1 - - ",
            "312 - - 10.0.0.1 - - ",
            "312 - x 10.0.0.1 ",
            "key=value - - ",
            "\"198.51.100.1, 10.0.0.1\" - - ",
            "\"198.51.100.1\" 10.0.0.1 - - ",
            "08:00:00 - - ",
            "2024-05-12T08:00:00Z - - ",
            "| - - ",
            "| 10.0.0.1 - - ",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in "[a1.:,|<>\\[\\]\" -]{0,60}") {
            let _ = parts(&line);
        }
    }
}

//! What syslog and container tools put before a line of a log.
//!
//! Syslog as of RFC 3164 (`<190>May 12 08:00:00 web1 nginx[312]: `) and RFC 5424
//! (`<134>1 2024-05-12T08:00:00Z web1 nginx 312 - - `), with the ISO stamps of rsyslog and journald, with the priority or
//! without; the names of docker compose (`web-1  | `) and of kubectl (`[pod/web-1/nginx] `); the stamps of both.

use crate::trace::civil::month_by_name;
use crate::trace::time_text::date_prefix;
use crate::trace::unwrap::compose;

/// The bytes of the prefixes at the front of a line; 0 without any.
pub(super) fn prefix_length(line: &[u8]) -> usize {
    let mut rest = Rest(line);
    rest.source_name();
    rest.skip_spaces();
    let priority = rest.priority();
    if !(priority && rest.header_5424()) {
        if rest.stamp() {
            rest.host_and_tag();
        } else {
            rest.tag();
        }
    }
    rest.skip_spaces();
    line.len() - rest.0.len()
}

/// The part of the line not passed yet. What does not fit passes nothing.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip_spaces(&mut self) {
        let spaces = self.0.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        self.0 = &self.0[spaces..];
    }

    /// The next word, and what follows it.
    fn word(&self) -> (&'a [u8], &'a [u8]) {
        let end = self.0.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        (word, rest.trim_ascii_start())
    }

    /// `web-1  | `, or `[pod/web-1/nginx] `.
    fn source_name(&mut self) {
        let (word, rest) = self.word();
        if let Some(length) = compose(self.0) {
            self.0 = &self.0[length..];
        } else if word.starts_with(b"[pod/") && word.ends_with(b"]") {
            self.0 = rest;
        }
    }

    /// `<190>`.
    fn priority(&mut self) -> bool {
        let Some(inside) = self.0.strip_prefix(b"<") else { return false };
        let digits = inside.iter().take_while(|b| b.is_ascii_digit()).count();
        let closed = (1..=3).contains(&digits) && inside.get(digits) == Some(&b'>');
        if closed {
            self.0 = &inside[digits + 1..];
        }
        closed
    }

    /// A stamp that a space follows: `2024-05-12T08:00:00.5+02:00`, `May 12 08:00:00`, `May 12 2024 08:00:00`.
    fn stamp(&mut self) -> bool {
        let length = match date_prefix(self.0) {
            0 => old_stamp(self.0),
            length => length,
        };
        // Some routers write a colon after it.
        let after = &self.0[length..];
        let after = after.strip_prefix(b":").unwrap_or(after);
        let stamped = length > 0 && matches!(after.first(), Some(b' ' | b'\t'));
        if stamped {
            self.0 = after.trim_ascii_start();
        }
        stamped
    }

    /// `1 2024-05-12T08:00:00Z web1 nginx 312 - - `: version, stamp, host, name, process, message id and data. Whether it
    /// was there; nothing is left of it then, and no tag follows.
    fn header_5424(&mut self) -> bool {
        let mut rest = Rest(self.0);
        let (version, after) = rest.word();
        if version != b"1" {
            return false;
        }
        rest.0 = after;
        if !rest.stamp() {
            let (nil, after) = rest.word();
            if nil != b"-" {
                return false;
            }
            rest.0 = after;
        }
        for _ in 0..4 {
            rest.0 = rest.word().1;
        }
        let found = rest.structured_data();
        if found {
            rest.0 = rest.0.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest.0);
            self.0 = rest.0;
        }
        found
    }

    /// `-`, or `[id name="value"][...]`.
    fn structured_data(&mut self) -> bool {
        if let (b"-", after) = self.word() {
            self.0 = after;
            return true;
        }
        let mut rest = self.0;
        while let Some(inside) = rest.strip_prefix(b"[") {
            let Some(end) = end_of_element(inside) else { return false };
            rest = &inside[end..];
        }
        let found = rest.len() < self.0.len() && matches!(rest.first(), Some(b' '));
        if found {
            self.0 = rest.trim_ascii_start();
        }
        found
    }

    /// `web1 nginx[312]: `, or `nginx: ` alone.
    fn host_and_tag(&mut self) {
        if !self.tag() {
            let mut rest = Rest(self.word().1);
            if rest.tag() {
                self.0 = rest.0;
            }
        }
    }

    /// `nginx: `, `nginx[312]: `.
    fn tag(&mut self) -> bool {
        let (word, after) = self.word();
        let Some(tag) = word.strip_suffix(b":") else { return false };
        let named = tag.first().is_some_and(u8::is_ascii_alphabetic) && !tag.contains(&b':');
        if named && !after.is_empty() {
            self.0 = after;
        }
        named
    }
}

/// The end of an element of structured data, behind its `]`: one in quotes or after a backslash does not count.
fn end_of_element(inside: &[u8]) -> Option<usize> {
    let (mut quoted, mut at) = (false, 0);
    loop {
        match inside.get(at)? {
            b'\\' => at += 1,
            b'"' => quoted = !quoted,
            b']' if !quoted => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}

/// The length of `May 12 08:00:00.5` or `May  2 2024 08:00:00`; 0 for anything else.
fn old_stamp(text: &[u8]) -> usize {
    let Some((name, rest)) = text.split_at_checked(3) else { return 0 };
    let mut rest = Rest(rest);
    if month_by_name(name).is_none() || rest.0.first() != Some(&b' ') {
        return 0;
    }
    rest.skip_spaces();
    let digits = |word: &[u8], lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&word.len()) && word.iter().all(u8::is_ascii_digit)
    };
    let (day, after) = rest.word();
    if !digits(day, 1..=2) {
        return 0;
    }
    rest.0 = after;
    if digits(rest.word().0, 4..=4) {
        rest.0 = rest.word().1;
    }
    let time = rest.word().0;
    let of_day = matches!(time, [h, _, b':', _, _, b':', _, s, ..] if h.is_ascii_digit() && s.is_ascii_digit());
    let time = time.strip_suffix(b":").unwrap_or(time);
    if of_day { text.len() - rest.0.len() + time.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSIDE: &str = "198.51.100.1 - - [12/May/2024:08:00:00 +0000]";

    #[test]
    fn prefixes_of_syslog_and_of_containers_end_where_the_line_begins() {
        for prefix in [
            "",
            "May 12 08:00:00 web1 nginx[312]: ",
            "<190>May 12 08:00:00 web1 nginx[312]: ",
            "<190>May 12 08:00:00 nginx: ",
            "May  2 08:00:00.123 web1 nginx: ",
            "May 12 2024 08:00:00: web1 nginx: ",
            "May 12 08:00:00 web1 ool/nginx-a[1]: ",
            "<134>1 2024-05-12T08:00:00Z web1 nginx 312 - - ",
            "<134>1 2024-05-12T08:00:00.5+02:00 web1 nginx - - [a@1 k=\"x\\\"]y\"][b] \u{feff}",
            "<134>1 - - - - - - ",
            "2024-05-12T08:00:00Z web1 nginx[312]: ",
            "2024-05-12T08:00:00.123456+02:00 web1 nginx: ",
            "<190>2024-05-12T08:00:00Z web1 nginx: ",
            "2024-05-12T08:00:00.123456789Z ",
            "web-1  | ",
            "web1 | ",
            "web-1  | 2024-05-12T08:00:00.1Z ",
            "[pod/web-1/nginx] ",
            "[pod/web-1/nginx] 2024-05-12T08:00:00.1Z ",
            "<190>",
            "nginx: ",
        ] {
            assert_eq!(prefix_length(format!("{prefix}{INSIDE}").as_bytes()), prefix.len(), "{prefix}");
        }
    }

    #[test]
    fn what_is_no_prefix_stays() {
        for line in [
            "www.example.com:443 198.51.100.1 - -",
            "::1 - -",
            "2001:db8::1 - -",
            "fe80:: - -",
            "May - -",
            "<x>y",
            "<1234>y",
            "<134>1 x",
            "a | ",
            "2024-05-12T08:00:00Z",
            "",
        ] {
            let length = prefix_length(line.as_bytes());
            let expect = match line {
                "<134>1 x" => 5,
                "a | " => 4,
                _ => 0,
            };
            assert_eq!(length, expect, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in "[<>0-9a:|\\[\\]\" \\\\MayT.Z-]{0,60}", head in "(<1>1 |May 1[2 ]|a \\||)") {
            let line = format!("{head}{line}");
            proptest::prop_assert!(prefix_length(line.as_bytes()) <= line.len());
        }
    }
}

//! Apache and nginx access logs: `host ident user [time] "request" status bytes "referer" "agent" ...`.
//!
//! The time is written when the request ends, with its start (Apache `%t`) or its end (nginx); neither format says how
//! long it took. A virtual host before the client, a user name with spaces and further fields at the end are all seen.

use super::line_format::{LineFormat, Split, field, read};
use super::{Format, Head};
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};

/// With referer and agent.
pub(crate) const COMBINED: Format = Format {
    name: "combined",
    about: "Apache or nginx combined log",
    detect: |head| some_line(head, AGENT),
    read: |source, options, sink, label| read(&ACCESS_LOG, source, options, sink, label),
};

/// Without them.
pub(crate) const COMMON: Format = Format {
    name: "common",
    about: "Apache or nginx common log",
    detect: |head| some_line(head, 0),
    read: |source, options, sink, label| read(&ACCESS_LOG, source, options, sink, label),
};

const ACCESS_LOG: LineFormat = LineFormat {
    names: &["host", "ident", "user", "time", "request", "status", "bytes", "referer", "agent", "vhost"],
    roles: Roles {
        time: Some((3, None)),
        client: Some(0),
        cost: None,
        count: None,
        duration: None,
        duration_unit: None,
        time_unit: None,
        ends: false,
    },
    split,
};
const BYTES: usize = 6;
const AGENT: usize = 8;
const VHOST: usize = 9;

/// Whether some line is an access log's and has the field `last`.
fn some_line(head: &Head<'_>, last: usize) -> bool {
    let mut found = Vec::new();
    head.lines().any(|line| matches!(split(line, &mut found), Split::Fields) && found.len() > last)
}

fn split<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    fields.clear();
    let Some(open) = bracket(line) else {
        return Split::Bad(Why::Shape("an access log line: host ident user [time] \"request\" status bytes"), 0);
    };
    let Some(close) = memchr::memchr(b']', &line[open..]).map(|i| open + i) else {
        return Split::Bad(Why::Shape("a ] after the time"), open);
    };
    let before = words(line, open);
    let (vhost, host, rest) = match before.as_slice() {
        [] => return Split::Bad(Why::Shape("a host before the time"), 0),
        [host, rest @ ..] if rest.len() < 3 => (None, *host, rest),
        // Four words and more: a virtual host in front, unless the second word is the ident, which is nearly always `-`.
        [host, rest @ ..] if rest[0].text == b"-" => (None, *host, rest),
        [vhost, host, rest @ ..] => (Some(*vhost), *host, rest),
        [host] => (None, *host, &before[1..]),
    };
    let ident = rest.first().copied().unwrap_or_default();
    let user = match rest {
        [_, user, .., last] => Field { text: &line[start_of(user)..start_of(last) + last.text.len()], ..*user },
        [_, user] => *user,
        _ => Field::default(),
    };
    fields.extend([host, ident, user, field(line, open + 1, close)]);
    if let Err(bad) = tail(line, close + 1, fields) {
        return bad;
    }
    // In these logs a dash for the size is no body at all.
    if let Some(bytes) = fields.get_mut(BYTES).filter(|bytes| bytes.text == b"-") {
        bytes.text = b"0";
    }
    if vhost.is_some() || fields.len() > VHOST {
        fields.resize(fields.len().max(VHOST), Field::default());
        fields.insert(VHOST, vhost.unwrap_or_default());
    }
    Split::Fields
}

fn start_of(field: &Field<'_>) -> usize {
    field.column - 1
}

/// The `[` before a date such as `12/May/2024:`.
fn bracket(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'[', line)
        .find(|&i| matches!(line.get(i + 1..i + 13), Some([_, _, b'/', _, _, _, b'/', _, _, _, _, b':'])))
}

/// The words of the line before `end`.
fn words(line: &[u8], end: usize) -> Vec<Field<'_>> {
    let mut words = Vec::with_capacity(4);
    let mut start = 0;
    for i in 0..=end {
        if i == end || line[i] == b' ' || line[i] == b'\t' {
            if start < i {
                words.push(field(line, start, i));
            }
            start = i + 1;
        }
    }
    words
}

/// The quoted and bare fields after the time. The request must be there and closed, and a status follow; all else may be missing.
fn tail<'a>(line: &'a [u8], mut at: usize, fields: &mut Vec<Field<'a>>) -> Result<(), Split> {
    let first = fields.len();
    loop {
        while matches!(line.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        match line.get(at) {
            None => break,
            Some(b'"') => {
                // Cut at the end of the line, an agent is still an agent; a request is not.
                let end = match closing_quote(line, at + 1) {
                    Some(end) => end,
                    None if fields.len() > first + 1 => line.len(),
                    None => return Err(Split::Bad(Why::UnclosedQuote, at)),
                };
                fields.push(field(line, at + 1, end));
                at = end + 1;
            }
            Some(_) if fields.len() == first => {
                return Err(Split::Bad(Why::Shape("a quoted request after the time"), at));
            }
            Some(_) => {
                let end = memchr::memchr2(b' ', b'\t', &line[at..]).map_or(line.len(), |i| at + i);
                fields.push(field(line, at, end));
                at = end;
            }
        }
    }
    match fields.get(first + 1) {
        Some(status) if status.text == b"-" || status.text.iter().all(u8::is_ascii_digit) => Ok(()),
        Some(status) => Err(Split::Bad(Why::Shape("a status code after the request"), start_of(status))),
        None => Err(Split::Bad(Why::Shape("a status code after the request"), line.len())),
    }
}

/// The next quote that no backslash escapes.
fn closing_quote(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match line.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

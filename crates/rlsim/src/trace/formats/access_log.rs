//! Apache and nginx access logs: `host ident user [time] "request" status bytes "referer" "agent" ...`.
//!
//! The time is the start of the request in Apache (`%t`) and its end in nginx; neither form says how long it took. A
//! virtual host before the client, a user name with spaces and further fields at the end are all seen. What syslog, docker
//! compose and their like put before a line is passed over.

use super::line_format::{LineFormat, Split, field};
use super::visitor::{Visitor, visitor};
use super::words;
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};

/// With referer and agent.
pub(crate) const COMBINED: LineFormat =
    LineFormat { name: "combined", about: "Apache or nginx combined log", telling: AGENT + 1, ..COMMON };

/// Without them.
pub(crate) const COMMON: LineFormat = LineFormat {
    name: "common",
    about: "Apache or nginx common log",
    names: &["host", "ident", "user", "time", "request", "status", "bytes", "referer", "agent", "vhost"],
    roles: Roles { time: Some((TIME, None)), client: Some(0), ..Roles::NONE },
    telling: STATUS + 1,
    split,
};

/// What stands before the time.
const BEFORE_TIME: &str = "host, ident and user before the time, the host an address, a name or -, after at most one virtual \
                           host (--log-format names other fields)";

const TIME: usize = 3;
const REQUEST: usize = 4;
const STATUS: usize = 5;
const BYTES: usize = 6;
const AGENT: usize = 8;
const VHOST: usize = 9;

fn split<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    let Some(open) = bracket(line) else {
        return Split::Bad(Why::Shape("an access log line: host ident user [time] \"request\" status bytes"), 0);
    };
    let Some(close) = memchr::memchr(b']', &line[open..]).map(|i| open + i) else {
        return Split::Bad(Why::Shape("a ] after the time"), open);
    };
    let Some(Visitor { vhost, host, ident, user }) = visitor(line, open) else {
        return Split::Bad(Why::Shape(BEFORE_TIME), 0);
    };
    fields.extend([host, ident, user]);
    fields.push(field(line, open + 1, close));
    if let Err(bad) = after_time(line, close + 1, fields) {
        return bad;
    }
    // In these logs a dash for the size is no body at all.
    if let Some(bytes) = fields.get_mut(BYTES).filter(|bytes| bytes.text == b"-") {
        bytes.text = b"0";
    }
    if !vhost.text.is_empty() || fields.len() > VHOST {
        fields.resize(fields.len().max(VHOST), Field::default());
        fields.insert(VHOST, vhost);
    }
    Split::Fields
}

/// The `[` before a date such as `12/May/2024:`.
fn bracket(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'[', line)
        .find(|&i| matches!(line.get(i + 1..i + 13), Some([_, _, b'/', _, _, _, b'/', _, _, _, _, b':'])))
}

/// The request must be there and closed, and a status follow; all else may be missing.
fn after_time<'a>(line: &'a [u8], at: usize, fields: &mut Vec<Field<'a>>) -> Result<(), Split> {
    let start = line[at..].iter().position(|b| *b != b' ').map_or(line.len(), |i| at + i);
    if line.get(start) != Some(&b'"') {
        return Err(Split::Bad(Why::Shape("a quoted request after the time"), start));
    }
    // Cut at the end of the line, an agent is still an agent; a request is not.
    words::append(line, start, |word| word > REQUEST, fields)?;
    match fields.get(STATUS) {
        Some(status) if status.text == b"-" || status.text.iter().all(u8::is_ascii_digit) => Ok(()),
        Some(status) => Err(Split::Bad(Why::Shape("a status code after the request"), status.column - 1)),
        None => Err(Split::Bad(Why::Shape("a status code after the request"), line.len())),
    }
}

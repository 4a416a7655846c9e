//! `HAProxy`'s HTTP and TCP logs, behind a syslog prefix or without one.
//!
//! `client:port [accept date] frontend backend/server timers status bytes ... "request"`. The date is that of the accepted
//! connection, the start, to the millisecond and without a zone; the last timer is the whole duration. Lines that `HAProxy`
//! writes about itself and about failed handshakes are passed over.

use super::line_format::{LineFormat, Split, field};
use super::words;
use crate::trace::options::TimeUnit;
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};

/// The format.
pub(crate) const HAPROXY: LineFormat = LineFormat {
    name: "haproxy",
    about: "HAProxy log, in syslog or not",
    names: &["client", "time", "frontend", "server", "timers", "total_time", "status", "bytes"],
    roles: Roles {
        time: Some((1, None)),
        client: Some(0),
        client_has_port: true,
        duration: Some(5),
        duration_unit: Some(TimeUnit::Millis),
        ..Roles::NONE
    },
    telling: 8,
    split,
};

fn split<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    const EXPECTED: &str = "a HAProxy line: client:port [date] frontend backend/server timers status bytes ...";
    let Some(open) = accept_date(line) else {
        let own = memchr::memmem::find(line, b"haproxy[").is_some();
        return if own { Split::Skipped } else { Split::Bad(Why::Shape(EXPECTED), 0) };
    };
    let before = line[..open].trim_ascii_end();
    let client = memchr::memrchr(b' ', before).map_or(0, |i| i + 1);
    let mut after = Vec::with_capacity(20);
    // Captured headers may hold anything; the words before them are plain.
    if let Err(bad) = words::append(line, open, |_| true, &mut after) {
        return bad;
    }
    let [time, frontend, server, timers, status, bytes, ..] = after[..] else {
        return Split::Skipped;
    };
    if !is_timers(timers.text) {
        return Split::Skipped;
    }
    let total = memchr::memrchr(b'/', timers.text).map_or(0, |i| i + 1);
    let total = Field { text: timers.text[total..].trim_ascii_start(), column: timers.column + total };
    let total = Field { text: total.text.strip_prefix(b"+").unwrap_or(total.text), ..total };
    fields.extend([field(line, client, before.len()), time, frontend, server, timers, total, status, bytes]);
    Split::Fields
}

/// The `[` of `[25/Feb/2019:16:19:48.143]` after an address with a port.
fn accept_date(line: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(line, b" [").map(|i| i + 1).find(|&open| {
        let dated = matches!(line.get(open + 1..open + 13), Some([_, _, b'/', _, _, _, b'/', _, _, _, _, b':']));
        let port = line[..open - 1].iter().rev().take_while(|b| b.is_ascii_digit()).count();
        dated && port > 0 && line[..open - 1 - port].ends_with(b":")
    })
}

/// `0/0/7/1457/1487` or the three of TCP; `-1` where a stage was not reached, `+` before a total that still counts.
fn is_timers(text: &[u8]) -> bool {
    let parts = text.split(|&b| b == b'/');
    let number = |part: &[u8]| {
        let digits = part.strip_prefix(b"-").or(part.strip_prefix(b"+")).unwrap_or(part);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    parts.clone().count() >= 3 && parts.into_iter().all(number)
}

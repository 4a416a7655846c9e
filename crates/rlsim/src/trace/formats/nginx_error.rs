//! nginx error logs: each line that names a client is a request, such as one that `limit_req` refused.
//!
//! `2024/05/12 08:15:30 [error] 12#12: *34 limiting requests, ..., client: 10.0.0.1, server: ..., request: "..."`. Lines without
//! a client are about the server and are passed over. Times are local and whole seconds.

use super::line_format::{LineFormat, Split, field};
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};

/// The format.
pub(crate) const NGINX_ERROR: LineFormat = LineFormat {
    name: "nginx-error",
    about: "nginx error log: limit_req verdicts and other lines with a client",
    names: &["time", "level", "message", "client"],
    roles: Roles { time: Some((0, None)), client: Some(3), ..Roles::NONE },
    telling: 4,
    split,
};

/// The length of `2024/05/12 08:15:30`.
const DATE: usize = 19;

fn split<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    const EXPECTED: &str = "an nginx error log line: YYYY/MM/DD HH:MM:SS [level] message";
    let dated = matches!(line.get(..DATE + 2), Some([_, _, _, _, b'/', _, _, b'/', _, _, b' ', .., b' ', b'[']));
    if !dated {
        return Split::Bad(Why::Shape(EXPECTED), 0);
    }
    let level = DATE + 2;
    let Some(close) = memchr::memchr(b']', &line[level..]).map(|i| level + i) else {
        return Split::Bad(Why::Shape(EXPECTED), level);
    };
    let Some(client) = memchr::memmem::find(line, CLIENT).filter(|&at| at > close) else {
        return Split::Skipped;
    };
    let start = client + CLIENT.len();
    let end = memchr::memchr(b',', &line[start..]).map_or(line.len(), |i| start + i);
    fields.extend([
        field(line, 0, DATE),
        field(line, level, close),
        field(line, close + 1, client),
        field(line, start, end),
    ]);
    Split::Fields
}

const CLIENT: &[u8] = b", client: ";

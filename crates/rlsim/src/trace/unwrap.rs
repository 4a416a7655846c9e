//! What container runtimes put around each line of a log, taken off before a format looks at it.
//!
//! Kubernetes (CRI) and docker compose write a prefix; it becomes spaces, so that places in messages stay true. The
//! json-file driver of docker makes each line a JSON string. Parts of a line that the runtime had cut are joined.

use std::io::{self, Read};

use serde::Deserialize;

use super::lines::{HEAD, head_lines, line_end, next_extent, without_return};
use super::source::Source;
use crate::error::Result;

/// What is around the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapper {
    /// `2024-05-12T08:15:30.123456789Z stdout F `, or `P` for a part.
    Cri,
    /// `name-1  | `.
    Compose,
    /// `{"log":"...\n","stream":"stdout","time":"..."}`.
    JsonFile,
}

/// One line of docker's json-file driver.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonFileLine {
    log: String,
    #[serde(rename = "stream")]
    _stream: serde::de::IgnoredAny,
    #[serde(rename = "time")]
    _time: serde::de::IgnoredAny,
    #[serde(rename = "attrs", default)]
    _attrs: serde::de::IgnoredAny,
}

/// The source without wrappers; the same source if it has none.
pub(crate) fn unwrapped(mut source: Source) -> Result<Source> {
    let head = source.head(HEAD)?.to_vec();
    let whole = source.ended() && source.window().len() <= HEAD;
    let Some(wrapper) = detect(&head, whole) else { return Ok(source) };
    let (label, end) = (source.label().to_owned(), line_end(&head));
    Ok(Source::plain(Box::new(Unwrap { source, wrapper, end, out: Vec::new(), given: 0, joining: false }), label))
}

/// The wrapper that all but a few of the first lines have.
fn detect(head: &[u8], whole: bool) -> Option<Wrapper> {
    let lines: Vec<&[u8]> = head_lines(head, whole).filter(|l| !l.trim_ascii().is_empty()).take(100).collect();
    let most = |fits: &dyn Fn(&[u8]) -> bool, tenths: usize| {
        !lines.is_empty() && lines.iter().filter(|line| fits(line)).count() * 10 >= lines.len() * tenths
    };
    let before_json =
        |line: &[u8]| compose(line).is_some_and(|prefix| line[prefix..].trim_ascii_start().starts_with(b"{"));
    if most(&|line| cri(line).is_some(), 9) {
        Some(Wrapper::Cri)
    } else if most(&|line| compose(line).is_some(), 9) && most(&before_json, 5) {
        Some(Wrapper::Compose)
    } else if most(&|line| serde_json::from_slice::<JsonFileLine>(line).is_ok(), 9) {
        Some(Wrapper::JsonFile)
    } else {
        None
    }
}

/// The length of a CRI prefix, and whether the line is only a part.
fn cri(line: &[u8]) -> Option<(usize, bool)> {
    let mut words = line.splitn(4, |&b| b == b' ');
    let (time, stream, tag) = (words.next()?, words.next()?, words.next()?);
    let timed = time.len() >= 20 && time[10] == b'T' && time[0].is_ascii_digit();
    let partial = match tag {
        [b'P', ..] => true,
        [b'F', ..] => false,
        _ => return None,
    };
    let prefix = time.len() + stream.len() + tag.len() + 3;
    (timed && matches!(stream, b"stdout" | b"stderr")).then_some((prefix.min(line.len()), partial))
}

/// The length of a docker compose prefix.
pub(crate) fn compose(line: &[u8]) -> Option<usize> {
    let bar = memchr::memchr(b'|', line)?;
    let name = line[..bar].trim_ascii_end();
    let named = !name.is_empty() && name.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    (named && name.len() < bar).then_some(bar + 1)
}

/// Reads another source line by line, without wrappers.
struct Unwrap {
    source: Source,
    wrapper: Wrapper,
    end: u8,
    out: Vec<u8>,
    given: usize,
    /// Whether the next line goes on with this one.
    joining: bool,
}

impl Read for Unwrap {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            self.out.clear();
            self.given = 0;
            let Some(extent) = next_extent(&mut self.source, self.end).map_err(io::Error::other)? else {
                return Ok(0);
            };
            let line = without_return(&self.source.window()[..extent.length], self.end);
            self.joining = unwrap_line(self.wrapper, line, self.joining, &mut self.out);
            self.source.consume(extent.consumed);
        }
        let count = out.len().min(self.out.len() - self.given);
        out[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// Appends what is inside; whether the next line goes on with it.
fn unwrap_line(wrapper: Wrapper, line: &[u8], joining: bool, out: &mut Vec<u8>) -> bool {
    let (prefix, partial) = match wrapper {
        Wrapper::Cri => cri(line).unwrap_or((0, false)),
        Wrapper::Compose => (compose(line).unwrap_or(0), false),
        Wrapper::JsonFile => match serde_json::from_slice::<JsonFileLine>(line) {
            Ok(JsonFileLine { log, .. }) => {
                let inside = log.strip_suffix('\n');
                out.extend_from_slice(inside.unwrap_or(&log).as_bytes());
                out.extend(inside.map(|_| b'\n'));
                return inside.is_none();
            }
            Err(_) => (0, false),
        },
    };
    if !joining {
        out.resize(out.len() + prefix, b' ');
    }
    out.extend_from_slice(&line[prefix..]);
    if !partial {
        out.push(b'\n');
    }
    partial
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::source::Meter;

    fn inside(text: &'static str) -> String {
        let source = Source::from_reader(Box::new(text.as_bytes()), "test".into(), &Meter::default()).unwrap();
        let mut source = unwrapped(source).unwrap();
        while source.more().unwrap() {}
        String::from_utf8(source.window().to_vec()).unwrap()
    }

    #[test]
    fn cri_prefixes_become_spaces_and_parts_are_joined() {
        let text = "2024-05-12T08:15:30.1Z stdout F {\"a\":1}\n2024-05-12T08:15:30.2Z stderr P {\"a\n2024-05-12T08:15:30.2Z stderr F \":2}\n";
        let pad = " ".repeat("2024-05-12T08:15:30.1Z stdout F ".len());
        assert_eq!(inside(text), format!("{pad}{{\"a\":1}}\n{pad}{{\"a\":2}}\n"));
    }

    #[test]
    fn compose_prefixes_become_spaces_before_json_only() {
        assert_eq!(inside("web-1  | {\"a\":1}\nweb-1  | x\n"), "         {\"a\":1}\n         x\n");
        assert_eq!(inside("a | b\nc | d\n"), "a | b\nc | d\n");
    }

    #[test]
    fn json_file_lines_are_unescaped_and_parts_are_joined() {
        let text = "{\"log\":\"10.0.0.1 \\\"x\\\"\\n\",\"stream\":\"stdout\",\"time\":\"t\"}\n\
                    {\"log\":\"long \",\"stream\":\"stdout\",\"time\":\"t\"}\n\
                    {\"log\":\"line\\n\",\"stream\":\"stdout\",\"time\":\"t\",\"attrs\":{}}\n";
        assert_eq!(inside(text), "10.0.0.1 \"x\"\nlong line\n");
        // An ordinary record with those fields and others stays.
        let other = "{\"log\":\"x\\n\",\"stream\":\"stdout\",\"time\":\"t\",\"client\":\"a\"}\n";
        assert_eq!(inside(other), other);
    }
}

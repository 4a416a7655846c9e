//! Any log whose lines begin with a date: each line is a request of one global client.
//!
//! What follows the date is not looked into, so this is the last resort for application logs.

use super::line_format::{LineFormat, Split, field};
use super::{Format, Head};
use crate::error::Result;
use crate::trace::options::ReadOptions;
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};
use crate::trace::sink::Sink;
use crate::trace::source::Source;
use crate::trace::time_text::date_prefix;

/// The format.
pub(crate) struct Text;

const LINES: LineFormat = LineFormat {
    name: "text",
    about: "lines that begin with a date",
    names: &["time", "text"],
    roles: Roles { time: Some((0, None)), ..Roles::NONE },
    telling: 2,
    split,
};

impl Format for Text {
    fn name(&self) -> &'static str {
        LINES.name
    }

    fn about(&self) -> &'static str {
        LINES.about
    }

    /// The first line and most others begin with a date that no delimiter ends.
    fn detect(&self, head: &Head<'_>) -> bool {
        let mut lines = head.lines().filter(|line| !line.trim_ascii().is_empty()).peekable();
        let dated = |line: &[u8]| {
            let (_, end) = bounds(line);
            end > 0 && !matches!(line.get(end), None | Some(b',' | b';' | b'\t'))
        };
        let first = lines.peek().is_some_and(|line| dated(line));
        let (all, with) = lines.fold((0, 0), |(all, with), line| (all + 1, with + usize::from(dated(line))));
        first && with * 2 >= all
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        LINES.read(source, options, sink, label)
    }
}

/// Where the date starts and ends; an end of 0 is none.
fn bounds(line: &[u8]) -> (usize, usize) {
    let start = usize::from(line.first() == Some(&b'['));
    match date_prefix(&line[start..]) {
        0 => (start, 0),
        length => (start, start + length),
    }
}

fn split<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    match bounds(line) {
        (_, 0) => Split::Bad(Why::Shape("a date at the beginning of the line"), 0),
        (start, end) => {
            fields.extend([field(line, start, end), field(line, end, line.len())]);
            Split::Fields
        }
    }
}

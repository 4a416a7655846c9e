//! W3C extended logs: IIS, `CloudFront` and others. A `#Fields` line names the columns, and may come again with others.
//!
//! Times are UTC by the standard. IIS and `CloudFront` stamp the end of a request; `time-taken` is its duration,
//! milliseconds in IIS and seconds in `CloudFront`.

use super::words;
use super::{Format, Head};
use crate::error::Result;
use crate::trace::formats::line_format::Split;
use crate::trace::lines::{LONGEST, Lines};
use crate::trace::options::{ReadOptions, TimeUnit};
use crate::trace::plan::{Names, Plan, Roles};
use crate::trace::record::{Bad, Field, Place, Why};
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// The format.
pub(crate) struct W3c;

/// The format.
pub(crate) const W3C: W3c = W3c;

const FIELDS: &[u8] = b"#Fields:";

impl Format for W3c {
    fn name(&self) -> &'static str {
        "w3c"
    }

    fn about(&self) -> &'static str {
        "W3C extended log: IIS, CloudFront"
    }

    fn detect(&self, head: &Head<'_>) -> bool {
        head.lines().any(|line| line.starts_with(FIELDS))
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        let mut lines = Lines::new(source)?;
        let mut layout: Option<Layout> = None;
        while let Some(line) = lines.next()? {
            let place = Place::line(line.number, line.bytes);
            match line.bytes {
                _ if line.too_long => {
                    sink.bad(place, &Bad { why: Why::TooLong(LONGEST), found: Field::default() })?;
                }
                bytes if bytes.trim_ascii().is_empty() => sink.blank()?,
                [b'#', ..] => {
                    if let Some(names) = line.bytes.strip_prefix(FIELDS) {
                        let next = Layout::new(names, options, label)?;
                        if layout.as_ref() != Some(&next) {
                            sink.expect(&next.plan);
                            layout = Some(next);
                        }
                    }
                    sink.skipped()?;
                }
                _ => record(layout.as_ref(), place, sink)?,
            }
        }
        Ok(())
    }
}

/// The columns between two `#Fields` lines.
#[derive(PartialEq)]
struct Layout {
    names: Names,
    plan: Plan,
}

impl Layout {
    fn new(text: &[u8], options: &ReadOptions, label: &str) -> Result<Self> {
        let names: Vec<String> = text
            .split(u8::is_ascii_whitespace)
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let index =
            |wanted: &[&str]| wanted.iter().find_map(|w| names.iter().position(|name| name.eq_ignore_ascii_case(w)));
        let date = index(&["date", "date-utc", "date-local"]);
        let time = index(&["time", "time-utc", "time-local"]);
        let duration = index(&["time-taken", "TimeTakenMS"]);
        // CloudFront is told by the fields that only it has.
        let cloud_front = index(&["x-edge-location", "x-edge-request-id"]).is_some();
        let roles = Roles {
            time: date.map(|date| (date, time)).or(time.map(|time| (time, None))),
            client: index(&["c-ip", "c-dns", "cs-host"]),
            duration,
            duration_unit: Some(if cloud_front { TimeUnit::Seconds } else { TimeUnit::Millis }),
            ..Roles::NONE
        };
        let mut names = Names { count: names.len(), names };
        let plan = Plan::new(&mut names, options, roles, label)?;
        Ok(Layout { names, plan })
    }
}

fn record(layout: Option<&Layout>, place: Place<'_>, sink: &mut Sink<'_>) -> Result<()> {
    let whole = Field { text: place.bytes, column: 1 };
    let Some(layout) = layout else {
        return sink.bad(place, &Bad { why: Why::Shape("a #Fields line before the first record"), found: whole });
    };
    let mut fields = Vec::with_capacity(layout.names.count);
    if let Err(Split::Bad(why, at)) = words::append(place.bytes, 0, |_| false, &mut fields) {
        return sink.bad(place, &Bad { why, found: Field { text: &place.bytes[at..], column: at + 1 } });
    }
    let (expected, found) = (layout.names.count, fields.len());
    if expected != found {
        return sink.bad(place, &Bad { why: Why::NamedFieldCount { expected, found }, found: whole });
    }
    sink.take(place, layout.plan.parse(fields.as_slice(), &|i| layout.names.name(i)))
}

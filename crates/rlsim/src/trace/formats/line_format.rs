//! Formats whose records are lines of fields with known names.

use super::super::lines::{LONGEST, Lines};
use super::super::options::ReadOptions;
use super::super::plan::{Names, Plan, Roles};
use super::super::record::{Bad, Field, Place, Why};
use super::super::sink::Sink;
use super::super::source::Source;
use super::{Format, Head};
use crate::error::Result;

/// What a line turned out to be.
pub(crate) enum Split {
    /// A record; its fields are in place.
    Fields,
    /// A line that is no record, such as a message between records.
    Skipped,
    /// Not a line of this format: what was expected, and the byte where it was missed.
    Bad(Why, usize),
}

/// A line format with fixed columns.
pub(crate) struct LineFormat {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The names of the columns, in their order.
    pub(crate) names: &'static [&'static str],
    /// Which of them matter when nothing is asked for.
    pub(crate) roles: Roles,
    /// The fields that some line of the head must have for the format to be recognised.
    pub(crate) telling: usize,
    /// Takes a line apart into the columns.
    pub(crate) split: for<'a> fn(&'a [u8], &mut Vec<Field<'a>>) -> Split,
}

impl Format for LineFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn detect(&self, head: &Head<'_>) -> bool {
        let mut fields = Vec::new();
        head.lines().any(|line| {
            fields.clear();
            matches!((self.split)(line, &mut fields), Split::Fields) && fields.len() >= self.telling
        })
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        let names = self.names.iter().map(|&name| name.to_owned()).collect();
        read_lines(names, self.roles, &self.split, source, options, sink, label)
    }
}

/// Reads all lines with the given columns.
pub(crate) fn read_lines<S>(
    names: Vec<String>,
    roles: Roles,
    split: &S,
    source: &mut Source,
    options: &ReadOptions,
    sink: &mut Sink<'_>,
    label: &str,
) -> Result<()>
where
    S: for<'a> Fn(&'a [u8], &mut Vec<Field<'a>>) -> Split,
{
    // Lines may have more fields than names; those are found by number.
    let mut names = Names { count: usize::MAX, names };
    let plan = Plan::new(&mut names, options, roles, label)?;
    sink.expect(&plan);
    if let (None, Some(client)) = (&options.client_column, plan.client()) {
        sink.say_client(names.name(client));
    }
    let mut lines = Lines::new(source)?;
    while let Some(line) = lines.next()? {
        let place = Place::line(line.number, line.bytes);
        if line.too_long {
            sink.bad(place, &Bad { why: Why::TooLong(LONGEST), found: Field::default() })?;
        } else if line.bytes.trim_ascii().is_empty() {
            sink.blank()?;
        } else {
            let mut fields = Vec::with_capacity(names.names.len());
            match split(line.bytes, &mut fields) {
                Split::Fields => sink.take(place, plan.parse(fields.as_slice(), &|i| names.name(i)))?,
                Split::Skipped => sink.skipped()?,
                Split::Bad(why, at) => {
                    sink.bad(place, &Bad { why, found: field(line.bytes, at, line.bytes.len()) })?;
                }
            }
        }
    }
    Ok(())
}

/// The bytes from `start` to `end` of a line as a field.
pub(crate) fn field(line: &[u8], start: usize, end: usize) -> Field<'_> {
    Field { text: &line[start..end], column: start + 1 }
}

//! Formats whose records are lines of fields with known names.

use super::super::lines::{LONGEST, Lines};
use super::super::options::ReadOptions;
use super::super::plan::{Names, Plan, Roles};
use super::super::record::{Bad, Field, Why};
use super::super::sink::Sink;
use super::super::source::Source;
use crate::error::Result;

/// A line taken apart.
pub(crate) enum Split {
    /// The fields are in place.
    Fields,
    /// Not a line of this format: what was expected, and the byte where it was missed.
    Bad(Why, usize),
}

/// A line format with fixed columns.
pub(crate) struct LineFormat {
    /// The names of the columns, in their order.
    pub(crate) names: &'static [&'static str],
    /// Which of them matter when nothing is asked for.
    pub(crate) roles: Roles,
    /// Takes a line apart into the columns.
    pub(crate) split: for<'a> fn(&'a [u8], &mut Vec<Field<'a>>) -> Split,
}

/// Reads all lines.
pub(crate) fn read(
    format: &LineFormat,
    source: &mut Source,
    options: &ReadOptions,
    sink: &mut Sink<'_>,
    label: &str,
) -> Result<()> {
    let names: Vec<String> = format.names.iter().map(|&n| n.to_owned()).collect();
    let mut names = Names { count: usize::MAX, names };
    let plan = Plan::new(&mut names, options, format.roles, label)?;
    sink.expect(plan.has_client(), plan.time_unit, plan.duration_unit);
    let name_of = |i: usize| names.names.get(i).cloned().unwrap_or_else(|| format!("number {}", i + 1));
    let mut lines = Lines::new(source)?;
    while let Some(line) = lines.next()? {
        if line.too_long {
            sink.bad(line.number, &Bad { why: Why::TooLong(LONGEST), found: Field::default() })?;
        } else if line.bytes.trim_ascii().is_empty() {
            sink.blank()?;
        } else {
            let mut fields = Vec::with_capacity(format.names.len());
            match (format.split)(line.bytes, &mut fields) {
                Split::Fields => sink.take(line.number, plan.parse(fields.as_slice(), &name_of))?,
                Split::Bad(why, at) => {
                    sink.bad(line.number, &Bad { why, found: field(line.bytes, at, line.bytes.len()) })?;
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

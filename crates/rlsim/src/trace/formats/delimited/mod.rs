//! CSV, TSV and semicolon-separated values, with or without a header.
//!
//! Lines that begin with `#` are comments. Quotes follow RFC 4180, so a field may hold delimiters and line ends. Every
//! row has as many fields as the first line; another number is a bad row, since columns may have moved.

mod header;
mod rows;

use super::Format;
use crate::error::Result;
use crate::trace::options::ReadOptions;
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// Comma-separated values.
pub(crate) const CSV: Format = Format {
    name: "csv",
    about: "comma-separated values",
    detect: |head| header::delimiter(head) == Some(b','),
    read: |source, options, sink, label| read(b',', source, options, sink, label),
};

/// Tab-separated values.
pub(crate) const TSV: Format = Format {
    name: "tsv",
    about: "tab-separated values",
    detect: |head| header::delimiter(head) == Some(b'\t'),
    read: |source, options, sink, label| read(b'\t', source, options, sink, label),
};

/// Semicolon-separated values.
pub(crate) const SEMICOLON: Format = Format {
    name: "semicolon",
    about: "semicolon-separated values",
    detect: |head| header::delimiter(head) == Some(b';'),
    read: |source, options, sink, label| read(b';', source, options, sink, label),
};

fn read(delimiter: u8, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
    let mut rows = rows::Rows::new(source, delimiter)?;
    let Some(header) = header::read(&mut rows, options, sink, label)? else {
        return Ok(());
    };
    let plan = &header.plan;
    sink.expect(plan.has_client(), plan.time_unit, plan.duration_unit);
    let name_of = |i: usize| header.names.names.get(i).cloned().unwrap_or_else(|| format!("number {}", i + 1));
    while let Some(row) = rows.next()? {
        row.deliver(header.names.count, |fields| plan.parse(fields, &name_of), sink)?;
    }
    Ok(())
}

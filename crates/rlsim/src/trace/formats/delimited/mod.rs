//! CSV, TSV and semicolon-separated values, with or without a header.
//!
//! Lines that begin with `#` are comments. Quotes follow RFC 4180, so a field may hold delimiters and line ends. Every
//! row has as many fields as the first line; another number is a bad row, since columns may have moved.

mod header;
mod parallel;
mod presets;
mod rows;

use super::{Format, Head};
use crate::error::Result;
use crate::trace::options::ReadOptions;
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// Rows read before threads are started, which small files do not need.
const FIRST: usize = 10_000;

/// Text with a delimiter.
pub(crate) struct Delimited {
    name: &'static str,
    about: &'static str,
    delimiter: u8,
}

/// Comma-separated values.
pub(crate) const CSV: Delimited = Delimited { name: "csv", about: "comma-separated values", delimiter: b',' };
/// Tab-separated values.
pub(crate) const TSV: Delimited = Delimited { name: "tsv", about: "tab-separated values", delimiter: b'\t' };
/// Semicolon-separated values.
pub(crate) const SEMICOLON: Delimited =
    Delimited { name: "semicolon", about: "semicolon-separated values", delimiter: b';' };

impl Format for Delimited {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn detect(&self, head: &Head<'_>) -> bool {
        header::delimiter(head) == Some(self.delimiter)
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        let mut rows = rows::Rows::new(source, self.delimiter)?;
        let Some(header) = header::read(&mut rows, options, sink, label)? else {
            return Ok(());
        };
        sink.expect(&header.plan);
        for _ in 0..FIRST {
            let Some(row) = rows.next()? else { return Ok(()) };
            header.deliver(row, sink)?;
        }
        let splitter = rows.splitter();
        let (source, line) = rows.pause();
        parallel::read(source, line, splitter, &header, sink, parallel::threads(options))?;
        while let Some(row) = rows.next()? {
            header.deliver(row, sink)?;
        }
        Ok(())
    }
}

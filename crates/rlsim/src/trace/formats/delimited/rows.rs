//! Rows of delimited text: split in place where no quote occurs, by `csv-core` where one does.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use crate::error::Result;
use crate::trace::lines::{HEAD, LONGEST, line_end, next_extent, without_return};
use crate::trace::plan::Fields;
use crate::trace::record::{Bad, Field, Parsed, Place, Why};
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// The furthest a quoted field may reach over line ends before its quote counts as never closed.
const LONGEST_QUOTED: usize = 1024 * 1024;
/// Quotes never closed before quoted line ends are given up in an input: this bounds the work that they cost.
const UNCLOSED_MOST: u32 = 100;

/// What splits lines without quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splitter {
    pub(super) delimiter: u8,
    /// LF or CR.
    pub(super) end: u8,
}

/// The rows of a source.
pub(super) struct Rows<'s> {
    source: &'s mut Source,
    splitter: Splitter,
    line: u64,
    unclosed: u32,
    /// Bytes and line ends of the row given out last, consumed at the next call.
    given: (usize, u64),
    spans: Spans,
    quoted: Reader,
}

/// Where the fields of a row lie.
#[derive(Default)]
pub(super) struct Spans {
    /// The end of every field in `unquoted`, or in the line itself.
    ends: Vec<usize>,
    /// The fields of a row with quotes, one after the other.
    unquoted: Vec<u8>,
    /// Where each field of a row with quotes starts in the line.
    columns: Vec<usize>,
}

/// A row, or a line that is none.
pub(super) struct Row<'r> {
    pub(super) place: Place<'r>,
    pub(super) kind: RowKind<'r>,
}

/// What a row is.
pub(super) enum RowKind<'r> {
    Blank,
    Comment,
    Fields(RowFields<'r>),
    Bad(Bad<'r>),
}

/// The fields of one row.
pub(super) struct RowFields<'r> {
    bytes: &'r [u8],
    spans: &'r Spans,
    quoted: bool,
}

impl RowFields<'_> {
    pub(super) fn len(&self) -> usize {
        self.spans.ends.len()
    }
}

impl<'r> Fields<'r> for RowFields<'r> {
    fn get(&self, index: usize) -> Option<Field<'r>> {
        let end = *self.spans.ends.get(index)?;
        let before = index.checked_sub(1).map(|i| self.spans.ends[i]);
        Some(if self.quoted {
            let column = self.spans.columns.get(index).copied().unwrap_or(0) + 1;
            Field { text: &self.spans.unquoted[before.unwrap_or(0)..end], column }
        } else {
            let start = before.map_or(0, |b| b + 1);
            Field { text: &self.bytes[start..end], column: start + 1 }
        })
    }
}

impl<'r> Row<'r> {
    /// Puts the row into the sink: as a record if it has the right number of fields.
    pub(super) fn deliver(
        self,
        expected: usize,
        parse: impl FnOnce(&RowFields<'r>) -> Parsed<'r>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        match self.kind {
            RowKind::Blank => sink.blank(),
            RowKind::Comment => sink.skipped(),
            RowKind::Bad(bad) => sink.bad(self.place, &bad),
            RowKind::Fields(fields) => {
                let found = fields.len();
                // One delimiter too many at the end is a habit of some writers and moves nothing.
                let trailing = found == expected + 1 && fields.get(expected).is_some_and(|f| f.text.is_empty());
                if found == expected || trailing {
                    sink.take(self.place, parse(&fields))
                } else {
                    let text = fields.bytes;
                    sink.bad(
                        self.place,
                        &Bad { why: Why::FieldCount { expected, found }, found: Field { text, column: 1 } },
                    )
                }
            }
        }
    }
}

impl<'s> Rows<'s> {
    pub(super) fn new(source: &'s mut Source, delimiter: u8) -> Result<Self> {
        let end = line_end(source.head(HEAD)?);
        let quoted = ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::CRLF).build();
        let spans = Spans::default();
        Ok(Rows { source, splitter: Splitter { delimiter, end }, line: 0, unclosed: 0, given: (0, 0), spans, quoted })
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>> {
        self.source.consume(self.given.0);
        self.line += self.given.1;
        self.given = (0, 0);
        if let Some(length) = self.splitter.split_in_place(self.source.window(), &mut self.spans) {
            self.given = (length + 1, 1);
            let bytes = without_return(&self.source.window()[..length], self.splitter.end);
            let kind = RowKind::Fields(RowFields { bytes, spans: &self.spans, quoted: false });
            return Ok(Some(Row { place: Place::line(self.line + 1, bytes), kind }));
        }
        let Some(extent) = next_extent(self.source, self.splitter.end)? else { return Ok(None) };
        self.given = (extent.consumed, 1);
        let (length, line) = (extent.length, self.line + 1);
        if extent.too_long {
            let found = Field { text: &[], column: 1 };
            let kind = RowKind::Bad(Bad { why: Why::TooLong(LONGEST), found });
            return Ok(Some(Row { place: Place::line(line, &[]), kind }));
        }
        let bytes = &self.source.window()[..length];
        if bytes.first() != Some(&b'#') && memchr::memchr(b'"', bytes).is_some() {
            return self.quoted_row(line, length).map(Some);
        }
        let line_bytes = &self.source.window()[..length];
        Ok(Some(self.splitter.row_without_quotes(line_bytes, line, &mut self.spans)))
    }

    /// What splits lines without quotes.
    pub(super) fn splitter(&self) -> Splitter {
        self.splitter
    }

    /// Passes the row given out last, and hands over the source and the number of lines passed.
    pub(super) fn pause(&mut self) -> (&mut Source, &mut u64) {
        self.source.consume(self.given.0);
        self.line += self.given.1;
        self.given = (0, 0);
        (self.source, &mut self.line)
    }

    /// A row with quotes, which may go on over line ends; `first` is the length of its first line.
    fn quoted_row(&mut self, line: u64, first: usize) -> Result<Row<'_>> {
        let furthest = if self.unclosed < UNCLOSED_MOST { LONGEST_QUOTED.max(first) } else { first };
        let length = loop {
            let window = self.source.window();
            let bytes = &window[..window.len().min(furthest)];
            if let Some(length) = self.spans.split(&mut self.quoted, bytes) {
                break Some(length);
            }
            if window.len() >= furthest || !self.source.more()? {
                // The end of the input, or of what is looked at, ends a row like a line end does.
                let closed = [&self.source.window()[..furthest.min(self.source.window().len())], b"\n"].concat();
                break self.spans.split(&mut self.quoted, &closed).map(|length| length.min(closed.len() - 1));
            }
        };
        let Some(length) = length else {
            self.unclosed += 1;
            let bytes = without_return(&self.source.window()[..first], self.splitter.end);
            let quote = memchr::memrchr(b'"', bytes).unwrap_or(0);
            let found = Field { text: &bytes[quote..], column: quote + 1 };
            let kind = RowKind::Bad(Bad { why: Why::UnclosedQuote, found });
            return Ok(Row { place: Place::line(line, bytes), kind });
        };
        let length = self.with_line_feed(length);
        let bytes = &self.source.window()[..length];
        let ends = memchr::memchr_iter(self.splitter.end, bytes).count() as u64;
        self.given = (length, ends.max(1));
        let bytes = without_return(bytes.strip_suffix(&[self.splitter.end]).unwrap_or(bytes), self.splitter.end);
        self.spans.find_columns(bytes, self.splitter.delimiter);
        let kind = RowKind::Fields(RowFields { bytes, spans: &self.spans, quoted: true });
        Ok(Row { place: Place::line(line, bytes), kind })
    }

    /// A row may be seen to end at its CR; the LF after it belongs to the same line end.
    fn with_line_feed(&self, length: usize) -> usize {
        let window = self.source.window();
        if self.splitter.end == b'\n' && window[..length].last() == Some(&b'\r') && window.get(length) == Some(&b'\n') {
            length + 1
        } else {
            length
        }
    }
}

impl Splitter {
    /// Nearly every row: a line that lies in the window, without quotes, neither blank nor a comment. One pass finds its fields
    /// and its end; its length without the end is returned.
    pub(super) fn split_in_place(self, window: &[u8], spans: &mut Spans) -> Option<usize> {
        let first = *window.first()?;
        if first == b'#' || first.is_ascii_whitespace() {
            return None;
        }
        spans.ends.clear();
        for at in memchr::memchr3_iter(self.delimiter, self.end, b'"', window) {
            match window[at] {
                byte if byte == self.end => {
                    spans.ends.push(without_return(&window[..at], self.end).len());
                    return (at <= LONGEST).then_some(at);
                }
                b'"' => return None,
                _ => spans.ends.push(at),
            }
        }
        None
    }

    /// A line without quotes that may be blank or a comment.
    pub(super) fn row_without_quotes<'r>(self, line_bytes: &'r [u8], line: u64, spans: &'r mut Spans) -> Row<'r> {
        let bytes = without_return(line_bytes, self.end);
        let kind = match bytes {
            [b'#', ..] => RowKind::Comment,
            _ if is_blank(bytes, self.delimiter) => RowKind::Blank,
            _ => {
                spans.ends.clear();
                spans.ends.extend(memchr::memchr_iter(self.delimiter, bytes));
                spans.ends.push(bytes.len());
                RowKind::Fields(RowFields { bytes, spans, quoted: false })
            }
        };
        Row { place: Place::line(line, bytes), kind }
    }

    /// Gives every row of a block of whole lines without quotes; `line` is the number of lines before it.
    pub(super) fn rows_of_block(
        self,
        block: &[u8],
        mut line: u64,
        spans: &mut Spans,
        mut each: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while at < block.len() {
            line += 1;
            let rest = &block[at..];
            if let Some(length) = self.split_in_place(rest, spans) {
                let bytes = without_return(&rest[..length], self.end);
                let kind = RowKind::Fields(RowFields { bytes, spans, quoted: false });
                each(Row { place: Place::line(line, bytes), kind })?;
                at += length + 1;
            } else {
                let length = memchr::memchr(self.end, rest).unwrap_or(rest.len());
                each(self.row_without_quotes(&rest[..length], line, spans))?;
                at += length + 1;
            }
        }
        Ok(())
    }
}

impl Spans {
    /// Splits the row at the front of `bytes`; `None` if it does not end there. The length of the row with its end.
    fn split(&mut self, reader: &mut Reader, bytes: &[u8]) -> Option<usize> {
        reader.reset();
        // Unquoting never makes text longer, and a row has at most one field more than bytes.
        self.unquoted.resize(bytes.len() + 1, 0);
        let mut ends = std::mem::take(&mut self.ends);
        ends.resize(ends.capacity().max(16), 0);
        let (mut read, mut written, mut fields) = (0, 0, 0);
        let complete = loop {
            let input = &bytes[read..];
            if input.is_empty() {
                break false;
            }
            let (result, r, w, f) = reader.read_record(input, &mut self.unquoted[written..], &mut ends[fields..]);
            (read, written, fields) = (read + r, written + w, fields + f);
            match result {
                ReadRecordResult::Record => break true,
                ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
                ReadRecordResult::OutputFull => self.unquoted.resize(self.unquoted.len() * 2, 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => break false,
            }
        };
        ends.truncate(fields);
        self.ends = ends;
        complete.then_some(read)
    }

    /// Finds where each field starts in the line, for messages.
    fn find_columns(&mut self, bytes: &[u8], delimiter: u8) {
        self.columns.clear();
        self.columns.push(0);
        let (mut quoted, mut at_start) = (false, true);
        for (i, &byte) in bytes.iter().enumerate() {
            match byte {
                b'"' if quoted || at_start => quoted = !quoted,
                _ if byte == delimiter && !quoted => self.columns.push(i + 1),
                _ => {}
            }
            at_start = !quoted && (byte == delimiter || byte == b'"');
        }
    }
}

/// Nothing but white space, and no delimiter, which would make it a row of empty fields.
fn is_blank(bytes: &[u8], delimiter: u8) -> bool {
    bytes.iter().all(|&b| b.is_ascii_whitespace() && b != delimiter)
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;

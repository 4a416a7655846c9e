//! One record of the input as text, before anything is made of it, and the reasons why nothing can be.

use std::fmt;

use super::answers::Answer;
use super::time_text::TimeError;
use super::wording::counted;

/// A piece of the input and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Field<'a> {
    /// The bytes, without quotes around them.
    pub(crate) text: &'a [u8],
    /// The byte position in the line, 1 being the first.
    pub(crate) column: usize,
}

/// Where a record stands, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// The line of its first byte, 1 being the first.
    pub(crate) line: u64,
    /// The position of its first byte in that line, 1 being the first.
    pub(crate) column: usize,
    /// The record as it stands in the input: fields count from its start, over line ends if it has some.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Place<'a> {
    /// A record that begins with its line.
    pub(crate) fn line(line: u64, bytes: &'a [u8]) -> Self {
        Place { line, column: 1, bytes }
    }

    /// The line and the position in it of a field.
    pub(crate) fn of(&self, field: &Field<'_>) -> (u64, usize) {
        let before = &self.bytes[..field.column.saturating_sub(1).min(self.bytes.len())];
        match memchr::memrchr(b'\n', before) {
            Some(last) => (self.line + memchr::memchr_iter(b'\n', before).count() as u64, before.len() - last),
            None => (self.line, self.column + before.len()),
        }
    }
}

/// The text of a time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When<'a> {
    /// In one piece.
    One(Field<'a>),
    /// A date and a time of day.
    DateAndTime(Field<'a>, Field<'a>),
}

/// The fields of a record that matter; absent ones have no column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) when: When<'a>,
    pub(crate) client: Option<Field<'a>>,
    pub(crate) cost: Option<Field<'a>>,
    pub(crate) count: Option<Field<'a>>,
    pub(crate) duration: Option<Field<'a>>,
    /// How it was answered, where that is asked for.
    pub(crate) answer: Answer,
}

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// A request.
    Record(Record<'a>),
    /// Something passed over on purpose.
    Skipped,
    /// Something that should have been a request and is not.
    Bad(Bad<'a>),
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad<'a> {
    /// What is wrong, and what was expected.
    pub(crate) why: Why,
    /// What was found, and where.
    pub(crate) found: Field<'a>,
}

/// A whole number of units that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    Missing,
    Negative,
    Fractional,
    BeyondRange,
    NotANumber,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The time.
    Time(TimeError),
    /// A date among numbers, or a number among dates.
    MixedTimes {
        /// Whether the records before had numbers.
        numbers_before: bool,
    },
    /// The cost or the count, by that name.
    Units(&'static str, NumberError),
    /// The duration.
    Duration(NumberError),
    /// The wrong number of fields.
    FieldCount { expected: usize, found: usize },
    /// The wrong number of fields under a line that names them.
    NamedFieldCount { expected: usize, found: usize },
    /// A column that must be there and is not.
    NoField(Box<str>),
    /// A line that lacks what the format asks for.
    Shape(&'static str),
    /// A quote that no later quote closes.
    UnclosedQuote,
    /// A line longer than any real record.
    TooLong(usize),
    /// JSON that is none, in the words of its parser.
    Json(Box<str>),
    /// More clients than indices.
    TooManyClients,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Time(error) => error.fmt(f),
            Why::MixedTimes { numbers_before: true } => {
                f.write_str("a date among numbers: expected a number as in the records before")
            }
            Why::MixedTimes { numbers_before: false } => {
                f.write_str("a number among dates: expected a date as in the records before")
            }
            Why::Units(what, error) => match error {
                NumberError::Missing => write!(f, "the {what} is missing: expected a whole number of units"),
                NumberError::Negative => write!(f, "negative {what}: expected zero or more units"),
                NumberError::Fractional => write!(f, "fractional {what}: expected a whole number of units"),
                NumberError::BeyondRange => write!(f, "{what} beyond the range: expected at most {}", u64::MAX),
                NumberError::NotANumber => write!(f, "not a {what}: expected a whole number of units"),
            },
            Why::Duration(error) => match error {
                NumberError::Missing => f.write_str("the duration is missing: expected a number, or --time-is start"),
                NumberError::Negative => f.write_str("negative duration: expected zero or more"),
                NumberError::BeyondRange => f.write_str("duration beyond the range: expected less than 584 years"),
                NumberError::Fractional | NumberError::NotANumber => {
                    f.write_str("not a duration: expected a number such as 0.25, or one with a unit such as 250ms")
                }
            },
            Why::FieldCount { expected, found } => {
                write!(f, "{}: expected {expected} as in the first line", counted(*found as u64, "field"))
            }
            Why::NamedFieldCount { expected, found } => {
                write!(f, "{}: expected {expected} as in #Fields", counted(*found as u64, "field"))
            }
            Why::NoField(name) => write!(f, "no field {name}: expected it in every record"),
            Why::Shape(expected) => write!(f, "expected {expected}"),
            Why::UnclosedQuote => f.write_str("a quote is opened and never closed"),
            Why::TooLong(limit) => write!(f, "a line of more than {limit} bytes: expected one record a line"),
            Why::Json(message) => write!(f, "not a JSON object: {message}"),
            Why::TooManyClients => f.write_str("more than 4294967295 different clients"),
        }
    }
}

/// A name for a message: [`shown`] without its quotes.
pub(crate) fn unquoted(bytes: &[u8]) -> String {
    let shown = shown(bytes);
    shown.trim_start_matches('"').trim_end_matches('"').to_owned()
}

/// Bytes for a message: quoted, escaped, and cut to a length that people read.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut quoted = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            quoted.push_str("...");
            break;
        }
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.extend(c.escape_default()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

//! What a person can ask of the readers: plain data, with defaults that suit most files.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use super::answers::Answers;
use super::between::Between;

/// Where a trace comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input, read once from front to back, never seeking.
    Stdin,
}

impl Input {
    /// `-` is standard input, anything else a path.
    pub fn from_arg(arg: impl Into<PathBuf>) -> Self {
        let path = arg.into();
        if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path) }
    }

    /// The name used in messages and in the report.
    pub fn path(&self) -> PathBuf {
        match self {
            Input::File(path) => path.clone(),
            Input::Stdin => PathBuf::from("-"),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::File(path) => write!(f, "{}", path.display()),
            Input::Stdin => f.write_str("stdin"),
        }
    }
}

/// A column, by name or by 1-based number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By the name in the header, or by the path of a JSON field (`request.remote_ip`).
    Name(String),
    /// By position, 1 being the first.
    Number(usize),
}

impl Column {
    /// A text of digits is a position, anything else a name.
    pub fn from_arg(arg: &str) -> Self {
        match arg.parse() {
            Ok(number) if number > 0 => Column::Number(number),
            _ => Column::Name(arg.to_owned()),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Name(name) => write!(f, "{name:?}"),
            Column::Number(number) => write!(f, "number {number}"),
        }
    }
}

/// Which column holds the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeColumn {
    /// Date and time of day, or a number, in one column.
    One(Column),
    /// The date in the first column, the time of day in the second.
    DateAndTime(Column, Column),
}

/// The unit of numeric times and durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// Nanoseconds in one unit.
    pub fn nanos(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Millis => 1_000_000,
            TimeUnit::Micros => 1_000,
            TimeUnit::Nanos => 1,
        }
    }

    /// The usual short form: `s`, `ms`, `us`, `ns`.
    pub fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Millis => "ms",
            TimeUnit::Micros => "us",
            TimeUnit::Nanos => "ns",
        }
    }

    /// The unit with this short form.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos]
            .into_iter()
            .find(|unit| unit.symbol() == symbol)
    }
}

/// What a time stamp marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeIs {
    /// The arrival of the request.
    #[default]
    Start,
    /// The end of the response: the duration is taken off to find the start.
    End,
}

/// How client names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientAs {
    /// As the bytes in the input.
    #[default]
    Raw,
    /// As an address: port and brackets off, mapped IPv4 unmapped, IPv6 cut to its prefix.
    Ip,
}

/// What happens to a record that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is counted and the first few are shown.
    #[default]
    Skip,
    /// It ends the run.
    Fail,
}

/// A filter on records: `column=value` or `column!=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Where {
    /// The column looked at.
    pub column: Column,
    /// The text compared with.
    pub value: Vec<u8>,
    /// Whether records with this value are kept (`=`) or passed over (`!=`).
    pub keep_equal: bool,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from all inputs so far, as stored (compressed where they are).
    pub bytes: u64,
    /// Bytes there are in all, if every input is a file.
    pub total: Option<u64>,
}

/// Called now and then while reading.
#[derive(Clone)]
pub struct OnProgress(pub Arc<dyn Fn(Progress) + Send + Sync>);

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}

/// Everything that can be asked of the readers.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format's name; found from the content if absent.
    pub format: Option<String>,
    /// Where the time is; by common names if absent.
    pub time_column: Option<TimeColumn>,
    /// Who is limited; by common names if absent.
    pub client_column: Option<Column>,
    /// Units a record takes; by common names if absent, otherwise one unit.
    pub cost_column: Option<Column>,
    /// How many requests a record stands for.
    pub count_column: Option<Column>,
    /// How long a request took, for `time_is` end.
    pub duration_column: Option<Column>,
    /// The unit of the duration column; milliseconds if absent and the format does not say.
    pub duration_unit: Option<TimeUnit>,
    /// Records to keep: all conditions must hold.
    pub filters: Vec<Where>,
    /// Events to keep, by their time.
    pub between: Between,
    /// The unit of numeric times; guessed over the column if absent.
    pub time_unit: Option<TimeUnit>,
    /// The IANA name of the zone of times that name none; UTC if absent.
    pub timezone: Option<String>,
    /// What a time stamp marks: from an end, the duration is taken off.
    pub time_is: TimeIs,
    /// How client names are compared.
    pub client_as: ClientAs,
    /// Bits of an IPv6 address that name one client.
    pub ipv6_prefix: u8,
    /// An nginx `log_format` text.
    pub log_format: Option<String>,
    /// Which column says how a request was answered, if those refused are to be counted.
    pub answers: Answers,
    /// What happens to a record that cannot be read.
    pub on_error: OnError,
    /// The most records read, over all inputs.
    pub max_rows: Option<u64>,
    /// The most bytes read after decompression, over all inputs.
    pub max_bytes: Option<u64>,
    /// Threads to read with; as many as there are cores if absent. The result is the same for any number.
    pub threads: Option<NonZeroUsize>,
    /// Called now and then while reading.
    pub progress: Option<OnProgress>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            time_column: None,
            client_column: None,
            cost_column: None,
            count_column: None,
            duration_column: None,
            duration_unit: None,
            filters: Vec::new(),
            between: Between::default(),
            time_unit: None,
            timezone: None,
            time_is: TimeIs::Start,
            client_as: ClientAs::Raw,
            ipv6_prefix: 64,
            log_format: None,
            answers: Answers::Ignored,
            on_error: OnError::Skip,
            max_rows: None,
            max_bytes: None,
            threads: None,
            progress: None,
        }
    }
}

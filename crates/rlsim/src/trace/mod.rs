//! Traces: files in, columns of events out.
//!
//! ```text
//! Source (bytes in blocks) -> format (records as text) -> Sink (events as columns) -> Trace (sorted by time)
//! ```
//!
//! A format knows where the time, the client and the cost of a record stand; it hands their text to the sink, which is
//! the one place where text becomes integers and where every record is counted.

mod answers;
mod args;
mod between;
mod civil;
mod client_column;
mod client_name;
mod columns;
mod decompress;
mod formats;
mod intern;
mod lines;
mod names;
mod options;
mod order;
mod plan;
mod record;
mod sink;
mod source;
mod stream;
mod time_text;
mod times;
mod unit_guess;
mod units;
mod unwrap;
pub(crate) mod wording;
mod zone;

pub use answers::{AnswerCounts, Answers, RefusedRequests};
pub use args::TraceArgs;
pub use between::{Between, TimeBound};
pub use columns::{Costs, Facts, Trace};
pub use options::{
    ClientAs, Column, Input, OnError, OnProgress, Progress, ReadOptions, TimeColumn, TimeIs, TimeUnit, Where,
};

pub(crate) use order::is_too_coarse;
pub use stream::{Block, OnBlock, sorted_stream};

use crate::error::{Error, Result};

/// Reads all inputs into one trace, sorted by time.
///
/// # Errors
/// [`Error::Failed`] if an input cannot be read, its format or its columns are not found, nothing in it can be read, a
/// limit is passed, or a record is bad and `on_error` is fail; [`Error::Usage`] if an option is wrong.
pub fn load(inputs: &[Input], options: &ReadOptions) -> Result<Trace> {
    if inputs.is_empty() {
        return Err(no_trace());
    }
    let mut sink = sink::Sink::new(options)?;
    let meter = source::Meter::new(inputs, options);
    for input in inputs {
        read_into(&mut sink, source::Source::open(input, &meter)?, input, options)?;
    }
    sink.finish()
}

/// Reads bytes from anywhere, as they are stored; `name` stands for a path in messages.
///
/// # Errors
/// As [`load`].
pub fn read_from(name: &str, reader: Box<dyn std::io::Read>, options: &ReadOptions) -> Result<Trace> {
    let mut sink = sink::Sink::new(options)?;
    let meter = source::Meter::new(&[], options);
    let source = source::Source::from_reader(reader, name.to_owned(), &meter)?;
    read_into(&mut sink, source, &Input::File(name.into()), options)?;
    sink.finish()
}

fn no_trace() -> Error {
    Error::usage("no trace: expected --trace FILE, or --trace - for standard input")
}

fn read_into(sink: &mut sink::Sink<'_>, source: source::Source, input: &Input, options: &ReadOptions) -> Result<()> {
    let label = input.to_string();
    let mut source = unwrap::unwrapped(source)?;
    let format = formats::choose(&mut source, options, &label)?;
    sink.begin(input, format.name());
    format.read(&mut source, options, sink, &label)
}

//! Helpers of the trace tests: a text as a file, read.

use std::io::Write as _;

use rlsim::error::Error;
use rlsim::trace::{Input, ReadOptions, Trace, load};

/// Writes a text to a temporary file, reads it, and puts `FILE` for its path in every message.
pub(crate) fn try_read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Trace, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    let path = file.path().display().to_string();
    let trace = load(&[Input::File(file.path().to_owned())], options);
    match trace {
        Ok(mut trace) => {
            let facts = &mut trace.facts;
            assert_eq!(facts.rows, facts.events + facts.bad + facts.blank + facts.skipped, "{facts:?}");
            assert_eq!(facts.events, trace.at.len() as u64);
            assert!(trace.at.is_sorted());
            for note in &mut facts.notes {
                *note = note.replace(&path, "FILE");
            }
            Ok(trace)
        }
        Err(Error::Failed(message)) => Err(Error::Failed(message.replace(&path, "FILE"))),
        Err(other) => Err(other),
    }
}

/// Reads a text that can be read.
pub(crate) fn read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Trace {
    try_read(text, options).unwrap_or_else(|e| panic!("{e}"))
}

/// Reads a text as it is.
#[allow(dead_code)] // Not every test file needs every helper.
pub(crate) fn plain(text: impl AsRef<[u8]>) -> Trace {
    read(text, &ReadOptions::default())
}

/// The message of a text that cannot be read, which must be a failure of the work (exit code 1).
#[allow(dead_code)]
pub(crate) fn failure(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    match try_read(text, options) {
        Err(Error::Failed(message)) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}

/// The notes about bad records, without their mark.
#[allow(dead_code)]
pub(crate) fn bad_notes(trace: &Trace) -> Vec<String> {
    trace.facts.notes.iter().filter_map(|note| note.strip_prefix("bad: ")).map(str::to_owned).collect()
}

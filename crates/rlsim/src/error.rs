//! The one error type of the program: a message for a person, and the exit code that goes with it.

use std::fmt;

/// Why a command stopped. The message says what was found, what was expected and which option helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The work could not be done: file, column, trace or output path (exit code 1).
    Failed(String),
    /// The command line is wrong: an option, a limit, a policy text (exit code 2).
    Usage(String),
    /// An `--assert` did not hold (exit code 3).
    Assertion(String),
}

impl Error {
    /// The process exit code for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Failed(_) => 1,
            Error::Usage(_) => 2,
            Error::Assertion(_) => 3,
        }
    }

    /// A failure of the work itself.
    pub fn failed(message: impl Into<String>) -> Self {
        Error::Failed(message.into())
    }

    /// A mistake in what was typed.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::Usage(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Failed(message) | Error::Usage(message) | Error::Assertion(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

/// A result with the program's own error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

//! What the tests of `rlsim generate` share.
#![allow(dead_code, reason = "each test binary uses its part")]

use clap::Parser;
use rlsim::generate::GenerateArgs;
use rlsim::trace::{Input, ReadOptions, Trace, load};

/// The command line behind `rlsim generate`.
#[derive(Parser)]
#[command(no_binary_name = true)]
pub(crate) struct Typed {
    #[command(flatten)]
    pub(crate) generate: GenerateArgs,
}

pub(crate) fn typed(text: &str) -> GenerateArgs {
    Typed::try_parse_from(shell_words(text)).unwrap_or_else(|error| panic!("{text}: {error}")).generate
}

/// Splits on spaces, but not inside double quotes.
pub(crate) fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

pub(crate) fn generate(text: &str) -> String {
    let mut out = Vec::new();
    typed(text).run(&mut out).unwrap_or_else(|error| panic!("{text}: {error}"));
    String::from_utf8(out).unwrap()
}

/// The trace that these words make, as it is read back.
pub(crate) fn generated_trace(text: &str) -> Trace {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), generate(text)).unwrap();
    load(&[Input::File(file.path().to_owned())], &ReadOptions::default()).unwrap()
}

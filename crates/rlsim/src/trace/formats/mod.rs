//! The formats, one file each. A further format is its file and a line in [`FORMATS`].

mod access_log;
mod delimited;
pub(crate) mod line_format;

use super::lines::head_lines;
use super::options::ReadOptions;
use super::record::shown;
use super::sink::Sink;
use super::source::Source;
use crate::error::{Error, Result};

/// The beginning of an input, for telling its format.
pub(crate) struct Head<'a> {
    /// Up to 64 KiB.
    pub(crate) bytes: &'a [u8],
    /// Whether this is all there is.
    pub(crate) whole: bool,
}

impl<'a> Head<'a> {
    /// The complete lines, at most 400.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        head_lines(self.bytes, self.whole).take(400)
    }
}

/// One format.
pub(crate) struct Format {
    /// As typed after `--format` and as written in the report.
    pub(crate) name: &'static str,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// Whether an input that begins like this is likely of this format.
    pub(crate) detect: fn(&Head<'_>) -> bool,
    /// Reads all records into the sink.
    pub(crate) read: fn(&mut Source, &ReadOptions, &mut Sink<'_>, &str) -> Result<()>,
}

/// All formats, the most particular first: the first that recognises an input reads it.
pub(crate) const FORMATS: &[Format] =
    &[access_log::COMBINED, access_log::COMMON, delimited::CSV, delimited::TSV, delimited::SEMICOLON];

/// The format forced by the options, or the first that recognises the content.
pub(crate) fn choose(source: &mut Source, options: &ReadOptions, label: &str) -> Result<&'static Format> {
    if let Some(name) = &options.format {
        let known = FORMATS.iter().find(|f| f.name.eq_ignore_ascii_case(name));
        return known.ok_or_else(|| Error::usage(format!("unknown --format {name:?}: expected one of {}", list())));
    }
    source.head(super::lines::HEAD)?;
    let head = Head { bytes: &source.window()[..source.window().len().min(super::lines::HEAD)], whole: source.ended() };
    if head.bytes.is_empty() {
        return Err(Error::failed(format!("{label}: empty: no records at all")));
    }
    FORMATS.iter().find(|f| (f.detect)(&head)).ok_or_else(|| {
        let first = head.lines().find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
        Error::failed(format!(
            "{label}:1:1: format not recognised, found {}; name one with --format: {}",
            shown(first),
            list()
        ))
    })
}

fn list() -> String {
    FORMATS.iter().map(|f| format!("{} ({})", f.name, f.about)).collect::<Vec<_>>().join(", ")
}

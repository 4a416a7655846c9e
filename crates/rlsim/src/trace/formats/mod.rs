//! The formats, one file each. A further format is its file and a line in [`FORMATS`].

mod access_log;
mod aws;
mod delimited;
mod haproxy;
mod json;
mod line_format;
mod log_format;
mod nginx_error;
mod prefix;
mod text;
mod visitor;
mod w3c;
mod words;

use super::lines::{HEAD, head_lines};
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
pub(crate) trait Format: Sync {
    /// As typed after `--format` and as written in the report.
    fn name(&self) -> &'static str;
    /// What it is, in a few words.
    fn about(&self) -> &'static str;
    /// Whether an input that begins like this is likely of this format.
    fn detect(&self, head: &Head<'_>) -> bool;
    /// Reads all records into the sink. `label` is the name of the input in messages.
    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()>;
}

/// All formats, the most particular first: the first that recognises an input reads it.
pub(crate) static FORMATS: &[&dyn Format] = &[
    &json::CADDY,
    &json::TRAEFIK,
    &json::ENVOY,
    &json::CLOUDFLARE,
    &json::AZURE_GATEWAY,
    &json::CLOUDTRAIL,
    &json::HAR,
    &json::K6,
    &json::VEGETA,
    &json::JSON,
    &w3c::W3C,
    &aws::ALB,
    &aws::ELB,
    &aws::S3,
    &haproxy::HAPROXY,
    &nginx_error::NGINX_ERROR,
    &access_log::COMBINED,
    &access_log::COMMON,
    &text::Text,
    &delimited::CSV,
    &delimited::TSV,
    &delimited::SEMICOLON,
    &log_format::LogFormat,
];

/// The format forced by the options, or the first that recognises the content.
pub(crate) fn choose(source: &mut Source, options: &ReadOptions, label: &str) -> Result<&'static dyn Format> {
    if options.log_format.is_some() && options.format.is_none() {
        return Ok(&log_format::LogFormat);
    }
    if let Some(name) = &options.format {
        let known = FORMATS.iter().find(|f| f.name().eq_ignore_ascii_case(name));
        return known
            .copied()
            .ok_or_else(|| Error::usage(format!("unknown --format {name:?}: expected one of {}", list())));
    }
    source.head(HEAD)?;
    let window = source.window();
    let head = Head { bytes: &window[..window.len().min(HEAD)], whole: source.ended() && window.len() <= HEAD };
    if head.bytes.is_empty() {
        return Err(Error::failed(format!("{label}: empty: no records at all")));
    }
    if is_binary(head.bytes) {
        return Err(Error::failed(format!(
            "{label}: binary data (or text in UTF-16), expected a log as text; gzip and zstd are read as they are, and --format NAME \
             reads it all the same"
        )));
    }
    FORMATS.iter().copied().find(|f| f.detect(&head)).ok_or_else(|| {
        let Some(first) = head.lines().find(|line| !line.trim_ascii().is_empty()) else {
            let beyond =
                if head.whole { ": no records at all" } else { " in its first 64 KiB; --format NAME reads on" };
            return Error::failed(format!("{label}: nothing but blank lines{beyond}"));
        };
        Error::failed(format!(
            "{label}:1:1: format not recognised, found {}; name one with --format: {}",
            shown(first),
            list()
        ))
    })
}

/// More control characters than a log has by accident, among the first bytes.
fn is_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(1024)];
    let control = |b: &&u8| matches!(b, 0..=8 | 11..=12 | 14..=26 | 28..=31 | 127);
    head.iter().filter(control).count() * 20 > head.len()
}

fn list() -> String {
    FORMATS.iter().map(|f| format!("{} ({})", f.name(), f.about())).collect::<Vec<_>>().join(", ")
}

//! The JSON report: the keys of the design, in their order, indented for people and stable for `diff`.

use super::Report;
use crate::error::{Error, Result};

/// The whole report as JSON with a final newline.
pub fn json(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report)
        .map_err(|error| Error::failed(format!("cannot write the report as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

//! Requests that were already refused in the trace: then it shows what got through, not what was asked for.
//!
//! A trace keeps no status, so the files are read again through a filter on the status column, once a status. Standard
//! input cannot be read twice.

use serde::Serialize;

use crate::trace::{Column, Input, ReadOptions, Trace, Where, load};

/// Names of the status column in the formats that have one.
const NAMES: [&str; 11] = [
    "status",
    "sc-status",
    "elb_status_code",
    "status_code",
    "http_status",
    "responseCode",
    "response_code",
    "EdgeResponseStatus",
    "DownstreamStatus",
    "response.status",
    "response",
];

/// How many requests the trace itself shows as refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The column that says so.
    pub column: String,
    /// Requests answered with 429, too many requests.
    pub too_many_requests: u64,
    /// Requests answered with 503, service unavailable.
    pub unavailable: u64,
}

/// Counts refused requests by `column`, or by the first usual name that has a value of 200 in it. `None` where there is no
/// such column, or the input cannot be read again. Reads the inputs up to three times more.
pub fn refused(inputs: &[Input], options: &ReadOptions, trace: &Trace, column: Option<&str>) -> Option<Refused> {
    if inputs.contains(&Input::Stdin) {
        return None;
    }
    let kept = |column: &str, status: &[u8], keep_equal: bool| {
        let mut options = ReadOptions { progress: None, ..options.clone() };
        options.filters.push(Where { column: Column::from_arg(column), value: status.to_vec(), keep_equal });
        load(inputs, &options).ok().map(|trace| trace.facts.events)
    };
    let known = match column {
        Some(column) => column,
        None => NAMES.into_iter().find(|name| kept(name, b"200", true).is_some())?,
    };
    let with = |status: &[u8]| kept(known, status, true).unwrap_or(0).min(trace.facts.events);
    Some(Refused { column: known.to_owned(), too_many_requests: with(b"429"), unavailable: with(b"503") })
}

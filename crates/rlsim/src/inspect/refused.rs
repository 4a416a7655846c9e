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

/// Where services without a status say that they throttle, and their words for it: AWS, in `CloudTrail` and its clients' logs.
const ERRORS: &str = "errorCode";
const THROTTLING: [&str; 6] = [
    "ThrottlingException",
    "Throttling",
    "ThrottledException",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "SlowDown",
];

/// Inputs of more bytes are not searched for the name of the column.
const LARGE: u64 = 256 << 20;

/// How many requests the trace itself shows as refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The column that says so.
    pub column: String,
    /// Requests answered with 429, too many requests.
    pub too_many_requests: u64,
    /// Requests answered with 503, service unavailable.
    pub unavailable: u64,
    /// Requests answered with a throttling error of another name.
    pub throttled: u64,
}

impl Refused {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.too_many_requests.saturating_add(self.unavailable).saturating_add(self.throttled)
    }

    /// Each kind in words.
    pub(super) fn words(&self) -> String {
        let count = crate::report::count;
        if self.throttled > 0 {
            return format!("{} with a throttling error (column {})", count(self.throttled), self.column);
        }
        let (too_many, unavailable) = (count(self.too_many_requests), count(self.unavailable));
        format!("{too_many} with 429, {unavailable} with 503 (column {})", self.column)
    }
}

/// Counts refused requests by `column`, or by the first usual name that has a value of 200 in it. `None` where there is no
/// such column (nor throttling errors under the name of AWS), or the input cannot be read again, or is too large to be
/// searched (256 MiB). Reads the inputs again, once a name tried and once a status.
pub fn refused(inputs: &[Input], options: &ReadOptions, trace: &Trace, column: Option<&str>) -> Option<Refused> {
    if inputs.contains(&Input::Stdin) {
        return None;
    }
    let kept = |column: &str, status: &[u8], keep_equal: bool| {
        let mut options = ReadOptions { progress: None, ..options.clone() };
        options.filters.push(Where { column: Column::from_arg(column), value: status.to_vec(), keep_equal });
        load(inputs, &options).ok().map(|trace| trace.facts.events)
    };
    // Trying names reads the whole input for each, in formats without a header.
    let size = |input: &Input| std::fs::metadata(input.path()).map_or(0, |file| file.len());
    if column.is_none() && inputs.iter().map(size).fold(0, u64::saturating_add) > LARGE {
        return None;
    }
    let named = || NAMES.into_iter().find(|name| kept(name, b"200", true).is_some());
    let with = |column: &str, word: &str| kept(column, word.as_bytes(), true).unwrap_or(0).min(trace.facts.events);
    if let Some(known) = column.or_else(named) {
        return Some(Refused {
            column: known.to_owned(),
            too_many_requests: with(known, "429"),
            unavailable: with(known, "503"),
            throttled: 0,
        });
    }
    // Without any such error it is not known whether the column would hold them.
    let throttled = THROTTLING.into_iter().fold(0, |sum: u64, word| sum.saturating_add(with(ERRORS, word)));
    (throttled > 0).then(|| Refused { column: ERRORS.to_owned(), too_many_requests: 0, unavailable: 0, throttled })
}

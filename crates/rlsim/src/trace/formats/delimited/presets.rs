//! Known headers: results of load generators, whose columns have names of their own.

use crate::trace::options::TimeUnit;
use crate::trace::plan::Roles;

/// What is known about a header.
struct Known {
    /// The tool.
    tool: &'static str,
    /// Columns that tell the tool when all of them are there.
    telling: &'static [&'static str],
    time: &'static str,
    time_unit: Option<TimeUnit>,
    duration: Option<(&'static str, TimeUnit)>,
    only: Option<(&'static str, &'static str)>,
}

const KNOWN: &[Known] = &[
    // Stamps the start of a sample, or its end if so configured.
    Known {
        tool: "JMeter",
        telling: &["timeStamp", "elapsed", "label", "success"],
        time: "timeStamp",
        time_unit: Some(TimeUnit::Millis),
        duration: Some(("elapsed", TimeUnit::Millis)),
        only: None,
    },
    // One row a metric; requests are the rows of one of them.
    Known {
        tool: "k6",
        telling: &["metric_name", "timestamp", "metric_value"],
        time: "timestamp",
        time_unit: None,
        duration: None,
        only: Some(("metric_name", "http_reqs")),
    },
    // Starts relative to the first, in seconds.
    Known {
        tool: "hey",
        telling: &["response-time", "DNS+dialup", "status-code", "offset"],
        time: "offset",
        time_unit: Some(TimeUnit::Seconds),
        duration: Some(("response-time", TimeUnit::Seconds)),
        only: None,
    },
    Known {
        tool: "oha",
        telling: &["request-start", "request-duration"],
        time: "request-start",
        time_unit: Some(TimeUnit::Seconds),
        duration: Some(("request-duration", TimeUnit::Seconds)),
        only: None,
    },
];

/// The tool and the roles of a known header.
pub(super) fn known(header: &[String]) -> Option<(&'static str, Roles)> {
    let index = |name: &str| header.iter().position(|column| column == name);
    let found = KNOWN.iter().find(|k| k.telling.iter().all(|name| index(name).is_some()))?;
    let duration = found.duration.and_then(|(name, unit)| Some((index(name)?, unit)));
    let roles = Roles {
        time: index(found.time).map(|i| (i, None)),
        time_unit: found.time_unit,
        duration: duration.map(|d| d.0),
        duration_unit: duration.map(|d| d.1),
        only: [found.only.and_then(|(name, value)| Some((index(name)?, value))), None],
        ..Roles::NONE
    };
    Some((found.tool, roles))
}

//! Known JSON logs: which of their fields matter.

use super::Json;
use crate::trace::options::TimeUnit;

/// What is known about a JSON log.
pub(crate) struct Preset {
    /// Fields whose presence in a record tells the format; none for JSON of any kind.
    pub(super) telling: &'static [&'static str],
    /// Where the time is; the first that occurs. None for common names.
    pub(super) time: &'static [&'static str],
    pub(super) time_unit: Option<TimeUnit>,
    /// Who is limited; the first that occurs.
    pub(super) client: &'static [&'static str],
    pub(super) client_has_port: bool,
    pub(super) duration: Option<(&'static str, TimeUnit)>,
    /// Fields that only requests have with these values; other records are passed over.
    pub(super) only: [Option<(&'static str, &'static str)>; 2],
}

const ANY: Preset = Preset {
    telling: &[],
    time: &[],
    time_unit: None,
    client: &[],
    client_has_port: false,
    duration: None,
    only: [None, None],
};

/// JSON of any kind.
pub(crate) const JSON: Json =
    Json { name: "json", about: "JSON lines, or an array of objects at any usual place", preset: ANY };

/// Caddy. Stamps the end of a request; its other messages are passed over.
pub(crate) const CADDY: Json = Json {
    name: "caddy",
    about: "Caddy access log",
    preset: Preset {
        telling: &["ts", "msg", "request.uri"],
        time: &["ts"],
        client: &["request.client_ip", "request.remote_ip", "request.remote_addr"],
        duration: Some(("duration", TimeUnit::Seconds)),
        only: [Some(("msg", "handled request")), None],
        ..ANY
    },
};

/// Traefik. Stamps the start of a request.
pub(crate) const TRAEFIK: Json = Json {
    name: "traefik",
    about: "Traefik access log as JSON",
    preset: Preset {
        telling: &["StartUTC", "ClientHost"],
        time: &["StartUTC"],
        client: &["ClientHost"],
        duration: Some(("Duration", TimeUnit::Nanos)),
        ..ANY
    },
};

/// Envoy. Stamps the start of a request.
pub(crate) const ENVOY: Json = Json {
    name: "envoy",
    about: "Envoy or Istio access log as JSON",
    preset: Preset {
        telling: &["start_time", "downstream_remote_address"],
        time: &["start_time"],
        client: &["downstream_remote_address"],
        client_has_port: true,
        duration: Some(("duration", TimeUnit::Millis)),
        ..ANY
    },
};

/// Cloudflare Logpush. Stamps the start of a request, in seconds, nanoseconds or as a date.
pub(crate) const CLOUDFLARE: Json = Json {
    name: "cloudflare",
    about: "Cloudflare HTTP requests",
    preset: Preset {
        telling: &["EdgeStartTimestamp", "ClientIP"],
        time: &["EdgeStartTimestamp"],
        client: &["ClientIP"],
        ..ANY
    },
};

/// Azure Application Gateway. Stamps the end of a request, to the second.
pub(crate) const AZURE_GATEWAY: Json = Json {
    name: "azure-gateway",
    about: "Azure Application Gateway access log",
    preset: Preset {
        telling: &["properties.clientIP", "category"],
        time: &["timeStamp", "time"],
        client: &["properties.clientIP"],
        client_has_port: true,
        duration: Some(("properties.timeTaken", TimeUnit::Seconds)),
        only: [Some(("category", "ApplicationGatewayAccessLog")), None],
        ..ANY
    },
};

/// AWS `CloudTrail`. Stamps the request, to the second.
pub(crate) const CLOUDTRAIL: Json = Json {
    name: "cloudtrail",
    about: "AWS CloudTrail events",
    preset: Preset {
        telling: &["eventTime", "eventSource", "sourceIPAddress"],
        time: &["eventTime"],
        client: &["sourceIPAddress"],
        ..ANY
    },
};

/// HAR of a browser: one user, so no client. Stamps the start of a request.
pub(crate) const HAR: Json = Json {
    name: "har",
    about: "HTTP archive of a browser",
    preset: Preset {
        telling: &["startedDateTime", "request.url"],
        time: &["startedDateTime"],
        duration: Some(("time", TimeUnit::Millis)),
        ..ANY
    },
};

/// k6 with `--out json`: requests among the points of other metrics. Stamps the end of a request.
pub(crate) const K6: Json = Json {
    name: "k6-json",
    about: "k6 results as JSON",
    preset: Preset {
        telling: &["metric", "type", "data.time"],
        time: &["data.time"],
        only: [Some(("metric", "http_reqs")), Some(("type", "Point"))],
        ..ANY
    },
};

/// vegeta results with `encode --to json`. Stamps the start of a request.
pub(crate) const VEGETA: Json = Json {
    name: "vegeta-json",
    about: "vegeta results as JSON",
    preset: Preset {
        telling: &["timestamp", "latency", "attack", "seq"],
        time: &["timestamp"],
        duration: Some(("latency", TimeUnit::Nanos)),
        ..ANY
    },
};

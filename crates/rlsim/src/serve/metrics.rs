//! Counts for a scraper, in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::limits::{Limited, Limits};

pub(super) async fn show(State(limits): State<Arc<Limits>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text(&limits.all))
}

fn text(all: &[Limited]) -> String {
    let mut text = String::from("# HELP ratelimit_requests_total Requests by what the limiter said.\n");
    text.push_str("# TYPE ratelimit_requests_total counter\n");
    for limited in all {
        let stats = limited.layer.stats();
        let answers = [
            ("allowed", stats.allowed),
            ("denied", stats.denied),
            ("never", stats.never),
            ("exempt", stats.exempt),
            ("unidentified", stats.unidentified),
            ("unavailable", stats.unavailable),
        ];
        for (answer, count) in answers {
            line(&mut text, "ratelimit_requests_total", &[("path", &limited.path), ("answer", answer)], count);
        }
    }
    text.push_str("# HELP ratelimit_clients Clients kept in memory.\n# TYPE ratelimit_clients gauge\n");
    for limited in all {
        for (policy, clients) in limited.layer.clients() {
            line(&mut text, "ratelimit_clients", &[("path", &limited.path), ("policy", policy)], clients as u64);
        }
    }
    if all.iter().any(|limited| limited.source.is_some()) {
        text.push_str("# HELP ratelimit_decisions_total Decisions of shared limits by who took them.\n");
        text.push_str("# TYPE ratelimit_decisions_total counter\n");
    }
    for (limited, source) in all.iter().filter_map(|limited| Some((limited, limited.source.as_ref()?))) {
        for (who, count) in [("shared", &source.shared), ("local", &source.local)] {
            let count = count.load(Ordering::Relaxed);
            line(&mut text, "ratelimit_decisions_total", &[("path", &limited.path), ("source", who)], count);
        }
    }
    text
}

/// Labels here are names of ours: nothing in them needs escaping.
fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
}

//! The simulator behind the page: a pattern or an uploaded trace in, the report and the chart of `rlsim compare` out.
//!
//! One run at a time, of a bounded number of rows and bytes, on a thread where it holds nobody up; it ends when whoever
//! asked for it has gone, or has waited long enough.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use ratelimit_core::Quota;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::said::{NO_REQUEST, OPTIONS, PATTERN, Refused, plain};
use crate::chart;
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::generate::{GenerateArgs, Stop};
use crate::metrics::Depth;
use crate::replay::{By, NamedPolicy, default_policies};
use crate::report;
use crate::trace::{self, Input, ReadOptions, Trace};

/// The most rows of a generated or uploaded trace.
pub(super) const MOST_ROWS: u64 = 200_000;

/// A generated trace begins with a comment and a header, which count as records.
const HEAD: u64 = 2;

/// The most bytes of an upload, and, after it has been unpacked, of its content.
const LARGEST_UPLOAD: usize = 1024 * 1024;
const LARGEST_TRACE: u64 = 16 * 1024 * 1024;

/// The longest pattern that is read.
const LONGEST_PATTERN: usize = 300;

/// The longest run; [`super::guard`] gives up on any answer a little later.
const LONGEST_RUN: Duration = Duration::from_secs(15);

/// What is to be compared. Everything has a default but the pattern, which an upload takes the place of.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Asked {
    /// The words after `rlsim generate`.
    #[serde(default)]
    generate: String,
    /// The quota of all algorithms.
    #[serde(default)]
    limit: String,
    /// The burst of the buckets.
    burst: Option<u64>,
    /// Which algorithms, separated by commas; all five if empty.
    #[serde(default)]
    algorithms: String,
}

/// The words of a pattern, parsed as the command line parses them.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    generate: GenerateArgs,
}

/// Ends the run of whoever no longer waits for it.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.set();
    }
}

pub(super) fn routes() -> Router {
    let one_at_a_time = Arc::new(Semaphore::new(1));
    let paths = get(generated).post(uploaded).layer(DefaultBodyLimit::max(LARGEST_UPLOAD));
    Router::new().route("/api/compare", paths.layer(from_fn(own_pages_only))).with_state(one_at_a_time)
}

/// Other pages have no business here, of another port of this machine neither: a browser says whose it asks for.
async fn own_pages_only(request: Request, next: Next) -> Response {
    let own = ["same-origin", "none"];
    if request.headers().get("sec-fetch-site").is_some_and(|site| !own.iter().any(|own| site == own)) {
        return Refused::new(StatusCode::FORBIDDEN, "asked by a page of another origin").into_response();
    }
    next.run(request).await
}

type Parameters = std::result::Result<Query<Asked>, axum::extract::rejection::QueryRejection>;

async fn generated(State(turns): State<Arc<Semaphore>>, asked: Parameters) -> Response {
    answer(turns, asked, None).await.into_response()
}

async fn uploaded(State(turns): State<Arc<Semaphore>>, asked: Parameters, body: Bytes) -> Response {
    answer(turns, asked, Some(body)).await.into_response()
}

async fn answer(
    turns: Arc<Semaphore>,
    asked: Parameters,
    upload: Option<Bytes>,
) -> std::result::Result<impl IntoResponse, Refused> {
    let Ok(Query(asked)) = asked else { return Err(Refused::asked(PATTERN)) };
    let turn = turns.try_acquire_owned().map_err(|_| Refused::busy("another comparison is running; try again soon"))?;
    let stop = Stop::default();
    let _waiting = Waiting(stop.clone());
    let run = tokio::task::spawn_blocking(move || {
        let answer = compare(&asked, upload.as_deref(), &stop);
        drop(turn);
        answer
    });
    match tokio::time::timeout(LONGEST_RUN, run).await {
        Ok(Ok(json)) => Ok(([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], json?)),
        Ok(Err(_)) => Err(Refused::failed()),
        Err(_) => Err(Refused::busy("the comparison takes too long; a shorter or simpler trace may do")),
    }
}

/// The report, its table and its chart.
fn compare(asked: &Asked, upload: Option<&[u8]>, stop: &Stop) -> std::result::Result<String, Refused> {
    let policies = policies(asked)?;
    let mut file = tempfile::NamedTempFile::new().map_err(|_| Refused::failed())?;
    let path = if let Some(bytes) = upload {
        file.write_all(bytes).map_err(|_| Refused::failed())?;
        PathBuf::from("upload")
    } else {
        // That the file cannot be written is as rare as any failure of the disk.
        pattern(&asked.generate)?.run_until(stop, &mut file).map_err(|_| Refused::asked(OPTIONS))?;
        PathBuf::from("playground.csv")
    };
    file.flush().map_err(|_| Refused::failed())?;
    if stop.is_set() {
        return Err(Refused::busy("nobody waits for the answer"));
    }
    let options =
        ReadOptions { max_rows: Some(MOST_ROWS + HEAD), max_bytes: Some(LARGEST_TRACE), ..ReadOptions::default() };
    let loaded = trace::load(&[Input::from_arg(file.path())], &options);
    let mut trace = loaded.map_err(|error| match upload {
        Some(_) => Refused::unreadable(&error, file.path()),
        // What the generator wrote can be read, if there is anything.
        None => Refused::new(StatusCode::UNPROCESSABLE_ENTITY, NO_REQUEST),
    })?;
    trace.facts.paths = vec![path];
    for (index, name) in trace.names.iter_mut().enumerate() {
        *name = plain(name, index + 1);
    }
    shown(policies, &trace).map_err(|_| Refused::failed())
}

/// The answer, as JSON.
fn shown(policies: Vec<NamedPolicy>, trace: &Trace) -> Result<String> {
    let command = vec!["rlsim".to_owned(), "serve".to_owned()];
    let report = Comparison { policies, by: By::Client, threads: NonZeroUsize::MIN, depth: Depth::Everything, command }
        .run(trace);
    let json = RawValue::from_string(report::json(&report)?).map_err(|error| Error::failed(error.to_string()))?;
    let svg = chart::comparison(&chart::ComparisonChart::of(&report))?;
    let answer = serde_json::json!({ "report": json, "table": report::table(&report), "svg": svg });
    Ok(answer.to_string())
}

/// The trace of a pattern, cut to the most rows.
fn pattern(words: &str) -> std::result::Result<GenerateArgs, Refused> {
    if words.len() > LONGEST_PATTERN {
        return Err(Refused::asked(PATTERN));
    }
    let parsed = Words::try_parse_from(words.split_whitespace()).map_err(|_| Refused::asked(PATTERN))?;
    let mut generate = parsed.generate;
    generate.rows = Some(generate.rows.unwrap_or(MOST_ROWS).min(MOST_ROWS));
    Ok(generate)
}

/// The messages of limits and bursts are fixed words, too.
fn policies(asked: &Asked) -> std::result::Result<Vec<NamedPolicy>, Refused> {
    let quota = match asked.limit.as_str() {
        "" => Quota::per(100, Duration::from_secs(60)).map_err(|error| Refused::asked(error.to_string()))?,
        text => text.parse().map_err(|error: ratelimit_core::PolicyError| Refused::asked(format!("limit: {error}")))?,
    };
    let mut policies = default_policies(quota, asked.burst).map_err(|error| Refused::asked(error.to_string()))?;
    if asked.algorithms.is_empty() {
        return Ok(policies);
    }
    let wanted: Vec<&str> = asked.algorithms.split(',').collect();
    // One that is not known is not left out in silence.
    if !wanted.iter().all(|name| policies.iter().any(|policy| policy.name == *name)) {
        return Err(Refused::asked(
            "expected algorithms=fixed-window,sliding-log,sliding-counter,token-bucket,leaky-bucket, or some of them",
        ));
    }
    policies.retain(|policy| wanted.contains(&policy.name.as_str()));
    Ok(policies)
}

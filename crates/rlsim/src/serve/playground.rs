//! The simulator behind the page: a pattern or an uploaded trace in, the report and the chart of `rlsim compare` out.
//!
//! One run at a time, of a bounded number of rows and bytes, on a thread where it holds nobody up.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use ratelimit_core::Quota;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::chart;
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::generate::GenerateArgs;
use crate::metrics::Depth;
use crate::replay::{By, NamedPolicy, default_policies};
use crate::report;
use crate::trace::{self, Input, ReadOptions};

/// The most rows of a generated or uploaded trace.
pub(super) const MOST_ROWS: u64 = 200_000;

/// A generated trace begins with a comment and a header, which count as records.
const HEAD: u64 = 2;

/// The most bytes of an upload, and, after it has been unpacked, of its content.
const LARGEST_UPLOAD: usize = 1024 * 1024;
const LARGEST_TRACE: u64 = 16 * 1024 * 1024;

/// The longest pattern that is read.
const LONGEST_PATTERN: usize = 300;

const PATTERN: &str = "expected a pattern of `rlsim generate`, such as \
                       generate=poisson --rate 50/s --duration 60s --clients 20 --seed 7";

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

pub(super) fn routes() -> Router {
    let one_at_a_time = Arc::new(Semaphore::new(1));
    let paths = get(generated).post(uploaded).layer(DefaultBodyLimit::max(LARGEST_UPLOAD));
    Router::new().route("/api/compare", paths).with_state(one_at_a_time)
}

type Parameters = std::result::Result<Query<Asked>, axum::extract::rejection::QueryRejection>;

async fn generated(State(turns): State<Arc<Semaphore>>, asked: Parameters) -> Response {
    answer(turns, asked, None).await
}

async fn uploaded(State(turns): State<Arc<Semaphore>>, asked: Parameters, body: Bytes) -> Response {
    answer(turns, asked, Some(body)).await
}

async fn answer(turns: Arc<Semaphore>, asked: Parameters, upload: Option<Bytes>) -> Response {
    let Ok(Query(asked)) = asked else { return said(StatusCode::BAD_REQUEST, PATTERN) };
    // The semaphore is never closed.
    let Ok(turn) = turns.acquire_owned().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let run = tokio::task::spawn_blocking(move || {
        let answer = compare(&asked, upload.as_deref());
        drop(turn);
        answer
    });
    match run.await {
        Ok(Ok(json)) => {
            ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], json).into_response()
        }
        Ok(Err(Error::Usage(message))) => said(StatusCode::BAD_REQUEST, &message),
        Ok(Err(error)) => said(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
        Err(_) => said(StatusCode::INTERNAL_SERVER_ERROR, "the simulator failed"),
    }
}

fn said(status: StatusCode, message: &str) -> Response {
    let body = serde_json::json!({ "error": message }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The report, its table and its chart.
fn compare(asked: &Asked, upload: Option<&[u8]>) -> Result<String> {
    let policies = policies(asked)?;
    let mut file = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    let path = if let Some(bytes) = upload {
        file.write_all(bytes).map_err(|error| failed(&error))?;
        PathBuf::from("upload")
    } else {
        pattern(&asked.generate)?.run(&mut file)?;
        PathBuf::from("playground.csv")
    };
    file.flush().map_err(|error| failed(&error))?;
    let options =
        ReadOptions { max_rows: Some(MOST_ROWS + HEAD), max_bytes: Some(LARGEST_TRACE), ..ReadOptions::default() };
    let loaded = trace::load(&[Input::from_arg(file.path())], &options);
    let mut trace = loaded.map_err(|error| anonymous(&error, file.path()))?;
    trace.facts.paths = vec![path];
    let command = vec!["rlsim".to_owned(), "serve".to_owned()];
    let report = Comparison { policies, by: By::Client, threads: NonZeroUsize::MIN, depth: Depth::Everything, command }
        .run(&trace);
    let json = RawValue::from_string(report::json(&report)?).map_err(|error| Error::failed(error.to_string()))?;
    let svg = chart::comparison(&chart::ComparisonChart::of(&report))?;
    let answer = serde_json::json!({ "report": json, "table": report::table(&report), "svg": svg });
    Ok(answer.to_string())
}

/// The trace of a pattern, cut to the most rows.
fn pattern(words: &str) -> Result<GenerateArgs> {
    if words.len() > LONGEST_PATTERN {
        return Err(Error::usage(PATTERN));
    }
    let parsed = Words::try_parse_from(words.split_whitespace()).map_err(|_| Error::usage(PATTERN))?;
    let mut generate = parsed.generate;
    generate.rows = Some(generate.rows.unwrap_or(MOST_ROWS).min(MOST_ROWS));
    Ok(generate)
}

fn policies(asked: &Asked) -> Result<Vec<NamedPolicy>> {
    let quota = match asked.limit.as_str() {
        "" => Quota::per(100, Duration::from_secs(60)).map_err(|error| Error::usage(error.to_string()))?,
        text => text.parse().map_err(|error: ratelimit_core::PolicyError| Error::usage(format!("limit: {error}")))?,
    };
    let mut policies = default_policies(quota, asked.burst)?;
    let wanted: Vec<&str> = asked.algorithms.split(',').filter(|name| !name.is_empty()).collect();
    policies.retain(|policy| wanted.is_empty() || wanted.contains(&policy.name.as_str()));
    if policies.is_empty() {
        return Err(Error::usage(
            "expected algorithms=fixed-window,sliding-log,sliding-counter,token-bucket,leaky-bucket, or some of them",
        ));
    }
    Ok(policies)
}

fn failed(error: &io::Error) -> Error {
    Error::failed(format!("the trace cannot be kept: {error}"))
}

/// Where the server keeps an upload is nobody's business.
fn anonymous(error: &Error, path: &std::path::Path) -> Error {
    Error::failed(error.to_string().replace(&path.display().to_string(), "the trace"))
}

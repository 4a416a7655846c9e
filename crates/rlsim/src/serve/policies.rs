//! Which policies there are, for the page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use ratelimit_core::Algorithm;
use serde_json::{Value, json};

use super::limits::{Limited, Limits};

pub(super) async fn list(State(limits): State<Arc<Limits>>) -> impl IntoResponse {
    let policies: Vec<Value> = limits.all.iter().map(described).collect();
    ([(header::CONTENT_TYPE, "application/json")], Value::from(policies).to_string())
}

fn described(limited: &Limited) -> Value {
    json!({
        "path": limited.path,
        "algorithm": limited.rule.name(),
        "policy": limited.rule.to_string(),
        "capacity": limited.rule.capacity(),
    })
}

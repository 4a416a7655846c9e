//! What a policy says to requests at given instants: the core is asked, step by step, and the page draws its answers.

use axum::extract::Query;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ratelimit_core::{Algorithm, Decision, Nanos, Policy, Rule, RuleState};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most steps that one story has.
const MOST_STEPS: usize = 256;

/// The longest policy text that is read.
const LONGEST_POLICY: usize = 100;

#[derive(Deserialize)]
pub(super) struct Asked {
    /// One rule.
    policy: String,
    /// Instants in nanoseconds, separated by commas.
    at: String,
}

/// The story as JSON; 400 with what was expected, and never what was sent.
pub(super) async fn tell(asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>) -> Response {
    let told = match asked {
        Ok(Query(asked)) => parse(&asked).map(|(rule, instants)| story(&rule, &instants)),
        Err(_) => Err("expected ?policy=NAME:LIMIT/WINDOW&at=NANOSECONDS,NANOSECONDS,...".to_owned()),
    };
    let (status, body) = match told {
        Ok(story) => (StatusCode::OK, story),
        Err(expected) => (StatusCode::BAD_REQUEST, json!({ "error": expected })),
    };
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body.to_string())
        .into_response()
}

fn parse(asked: &Asked) -> Result<(Rule, Vec<Nanos>), String> {
    if asked.policy.len() > LONGEST_POLICY {
        return Err(format!("expected a policy of at most {LONGEST_POLICY} characters"));
    }
    let policy: Policy = asked.policy.parse().map_err(|error: ratelimit_core::PolicyError| error.to_string())?;
    let [rule] = policy.rules() else { return Err("expected one policy without `+`".into()) };
    let instants = || asked.at.split(',').filter(|text| !text.is_empty());
    if instants().count() > MOST_STEPS {
        return Err(format!("expected at most {MOST_STEPS} instants"));
    }
    let parsed: Result<Vec<Nanos>, _> = instants().map(|text| text.parse().map(Nanos::new)).collect();
    let mut parsed = parsed.map_err(|_| "expected instants as whole nanoseconds, separated by commas")?;
    parsed.sort_unstable();
    Ok((*rule, parsed))
}

fn story(rule: &Rule, instants: &[Nanos]) -> Value {
    let mut state = rule.fresh();
    let steps: Vec<Value> = instants.iter().map(|now| step(rule, &mut state, *now)).collect();
    json!({
        "policy": rule.to_string(),
        "algorithm": rule.name(),
        "capacity": rule.capacity(),
        "limit": rule.quota().map(ratelimit_core::Quota::limit),
        "window_ns": rule.quota().map(|quota| quota.window().get().to_string()),
        "steps": steps,
    })
}

/// One request of cost 1: what was there, what was said, and what is left. Nanoseconds are strings: a page's numbers are
/// exact only up to 2^53.
fn step(rule: &Rule, state: &mut RuleState, now: Nanos) -> Value {
    let before = picture(rule, state, now);
    let decision = rule.decide(state, now, 1);
    let delay = match decision {
        Decision::Allowed { delay, .. } => delay,
        _ => Nanos::ZERO,
    };
    json!({
        "at_ns": now.get().to_string(),
        "allowed": decision.is_allowed(),
        "retry_after_ns": decision.retry_after().map(|wait| wait.get().to_string()),
        "delay_ns": delay.get().to_string(),
        "before": before,
        "after": picture(rule, state, now),
    })
}

fn picture(rule: &Rule, state: &RuleState, now: Nanos) -> Value {
    let (available, reset_after) = match rule.peek(state, now, 0) {
        Decision::Allowed { remaining, reset_after, .. } => (remaining, reset_after),
        // Cost 0 is always allowed (law 1).
        Decision::Denied { .. } | Decision::Never { .. } => (0, Nanos::ZERO),
    };
    json!({
        "available": available,
        "used": rule.used(state, now),
        "level_milli": level_milli(rule, available, reset_after),
        "window_start_ns": window_start(rule, now).map(|start| start.get().to_string()),
    })
}

/// How full a bucket is, in thousandths of a unit: all but what the time until it is full will bring.
fn level_milli(rule: &Rule, available: u64, reset_after: Nanos) -> u64 {
    let (Some(quota), Some(burst)) = (rule.quota(), rule.burst()) else { return available.saturating_mul(1000) };
    let missing = u128::from(reset_after.get()) * u128::from(quota.limit()) * 1000 / u128::from(quota.window().get());
    burst.saturating_mul(1000).saturating_sub(u64::try_from(missing).unwrap_or(u64::MAX))
}

/// Where the current window began, for the algorithms with windows on a grid.
fn window_start(rule: &Rule, now: Nanos) -> Option<Nanos> {
    match rule {
        Rule::FixedWindow(_) | Rule::SlidingCounter(_) => {
            let window = rule.quota()?.window().get();
            Some(Nanos::new(now.get() / window * window))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(policy: &str, at: &str) -> Result<Value, String> {
        parse(&Asked { policy: policy.into(), at: at.into() }).map(|(rule, instants)| story(&rule, &instants))
    }

    /// The five requests of the tutorial's interactive picture.
    #[test]
    fn the_tutorials_bucket() {
        let at = "500000000,1200000000,2500000000,2600000000,2700000000";
        let story = told("token-bucket:1/1s,burst=3", at).unwrap();
        let left: Vec<_> = story["steps"].as_array().unwrap().iter().map(|step| &step["after"]["available"]).collect();
        assert_eq!(left, [2, 1, 2, 1, 0]);
        assert_eq!(story["steps"][1]["before"]["level_milli"], 2700);
        assert_eq!(story["steps"][1]["after"]["level_milli"], 1700);
    }

    #[test]
    fn the_edge_burst() {
        let at = ["9000000000"; 5].join(",") + "," + &["10000000000"; 5].join(",");
        let allowed = |policy: &str| {
            let story = told(policy, &at).unwrap();
            story["steps"].as_array().unwrap().iter().filter(|step| step["allowed"] == true).count()
        };
        assert_eq!(allowed("fixed-window:5/10s"), 10);
        assert_eq!(allowed("sliding-log:5/10s"), 5);
        assert_eq!(allowed("sliding-counter:5/10s"), 5);
    }

    #[test]
    fn what_is_asked_wrongly_is_told_and_not_repeated() {
        for (policy, at) in [
            ("nonsense<script>", "1"),
            ("token-bucket:1/1s+fixed-window:1/1s", "1"),
            ("token-bucket:1/1s", "<script>"),
            ("token-bucket:1/1s", "-1"),
            (&"x".repeat(101), "1"),
            ("token-bucket:1/1s", &["1"; 257].join(",")),
        ] {
            let error = told(policy, at).unwrap_err();
            assert!(error.contains("expected") && !error.contains("script"), "{error}");
        }
        assert_eq!(told("token-bucket:1/1s", "").unwrap()["steps"], json!([]));
    }
}

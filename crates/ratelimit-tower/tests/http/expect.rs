//! What a row expects of an answer.

use http::HeaderMap;
use ratelimit_tower::headers::sf::{Member, parse_list};
use serde_json::Value;

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// All lines of a field, joined; `None` without any.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let lines: Vec<_> = self.headers.get_all(name).iter().map(|line| line.to_str().expect("ASCII")).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }
}

pub(crate) type Checked = Result<(), String>;

pub(crate) fn check(answer: &Answer, expected: &Value) -> Checked {
    check_status(answer.status, &expected["status"])?;
    for (name, form) in expected["headers"].as_object().into_iter().flatten() {
        check_field(answer, name, form)?;
    }
    check_body(&answer.body, &expected["body"])
}

fn check_status(status: u16, expected: &Value) -> Checked {
    let holds = match expected {
        Value::Number(number) => number.as_u64() == Some(u64::from(status)),
        Value::Object(form) => match form.iter().next() {
            Some((key, number)) if key == "not" => number.as_u64() != Some(u64::from(status)),
            other => return Err(format!("a form of status that is not known: {other:?}")),
        },
        Value::Null => true,
        other => return Err(format!("a form of status that is not known: {other}")),
    };
    holds.then_some(()).ok_or(format!("status {status}, expected {expected}"))
}

fn check_field(answer: &Answer, name: &str, form: &Value) -> Checked {
    let field = answer.field(name);
    let wrong = || format!("{name}: {field:?}, expected {form}");
    if let Value::String(exact) = form {
        return (field.as_ref() == Some(exact)).then_some(()).ok_or_else(wrong);
    }
    for (kind, wanted) in form.as_object().ok_or_else(wrong)? {
        let text = field.clone().unwrap_or_default();
        let holds = match (kind.as_str(), wanted) {
            ("absent", _) => field.is_none(),
            ("equals", Value::String(exact)) => text == *exact,
            ("regex", Value::String(pattern)) => field.is_some() && matches(pattern, &text),
            ("not_regex", Value::String(pattern)) => field.is_some() && !matches(pattern, &text),
            ("sf_list", Value::String(list)) => members(&text)? == members(list)?,
            ("sf_set", Value::Array(set)) => is_set(&members(&text)?, set)?,
            ("count", count) => Some(answer.headers.get_all(name).iter().count() as u64) == count.as_u64(),
            ("int_range", Value::Array(range)) => in_range(&text, range),
            ("tokens_ci", Value::Array(tokens)) => has_tokens(&text, tokens),
            _ => return Err(format!("{name}: a form that is not known: {form}")),
        };
        if !holds {
            return Err(wrong());
        }
    }
    Ok(())
}

pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).expect("a pattern").is_match(text)
}

fn members(list: &str) -> Result<Vec<Member>, String> {
    parse_list(list.as_bytes()).map_err(|error| format!("{list}: {error}"))
}

/// Each of the members once, in any order.
fn is_set(found: &[Member], expected: &[Value]) -> Result<bool, String> {
    let mut wanted = Vec::new();
    for member in expected {
        wanted.extend(members(member.as_str().expect("a member"))?);
    }
    Ok(found.len() == wanted.len() && wanted.iter().all(|member| found.contains(member)))
}

fn in_range(text: &str, range: &[Value]) -> bool {
    let number: Result<u64, _> = text.parse();
    number.is_ok_and(|number| range[0].as_u64() <= Some(number) && Some(number) <= range[1].as_u64())
}

fn has_tokens(text: &str, tokens: &[Value]) -> bool {
    let found: Vec<String> = text.split(',').map(|token| token.trim().to_lowercase()).collect();
    tokens.iter().all(|token| found.iter().any(|known| Some(known.as_str()) == token.as_str()))
}

fn check_body(body: &[u8], expected: &Value) -> Checked {
    if expected["empty"] == Value::Bool(true) && !body.is_empty() {
        return Err("the body is not empty".into());
    }
    let Some(members) = expected["json"].as_object() else { return Ok(()) };
    let json: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    for (name, value) in members {
        if json[name] != *value {
            return Err(format!("body: {name} is {}, expected {value}", json[name]));
        }
    }
    Ok(())
}

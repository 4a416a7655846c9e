//! How the records of a JSON input are laid out.

use crate::trace::lines::head_lines;
use crate::trace::names::common;

/// Where an object may keep its records.
pub(super) const WRAPPERS: &[&[&str]] = &[
    &["Records"],
    &["records"],
    &["log", "entries"],
    &["entries"],
    &["value"],
    &["events"],
    &["hits", "hits"],
    &["results"],
    &["requests"],
    &["items"],
    &["Items"],
    &["logs"],
    &["data"],
];

/// One object a line: the first line that is not blank is a whole object or begins with something else than `{` and `[`, and
/// is not an object with an array of records in it.
pub(super) fn is_lines(head: &[u8], whole: bool) -> bool {
    let Some(first) = head_lines(head, whole).map(<[u8]>::trim_ascii).find(|line| !line.is_empty()) else {
        return false;
    };
    match first {
        [b'[', ..] => false,
        [b'{', ..] => serde_json::from_slice::<serde_json::Value>(first).is_ok_and(|value| !is_wrapper(&value)),
        _ => true,
    }
}

fn is_wrapper(object: &serde_json::Value) -> bool {
    let keys: Vec<String> = object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    common(&keys).time.is_none()
        && WRAPPERS.iter().any(|path| {
            let inside = path.iter().try_fold(object, |value, key| value.get(key));
            inside
                .and_then(serde_json::Value::as_array)
                .is_some_and(|a| a.first().is_none_or(serde_json::Value::is_object))
        })
}

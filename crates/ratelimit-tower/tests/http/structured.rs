//! The rows about structured fields.

use http::{HeaderMap, HeaderValue};
use ratelimit_tower::headers::sf::{self, parse_list};
use serde_json::Value;

use crate::vectors;

fn rows(kind: &str) -> Vec<Value> {
    vectors()["structured_fields"][kind].as_array().expect("rows").clone()
}

#[test]
fn what_is_serialised() {
    let rows = rows("serialise");
    for row in &rows {
        let mut wire = String::new();
        for item in row["items"].as_array().expect("items") {
            if !wire.is_empty() {
                wire.push_str(", ");
            }
            sf::write_string(&mut wire, item[0].as_str().expect("a name"));
            // The rows list parameters in the order of the wire; what reads them here sorts maps by name.
            let order = ["q", "qu", "w", "r", "t", "pk"];
            let parameters = item[1].as_object().expect("parameters");
            assert!(parameters.keys().all(|key| order.contains(&key.as_str())));
            for (name, value) in order.iter().filter_map(|name| Some((name, parameters.get(*name)?))) {
                wire.extend([";", *name, "="]);
                write_value(&mut wire, value);
            }
        }
        assert_eq!(wire, row["wire"].as_str().expect("a wire form"));
    }
    assert_eq!(rows.len(), 6);
}

fn write_value(wire: &mut String, value: &Value) {
    match value.as_str().map(|text| text.split_once(':').expect("a kind")) {
        Some(("str", text)) => sf::write_string(wire, text),
        Some(("bytes", base64)) => {
            let read = parse_list(format!(":{base64}:").as_bytes()).expect("bytes");
            let [sf::Member::Item(sf::Item { value: sf::Bare::Bytes(bytes), .. })] = &read[..] else {
                panic!("{read:?}")
            };
            sf::write_bytes(wire, bytes);
        }
        Some(other) => panic!("{other:?}"),
        None => wire.push_str(&value.to_string()),
    }
}

#[test]
fn what_is_parsed() {
    let rows = rows("parse_accept");
    for row in &rows {
        let text = row.as_str().expect("a field");
        assert!(parse_list(text.as_bytes()).is_ok_and(|members| !members.is_empty()), "{text}");
    }
    assert_eq!(rows.len(), 8);
}

#[test]
fn what_is_refused() {
    let rows = rows("parse_reject");
    for row in &rows {
        let text = row.as_str().expect("a field");
        assert!(parse_list(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(rows.len(), 7);
}

#[test]
fn what_is_well_formed_and_means_nothing() {
    let rows = rows("parse_ok_but_ignore");
    for row in &rows {
        let text = row[0].as_str().expect("a field");
        assert!(parse_list(text.as_bytes()).is_ok(), "{text}");
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit", HeaderValue::from_str(text).expect("ASCII"));
        let hint = ratelimit_tower::headers::read(&headers, std::time::SystemTime::UNIX_EPOCH);
        assert!(hint.policies.is_empty(), "{text}: {hint:?}");
    }
    assert_eq!(rows.len(), 6);
}

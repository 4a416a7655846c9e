//! The rows of `http.json`, each run against a layer built as the row says.
//!
//! A row is a story: requests at clock times, and what the answers must be. The clock starts on a boundary of every
//! window, so that windows which open with the first request (as the rows have it) and aligned ones (as ours are) agree.

mod expect;
mod layer;
mod story;
mod structured;

use serde_json::Value;

const VECTORS: &str = include_str!("../../../ratelimit-conformance/vectors/http.json");

/// Rows whose expectation ours differs from, and why.
const ARGUED: [(&str, &str); 1] = [(
    "MEM-02",
    "the flood of 200 000 new clients is expected to pass although only 65 536 may be kept; the row's own reason is to \
     refuse newcomers rather than forget an offender. Ours lets newcomers to a full table share one quota: most of the \
     flood is refused, and the offender stays exhausted, which is what the row is for",
)];

fn vectors() -> Value {
    serde_json::from_str(VECTORS).expect("the vectors are JSON")
}

#[test]
fn every_row_holds_or_is_argued() {
    let vectors = vectors();
    let rows = vectors["rows"].as_array().expect("rows");
    let (mut must, mut project, mut argued) = (0, 0, 0);
    let mut failures = Vec::new();
    for row in rows {
        let id = row["id"].as_str().expect("an id");
        if ARGUED.iter().any(|(known, _)| *known == id) {
            argued += 1;
            continue;
        }
        if let Err(failure) = story::run(row) {
            failures.push(format!("{id} ({}): {failure}", row["title"]));
        }
        match row["level"].as_str() {
            Some("MUST") => must += 1,
            Some("PROJECT") => project += 1,
            other => panic!("{id}: a level that nobody has decided about: {other:?}"),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!((must, project, argued), (63, 11, 1));
}

/// MEM-02, as ours has it, a sixteenth of the size.
#[test]
fn a_flood_of_new_clients_does_not_bring_an_exhausted_one_back() {
    let flood = layer::Flood::new(4_096);
    let first: Vec<u16> = (0..6).map(|_| flood.request([192, 0, 2, 10])).collect();
    assert_eq!(first, [200, 200, 200, 200, 200, 429]);
    let passed = (0..12_500u32).filter(|i| flood.request((0x0B00_0000 + i).to_be_bytes()) == 200).count();
    // All that fit, and the quota that the others share.
    assert_eq!(passed, 4_095 + 5);
    assert_eq!(flood.request([192, 0, 2, 10]), 429);
}

/// D11-08 at many offsets and for every algorithm: whoever obeys `Retry-After` passes.
#[test]
fn obeying_retry_after_always_succeeds() {
    for policy in [
        "fixed-window:5/1m",
        "sliding-log:5/1m",
        "sliding-counter:5/1m",
        "token-bucket:5/1m",
        "token-bucket:7/1500ms,burst=3",
    ] {
        for offset_ms in (0..60_000).step_by(1_237) {
            let polite = layer::Polite::new(policy, offset_ms);
            polite.exhaust();
            for _ in 0..20 {
                assert!(polite.obey(), "{policy} at {offset_ms} ms");
            }
        }
    }
}

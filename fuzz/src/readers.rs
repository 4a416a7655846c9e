//! Every reader of traces: no bytes may make it panic, and what it gives is counted and sorted.

use std::io::Cursor;

use rlsim::trace::{ClientAs, Column, ReadOptions, TimeColumn, TimeIs, TimeUnit, Where, read_from};

/// Bytes of any kind, the format found from them.
pub fn any(data: &[u8]) {
    check(data, &ReadOptions::default());
}

/// Text with delimiters. The first byte chooses the delimiter, the second the columns.
pub fn delimited(data: &[u8]) {
    let Some((choice, columns, text)) = two(data) else { return };
    check(text, &columns_of(columns, ["csv", "tsv", "semicolon"][usize::from(choice) % 3]));
}

/// Lines of the other formats. The first byte chooses the format, the second the columns.
pub fn lines(data: &[u8]) {
    const FORMATS: [&str; 10] =
        ["common", "combined", "w3c", "alb", "elb", "s3", "haproxy", "nginx-error", "text", "log-format"];
    let Some((choice, columns, text)) = two(data) else { return };
    let mut options = columns_of(columns, FORMATS[usize::from(choice) % FORMATS.len()]);
    if options.format.as_deref() == Some("log-format") {
        // The first line is the format of the others.
        let end = text.iter().position(|&b| b == b'\n').unwrap_or(text.len());
        options.log_format = Some(String::from_utf8_lossy(&text[..end]).into_owned());
        return check(&text[end..], &options);
    }
    check(text, &options);
}

/// JSON. The first byte chooses the preset, the second the columns.
pub fn json(data: &[u8]) {
    const FORMATS: [&str; 10] = [
        "json",
        "caddy",
        "traefik",
        "envoy",
        "cloudflare",
        "azure-gateway",
        "cloudtrail",
        "har",
        "k6-json",
        "vegeta-json",
    ];
    let Some((choice, columns, text)) = two(data) else { return };
    check(text, &columns_of(columns, FORMATS[usize::from(choice) % FORMATS.len()]));
}

/// Compressed bytes. The first byte chooses the kind, whose mark is put before the rest.
pub fn compressed(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let mark: &[u8] = if choice % 2 == 0 { b"\x1f\x8b" } else { b"\x28\xb5\x2f\xfd" };
    let options = ReadOptions { max_bytes: Some(1 << 24), ..ReadOptions::default() };
    check(&[mark, rest].concat(), &options);
}

fn two(data: &[u8]) -> Option<(u8, u8, &[u8])> {
    match data {
        [first, second, rest @ ..] => Some((*first, *second, rest)),
        _ => None,
    }
}

/// Options that the bits of a byte switch on.
fn columns_of(bits: u8, format: &str) -> ReadOptions {
    let on = |bit: u8| bits & (1 << bit) != 0;
    let name = |name: &str| Column::Name(name.to_owned());
    ReadOptions {
        format: Some(format.to_owned()),
        time_column: on(0).then_some(TimeColumn::One(Column::Number(1))),
        client_column: on(1).then_some(Column::Number(2)),
        cost_column: on(2).then_some(Column::Number(3)),
        client_as: if on(3) { ClientAs::Ip } else { ClientAs::Raw },
        time_unit: on(4).then_some(TimeUnit::Millis),
        timezone: on(5).then(|| "America/New_York".to_owned()),
        time_is: if on(6) { TimeIs::End } else { TimeIs::Start },
        duration_column: on(6).then_some(Column::Number(3)),
        filters: if on(7) {
            vec![Where { column: name("a"), value: b"1".to_vec(), keep_equal: false }]
        } else {
            vec![]
        },
        ..ReadOptions::default()
    }
}

/// Reads, and checks what holds for every trace.
fn check(data: &[u8], options: &ReadOptions) {
    let Ok(trace) = read_from("input", Box::new(Cursor::new(data.to_vec())), options) else { return };
    let facts = &trace.facts;
    assert_eq!(facts.rows, facts.events + facts.bad + facts.blank + facts.skipped);
    assert_eq!(facts.events, trace.at.len() as u64);
    assert_eq!(trace.at.len(), trace.client.len());
    assert!(trace.at.is_sorted());
    assert!(trace.client.iter().all(|&c| (c as usize) < trace.names.len()));
    let costs = (0..trace.at.len()).map(|i| trace.cost.get(i));
    assert_eq!(costs.count(), trace.at.len());
}

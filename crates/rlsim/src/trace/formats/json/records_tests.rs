use super::*;
use crate::trace::source::Meter;

/// What a text holds, in short: `line:column text` of records, `-` for blank lines, `!line:column` for the rest.
fn items(text: &str) -> Vec<String> {
    let bytes = std::io::Cursor::new(text.to_owned().into_bytes());
    let mut source = Source::from_reader(Box::new(bytes), "test".into(), &Meter::default()).unwrap();
    let mut records = Records::new(&mut source).unwrap();
    let mut all = Vec::new();
    while let Some(item) = records.next().unwrap() {
        all.push(match item {
            Item::Record(p) => format!("{}:{} {}", p.line, p.column, String::from_utf8_lossy(p.bytes)),
            Item::Blank => "-".to_owned(),
            Item::Bad(p, _) | Item::TooLong(p) => format!("!{}:{}", p.line, p.column),
        });
    }
    all
}

#[test]
fn one_object_a_line() {
    assert_eq!(items("{\"a\":1}\n\n{\"a\":2}"), ["1:1 {\"a\":1}", "-", "3:1 {\"a\":2}"]);
    assert_eq!(items("web | {\"a\":1}\nweb | x\n"), ["1:7 {\"a\":1}", "!2:1"]);
    // A damaged line costs only itself, which is for the parser to find.
    assert_eq!(items("{\"a\":1}\n{\"a\"\n{\"a\":3}\n"), ["1:1 {\"a\":1}", "2:1 {\"a\"", "3:1 {\"a\":3}"]);
}

#[test]
fn arrays_of_objects() {
    assert_eq!(items("[]"), [""; 0]);
    assert_eq!(items("[{\"a\":1},\n {\"a\":[{}]}]"), ["1:2 {\"a\":1}", "2:2 {\"a\":[{}]}"]);
    assert_eq!(items("[{\"a\":1},7,\"x\"]"), ["1:2 {\"a\":1}", "!1:10", "!1:12"]);
    assert_eq!(items("[{\"a\":1},{\"a\""), ["1:2 {\"a\":1}", "!1:10"]);
    assert_eq!(items("[{\"a\":1}"), ["1:2 {\"a\":1}", "!1:9"]);
}

#[test]
fn objects_that_hold_the_records() {
    assert_eq!(items("{\"Records\":[{\"a\":1},{\"a\":2}],\"more\":{\"x\":[1]}}"), ["1:13 {\"a\":1}", "1:21 {\"a\":2}"]);
    assert_eq!(items("{\"Records\":[{\"a\":1}]}\n{\"Records\":[{\"a\":2}]}\n"), ["1:13 {\"a\":1}", "2:13 {\"a\":2}"]);
    assert_eq!(
        items("{\n \"log\": {\n  \"pages\": [{}],\n  \"entries\": [\n   {\"a\":1}\n  ]\n }\n}\n"),
        ["5:4 {\"a\":1}"]
    );
    assert_eq!(items("{\"hits\":{\"total\":1,\"hits\":[{\"a\":1}]}}"), ["1:28 {\"a\":1}"]);
    // A record with a time of its own may have such an array.
    let dated = "{\"time\":1,\"items\":[{\"a\":1}]}";
    assert_eq!(items(dated), [format!("1:1 {dated}")]);
}

#[test]
fn objects_over_several_lines() {
    let text = "{\n \"a\": 1\n}\n{\n \"a\": 2\n}\n";
    assert_eq!(items(text), ["1:1 {\n \"a\": 1\n}", "4:1 {\n \"a\": 2\n}"]);
    assert_eq!(items("{\n \"a\" 1\n}\n"), ["!1:1", "!2:2", "!3:1"]);
}

#[test]
fn many_objects_without_end_take_little_work() {
    let text = "{\"a\":[\n".repeat(20_000);
    assert_eq!(items(&text).len(), 20_000);
}

proptest::proptest! {
    #[test]
    fn no_text_panics_or_hangs(text in "[\\[\\]{}\",:a1 \n\\\\]{0,60}") {
        let _ = items(&text);
    }
}

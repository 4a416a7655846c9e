use super::*;
use crate::trace::source::Meter;

/// The rows of a text, in short: fields in brackets, `-` blank, `#` comment, `!` bad; with the line of each.
fn rows(text: &[u8], delimiter: u8) -> Vec<String> {
    let mut source =
        Source::from_reader(Box::new(std::io::Cursor::new(text.to_vec())), "t".into(), &Meter::default()).unwrap();
    let mut rows = Rows::new(&mut source, delimiter).unwrap();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let what = match &row.kind {
            RowKind::Blank => "-".to_owned(),
            RowKind::Comment => "#".to_owned(),
            RowKind::Bad(_) => "!".to_owned(),
            RowKind::Fields(fields) => {
                let field = |i| format!("[{}]", String::from_utf8_lossy(fields.get(i).unwrap().text));
                (0..fields.len()).map(field).collect()
            }
        };
        all.push(format!("{} {what}", row.place.line));
    }
    all
}

#[test]
fn rows_with_and_without_quotes() {
    for (text, expect) in [
        ("", &[][..]),
        ("a,b\nc,d", &["1 [a][b]", "2 [c][d]"]),
        ("a,b\r\nc,d\r\n", &["1 [a][b]", "2 [c][d]"]),
        ("a,b\rc,d\r", &["1 [a][b]", "2 [c][d]"]),
        (",\n", &["1 [][]"]),
        ("a\n\n  \n#x,\"y\n b", &["1 [a]", "2 -", "3 -", "4 #", "5 [ b]"]),
        ("\"a\",b\n", &["1 [a][b]"]),
        ("\"a,b\",\"c\"\"d\"\nx,y\n", &["1 [a,b][c\"d]", "2 [x][y]"]),
        ("\"a\nb\",c\nd,e\n", &["1 [a\nb][c]", "3 [d][e]"]),
        ("\"a\r\nb\",c\r\nd,e\r\n", &["1 [a\r\nb][c]", "3 [d][e]"]),
        ("\"a\nb,c\nd,e\n", &["1 !", "2 [b][c]", "3 [d][e]"]),
        ("a,\"b", &["1 !"]),
        ("a,\"b\"", &["1 [a][b]"]),
        ("a\"b,c\n", &["1 [a\"b][c]"]),
    ] {
        assert_eq!(rows(text.as_bytes(), b','), expect, "{text:?}");
    }
}

proptest::proptest! {
    /// Quoting every field of a text without quotes changes nothing: the fast way and `csv-core` agree.
    #[test]
    fn both_ways_of_splitting_agree(lines in proptest::collection::vec("[a-c;,\t é]{1,12}", 1..20)) {
        let plain = lines.join("\n");
        let quoted: Vec<String> = lines
            .iter()
            .map(|line| {
                let blank = line.chars().all(|c| c == ' ' || c == '\t');
                let fields: Vec<String> = line.split(',').map(|field| format!("\"{field}\"")).collect();
                if blank { line.clone() } else { fields.join(",") }
            })
            .collect();
        proptest::prop_assert_eq!(rows(plain.as_bytes(), b','), rows(quoted.join("\n").as_bytes(), b','));
    }

    #[test]
    fn no_text_panics_and_every_byte_is_passed(text in "[a\",\n\r# ]{0,80}") {
        let found = rows(text.as_bytes(), b',');
        proptest::prop_assert!(found.len() <= text.len() + 1);
    }
}

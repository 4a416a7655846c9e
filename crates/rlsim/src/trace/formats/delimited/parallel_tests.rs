use super::*;
use crate::trace::options::{Input, OnError};
use crate::trace::source::Meter;
use crate::trace::{Trace, read_from};

/// Reads a CSV with a header in blocks of `size` bytes, the first rows and what the blocks leave in the ordinary way.
fn in_blocks(text: &str, options: &ReadOptions, workers: usize, size: usize) -> Result<Trace> {
    let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
    let mut source = Source::from_reader(reader, "t".into(), &Meter::default())?;
    let mut sink = Sink::new(options)?;
    sink.begin(&Input::File("t".into()), "csv");
    let mut rows = super::super::rows::Rows::new(&mut source, b',')?;
    let header = super::super::header::read(&mut rows, options, &mut sink, "t")?.unwrap();
    sink.expect(&header.plan);
    if let Some(row) = rows.next()? {
        header.deliver(row, &mut sink)?;
    }
    let splitter = rows.splitter();
    let (rest, line) = rows.pause();
    read_blocks(rest, line, splitter, &header, &mut sink, workers, size)?;
    while let Some(row) = rows.next()? {
        header.deliver(row, &mut sink)?;
    }
    sink.finish()
}

fn text_of(rows: &[(u32, u8, u8, u8)]) -> String {
    let row = |&(time, client, cost, odd): &(u32, u8, u8, u8)| match odd {
        0 => "# comment\n".to_owned(),
        1 => "\n".to_owned(),
        2 => "x,a,1\n".to_owned(),
        3 => "1,a\n".to_owned(),
        4 => "2024-05-12 08:15:30,a,1\n".to_owned(),
        5 => format!("{time}.5,c{client},1\n"),
        6 => format!("{time},\"quoted\nclient\",1\n"),
        _ => format!("{time},c{client},{cost}\n"),
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!("time,client,cost\n{}", rows.concat())
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    #[test]
    fn threads_and_blocks_make_no_difference(
        rows in proptest::collection::vec((0..50_u32, 0..9_u8, 1..4_u8, 0..200_u8), 0..120),
        workers in 2..5_usize,
        size in 1..400_usize,
    ) {
        let text = text_of(&rows);
        let options = ReadOptions::default();
        let whole = read_from("t", Box::new(std::io::Cursor::new(text.clone().into_bytes())), &options);
        proptest::prop_assert_eq!(in_blocks(&text, &options, workers, size), whole);
        let options = ReadOptions { on_error: OnError::Fail, max_rows: Some(100), ..options };
        let whole = read_from("t", Box::new(std::io::Cursor::new(text.clone().into_bytes())), &options);
        let parts = in_blocks(&text, &options, workers, size);
        proptest::prop_assert_eq!(parts.is_ok(), whole.is_ok());
    }
}

#[test]
fn the_first_bad_row_ends_the_run_whichever_thread_meets_it() {
    let mut text = String::from("time\n");
    for i in 0..1000 {
        text.push_str(if i % 300 == 299 { "x\n" } else { "1\n" });
    }
    let options = ReadOptions { on_error: OnError::Fail, ..ReadOptions::default() };
    let error = in_blocks(&text, &options, 3, 50).unwrap_err().to_string();
    assert!(error.starts_with("t:301:1: not a time"), "{error}");
}

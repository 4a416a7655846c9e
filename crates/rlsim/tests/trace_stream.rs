//! Sorted input in blocks gives the events that reading it whole gives, in memory that does not grow with them.

mod common_trace;

use std::fmt::Write as _;
use std::io::Write as _;

use common_trace::plain;
use rlsim::error::{Error, Result};
use rlsim::trace::{Block, Facts, Input, ReadOptions, sorted_stream};

/// Everything that came out of a stream.
#[derive(Default)]
struct Streamed {
    at: Vec<u64>,
    client: Vec<u32>,
    cost: Vec<u64>,
    blocks: usize,
    names: Vec<Box<[u8]>>,
    facts: Facts,
}

fn stream(text: &str, options: &ReadOptions) -> Result<Streamed> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let mut all = Streamed::default();
    let mut each = |block: Block<'_>| {
        assert!(block.at.len() <= 200_000, "a block of {} events", block.at.len());
        all.at.extend_from_slice(block.at);
        all.client.extend_from_slice(block.client);
        all.cost.extend_from_slice(block.cost);
        all.cost.resize(all.at.len(), 1);
        all.blocks += 1;
        Ok(())
    };
    let (names, facts) = sorted_stream(&[Input::File(file.path().to_owned())], options, &mut each)?;
    Ok(Streamed { names, facts, ..all })
}

#[test]
fn many_blocks_are_the_whole_trace() {
    let mut text = String::from("time,client,cost\n");
    for i in 0..150_000_u64 {
        writeln!(text, "{}.{},c{},{}", 1_715_501_730 + i / 10, i % 10, i * 7 % 1_000, 1 + i / 149_000).unwrap();
    }
    let whole = plain(&text);
    let parts = stream(&text, &ReadOptions::default()).unwrap();
    assert_eq!((&parts.at, &parts.client, &parts.names), (&whole.at, &whole.client, &whole.names));
    assert!(parts.cost.iter().enumerate().all(|(i, &cost)| cost == whole.cost.get(i)));
    assert!(parts.blocks >= 2, "{}", parts.blocks);
    let facts = &parts.facts;
    assert_eq!((facts.rows, facts.events, facts.resolution_ns), (150_000, 150_000, whole.facts.resolution_ns));
}

#[test]
fn formats_without_numbers_stream_too() {
    let log = "10.0.0.1 - - [12/May/2024:08:15:30 +0000] \"GET / HTTP/1.1\" 200 512\n".repeat(3);
    let parts = stream(&log, &ReadOptions::default()).unwrap();
    assert_eq!(parts.at, [1_715_501_730_000_000_000; 3]);
}

#[test]
fn input_out_of_order_is_refused_and_empty_input_too() {
    let message = |text: &str| stream(text, &ReadOptions::default()).err().unwrap().to_string();
    let error = message("time\n1\n3\n2\n");
    assert!(error.contains(":4: not in time order: this event lies 1000000000 ns before"), "{error}");
    assert!(error.contains("--stream reads sorted input only"), "{error}");
    assert!(message("time\n").contains("empty"));
}

#[test]
fn the_taker_can_end_the_reading() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"time\n1\n2\n").unwrap();
    let inputs = [Input::File(file.path().to_owned())];
    let mut each = |_: Block<'_>| Err(Error::failed("enough"));
    let error = sorted_stream(&inputs, &ReadOptions::default(), &mut each).unwrap_err();
    assert_eq!(error, Error::failed("enough"));
}

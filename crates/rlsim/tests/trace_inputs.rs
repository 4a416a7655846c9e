//! Files however they are stored: compressed, in several pieces, wrapped by a container runtime.

mod common_trace;

use std::io::Write as _;
use std::path::PathBuf;

use common_trace::{failure, plain, try_read};
use flate2::Compression;
use flate2::write::GzEncoder;
use rlsim::trace::{Input, OnProgress, ReadOptions, Trace, load};

const TEXT: &str = "time,client\n1,a\n2,b\n3,a\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The columns, without the facts that name the file.
fn events(trace: &Trace) -> (Vec<u64>, Vec<u32>, Vec<Box<[u8]>>) {
    (trace.at.clone(), trace.client.clone(), trace.names.clone())
}

#[test]
fn compressed_input_is_read_like_plain() {
    let expect = events(&plain(TEXT));
    let (front, back) = TEXT.as_bytes().split_at(17);
    let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    for (what, bytes) in [
        ("gzip", gzip(TEXT.as_bytes())),
        ("gzip, two members cut inside a row", [gzip(front), gzip(back)].concat()),
        ("zstd", zstd(TEXT.as_bytes())),
        ("zstd, two frames and one to skip", [zstd(front), skippable.to_vec(), zstd(back)].concat()),
    ] {
        assert_eq!(events(&plain(bytes)), expect, "{what}");
    }
}

#[test]
fn damaged_and_unknown_compression_says_so() {
    let none = ReadOptions::default();
    let mut cut = gzip(TEXT.as_bytes());
    cut.truncate(cut.len() - 9);
    assert_eq!(failure(cut, &none), "FILE: the compressed data ends too early: is the file complete?");
    let mut cut = zstd(&TEXT.as_bytes().repeat(100));
    cut.truncate(cut.len() / 2);
    let message = failure(cut, &none);
    assert!(message.starts_with("FILE: cannot read: "), "{message}");
    for (start, tool) in [
        (&b"BZh91AY"[..], "bzcat"),
        (b"\xfd7zXZ\0\0", "xzcat"),
        (b"PK\x03\x04\x14\0", "unzip -p"),
        (b"\x04\x22\x4d\x18\x64", "lz4cat"),
    ] {
        let message = failure(start, &none);
        assert!(message.contains(tool), "{message}");
    }
}

#[test]
fn a_compression_bomb_is_stopped_by_the_limit_set() {
    let bomb = gzip(
        &b"time,client\n".iter().copied().chain(b"1,a\n".iter().copied().cycle().take(4 << 20)).collect::<Vec<_>>(),
    );
    assert!(bomb.len() < 64 * 1024);
    let options = ReadOptions { max_bytes: Some(1 << 20), ..ReadOptions::default() };
    let message = failure(&bomb, &options);
    assert!(message.contains("--max-bytes"), "{message}");
    let options = ReadOptions { max_rows: Some(1000), ..ReadOptions::default() };
    let message = failure(&bomb, &options);
    assert!(message.contains("--max-rows"), "{message}");
}

#[test]
fn several_files_merge_by_time_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let old = write("log.2.gz", &gzip(b"time,client\n1715501730,a\n1715501732,b\n"));
    let middle = write("log.1", b"time,client\n1715501732,c\n1715501735,a\n");
    let new = write("log", b"{\"time\":1715501735.5,\"client\":\"d\"}\n");
    let read = |paths: &[&PathBuf]| {
        let inputs: Vec<Input> = paths.iter().map(|p| Input::File((*p).clone())).collect();
        load(&inputs, &ReadOptions::default()).unwrap()
    };
    let trace = read(&[&old, &middle, &new]);
    let names: Vec<&str> =
        trace.client.iter().map(|&c| std::str::from_utf8(&trace.names[c as usize]).unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "a", "d"]);
    assert_eq!(trace.facts.format, "csv+json");
    assert_eq!((trace.facts.reordered, trace.facts.paths.len()), (0, 3));
    for order in [[&new, &middle, &old], [&middle, &new, &old]] {
        let other = read(&order);
        assert_eq!(events(&other), events(&trace));
        // Going from one file to the next is no step back of a clock.
        assert_eq!(other.facts.reordered, 0);
    }
}

#[test]
fn relative_times_of_several_files_have_one_unit() {
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<Input> = [("a", "time\n0\n3000\n"), ("b", "time\n6001\n9001\n")]
        .into_iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Input::File(path)
        })
        .collect();
    let trace = load(&inputs, &ReadOptions::default()).unwrap();
    assert_eq!(trace.at, [0, 3_000_000_000_000, 6_001_000_000_000, 9_001_000_000_000]);
}

#[test]
fn wrapped_lines_are_read_and_places_stay_true() {
    let log = r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 512"#;
    let prefix = "2024-05-12T08:15:30.123456789Z stdout F ";
    let trace = plain(format!("{}{prefix}x\n", format!("{prefix}{log}\n").repeat(20)));
    assert_eq!((trace.facts.events, trace.facts.bad, trace.facts.format.as_str()), (20, 1, "common"));
    let escaped = log.replace('"', "\\\"");
    let text = format!("{{\"log\":\"{escaped}\\n\",\"stream\":\"stdout\",\"time\":\"2024-05-12T08:15:30.1Z\"}}\n");
    assert_eq!(plain(text.repeat(2)).facts.events, 2);
}

#[test]
fn progress_is_told_and_ends_at_the_size_of_the_file() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let copy = Arc::clone(&seen);
    let progress = OnProgress(Arc::new(move |p| copy.lock().unwrap().push(p)));
    let options = ReadOptions { progress: Some(progress), ..ReadOptions::default() };
    let bytes = gzip(TEXT.as_bytes());
    let size = bytes.len() as u64;
    try_read(bytes, &options).unwrap();
    let last = *seen.lock().unwrap().last().unwrap();
    assert_eq!((last.bytes, last.total), (size, Some(size)));
}

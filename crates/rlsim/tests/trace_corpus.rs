//! The corpora of the fuzz targets, and all fixtures, through the same checks as in the fuzzer.

use std::path::Path;

#[path = "../../../fuzz/src/readers.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use the same file through a crate")]
mod readers;

#[path = "../../../fuzz/src/policy.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use the same file through a crate")]
mod policy;

/// What a fuzz target does with its input.
type Check = fn(&[u8]);

/// Runs a check on every file of a folder; how many there were.
fn run(folder: impl AsRef<Path>, check: Check) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for file in &files {
        let data = std::fs::read(file).unwrap();
        println!("{}", file.display());
        check(&data);
        // Cut anywhere, it is another input.
        for length in (0..data.len()).step_by(data.len() / 12 + 1) {
            check(&data[..length]);
        }
    }
    files.len()
}

#[test]
fn corpora() {
    let checks: [(&str, Check); 6] = [
        ("any", readers::any),
        ("delimited", readers::delimited),
        ("lines", readers::lines),
        ("json", readers::json),
        ("compressed", readers::compressed),
        ("policy_text", policy::policy_text),
    ];
    for (target, check) in checks {
        assert!(run(format!("../../fuzz/corpus/{target}"), check) > 0, "{target}");
    }
}

#[test]
fn fixtures() {
    assert!(run("tests/traces", readers::any) >= 30);
}

/// Every fixture through every reader: a format forced on the wrong input must end in counts or in an error.
#[test]
fn fixtures_read_as_something_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    for entry in std::fs::read_dir(folder).unwrap() {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        for choice in 0..10 {
            let forced = [&[choice, 0b0100_0111 * (choice % 2)], data.as_slice()].concat();
            readers::delimited(&forced);
            readers::lines(&forced);
            readers::json(&forced);
        }
    }
}

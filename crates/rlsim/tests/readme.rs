//! Every `$ command` of the README and the docs prints what stands below it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Commands of `console` blocks, each with the output that is shown.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap_or_default().lines() {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output = format!("{output}{line}\n"),
                (None, None) => panic!("output before a command: {line}"),
            }
        }
    }
    found
}

/// Runs a command line in `folder`, with this build's `rlsim` on the path.
fn run(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_rlsim")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let line = command.replace("cargo run --release -p rlsim --", "rlsim");
    let output = Command::new("sh").arg("-c").arg(&line).current_dir(folder).env("PATH", path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(unix)]
#[test]
fn commands_print_what_is_shown() {
    let mut pages = vec![root().join("README.md")];
    pages.extend(std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut tried = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root().join("traces"), folder.path().join("traces")).unwrap();
        for (command, shown) in commands(&std::fs::read_to_string(page).unwrap()) {
            assert_eq!(run(folder.path(), &command), shown, "{}: $ {command}", page.display());
            tried += 1;
        }
    }
    assert!(tried >= 3, "only {tried} commands found");
}

#[cfg(unix)]
#[test]
fn the_chart_shown_is_the_one_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("traces"), folder.path().join("traces")).unwrap();
    run(folder.path(), "rlsim compare --trace traces/burst.csv");
    let written = std::fs::read_to_string(folder.path().join("burst-compare.svg")).unwrap();
    let shown = std::fs::read_to_string(root().join("docs/burst-compare.svg")).unwrap();
    assert!(written == shown, "docs/burst-compare.svg is stale: rlsim compare --trace traces/burst.csv writes another");
}

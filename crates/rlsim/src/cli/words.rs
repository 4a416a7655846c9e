//! The words of a command line, as a report records them.

use std::ffi::OsString;

/// The words that give this report again: the program by its name, wherever it lies, and no word that only says where
/// output goes or how many threads work, so that the report is the same for all of these.
pub(super) fn that_decide(words: &[OsString]) -> Vec<String> {
    let mut kept = vec!["rlsim".to_owned()];
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).peekable();
    while let Some(word) = words.next() {
        match word.split_once('=').map_or(word.as_str(), |(option, _)| option) {
            "--no-chart" => {}
            "--threads" => drop(words.next_if(|_| !word.contains('='))),
            "--export" => while words.next_if(|next| next == "-" || !next.starts_with('-')).is_some() {},
            _ => kept.push(word),
        }
    }
    kept
}

//! Finding a client by the name that reports show.

use std::ffi::OsStr;
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::report::count;
use crate::trace::Trace;

/// The most names that an error offers.
const OFFERED: usize = 3;

/// The index of the client called `name`: byte for byte, or else as reports show it (what is not UTF-8 replaced).
///
/// # Errors
/// [`Error::Failed`] that names the trace, says how many clients there are, and offers names: those that are nearly the
/// same, and those of the clients with most requests.
pub fn find(trace: &Trace, name: &OsStr) -> Result<u32> {
    let name = name.as_encoded_bytes();
    let shown = String::from_utf8_lossy(name);
    let index = |found: Option<usize>| found.and_then(|index| u32::try_from(index).ok());
    let exact = index(trace.names.iter().position(|known| **known == *name));
    let mut alike = trace.names.iter().enumerate().filter(|(_, known)| String::from_utf8_lossy(known) == shown);
    match (exact, alike.next(), alike.next()) {
        (Some(exact), _, _) => Ok(exact),
        (None, Some((only, _)), None) => index(Some(only)).ok_or_else(|| unknown(trace, &shown)),
        (None, Some(_), Some(_)) => Err(Error::failed(format!(
            "--client {shown}: several clients of {} look like this, because their names are not UTF-8; expected the name \
             byte for byte",
            paths(trace)
        ))),
        (None, None, _) => Err(unknown(trace, &shown)),
    }
}

fn unknown(trace: &Trace, name: &str) -> Error {
    let quoted = |clients: &[u32]| -> String {
        let names = clients.iter().map(|client| String::from_utf8_lossy(&trace.names[*client as usize]));
        names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
    };
    let busy = by_requests(trace);
    if let [only] = busy[..] {
        return Error::failed(format!(
            "--client {name}: {} has one client, expected {}",
            paths(trace),
            quoted(&[only])
        ));
    }
    let clients = count(trace.names.len() as u64);
    let mut text = format!("--client {name}: no such client among the {clients} of {}", paths(trace));
    let near = nearest(trace, name);
    if !near.is_empty() {
        let _ = write!(text, "; nearly the same: {}", quoted(&near));
    }
    let _ = write!(text, "; those with most requests: {}", quoted(&busy[..busy.len().min(OFFERED)]));
    Error::failed(text)
}

fn paths(trace: &Trace) -> String {
    trace.facts.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Clients that ask for anything, most requests first, then in the order of the trace.
fn by_requests(trace: &Trace) -> Vec<u32> {
    let mut requests: Vec<(u64, u32)> = (0..).map(|client| (0, client)).take(trace.names.len()).collect();
    for client in &trace.client {
        requests[*client as usize].0 += 1;
    }
    requests.sort_by_key(|(requests, client)| (std::cmp::Reverse(*requests), *client));
    requests.into_iter().filter(|(requests, _)| *requests > 0).map(|(_, client)| client).collect()
}

/// Clients whose name is at most a third away from `name`, the nearest first.
fn nearest(trace: &Trace, name: &str) -> Vec<u32> {
    let most = (name.chars().count() / 3).max(1);
    let mut near: Vec<(usize, u32)> = Vec::new();
    for (client, known) in (0..).zip(&trace.names) {
        let away = distance(&String::from_utf8_lossy(known).to_lowercase(), &name.to_lowercase(), most);
        if let Some(away) = away {
            near.push((away, client));
        }
    }
    near.sort_unstable();
    near.into_iter().take(OFFERED).map(|(_, client)| client).collect()
}

/// Letters to insert, remove or replace to make one word of the other, `None` for more than `most` (Wagner and Fischer).
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    if a.chars().count().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|away| *away > most) {
            return None;
        }
    }
    row.last().copied().filter(|away| *away <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Costs, Facts};

    fn trace(names: &[&[u8]], client: &[u32]) -> Trace {
        Trace {
            at: vec![0; client.len()],
            client: client.to_vec(),
            cost: Costs::Unit,
            names: names.iter().map(|name| (*name).into()).collect(),
            facts: Facts { paths: vec!["t.csv".into()], ..Facts::default() },
        }
    }

    fn named(trace: &Trace, name: &str) -> Result<u32> {
        find(trace, OsStr::new(name))
    }

    #[test]
    fn a_client_is_found_by_its_bytes_or_as_it_is_shown() {
        let trace = trace(&[b"10.0.0.1", b"caf\xe9", b"caf\xff", b"b\xff", b""], &[0, 1, 2, 3, 4, 4]);
        assert_eq!(named(&trace, "10.0.0.1"), Ok(0));
        assert_eq!(named(&trace, "b\u{fffd}"), Ok(3));
        assert_eq!(named(&trace, ""), Ok(4));
        #[cfg(unix)]
        assert_eq!(find(&trace, std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xff")), Ok(2));
        let two = named(&trace, "caf\u{fffd}").unwrap_err().to_string();
        assert!(two.contains("several clients of t.csv"), "{two}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let several = trace(&[b"alice", b"bob", b"alicia", b"carol"], &[0, 1, 1, 2, 3]);
        assert_eq!(
            named(&several, "Alise").unwrap_err().to_string(),
            "--client Alise: no such client among the 4 of t.csv; nearly the same: \"alice\"; those with most requests: \"bob\", \
             \"alice\", \"alicia\""
        );
        let said = named(&several, "x").unwrap_err().to_string();
        assert!(!said.contains("nearly"), "{said}");
        let said = named(&trace(&[b"alice"], &[0]), "x").unwrap_err().to_string();
        assert_eq!(said, "--client x: t.csv has one client, expected \"alice\"");
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        for (a, b, away) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("10.0.0.1", "10.0.0.12", 1)] {
            assert_eq!((distance(a, b, 9), distance(b, a, 9)), (Some(away), Some(away)));
            assert_eq!(distance(a, b, away), Some(away));
            assert_eq!(away.checked_sub(1).and_then(|most| distance(a, b, most)), None);
        }
    }
}

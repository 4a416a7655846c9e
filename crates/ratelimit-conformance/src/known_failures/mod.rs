//! Inputs on which published limiters were seen to fail (`vectors/known-failures.md`), with several inputs of each kind.
//!
//! `calls` bounds the calls that a row makes to one client, for implementations that are slow to ask; the rows' own
//! numbers need up to eight million.

pub mod arithmetic;
pub mod decisions;

use ratelimit_core::{Decision, Nanos, Policy};

use crate::spec::Kind;
use crate::subject::{Client, Subject, offered};

/// Calls that any implementation can afford.
pub const FEW: u64 = 500;

/// The client of a policy text. `None` where the implementation refuses it or lacks the algorithm.
fn client<S: Subject>(subject: &S, text: &str) -> Option<S::Client> {
    let policy: Policy = text.parse().expect("the texts here are valid");
    let client = offered(subject, &policy);
    if client.is_none() {
        println!("left out: {text} is not offered");
    }
    client
}

/// The same quota for each of the five algorithms.
fn each_algorithm<S: Subject>(subject: &S, quota: &str, mut row: impl FnMut(&str, S::Client)) {
    for kind in Kind::LIMITING {
        let text = format!("{}:{quota}", kind.name());
        if let Some(client) = client(subject, &text) {
            row(&text, client);
        }
    }
}

/// Units left at `now`.
fn left(client: &mut impl Client, now: Nanos) -> u64 {
    match client.decide(now, 0) {
        Decision::Allowed { remaining, .. } => remaining,
        refusal => panic!("cost 0 must be allowed, and is {refusal:?}"),
    }
}

/// Asks for one unit every `every` in `from..=to`, with at most `calls` calls (then at larger steps), and always at
/// `to`. Returns how many were allowed.
fn poll(client: &mut impl Client, from: Nanos, to: Nanos, every: Nanos, calls: u64) -> u64 {
    let span = to.get() - from.get();
    // Steps of whole microseconds, so that every implementation can follow.
    let every = every.get().max((span / calls).next_multiple_of(1000));
    let steps = (0..=span / every).map(|i| i * every).chain((!span.is_multiple_of(every)).then_some(span));
    let allowed = steps.filter(|after| client.decide(Nanos::new(from.get() + after), 1).is_allowed()).count();
    allowed as u64
}

//! The behaviours that the tutorials which started the project assert or show. All of them hold.

use ratelimit_core::{Decision, Nanos};

use super::config;
use super::data::Vector;
use super::story::{Trouble, tell};
use crate::subject::{Client, Subject};

/// Runs `seeds.json`, and returns the identifiers of those that are not about a limiter but about the HTTP layer
/// alone, whose own tests hold them.
///
/// # Panics
/// With the first that does not hold, or that is not known here.
pub fn run_seeds<S: Subject>(subject: &S) -> Vec<String> {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../../vectors/seeds.json")).expect("seeds.json is a list of vectors");
    let mut elsewhere = Vec::new();
    for vector in &vectors {
        match vector.id.as_str() {
            "seed#cleanup" => cleanup(subject, vector),
            "seed#middleware" => middleware(subject, vector),
            "seed#curl" => curl(subject, vector),
            "seed#ip-fallback" => elsewhere.push(vector.id.clone()),
            id => {
                assert!(!vector.events.is_empty(), "{id} is told by a note, which is not known here");
                let outcome = tell(subject, vector);
                assert!(matches!(outcome, Ok(()) | Err(Trouble::NotOffered)), "{id}: {outcome:?}");
            }
        }
    }
    elsewhere
}

fn client<S: Subject>(subject: &S, vector: &Vector) -> S::Client {
    let policy = config::policy(vector).expect("the seeds' parameters are known");
    subject.client(&policy).expect("the seeds' quotas are ordinary: an implementation has the token bucket for them")
}

/// a takes 5, b takes 1; at 10 s both are full again and may be forgotten.
fn cleanup<S: Subject>(subject: &S, vector: &Vector) {
    let ten_seconds = Nanos::from_secs(10);
    for units in [5, 1] {
        let mut client = client(subject, vector);
        assert!(client.decide(Nanos::ZERO, units).is_allowed(), "{}", vector.id);
        if subject.domain().can.is_fresh {
            assert!(!client.is_fresh(Nanos::ZERO) && client.is_fresh(ten_seconds), "{}", vector.id);
        }
        let full = Decision::Allowed { remaining: 5, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
        assert_eq!(client.decide(ten_seconds, 0), full, "{}", vector.id);
    }
}

/// team-a: two pass, the third waits for 1 s with nothing left; team-b passes; after 1 s team-a passes.
fn middleware<S: Subject>(subject: &S, vector: &Vector) {
    let (mut team_a, mut team_b) = (client(subject, vector), client(subject, vector));
    assert!(team_a.decide(Nanos::ZERO, 1).is_allowed() && team_a.decide(Nanos::ZERO, 1).is_allowed());
    let third = team_a.decide(Nanos::ZERO, 1);
    let Decision::Denied { retry_after, remaining: 0, .. } = third else { panic!("{}: {third:?}", vector.id) };
    assert_eq!(retry_after.as_secs_ceil(), 1, "{}", vector.id);
    assert!(team_b.decide(Nanos::ZERO, 1).is_allowed() && team_a.decide(Nanos::from_secs(1), 1).is_allowed());
}

/// Seven requests at once: five pass.
fn curl<S: Subject>(subject: &S, vector: &Vector) {
    let mut client = client(subject, vector);
    let allowed = (0..7).filter(|_| client.decide(Nanos::ZERO, 1).is_allowed()).count();
    assert_eq!(allowed, 5, "{}", vector.id);
}

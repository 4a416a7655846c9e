//! The table "Decisions".

use ratelimit_core::{Decision, Nanos};

use super::{client, each_algorithm, left};
use crate::subject::{Client, Subject};

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// Unit requests at one instant that are allowed.
fn allowed_at(client: &mut impl Client, at: Nanos, requests: u64) -> usize {
    (0..requests).filter(|_| client.decide(at, 1).is_allowed()).count()
}

/// B = 10, cost 11: "later" was seen, and a waiter that hangs. Never, capacity 10, nothing charged.
///
/// # Panics
/// Where it does not hold.
pub fn more_than_the_capacity_is_never<S: Subject>(subject: &S, _calls: u64) {
    for cost in [11, 12, 1000, subject.domain().most_units] {
        each_algorithm(subject, "10/1s", |text, mut client| {
            assert_eq!(client.decide(ms(0), cost), Decision::Never { capacity: 10 }, "{text}, cost {cost}");
            assert_eq!(left(&mut client, ms(0)), 10, "{text}, cost {cost}");
        });
    }
}

/// B = 5, 1 per 50 ms: drain, idle 10 s, 20 x 1 at once: 6 were seen. 5.
///
/// # Panics
/// Where it does not hold.
pub fn idleness_earns_no_more_than_the_burst<S: Subject>(subject: &S, _calls: u64) {
    for (quota, idle_ms) in [("1/50ms,burst=5", 10_000), ("1/50ms,burst=5", 251), ("3/7ms,burst=5", 60_000)] {
        for name in ["token-bucket", "leaky-bucket"] {
            let text = format!("{name}:{quota}");
            let Some(mut client) = client(subject, &text) else { continue };
            assert_eq!(allowed_at(&mut client, ms(0), 20), 5, "{text}");
            assert_eq!(allowed_at(&mut client, ms(idle_ms), 20), 5, "{text} after {idle_ms} ms");
        }
    }
    each_algorithm(subject, "5/250ms", |text, mut client| {
        assert_eq!(allowed_at(&mut client, ms(0), 20), 5, "{text}");
        assert_eq!(allowed_at(&mut client, ms(10_000), 20), 5, "{text}");
    });
}

/// B = 4, 1/s: two at 0, one at 1.0 s: remaining 1 was seen. 2.
///
/// # Panics
/// Where it does not hold.
pub fn what_is_earned_on_the_second_counts<S: Subject>(subject: &S, _calls: u64) {
    for (text, first, at, left_after) in [
        ("token-bucket:1/1s,burst=4", 2, 1000, 2),
        ("token-bucket:2/1s,burst=4", 4, 500, 0),
        ("leaky-bucket:1/1s,burst=4", 3, 2000, 2),
    ] {
        let Some(mut client) = client(subject, text) else { continue };
        assert_eq!(allowed_at(&mut client, ms(0), first) as u64, first, "{text}");
        assert_eq!(allowed_at(&mut client, ms(at), 1), 1, "{text}");
        assert_eq!(left(&mut client, ms(at)), left_after, "{text}");
    }
}

/// B = 10, 1/s: one at 130 s, then the clock says 115 s: refused was seen. Allowed, and nothing minted.
///
/// # Panics
/// Where it does not hold.
pub fn a_clock_that_steps_back_refuses_and_mints_nothing<S: Subject>(subject: &S, _calls: u64) {
    if !subject.domain().can.step_back {
        return;
    }
    for back_to in [115_000, 129_999, 0] {
        each_algorithm(subject, "10/10s", |text, mut client| {
            assert_eq!(allowed_at(&mut client, ms(130_000), 1), 1, "{text}");
            assert_eq!(allowed_at(&mut client, ms(back_to), 1), 1, "{text} back at {back_to} ms");
            assert_eq!(left(&mut client, ms(back_to)), 8, "{text} back at {back_to} ms");
            assert_eq!(left(&mut client, ms(130_000)), 8, "{text} at 130 s again");
        });
    }
}

/// 60 per minute: 60 at 0, then one each second: 119 in a minute from the token bucket, as its bound says; the sliding
/// log 60.
///
/// # Panics
/// Where it does not hold.
pub fn a_token_bucket_lets_nearly_the_double_through<S: Subject>(subject: &S, _calls: u64) {
    for (name, in_the_minute) in
        [("token-bucket", 119), ("leaky-bucket", 119), ("sliding-log", 60), ("fixed-window", 60)]
    {
        let text = format!("{name}:60/1m");
        let Some(mut client) = client(subject, &text) else { continue };
        let at_once = allowed_at(&mut client, ms(0), 60);
        let later: usize = (1..60).map(|second| allowed_at(&mut client, Nanos::from_secs(second), 1)).sum();
        assert_eq!(at_once + later, in_the_minute, "{text}");
    }
}

/// 1 per 400 ms, B = 1, the second call at once: "retry after 0 s" was seen in the header. Exactly 400 ms; header 1.
///
/// # Panics
/// Where it does not hold.
pub fn a_wait_below_a_second_is_not_zero<S: Subject>(subject: &S, _calls: u64) {
    for wait_ms in [400, 1, 999, 1000] {
        for name in ["token-bucket", "leaky-bucket", "fixed-window", "sliding-log"] {
            let text = format!("{name}:1/{wait_ms}ms");
            let Some(mut client) = client(subject, &text) else { continue };
            assert!(client.decide(ms(0), 1).is_allowed(), "{text}");
            let Some(wait) = client.decide(ms(0), 1).retry_after() else { panic!("{text}: the second must wait") };
            assert_eq!((wait, wait.as_secs_ceil()), (ms(wait_ms), 1), "{text}");
        }
    }
}

/// Log, limit 10 per 100 ms: idle 200 ms, cost 1000: allowed was seen. Never, of every algorithm.
///
/// # Panics
/// Where it does not hold.
pub fn idleness_does_not_lift_the_limit<S: Subject>(subject: &S, _calls: u64) {
    for idle_ms in [200, 100, 86_400_000] {
        each_algorithm(subject, "10/100ms", |text, mut client| {
            assert_eq!(allowed_at(&mut client, ms(0), 10), 10, "{text}");
            assert_eq!(client.decide(ms(idle_ms), 1000), Decision::Never { capacity: 10 }, "{text} after {idle_ms} ms");
        });
    }
}

/// 10 per 100 ms: ten at 9 ms, ten at 101 ms: a bucketed "sliding" window was seen to allow both. The log denies the
/// second; the counter does as its formula says.
///
/// # Panics
/// Where it does not hold.
pub fn a_sliding_window_slides<S: Subject>(subject: &S, _calls: u64) {
    for (first, second) in [(9, 101), (99, 100), (1, 100), (50, 149)] {
        if let Some(mut log) = client(subject, "sliding-log:10/100ms") {
            assert!(log.decide(ms(first), 10).is_allowed());
            let wait = log.decide(ms(second), 10).retry_after();
            assert_eq!(wait, Some(ms(first + 100 - second)), "ten at {first}, ten at {second}");
        }
        if let Some(mut counter) = client(subject, "sliding-counter:10/100ms") {
            assert!(counter.decide(ms(first), 10).is_allowed());
            assert!(!counter.decide(ms(second), 10).is_allowed());
            // floor(10 * (200 - second) / 100) of the first ten count.
            let free = 10 - 10 * (200 - second) / 100;
            assert_eq!(left(&mut counter, ms(second)), free, "ten at {first}, then at {second}");
        }
    }
}

/// Drained, then a cost over the capacity: the client was seen erased, to start full. Still drained.
///
/// # Panics
/// Where it does not hold.
pub fn an_impossible_cost_erases_nothing<S: Subject>(subject: &S, _calls: u64) {
    for cost in [11, 1000, subject.domain().most_units] {
        each_algorithm(subject, "10/1s", |text, mut client| {
            assert_eq!(allowed_at(&mut client, ms(5), 10), 10, "{text}");
            client.decide(ms(5), cost);
            assert_eq!(left(&mut client, ms(5)), 0, "{text}, cost {cost}");
            assert_eq!(allowed_at(&mut client, ms(5), 1), 0, "{text}, cost {cost}");
        });
    }
}

/// A client that polls while denied: denials were seen recorded, so that it never recovers. It recovers at the instant
/// that the first denial named.
///
/// # Panics
/// Where it does not hold.
pub fn polling_while_denied_recovers<S: Subject>(subject: &S, _calls: u64) {
    for (quota, cost) in [("10/1s", 1), ("10/1s", 7), ("3/700ms", 2)] {
        each_algorithm(subject, quota, |text, mut client| {
            let mut now = ms(900);
            while client.decide(now, cost).is_allowed() {}
            let wait = client.decide(now, cost).retry_after().expect("denied");
            let recovery = now.saturating_add(wait);
            let step = Nanos::new((wait.get() / 50).next_multiple_of(1000));
            while now < recovery {
                assert!(!client.decide(now, cost).is_allowed(), "{text}: early at {now}");
                now = now.saturating_add(step);
            }
            assert!(client.decide(recovery, cost).is_allowed(), "{text}: cost {cost} at {recovery}");
        });
    }
}

/// Two limits at once, the second denies: the first was seen charged. Neither is.
///
/// # Panics
/// Where it does not hold.
pub fn a_denial_by_one_limit_charges_none<S: Subject>(subject: &S, _calls: u64) {
    for (first, second) in
        [("token-bucket", "fixed-window"), ("sliding-log", "token-bucket"), ("fixed-window", "sliding-counter")]
    {
        let text = format!("{first}:10/1s+{second}:3/1h");
        let Some(mut both) = client(subject, &text) else { continue };
        assert_eq!(allowed_at(&mut both, ms(0), 20), 3, "{text}");
        // Were the first charged by the 17 denials, it would have nothing left for an hour later.
        let Some(mut fresh) = client(subject, &text) else { continue };
        assert!(fresh.decide(ms(0), 3).is_allowed());
        let later = Nanos::from_secs(2 * 3600);
        for (cost, at) in [(1, ms(0)), (3, later), (1, later)] {
            assert_eq!(both.decide(at, cost), fresh.decide(at, cost), "{text}: cost {cost} at {at}");
        }
    }
}

/// 100 at 0.9 s, 100 at 1.1 s, limit 100/s: fixed 200, log 100, counter 110, as its formula says.
///
/// # Panics
/// Where it does not hold.
pub fn the_edge_as_published<S: Subject>(subject: &S, _calls: u64) {
    for (name, total) in [("fixed-window", 200), ("sliding-log", 100), ("sliding-counter", 110), ("token-bucket", 120)]
    {
        let text = format!("{name}:100/1s");
        let Some(mut client) = client(subject, &text) else { continue };
        let passed = allowed_at(&mut client, ms(900), 100) + allowed_at(&mut client, ms(1100), 100);
        assert_eq!(passed, total, "{text}");
    }
}

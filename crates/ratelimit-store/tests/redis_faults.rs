//! Real faults of a real server under load: everybody is answered in time, and nobody is admitted wrongly.
#![cfg(feature = "redis")]

mod redis_common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ratelimit_core::Nanos;
use ratelimit_store::redis::{SharedError, SharedLimiter};
use ratelimit_store::{Fallback, ManualClock, Source};
use redis_common::faults::{FAULTS, Fault};
use redis_common::load::BOUND;
use redis_common::{PATIENCE, Server, free_port, patient, policy, proxy, run};

/// The timeout is 50 ms, and hardly an answer may take twice that; for the longest the machine may have other things to do.
const STALL: Duration = Duration::from_millis(500);

fn hold(name: &str) {
    let Fault { losses, fails, run, .. } = FAULTS.iter().find(|fault| fault.name.starts_with(name)).unwrap();
    let outcome = run();
    assert_eq!(outcome.sent, outcome.answered);
    assert!(outcome.longest < STALL, "{outcome:?}");
    assert!(outcome.late * 100 <= outcome.sent, "{outcome:?}");
    assert!(!fails || outcome.from_local >= 100, "{outcome:?}: the fault was seen");
    assert!(outcome.beyond_shared <= losses * BOUND, "{outcome:?}");
    assert_eq!(outcome.beyond_local, 0, "{outcome:?}");
}

#[test]
#[ignore = "needs redis-server"]
fn without_a_fault() {
    hold("none");
}

#[test]
#[ignore = "needs redis-server"]
fn script_flush() {
    hold("SCRIPT FLUSH");
}

#[test]
#[ignore = "needs redis-server"]
fn paused() {
    hold("paused");
}

#[test]
#[ignore = "needs redis-server"]
fn killed() {
    hold("killed");
}

#[test]
#[ignore = "needs redis-server"]
fn restarted() {
    hold("restarted");
}

#[test]
#[ignore = "needs redis-server"]
fn slow_server() {
    hold("slow");
}

#[test]
#[ignore = "needs redis-server"]
fn memory_full() {
    hold("memory full");
}

#[test]
#[ignore = "needs redis-server"]
fn leases() {
    hold("leases, none");
}

#[test]
#[ignore = "needs redis-server"]
fn leases_of_a_paused_server() {
    hold("leases, paused");
}

#[test]
#[ignore = "needs redis-server"]
fn leases_of_a_slow_server() {
    hold("leases, slow");
}

#[test]
fn nobody_listens() {
    run(async {
        let url = format!("redis://127.0.0.1:{}", free_port());
        let limiter = patient("token-bucket:5/1h").connect(&url).unwrap();
        let error = limiter.check("a").await.unwrap_err();
        assert!(matches!(error, SharedError::Unreachable(_)), "{error}");
        // However long a call may take.
        let limiter = SharedLimiter::builder(policy("token-bucket:5/1h")).timeout(Duration::MAX).connect(&url).unwrap();
        let answers = limiter.check_many(&[("a", 1), ("b", 9)]).await;
        assert!(answers[0].is_err(), "no answer is no admission");
        assert!(!answers[1].as_ref().unwrap().is_allowed(), "never, whoever is asked");
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_silent_server_costs_the_timeout_and_no_more() {
    let server = Server::start(&[]);
    run(async {
        let port = proxy::slow(server.port(), Duration::from_secs(86_399)).await;
        let timeout = Duration::from_millis(30);
        let limiter = SharedLimiter::builder(policy("token-bucket:5/1h"))
            .timeout(timeout)
            .connect(&format!("redis://127.0.0.1:{port}"))
            .unwrap();
        let asked = Instant::now();
        let error = limiter.check("a").await.unwrap_err();
        assert!(matches!(error, SharedError::Timeout { after } if after == timeout), "{error}");
        assert!(asked.elapsed() < STALL);
    });
}

#[test]
#[ignore = "needs redis-server"]
fn waiting_calls_are_bounded() {
    let server = Server::start(&[]);
    run(async {
        let limiter = Arc::new(patient("token-bucket:5/1h").max_calls(8).connect(&server.url()).unwrap());
        limiter.check("a").await.unwrap();
        server.signal("STOP");
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                tokio::spawn(async move { limiter.check("a").await })
            })
            .collect();
        let deadline = Instant::now() + PATIENCE;
        while waiting.iter().filter(|task| task.is_finished()).count() < 12 {
            assert!(Instant::now() < deadline, "twelve are told at once that too many wait");
            tokio::task::yield_now().await;
        }
        server.signal("CONT");
        let mut busy = 0;
        for task in waiting {
            busy += usize::from(matches!(task.await.unwrap(), Err(SharedError::Busy { calls: 8 })));
        }
        assert_eq!(busy, 12);
    });
}

/// The shared limiter reads no clock of ours.
#[test]
#[ignore = "needs redis-server"]
fn the_clients_clock_set_back_changes_nothing() {
    let server = Server::start(&[]);
    run(async {
        let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
        let policy = policy("token-bucket:5/1h");
        let shared = server.shared("token-bucket:5/1h");
        let limiter = Fallback::builder(shared, policy).clock(clock.clone()).build();
        let mut admitted = 0;
        for i in 0..40 {
            clock.set(Nanos::from_secs(1_790_000_000 - 100_000 * i));
            let answer = limiter.check(b"a").await;
            assert_eq!(answer.source, Source::Shared);
            admitted += u32::from(answer.decision.is_allowed());
        }
        assert_eq!(admitted, 5);
    });
}

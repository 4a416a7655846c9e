//! Hot clients: leases and split quotas on a live server.
#![cfg(feature = "redis")]

mod redis_common;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ratelimit_core::Decision;
use ratelimit_store::redis::{BuildError, SharedError, SharedLimiter};
use ratelimit_store::{Fallback, Leased, Source};
use redis_common::{PATIENCE, Server, patient, policy, proxy, run};

const POLICY: &str = "token-bucket:2000/1s";

/// Units that were admitted between two instants of the test, both in nanoseconds.
type Admitted = Vec<(u64, u64)>;

/// The most by which any span holds more than a bucket of `burst` units and 2000 a second admits: of each begin, over all
/// ends. An admission is in a span if the call began and ended in it, so what is found is certain.
fn beyond(admitted: &Admitted, burst: u64) -> u64 {
    let mut by_end = admitted.clone();
    by_end.sort_by_key(|(_, end)| *end);
    let mut begins: Vec<u64> = admitted.iter().map(|(begin, _)| *begin).collect();
    begins.sort_unstable();
    let most = begins.iter().step_by(40).map(|&begin| {
        let mut units = 0;
        let within = by_end.iter().filter(|(began, _)| *began >= begin).map(|(_, end)| {
            units += 1;
            // The part of a unit that has drained counts whole.
            (units - 1_u64).saturating_sub(burst + 2000 * (end - begin) / 1_000_000_000)
        });
        within.max().unwrap_or(0)
    });
    most.max().unwrap_or(0)
}

#[test]
fn beyond_sees_a_burst_in_the_middle() {
    let second = 1_000_000_000;
    let mut admitted: Admitted = (0..2000).map(|i| (i * second / 2000, i * second / 2000)).collect();
    assert_eq!(beyond(&admitted, 100), 0);
    admitted.extend((0..150).map(|_| (second / 2, second / 2)));
    assert!((45..=55).contains(&beyond(&admitted, 100)), "{}", beyond(&admitted, 100));
}

/// 8 servers, 10 000 requests a second of six clients, a half of them of the first, a quarter of the second and so on, by
/// the clocks of the machine and of the server: in no span more than the bound, as much as there is, and few round trips.
#[test]
#[ignore = "needs redis-server"]
fn eight_servers_lease_from_one_redis() {
    const SECONDS: u64 = 8;
    const CLIENTS: usize = 6;
    let server = Server::start(&[]);
    run(async {
        let lease = || {
            let builder = Leased::builder(server.shared(POLICY), policy(POLICY));
            builder.servers(8).timeout(PATIENCE).build()
        };
        let servers: Vec<_> = (0..8).map(|_| lease()).collect();
        let begun = Instant::now();
        let nanos = move || u64::try_from(begun.elapsed().as_nanos()).unwrap();
        let work = |number: u64, limiter: Leased<SharedLimiter>| async move {
            let mut admitted: [Admitted; CLIENTS] = Default::default();
            let mut asked = [0_u64; CLIENTS];
            // The requests that are due by now: 1250 a second.
            for i in 0.. {
                while nanos() < i * 800_000 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                if nanos() > SECONDS * 1_000_000_000 {
                    break;
                }
                // 32 requests: 16 of the first client, 8 of the second, ... 1 and 1.
                let client = ((i + number) % 32 + 1).trailing_zeros().min(5) as usize;
                let key = format!("client-{client}");
                asked[client] += 1;
                let asked_at = nanos();
                if limiter.check_n(key.as_bytes(), 1).await.unwrap().is_allowed() {
                    admitted[client].push((asked_at, nanos()));
                }
            }
            (admitted, asked)
        };
        let tasks: Vec<_> =
            servers.iter().zip(0..).map(|(limiter, number)| tokio::spawn(work(number, limiter.clone()))).collect();
        let mut admitted: [Admitted; CLIENTS] = Default::default();
        let mut asked = [0; CLIENTS];
        for task in tasks {
            let (some, of) = task.await.unwrap();
            for client in 0..CLIENTS {
                admitted[client].extend(&some[client]);
                asked[client] += of[client];
            }
        }
        let elapsed = nanos() / 1_000_000;
        for client in 0..CLIENTS {
            assert_eq!(beyond(&admitted[client], 2000), 0, "client {client}");
            let exact = asked[client].min(2000 + 2 * elapsed);
            let units = admitted[client].len() as u64;
            assert!(units * 100 >= 95 * exact, "client {client}: {units} of {exact}");
        }
        let (decisions, trips) = servers.iter().fold((0, 0), |(decisions, trips), limiter| {
            let counts = limiter.counts();
            (decisions + counts.decisions, trips + counts.round_trips)
        });
        assert!(decisions >= 70_000, "{decisions} decisions");
        assert!(decisions >= 20 * trips, "{trips} round trips for {decisions} decisions");
        for limiter in &servers {
            limiter.give_back_all().await;
        }
    });
}

#[test]
#[ignore = "needs redis-server"]
fn leases_and_a_fallback_go_together() {
    let mut server = Server::start(&[]);
    let leased =
        Leased::builder(patient("token-bucket:100/1h").connect(&server.url()).unwrap(), policy("token-bucket:100/1h"));
    let limiter = Fallback::builder(leased.servers(2).build(), policy("token-bucket:100/1h")).servers(2).build();
    run(async {
        assert_eq!(limiter.check(b"a").await.source, Source::Shared);
        server.kill();
        // What the lease holds is spent first, as the shared limiter's; then the server's half is left, less what it has
        // used already.
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                let limiter = limiter.clone();
                tokio::spawn(async move { limiter.check(b"a").await })
            })
            .collect();
        let mut local = 0;
        for task in tasks {
            let answer = task.await.unwrap();
            local += u32::from(answer.source == Source::Local && answer.decision.is_allowed());
        }
        assert!((30..=50).contains(&local), "{local} admitted by this server's half");
    });
}

/// Two parts are asked within the timeout of one call.
#[test]
#[ignore = "needs redis-server"]
fn a_split_quota_takes_no_longer_than_one_call() {
    let server = Server::start(&[]);
    run(async {
        // A reply takes less than the timeout, two take more.
        let port = proxy::slow(server.port(), Duration::from_millis(600)).await;
        let split = SharedLimiter::builder(policy("fixed-window:2/1d"))
            .timeout(Duration::from_secs(1))
            .connect_split(&format!("redis://127.0.0.1:{port}"), 2)
            .unwrap();
        // It connects in the background of calls that time out.
        let allowed = |answer: Result<Decision, SharedError>| answer.is_ok_and(|decision| decision.is_allowed());
        let deadline = Instant::now() + PATIENCE;
        while !allowed(split.peek(b"a", 1).await) {
            assert!(Instant::now() < deadline, "it connects");
        }
        let direct = patient("fixed-window:2/1d").connect_split(&server.url(), 2).unwrap();
        for _ in 0..4 {
            let _full = direct.check_n(b"a", 1).await;
        }
        let begun = Instant::now();
        assert!(matches!(split.check_n(b"a", 1).await, Err(SharedError::Timeout { .. })));
        assert!(begun.elapsed() < Duration::from_millis(1400), "{:?}", begun.elapsed());
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_split_quota_is_a_backend() {
    let server = Server::start(&[]);
    run(async {
        let split = patient("fixed-window:4/1d").connect_split(&server.url(), 2).unwrap();
        let limiter = Fallback::builder(split, policy("fixed-window:4/1d")).build();
        let mut admitted = 0;
        for _ in 0..9 {
            let answer = limiter.check(b"a").await;
            assert_eq!(answer.source, Source::Shared);
            admitted += u32::from(answer.decision.is_allowed());
        }
        assert_eq!(admitted, 4);
        assert!(limiter.refund(b"a", 1, Source::Shared).await);
        assert!(limiter.peek(b"a", 1).await.decision.is_allowed());
        assert_eq!(limiter.charge(b"a", 9).await, Source::Shared);
        assert_eq!(limiter.charge(b"a", 9).await, Source::Shared);
        assert!(!limiter.peek(b"a", 1).await.decision.is_allowed());
        assert_eq!(limiter.reset(b"a").await, Source::Shared);
        assert!(limiter.check(b"a").await.decision.is_allowed());
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_split_quota_never_exceeds_the_whole() {
    let server = Server::start(&[]);
    for text in ["token-bucket:1000/1h", "sliding-log:1000/1h", "fixed-window:1000/1d"] {
        let split = patient(text).connect_split(&server.url(), 8).unwrap();
        let begun = Instant::now();
        let (admitted, elapsed) = run(async {
            let mut admitted = 0;
            for _ in 0..1500 {
                admitted += u64::from(split.check_n(b"hot", 1).await.unwrap().is_allowed());
            }
            let elapsed = begun.elapsed();
            split.reset(b"hot").await.unwrap();
            assert!(split.check_n(b"hot", 125).await.unwrap().is_allowed());
            assert!(!split.check_n(b"hot", 126).await.unwrap().is_allowed(), "a part holds 125");
            split.reset(b"hot").await.unwrap();
            (admitted, elapsed)
        });
        // A bucket's units that drain meanwhile: one every 3.6 s.
        let drained = if text.starts_with("token") { 1 + elapsed.as_secs() / 3 } else { 0 };
        assert!((995..=1000 + drained).contains(&admitted), "{text}: {admitted}");
    }
    run(async {
        let split = patient("token-bucket:1000/1h").connect_split(&server.url(), 8).unwrap();
        for _ in 0..8 {
            split.check_n(b"hot", 1).await.unwrap();
        }
    });
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.admin()).unwrap();
    // What a cluster hashes: the text between the braces.
    let tags: HashSet<&str> = keys.iter().map(|key| &key[1..key.find('}').unwrap()]).collect();
    assert_eq!((keys.len(), tags.len()), (8, 8), "{keys:?}");
    for parts in [0, 1001] {
        let error =
            SharedLimiter::builder(policy("token-bucket:1000/1h")).connect_split(&server.url(), parts).unwrap_err();
        assert!(matches!(error, BuildError::Parts { .. }), "{error}");
    }
}

//! Hot clients: leases and split quotas on a live server.
#![cfg(feature = "redis")]

mod redis_common;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ratelimit_store::redis::{BuildError, SharedLimiter};
use ratelimit_store::{Fallback, Leased, Source};
use redis_common::{Server, patient, policy, run};

const POLICY: &str = "token-bucket:2000/1s";

/// Eight servers, one hot client, two seconds as fast as they can: what all admit stays within the bound, and reaches it.
#[test]
#[ignore = "needs redis-server"]
fn eight_servers_lease_from_one_redis() {
    let server = Server::start(&[]);
    run(async {
        let servers: Vec<_> =
            (0..8).map(|_| Leased::builder(server.shared(POLICY), policy(POLICY)).servers(8).build()).collect();
        let begun = Instant::now();
        let tasks: Vec<_> = servers
            .iter()
            .cloned()
            .map(|limiter| {
                tokio::spawn(async move {
                    let mut admitted = 0_u64;
                    while begun.elapsed() < Duration::from_secs(2) {
                        for _ in 0..100 {
                            admitted += u64::from(limiter.check_n(b"hot", 1).await.unwrap().is_allowed());
                        }
                        tokio::task::yield_now().await;
                    }
                    admitted
                })
            })
            .collect();
        let mut admitted = 0;
        for task in tasks {
            admitted += task.await.unwrap();
        }
        let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap();
        let bound = 2000 + 2 * elapsed;
        assert!(admitted <= bound, "{admitted} of {bound}");
        assert!(admitted * 100 >= 95 * (2000 + 2 * 2000), "{admitted} of {bound}");
        let (decisions, trips) = servers.iter().fold((0, 0), |(decisions, trips), limiter| {
            let counts = limiter.counts();
            (decisions + counts.decisions, trips + counts.round_trips)
        });
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
        let mut local = 0;
        for _ in 0..200 {
            let answer = limiter.check(b"a").await;
            local += u32::from(answer.source == Source::Local && answer.decision.is_allowed());
        }
        assert!((1..=50).contains(&local), "{local} admitted by this server's half");
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_split_quota_never_exceeds_the_whole() {
    let server = Server::start(&[]);
    for text in ["token-bucket:1000/1h", "sliding-log:1000/1h", "fixed-window:1000/1d"] {
        let split = patient(text).connect_split(&server.url(), 8).unwrap();
        let admitted = run(async {
            let mut admitted = 0;
            for _ in 0..1500 {
                admitted += u32::from(split.check_n(b"hot", 1).await.unwrap().is_allowed());
            }
            split.reset(b"hot").await.unwrap();
            assert!(split.check_n(b"hot", 125).await.unwrap().is_allowed());
            assert!(!split.check_n(b"hot", 126).await.unwrap().is_allowed(), "a part holds 125");
            split.reset(b"hot").await.unwrap();
            admitted
        });
        assert!((995..=1002).contains(&admitted), "{text}: {admitted}");
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

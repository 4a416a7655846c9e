//! `--redis`: two servers share a limit, each decides alone while Redis is away, and they share it again afterwards.

use std::time::{Duration, Instant};

use ratelimit_core::Nanos;

use crate::http::{get, request};
use crate::server::Running;
use redis_server::Server as Redis;

#[path = "../../../ratelimit-tower/tests/common/redis_server.rs"]
mod redis_server;

/// The status of a request from a client, and who decided.
fn ping(server: &Running, client: &str) -> (u16, String) {
    let answer = request(server.address, "GET", "/api/ping", &[("X-API-Key", client)], b"");
    (answer.status, answer.field("x-decided-by").to_owned())
}

/// Six requests of a client, in turn on two servers: five pass and one does not, and these decide.
fn six(servers: [&Running; 2], client: &str, who: &str) {
    let answers: Vec<_> = (0..6).map(|i| ping(servers[i % 2], client)).collect();
    let expected = [200, 200, 200, 200, 200, 429].map(|status| (status, who.to_owned()));
    assert_eq!(answers, expected, "{client}");
}

fn decisions(server: &Running, who: &str) -> u64 {
    let metrics = get(server.address, "/metrics");
    let line = format!("ratelimit_decisions_total{{path=\"/api/ping\",source=\"{who}\"}} ");
    let count = metrics.text().lines().find_map(|found| found.strip_prefix(&line)).expect("a count");
    count.parse().expect("a number")
}

#[test]
#[ignore = "needs redis-server"]
fn servers_share_a_limit_decide_alone_while_redis_is_away_and_share_it_again() {
    let mut redis = Redis::start();
    let start = || Running::start_with("token-bucket:1/1h,burst=5", |config| config.redis = Some(redis.url()));
    let (one, other) = (start(), start());

    six([&one, &other], "alice", "shared");
    assert_eq!((decisions(&one, "shared"), decisions(&one, "local")), (3, 0));
    assert_eq!((decisions(&other, "shared"), decisions(&other, "local")), (3, 0));

    redis.kill();
    six([&one, &one], "bob", "local");
    six([&other, &other], "bob", "local");
    for server in [&one, &other] {
        assert_eq!((decisions(server, "shared"), decisions(server, "local")), (3, 6));
    }

    redis.revive();
    for server in [&one, &other] {
        // The pause between attempts is on the server's clock; to connect anew takes time of the machine's.
        let deadline = Instant::now() + Duration::from_secs(20);
        while ping(server, "dave").1 != "shared" {
            assert!(Instant::now() < deadline, "Redis is back, and nobody asks it");
            server.clock.advance(Nanos::from_secs(10));
            std::thread::yield_now();
        }
    }
    six([&one, &other], "carol", "shared");
    assert!(decisions(&one, "shared") >= 3 + 1 + 3);
}

/// Nobody listens on port 1: each decides alone, which takes no Redis.
#[test]
fn every_count_says_what_it_is() {
    let server = Running::start_with("token-bucket:1/1h,burst=5", |config| {
        config.redis = Some("redis://127.0.0.1:1".to_owned());
    });
    assert_eq!(ping(&server, "alice"), (200, "local".to_owned()));
    assert_eq!(decisions(&server, "local"), 1);
    let metrics = get(server.address, "/metrics");
    let samples = metrics.text().lines().filter(|line| !line.starts_with('#'));
    let names: std::collections::BTreeSet<&str> = samples.filter_map(|line| line.split('{').next()).collect();
    assert_eq!(names.len(), 3);
    for name in names {
        for kind in ["HELP", "TYPE"] {
            let line = format!("# {kind} {name} ");
            assert_eq!(metrics.text().matches(&line).count(), 1, "{line}");
        }
    }
}

/// A Redis that is away from the start is no reason not to serve.
#[test]
#[ignore = "needs redis-server"]
fn a_server_starts_without_its_redis_and_finds_it_later() {
    let mut redis = Redis::start();
    redis.kill();
    let server = Running::start_with("token-bucket:1/1h,burst=5", |config| config.redis = Some(redis.url()));
    six([&server, &server], "alice", "local");
    redis.revive();
    let deadline = Instant::now() + Duration::from_secs(20);
    while ping(&server, "dave").1 != "shared" {
        assert!(Instant::now() < deadline, "Redis is there, and nobody asks it");
        server.clock.advance(Nanos::from_secs(10));
        std::thread::yield_now();
    }
    six([&server, &server], "bob", "shared");
}

/// What the limit of the address refuses, Redis is not asked to decide.
#[test]
#[ignore = "needs redis-server"]
fn invented_keys_do_not_reach_redis_for_long() {
    let redis = Redis::start();
    let server = Running::start_with("token-bucket:1/1h,burst=5", |config| config.redis = Some(redis.url()));
    let allowed = (0..110).filter(|i| ping(&server, &format!("invented-{i}")).0 == 200).count();
    assert_eq!(allowed, 100);
    assert_eq!(decisions(&server, "shared"), 100);
    // The address's limit is this server's own, whoever decided the request before.
    assert_eq!(ping(&server, "another"), (429, "local".to_owned()));
}

//! A cluster of three masters with replicas: every client in one slot, every slot reached, and a failover under load.
#![cfg(feature = "redis-cluster")]

mod redis_common;

use std::sync::atomic::Ordering;
use std::time::Duration;

use ratelimit_core::Decision;
use ratelimit_store::redis::{SharedError, SharedLimiter};
use ratelimit_store::{Backend, Fallback, Source};
use redis_common::cluster::Cluster;
use redis_common::faults::FAILOVER;
use redis_common::load::BOUND;
use redis_common::{Server, hang_up, patient, policy, run};

/// Long enough for a busy machine to answer, short enough to wait for a node that does not.
const QUICK: Duration = Duration::from_millis(500);

fn connect(builder: ratelimit_store::redis::Builder, urls: &[String]) -> SharedLimiter {
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    builder.connect_cluster(&urls).unwrap()
}

#[test]
#[ignore = "needs redis-server"]
fn clients_of_all_slots_with_several_rules_each() {
    let cluster = Cluster::start();
    let urls = cluster.urls();
    run(async {
        let limiter = connect(patient("token-bucket:2/1h+sliding-log:3/1h+fixed-window:9/1d"), &urls);
        let mut clients: Vec<Vec<u8>> = (0..60).map(|i| format!("client {i}").into_bytes()).collect();
        clients.extend([&b""[..], b"}", b"{}", b"}{a}", b"{a}b", b"\xff\x00"].map(<[u8]>::to_vec));
        for round in 0..3 {
            let requests: Vec<(&[u8], u64)> = clients.iter().map(|client| (client.as_slice(), 1)).collect();
            for (client, answer) in clients.iter().zip(limiter.check_many(&requests).await) {
                // CROSSSLOT would be an error.
                assert_eq!(answer.unwrap().is_allowed(), round < 2, "{client:?}, round {round}");
            }
            for node in &cluster.nodes[..3] {
                redis::cmd("SCRIPT").arg("FLUSH").exec(&mut node.admin()).unwrap();
            }
        }
        for client in &clients {
            limiter.reset(client).await.unwrap();
            limiter.charge(client, 1).await.unwrap();
            limiter.refund(client, 1).await.unwrap();
            assert!(limiter.check_n(client, 2).await.unwrap().is_allowed());
        }
    });
    for node in &cluster.nodes[..3] {
        let keys: usize = redis::cmd("DBSIZE").query(&mut node.admin()).unwrap();
        assert!(keys > 0 && keys.is_multiple_of(3), "three keys a client, all on one node: {keys}");
    }
}

/// A call whose connection drops may have been executed, and is not sent again.
#[test]
fn a_call_whose_connection_drops_is_sent_once() {
    run(async {
        let (port, executed) = hang_up::node().await;
        let limiter = connect(patient("token-bucket:9/1h"), &[format!("redis://127.0.0.1:{port}")]);
        for calls in 1..=3 {
            let error = limiter.check("a").await.unwrap_err();
            assert!(error.is_down(), "{error}");
            let executed = executed.load(Ordering::Relaxed);
            // A call may find no connection, and is not sent then.
            assert!((1..=calls).contains(&executed), "{executed} in {calls} calls");
        }
        let before = executed.load(Ordering::Relaxed);
        assert!(limiter.refund("a", 1).await.is_err());
        assert!(limiter.check_many(&[("a", 1)]).await[0].is_err());
        assert!(executed.load(Ordering::Relaxed) <= before + 2);
    });
}

/// Redirections are followed: while a slot is on its way to another node, and when it has arrived.
#[test]
#[ignore = "needs redis-server"]
fn a_slot_that_moves_is_followed() {
    let cluster = Cluster::start();
    let urls = cluster.urls();
    let slot = cluster.slot_of(b"{rl:a}");
    let (from, to) = (cluster.master_of(b"{rl:a}"), (cluster.master_of(b"{rl:a}") + 1) % 3);
    run(async {
        let limiter = connect(patient("token-bucket:5/1h"), &urls);
        limiter.check("other").await.unwrap();
        // The client is unknown at both ends, so that the old node sends it on by ASK.
        cluster.begin_to_move(slot, from, to);
        assert!(limiter.check_n("a", 2).await.unwrap().is_allowed());
        assert!(limiter.check_n("a", 2).await.unwrap().is_allowed());
        let keys: usize =
            redis::cmd("CLUSTER").arg("COUNTKEYSINSLOT").arg(slot).query(&mut cluster.nodes[to].admin()).unwrap();
        assert_eq!(keys, 1, "it lies at the new node");
        cluster.move_slot(slot, to);
        assert!(limiter.check("a").await.unwrap().is_allowed());
        assert!(!limiter.check("a").await.unwrap().is_allowed(), "5 were there");
    });
}

/// The limits of one client lie in one slot, and are one step; those of two clients mostly do not.
#[test]
#[ignore = "needs redis-server"]
fn several_limits_of_a_client_are_one_step() {
    let cluster = Cluster::start();
    let urls = cluster.urls();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    run(async {
        let second = patient("token-bucket:9/1h").connect_cluster(&urls).unwrap();
        let day = patient("fixed-window:3/1d").connect_cluster(&urls).unwrap();
        for client in ["alice", "bob", "carol", "dave"].map(str::as_bytes) {
            for request in 0..5 {
                let call = SharedLimiter::check_all(&[(&second, client, 2), (&day, client, 1)]).expect("one slot");
                let allowed = call.await.unwrap().iter().all(Decision::is_allowed);
                assert_eq!(allowed, request < 3);
            }
            let left = second.peek(client, 0).await.unwrap();
            assert!(matches!(left, Decision::Allowed { remaining: 3, .. }), "{left:?}");
        }
        assert!(SharedLimiter::check_all(&[(&second, &b"alice"[..], 2), (&day, &b"bob"[..], 1)]).is_none());
    });
}

/// The parts of a client's quota lie on several nodes, and are never more than the whole.
#[test]
#[ignore = "needs redis-server"]
fn a_split_quota_lies_on_several_nodes() {
    let cluster = Cluster::start();
    let urls = cluster.urls();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    run(async {
        let split = patient("fixed-window:240/1d").connect_cluster_split(&urls, 12).unwrap();
        let mut admitted = 0;
        for _ in 0..400 {
            admitted += u32::from(split.check_n(b"hot", 1).await.unwrap().is_allowed());
        }
        assert_eq!(admitted, 240);
    });
    let keys = |node: &Server| -> usize { redis::cmd("DBSIZE").query(&mut node.admin()).unwrap() };
    let keys: Vec<usize> = cluster.nodes[..3].iter().map(keys).collect();
    assert_eq!(keys.iter().sum::<usize>(), 12);
    assert!(keys.iter().filter(|&&keys| keys > 0).count() >= 2, "{keys:?}");
}

/// A node that does not answer costs its own clients the answer, and no others.
#[test]
#[ignore = "needs redis-server"]
fn a_silent_node_spoils_no_other_nodes_answers() {
    let cluster = Cluster::start();
    // The others are not to vote it out meanwhile.
    for node in &cluster.nodes {
        redis::cmd("CONFIG").arg("SET").arg("cluster-node-timeout").arg(60_000).exec(&mut node.admin()).unwrap();
    }
    let urls = cluster.urls();
    let clients: Vec<String> = (0..60).map(|i| format!("client-{i}")).collect();
    let of_the_first = |client: &&String| cluster.master_of(format!("{{rl:{client}}}").as_bytes()) == 0;
    let first: Vec<&String> = clients.iter().filter(of_the_first).collect();
    let silent = |client: &String| first.contains(&client);
    assert!(!first.is_empty() && first.len() < clients.len());
    let requests: Vec<(&str, u64)> = clients.iter().map(|client| (client.as_str(), 1)).collect();
    run(async {
        let limiter = connect(SharedLimiter::builder(policy("token-bucket:9/1h")).timeout(QUICK), &urls);
        limiter.check_many(&requests).await;
        for answer in limiter.check_many(&requests).await {
            answer.unwrap();
        }
        let fallback = Fallback::builder(limiter.clone(), policy("token-bucket:9/1h")).failures(3).build();
        cluster.nodes[0].signal("STOP");
        for (client, answer) in clients.iter().zip(limiter.check_many(&requests).await) {
            match answer {
                Ok(decision) => assert!(decision.is_allowed() && !silent(client), "{client}"),
                Err(error) => {
                    assert!(matches!(error, SharedError::Timeout { .. }) && silent(client), "{client}: {error}");
                }
            }
        }
        // Nor do they keep its breakers closed.
        let dead = clients.iter().find(|client| silent(client)).unwrap();
        let alive = clients.iter().find(|client| !silent(client)).unwrap();
        for _ in 0..5 {
            assert_eq!(fallback.check(dead.as_bytes()).await.source, Source::Local);
            assert_eq!(fallback.check(alive.as_bytes()).await.source, Source::Shared);
        }
        let counts = fallback.counts();
        assert_eq!((counts.failures, counts.opened), (3, 1), "{counts:?}");
        cluster.nodes[0].signal("CONT");
    });
}

#[test]
#[ignore = "needs redis-server"]
fn failover_to_a_replica_under_load() {
    let outcome = (FAILOVER.run)();
    assert_eq!(outcome.sent, outcome.answered);
    assert!(outcome.longest.as_millis() < 500, "{outcome:?}");
    assert!(outcome.late * 100 <= outcome.sent && outcome.from_local >= 100, "{outcome:?}");
    // A replica may lack the last writes of its master.
    assert!(outcome.beyond_shared <= FAILOVER.losses * BOUND, "{outcome:?}");
    assert_eq!(outcome.beyond_local, 0, "{outcome:?}");
}

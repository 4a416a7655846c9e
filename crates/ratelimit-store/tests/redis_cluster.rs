//! A cluster of three masters with replicas: every client in one slot, every slot reached, and a failover under load.
#![cfg(feature = "redis-cluster")]

mod redis_common;

use ratelimit_store::redis::SharedLimiter;
use redis_common::cluster::Cluster;
use redis_common::faults::FAILOVER;
use redis_common::load::BOUND;
use redis_common::{patient, run};

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

#[test]
#[ignore = "needs redis-server"]
fn failover_to_a_replica_under_load() {
    let outcome = (FAILOVER.run)();
    assert_eq!(outcome.sent, outcome.answered);
    assert!(outcome.longest.as_secs() < 1, "{outcome:?}");
    // A replica may lack the last writes of its master.
    assert!(outcome.beyond_shared <= FAILOVER.losses * BOUND, "{outcome:?}");
    assert_eq!(outcome.beyond_local, 0, "{outcome:?}");
}

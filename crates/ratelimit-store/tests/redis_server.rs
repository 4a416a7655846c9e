//! A live server with its own time: keys, expiry, errors, batches, and many tasks at once.
#![cfg(feature = "redis")]

mod redis_common;

use ratelimit_core::{Decision, Nanos};
use ratelimit_store::redis::{SharedError, SharedLimiter};
use ratelimit_store::{Backend, Fallback, Source};
use redis_common::{PATIENCE, Server, patient, policy, run, until};

const EACH: [&str; 6] = [
    "fixed-window:5/1h",
    "sliding-log:5/1h",
    "sliding-counter:5/1h",
    "token-bucket:5/1h",
    "leaky-bucket:5/1h",
    "token-bucket:5/1h+sliding-log:9/2h+fixed-window:7/1d",
];

fn keys(server: &Server) -> Vec<Vec<u8>> {
    redis::cmd("KEYS").arg("*").query(&mut server.admin()).unwrap()
}

/// Milliseconds that every key lives on; negative for a key without an expiry.
fn lives(server: &Server) -> Vec<i64> {
    let mut admin = server.admin();
    keys(server).iter().map(|key| redis::cmd("PTTL").arg(key).query(&mut admin).unwrap()).collect()
}

fn allowed(decision: &Decision) -> (u64, Nanos) {
    match decision {
        Decision::Allowed { remaining, reset_after, .. } => (*remaining, *reset_after),
        other => panic!("expected an admission, got {other:?}"),
    }
}

#[test]
#[ignore = "needs redis-server"]
fn every_operation_by_every_algorithm() {
    let server = Server::start(&[]);
    for (text, protocol) in EACH.iter().flat_map(|text| ["resp2", "resp3"].map(|protocol| (text, protocol))) {
        redis::cmd("FLUSHALL").exec(&mut server.admin()).unwrap();
        run(async {
            let limiter = patient(text).connect(&format!("{}/?protocol={protocol}", server.url())).unwrap();
            assert_eq!(allowed(&limiter.peek("a", 5).await.unwrap()).0, 0, "{text}");
            assert_eq!(allowed(&limiter.check_n("a", 4).await.unwrap()).0, 1, "{text}");
            assert!(!limiter.check_n("a", 5).await.unwrap().is_allowed(), "{text}");
            assert!(limiter.check("a").await.unwrap().is_allowed(), "{text}: the refused 5 was not charged");
            assert!(!limiter.check("a").await.unwrap().is_allowed(), "{text}");
            assert!(limiter.check("b").await.unwrap().is_allowed(), "{text}: another client");
            limiter.refund("a", 2).await.unwrap();
            assert_eq!(limiter.take("a", 9).await.unwrap().units, 2, "{text}");
            let nothing = limiter.take("a", 9).await.unwrap();
            assert_eq!((nothing.units, nothing.decision.is_allowed()), (0, false), "{text}");
            limiter.charge("a", 7).await.unwrap();
            limiter.refund("a", 3).await.unwrap();
            assert!(!limiter.check("a").await.unwrap().is_allowed(), "{text}: in debt");
            limiter.reset("a").await.unwrap();
            assert_eq!(allowed(&limiter.check_n("a", 5).await.unwrap()).0, 0, "{text}");
            assert_eq!(limiter.check_n("a", 6).await.unwrap(), Decision::Never { capacity: 5 }, "{text}");
            let many = limiter.check_many(&[("c", 5), ("c", 1), ("d", 1)]).await;
            let admitted: Vec<bool> = many.into_iter().map(|one| one.unwrap().is_allowed()).collect();
            assert_eq!(admitted, [true, false, true], "{text}");
        });
    }
}

/// Calls of scripts that the server has had, by name.
fn calls(server: &Server) -> u64 {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut server.admin()).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

#[test]
#[ignore = "needs redis-server"]
fn several_limits_are_one_round_trip_and_all_or_nothing() {
    let server = Server::start(&[]);
    run(async {
        let (second, hour) = (server.shared("token-bucket:9/1h"), server.shared("fixed-window:3/1d"));
        let ask = async |cost| {
            let asked: [(&SharedLimiter, &[u8], u64); 2] = [(&second, b"alice", cost), (&hour, b"alice", 1)];
            SharedLimiter::check_all(&asked).expect("one server").await.unwrap()
        };
        let remaining = |decisions: &[Decision]| -> Vec<u64> { decisions.iter().map(|one| allowed(one).0).collect() };
        assert_eq!(remaining(&ask(2).await), [7, 2]);
        redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
        assert_eq!(remaining(&ask(2).await), [5, 1], "a server that has forgotten the script is told it again");
        let before = calls(&server);
        assert_eq!(remaining(&ask(2).await), [3, 0]);
        for _ in 0..3 {
            let refused = ask(2).await;
            assert_eq!(allowed(&refused[0]).0, 3, "what one refuses is charged to no other");
            assert!(matches!(refused[1], Decision::Denied { remaining: 0, .. }), "{refused:?}");
        }
        assert_eq!(calls(&server) - before, 4);
        hour.reset("alice").await.unwrap();
        let refused = ask(4).await;
        assert!(matches!(refused[0], Decision::Denied { remaining: 3, .. }), "{refused:?}");
        assert_eq!(allowed(&refused[1]).0, 3);

        // A key that is not ours: an error, and nothing charged.
        let key = "{rl:alice}fixed-window:3/1d";
        redis::cmd("LPUSH").arg(key).arg("foreign").exec(&mut server.admin()).unwrap();
        let asked: [(&SharedLimiter, &[u8], u64); 2] = [(&second, b"alice", 1), (&hour, b"alice", 1)];
        let error = SharedLimiter::check_all(&asked).expect("one server").await.unwrap_err();
        assert!(!error.is_down(), "{error}");
        assert_eq!(allowed(&second.peek("alice", 0).await.unwrap()).0, 3);
    });
}

/// Begins a change and goes away.
fn begin_and_drop(mut change: <SharedLimiter as Backend>::Change) {
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(change.as_mut().poll(context).is_pending());
}

/// Waits until so many units are left.
async fn until_left(limiter: &SharedLimiter, units: u64) {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let left = allowed(&limiter.peek("alice", 0).await.unwrap()).0;
        if left == units {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{left} are left, expected {units}");
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

#[test]
#[ignore = "needs redis-server"]
fn a_change_that_has_begun_is_made_though_nobody_waits_for_it() {
    let server = Server::start(&[]);
    run(async {
        let limiter = server.shared("token-bucket:9/1d");
        // The first has to connect before.
        for left in [5, 1] {
            begin_and_drop(Backend::charge(&limiter, b"alice", 4));
            until_left(&limiter, left).await;
        }
        begin_and_drop(Backend::refund(&limiter, b"alice", 3));
        until_left(&limiter, 4).await;
    });
}

/// The longest-lived key lives until the state is fresh, whole milliseconds being what servers keep.
async fn lives_until_fresh(server: &Server, limiter: &SharedLimiter, place: &str) {
    let reset = async || i64::try_from(allowed(&limiter.peek("a", 0).await.unwrap()).1.get() / 1_000_000).unwrap();
    let before = reset().await;
    let lives = lives(server);
    let after = reset().await;
    assert!(lives.iter().all(|&ms| ms > 0), "{place}: {lives:?}");
    let longest = *lives.iter().max().unwrap();
    assert!((after..=before + 3).contains(&longest), "{place}: {longest} ms, fresh in {before} to {after} ms");
}

/// What a client writes is gone when its state is fresh, and not before; what changes nothing writes nothing.
#[test]
#[ignore = "needs redis-server"]
fn every_key_expires_when_its_state_is_fresh() {
    let server = Server::start(&[]);
    for text in EACH {
        run(async {
            let limiter = server.shared(text);
            limiter.peek("a", 1).await.unwrap();
            limiter.check_n("a", 0).await.unwrap();
            limiter.check_n("a", 99).await.unwrap();
            limiter.refund("a", 3).await.unwrap();
            assert!(keys(&server).is_empty(), "{text}: nothing was used");

            limiter.check_n("a", 3).await.unwrap();
            lives_until_fresh(&server, &limiter, text).await;
            limiter.charge("a", 9).await.unwrap();
            lives_until_fresh(&server, &limiter, text).await;
            limiter.refund("a", 8).await.unwrap();
            lives_until_fresh(&server, &limiter, text).await;
            assert!(limiter.check("a").await.unwrap().is_allowed());
            lives_until_fresh(&server, &limiter, text).await;

            let dump = |server: &Server| -> Vec<Vec<u8>> {
                let mut admin = server.admin();
                keys(server).iter().map(|key| redis::cmd("DUMP").arg(key).query(&mut admin).unwrap()).collect()
            };
            let before = dump(&server);
            for cost in [5, 0, 99] {
                limiter.check_n("a", cost).await.unwrap();
            }
            assert_eq!(dump(&server), before, "{text}: denied, free and never");
            limiter.refund("a", 100).await.unwrap();
            assert!(keys(&server).is_empty(), "{text}: all was given back");
        });
    }
}

/// Whatever the part of a millisecond in which it is written, and in which its window ends.
#[test]
#[ignore = "needs redis-server"]
fn a_key_lives_to_the_end_of_the_millisecond_in_which_it_is_fresh() {
    let server = Server::start(&[]);
    let mut admin = server.admin();
    let window = 98_765_432_100;
    let key = format!("{{rl:a}}fixed-window:5000/{window}us");
    run(async {
        let limiter = server.shared(&format!("fixed-window:5000/{window}us"));
        for _ in 0..100 {
            limiter.check("a").await.unwrap();
            let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut admin).unwrap();
            let ends = ((seconds * 1_000_000 + micros) / window + 1) * window;
            let until: u64 = redis::cmd("PEXPIRETIME").arg(&key).query(&mut admin).unwrap();
            // The server's clock may have gone on to the next millisecond before it adds to it.
            assert!((ends.div_ceil(1000)..=ends / 1000 + 1000).contains(&until), "{until} ms, {ends} us");
        }
    });
}

/// However short: within the window the limit holds, with the time passed in, and the key is gone by the server's own.
#[test]
#[ignore = "needs redis-server"]
fn short_windows_expire_and_are_enforced() {
    let server = Server::start(&[]);
    for algorithm in ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"] {
        for (window, micros) in [("1us", 1), ("500us", 500), ("1ms", 1000), ("40ms", 40_000)] {
            let text = format!("{algorithm}:5/{window}");
            run(async {
                let replay = server.replay(&text, "replay");
                // A multiple of each window.
                let begin = 1_790_000_000_000_000_u64;
                let admitted = async |at: u64| {
                    let mut admitted = 0;
                    for _ in 0..9 {
                        let decision = replay.check_n_at(b"a", Nanos::from_micros(at), 1).await.unwrap();
                        admitted += u64::from(decision.is_allowed());
                    }
                    admitted
                };
                assert_eq!(admitted(begin).await, 5, "{text}");
                let refilled = if algorithm.ends_with("bucket") { 5 * (micros - 1) / micros } else { 0 };
                assert_eq!(admitted(begin + micros - 1).await, refilled, "{text}: at the end of the window");
                assert_eq!(admitted(begin + 3 * micros).await, 5, "{text}: later");
                replay.reset(b"a").await.unwrap();
                assert!(server.shared(&text).check_n("a", 5).await.unwrap().is_allowed(), "{text}");
            });
            until("the key is gone", || keys(&server).is_empty());
        }
    }
}

/// With the time passed in: a microsecond before it is denied.
#[test]
#[ignore = "needs redis-server"]
fn retry_after_is_not_too_long() {
    let server = Server::start(&[]);
    for text in ["fixed-window:2/50ms", "sliding-log:2/50ms", "sliding-counter:2/50ms", "token-bucket:1/50ms,burst=2"] {
        run(async {
            let limiter = server.replay(text, "rl");
            let begin = Nanos::from_micros(1_790_000_000_000_000);
            limiter.check_n_at(b"a", begin, 2).await.unwrap();
            let retry = limiter.check_n_at(b"a", begin, 1).await.unwrap().retry_after().unwrap();
            let micros = Nanos::from_micros(retry.get().div_ceil(1000));
            let early = begin.saturating_add(micros).saturating_sub(Nanos::from_micros(1));
            assert!(!limiter.peek_at(b"a", early, 1).await.unwrap().is_allowed(), "{text}: before {retry}");
            assert!(limiter.check_n_at(b"a", begin.saturating_add(micros), 1).await.unwrap().is_allowed(), "{text}");
        });
    }
}

/// A denial says when, and then the request passes: in the server's own time.
#[test]
#[ignore = "needs redis-server"]
fn retry_after_is_kept() {
    let server = Server::start(&[]);
    for text in ["fixed-window:2/50ms", "sliding-log:2/50ms", "sliding-counter:2/50ms", "token-bucket:1/50ms,burst=2"] {
        run(async {
            let limiter = server.shared(text);
            let retry = loop {
                if let Some(retry) = limiter.check("a").await.unwrap().retry_after() {
                    break retry;
                }
            };
            // It counts from when the server decided, which was before now.
            tokio::time::sleep(retry.into()).await;
            assert!(limiter.check("a").await.unwrap().is_allowed(), "{text}: after {retry}");
        });
    }
}

#[test]
#[ignore = "needs redis-server"]
fn a_large_cost_is_one_call_and_one_entry() {
    let server = Server::start(&[]);
    run(async {
        let limiter = server.shared("sliding-log:20000/1h");
        assert_eq!(allowed(&limiter.check_n("a", 10_000).await.unwrap()).0, 10_000);
        assert!(!limiter.check_n("a", 10_001).await.unwrap().is_allowed());
        assert_eq!(allowed(&limiter.check_n("a", 10_000).await.unwrap()).0, 0);
    });
    let length: usize = redis::cmd("STRLEN").arg(&keys(&server)[0]).query(&mut server.admin()).unwrap();
    assert_eq!(length, 48, "a header and two entries");
}

#[test]
#[ignore = "needs redis-server"]
fn a_log_stays_within_twice_its_limit() {
    let server = Server::start(&[]);
    let mut admin = server.admin();
    let mut longest = 0;
    run(async {
        let limiter = server.replay("sliding-log:200/1ms", "rl");
        for i in 0..3000 {
            limiter.check_n_at(b"a", Nanos::from_micros(5 * i), 1).await.unwrap();
            let length: usize = redis::cmd("STRLEN").arg("{rl:a}sliding-log:200/1ms").query(&mut admin).unwrap();
            longest = length.max(longest);
        }
    });
    assert!((16 * 300..=16 * (2 * 200 + 2)).contains(&longest), "{longest} bytes");
}

#[test]
#[ignore = "needs redis-server"]
fn keys_are_any_bytes() {
    let server = Server::start(&[]);
    let long = vec![b'k'; 8192];
    let clients: [&[u8]; 12] = [
        b"",
        b" ",
        b"a b",
        b"a\nb",
        b"\r\n",
        b"{}",
        b"}{",
        b"}",
        b"a}b",
        b"\xff\xfe\x00",
        b"{rl:a}token-bucket:1/1h",
        &long,
    ];
    run(async {
        let limiter = server.shared("token-bucket:1/1h+fixed-window:9/1d");
        for client in clients {
            assert!(limiter.check(client).await.unwrap().is_allowed(), "{client:?}");
        }
        for client in clients {
            assert!(!limiter.check(client).await.unwrap().is_allowed(), "{client:?}");
        }
    });
    assert_eq!(keys(&server).len(), 2 * clients.len());
}

#[test]
#[ignore = "needs redis-server"]
fn a_flushed_script_is_sent_again_on_every_call() {
    let server = Server::start(&[]);
    let flush = || redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
    run(async {
        let limiter = server.shared("token-bucket:9/1h");
        for left in (0..8).rev() {
            flush();
            let decision = limiter.check("a").await.unwrap();
            assert_eq!(allowed(&decision).0, left + 1);
        }
        flush();
        limiter.charge("a", 1).await.unwrap();
        flush();
        limiter.refund("a", 1).await.unwrap();
        flush();
        let answers = limiter.check_many(&[("b", 1), ("a", 1), ("a", 1), ("c", 99)]).await;
        let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
        assert!(answers[0].is_allowed() && answers[1].is_allowed() && !answers[2].is_allowed());
        assert_eq!(answers[3], Decision::Never { capacity: 9 });
    });
}

/// The first of a batch that meets a server without the script brings it along, and no other does.
#[test]
#[ignore = "needs redis-server"]
fn a_flushed_script_is_sent_once_for_a_batch() {
    let server = Server::start(&[]);
    let received = || -> u64 {
        let stats: String = redis::cmd("INFO").arg("stats").query(&mut server.admin()).unwrap();
        let bytes = stats.lines().find_map(|line| line.strip_prefix("total_net_input_bytes:")).unwrap();
        bytes.trim().parse().unwrap()
    };
    run(async {
        let limiter = server.shared("token-bucket:1000000/1h");
        let batch = vec![("a", 1); 2000];
        limiter.check_many(&batch).await;
        let mut sent = Vec::new();
        for flush in [false, true] {
            if flush {
                redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
            }
            let before = received();
            assert!(limiter.check_many(&batch).await.iter().all(Result::is_ok));
            sent.push(received() - before);
        }
        // Once for nothing, once again, and the text of some kilobytes.
        assert!(sent[1] < 2 * sent[0] + 20_000, "{sent:?}");
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_batch_is_one_round_trip_in_order() {
    let server = Server::start(&[]);
    let calls = || -> String { redis::cmd("INFO").arg("commandstats").query(&mut server.admin()).unwrap() };
    run(async {
        let limiter = server.shared("token-bucket:300/1h");
        limiter.check("warm").await.unwrap();
        let requests: Vec<(String, u64)> = (0..1000).map(|i| (format!("c{}", i % 3), 1)).collect();
        let answers = limiter.check_many(&requests).await;
        for (i, answer) in answers.iter().enumerate() {
            assert_eq!(answer.as_ref().unwrap().is_allowed(), i < 900, "request {i}");
        }
        assert!(limiter.check_many::<&str>(&[]).await.is_empty());
    });
    assert!(calls().contains("cmdstat_evalsha:calls=1001"), "{}", calls());
}

#[test]
#[ignore = "needs redis-server"]
fn resp3_answers_the_same() {
    let server = Server::start(&[]);
    run(async {
        let url = format!("{}/?protocol=resp3", server.url());
        let limiter = patient("leaky-bucket:1/1h,burst=2").connect(&url).unwrap();
        assert!(matches!(limiter.check("a").await.unwrap(), Decision::Allowed { delay: Nanos::ZERO, .. }));
        let Decision::Allowed { delay, .. } = limiter.check("a").await.unwrap() else {
            panic!("there is room for two")
        };
        assert!(delay > Nanos::from_secs(3590) && delay <= Nanos::from_secs(3600));
        assert!(!limiter.check("a").await.unwrap().is_allowed());
    });
}

#[test]
#[ignore = "needs redis-server"]
fn sixteen_tasks_on_one_key_admit_exactly_the_limit() {
    let server = Server::start(&[]);
    for text in ["token-bucket:1000/1h", "sliding-log:1000/1h", "sliding-counter:1000/1h", "fixed-window:1000/1d"] {
        let admitted: usize = run(async {
            let tasks: Vec<_> = (0..16)
                .map(|_| {
                    // A connection of its own each: sixteen servers.
                    let limiter = server.shared(text);
                    tokio::spawn(async move {
                        let requests: Vec<(&str, u64)> = vec![("a", 1); 20];
                        let mut admitted = 0;
                        for _ in 0..5 {
                            let answers = limiter.check_many(&requests).await;
                            admitted +=
                                answers.into_iter().filter(|answer| answer.as_ref().unwrap().is_allowed()).count();
                        }
                        admitted
                    })
                })
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        // A token comes back every 3.6 s, and 1600 ask.
        let refilled = usize::from(text.starts_with("token-bucket")) * 5;
        assert!((1000..=1000 + refilled).contains(&admitted), "{text}: {admitted}");
    }
}

#[test]
#[ignore = "needs redis-server"]
fn an_error_of_the_server_is_typed_and_never_an_admission() {
    let server = Server::start(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    run(async {
        let limiter = server.shared("token-bucket:5/1h");
        let error = limiter.check("a").await.unwrap_err();
        assert!(matches!(&error, SharedError::Server(inner) if inner.to_string().contains("OOM")), "{error}");
        redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("0").exec(&mut server.admin()).unwrap();
        assert!(limiter.check("a").await.unwrap().is_allowed());

        let key = &keys(&server)[0];
        redis::cmd("DEL").arg(key).exec(&mut server.admin()).unwrap();
        redis::cmd("LPUSH").arg(key).arg("foreign").exec(&mut server.admin()).unwrap();
        let error = limiter.check("a").await.unwrap_err();
        assert!(matches!(&error, SharedError::Server(inner) if inner.to_string().contains("WRONGTYPE")), "{error}");
        redis::cmd("SET").arg(key).arg("short").exec(&mut server.admin()).unwrap();
        assert!(matches!(limiter.check("a").await.unwrap_err(), SharedError::Server(_)));
    });
}

/// A key that holds something else is an error, and changes nothing: neither it nor the other rules', whatever is asked.
#[test]
#[ignore = "needs redis-server"]
fn what_fails_in_one_rule_changes_no_other() {
    let server = Server::start(&[]);
    let mut admin = server.admin();
    let strings = |lengths: &[usize]| lengths.iter().map(|&bytes| "x".repeat(bytes)).collect::<Vec<_>>();
    for rule in &EACH[..5] {
        let lengths: &[usize] = if rule.starts_with("sliding-log") { &[5, 16, 31, 40, 1500] } else { &[0, 5, 15] };
        let key = format!("{{rl:a}}{rule}");
        let lists = std::iter::once(None);
        for foreign in lists.chain(strings(lengths).into_iter().map(Some)) {
            for text in [format!("fixed-window:8/1d+{rule}"), format!("{rule}+fixed-window:8/1d")] {
                redis::cmd("FLUSHALL").exec(&mut admin).unwrap();
                run(async {
                    let limiter = server.shared(&text);
                    limiter.check_n("a", 2).await.unwrap();
                    redis::cmd("DEL").arg(&key).exec(&mut admin).unwrap();
                    match &foreign {
                        Some(string) => redis::cmd("SET").arg(&key).arg(string).exec(&mut admin).unwrap(),
                        None => redis::cmd("LPUSH").arg(&key).arg("foreign").exec(&mut admin).unwrap(),
                    }
                    let mut dump = || -> Vec<Vec<u8>> {
                        let mut one = |key: &str| redis::cmd("DUMP").arg(key).query(&mut admin).unwrap();
                        vec![one("{rl:a}fixed-window:8/1d"), one(&key)]
                    };
                    let before = dump();
                    let (day, other) = (server.shared("fixed-window:8/1d"), server.shared(rule));
                    let several: [(&SharedLimiter, &[u8], u64); 2] = [(&day, b"a", 1), (&other, b"a", 1)];
                    for result in [
                        limiter.refund("a", 1).await,
                        limiter.charge("a", 2).await,
                        limiter.check("a").await.map(|_| ()),
                        limiter.peek("a", 0).await.map(|_| ()),
                        limiter.take("a", 1).await.map(|_| ()),
                        SharedLimiter::check_all(&several).expect("one server").await.map(|_| ()),
                    ] {
                        let error = result.expect_err(&text);
                        assert!(matches!(error, SharedError::Server(_)) && !error.is_down(), "{text}: {error}");
                    }
                    assert_eq!(dump(), before, "{text}, {foreign:?}");
                });
            }
        }
    }
}

/// A key that holds something else is one client's affair.
#[test]
#[ignore = "needs redis-server"]
fn a_bad_key_opens_no_breaker() {
    let server = Server::start(&[]);
    run(async {
        let limiter = Fallback::builder(server.shared("token-bucket:5/1h"), policy("token-bucket:5/1h")).build();
        redis::cmd("SET").arg("{rl:bad}token-bucket:5/1h").arg("short").exec(&mut server.admin()).unwrap();
        for _ in 0..20 {
            assert_eq!(limiter.check(b"bad").await.source, Source::Local);
        }
        assert_eq!(limiter.check(b"good").await.source, Source::Shared);
        assert_eq!(limiter.counts().opened, 0);
    });
}

/// What is admitted in one microsecond, also by a clock that has stepped back to before it, is one entry.
#[test]
#[ignore = "needs redis-server"]
fn a_log_has_an_entry_for_each_microsecond() {
    let server = Server::start(&[]);
    let mut admin = server.admin();
    run(async {
        let limiter = server.replay("sliding-log:500/1h", "rl");
        // A short log, which is written whole, and a long one.
        for instants in [1, 2, 100] {
            for at in 1000..1000 + instants {
                limiter.check_n_at(b"a", Nanos::from_micros(at), 1).await.unwrap();
                limiter.check_n_at(b"a", Nanos::from_micros(at), 2).await.unwrap();
                limiter.charge_at(b"a", Nanos::from_micros(at - 1), 1).await.unwrap();
            }
            let length: u64 = redis::cmd("STRLEN").arg("{rl:a}sliding-log:500/1h").query(&mut admin).unwrap();
            assert_eq!(length, 16 * (instants + 1), "a header and {instants} entries");
            limiter.reset(b"a").await.unwrap();
        }
    });
}

/// A log that can hold no more units keeps its last entry.
#[test]
#[ignore = "needs redis-server"]
fn a_log_that_is_full_does_not_grow() {
    let server = Server::start(&[]);
    run(async {
        let limiter = server.replay("sliding-log:5/1h", "rl");
        for i in 1..50 {
            limiter.charge_at(b"a", Nanos::from_micros(i), u64::MAX).await.unwrap();
        }
    });
    let length: usize = redis::cmd("STRLEN").arg(&keys(&server)[0]).query(&mut server.admin()).unwrap();
    assert_eq!(length, 32, "a header and an entry");
}

/// The server's clock decides, so a client's clock that is wrong changes nothing; a stored time that lies ahead of the
/// server's (its clock stepped back) mints nothing.
#[test]
#[ignore = "needs redis-server"]
fn a_clock_that_steps_back_mints_nothing() {
    let server = Server::start(&[]);
    run(async {
        let limiter = server.shared("token-bucket:10/10s");
        // Recorded 10 s ahead of the server's time: 9 used.
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut server.admin()).unwrap();
        let ahead = seconds * 1_000_000 + micros + 10_000_000;
        let mut state = ahead.to_be_bytes().to_vec();
        state.extend_from_slice(&9_000_000_u64.to_be_bytes());
        redis::cmd("SET").arg("{rl:a}token-bucket:10/10s").arg(state).exec(&mut server.admin()).unwrap();
        assert_eq!(allowed(&limiter.check("a").await.unwrap()).0, 0);
        let retry = limiter.check("a").await.unwrap().retry_after().unwrap();
        assert!(retry > Nanos::from_secs(9) && retry <= Nanos::from_secs(11), "{retry}");
    });
}

#[test]
#[ignore = "needs redis-server"]
fn a_client_takes_little_memory() {
    let server = Server::start(&[]);
    for text in ["fixed-window:100/1m", "sliding-counter:100/1m", "token-bucket:100/1m", "leaky-bucket:100/1m"] {
        run(async { server.shared(text).check("a-key-of-twenty-byte").await.unwrap() });
        let bytes: usize = redis::cmd("MEMORY").arg("USAGE").arg(&keys(&server)[0]).query(&mut server.admin()).unwrap();
        assert!(bytes <= 160, "{text}: {bytes} bytes");
        redis::cmd("FLUSHALL").exec(&mut server.admin()).unwrap();
    }
}

/// The rights that `docs/redis.md` names are enough, and on other keys there are none.
#[test]
#[ignore = "needs redis-server"]
fn a_user_needs_few_rights() {
    let server = Server::start(&[]);
    let rights = ["EVALSHA", "EVAL", "TIME", "GET", "SET", "DEL", "GETRANGE", "SETRANGE", "STRLEN", "PEXPIRE"];
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("limiter").arg("on").arg(">secret").arg("~{rl:*");
    for right in rights {
        user.arg(format!("+{}", right.to_lowercase()));
    }
    user.exec(&mut server.admin()).unwrap();
    run(async {
        let url = format!("redis://limiter:secret@127.0.0.1:{}", server.port());
        for text in EACH {
            let limiter = patient(text).connect(&url).unwrap();
            assert!(limiter.check("a").await.unwrap().is_allowed(), "{text}");
            limiter.charge("a", 9).await.unwrap();
            limiter.refund("a", 1).await.unwrap();
            limiter.reset("a").await.unwrap();
            let other = patient(text).prefix("other").connect(&url).unwrap();
            assert!(matches!(other.check("a").await.unwrap_err(), SharedError::Server(_)), "{text}");
        }
        let long = patient("sliding-log:100000/1h").connect(&url).unwrap();
        assert!(long.check_many(&[("log", 1); 200]).await.iter().all(Result::is_ok));
    });
}

#[test]
#[ignore = "needs redis-server"]
fn it_is_a_backend() {
    async fn admit(backend: &impl Backend, key: &[u8]) -> bool {
        backend.check_n(key, 1).await.is_ok_and(|decision| decision.is_allowed())
    }
    let server = Server::start(&[]);
    run(async {
        let limiter = server.shared("token-bucket:1/1h");
        assert!(admit(&limiter, b"a").await);
        assert!(!admit(&limiter, b"a").await);
        Backend::refund(&limiter, b"a", 1).await.unwrap();
        assert!(Backend::peek(&limiter, b"a", 1).await.unwrap().is_allowed());
        Backend::charge(&limiter, b"a", 1).await.unwrap();
        assert!(!admit(&limiter, b"a").await);
        Backend::reset(&limiter, b"a").await.unwrap();
        assert!(admit(&limiter, b"a").await);
    });
}

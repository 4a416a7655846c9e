//! The leaky bucket: a request waits its turn in the layer.

use super::*;

/// Tokio's time as the clock of the layer.
#[derive(Debug, Clone)]
struct Paused(tokio::time::Instant);

impl Clock for Paused {
    fn now(&self) -> Nanos {
        Nanos::try_from(self.0.elapsed()).expect("fits").saturating_add(Nanos::from_secs(86_400))
    }
}

fn queue(at_most: Duration) -> RateLimitLayer {
    let clock = Paused(tokio::time::Instant::now());
    burst("leaky-bucket:1/1s,burst=5").clock(clock).wait(TokioTimer, at_most).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_its_turn_in_a_leaky_bucket() {
    let layer = queue(Duration::from_secs(60));
    let start = tokio::time::Instant::now();
    let waits: Vec<_> = (0..5)
        .map(|_| {
            tokio::spawn({
                let layer = layer.clone();
                async move {
                    let answer = ask(&layer, request()).await;
                    (answer.status().as_u16(), start.elapsed().as_secs())
                }
            })
        })
        .collect();
    let mut answers = Vec::new();
    for wait in waits {
        answers.push(wait.await.unwrap());
    }
    assert_eq!(answers, [(200, 0), (200, 1), (200, 2), (200, 3), (200, 4)]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_too_late_is_refused_at_once() {
    let layer = queue(Duration::from_millis(1_500));
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&layer, request()).await.status(), 200);
    let second = tokio::spawn({
        let layer = layer.clone();
        async move { ask(&layer, request()).await.status() }
    });
    tokio::task::yield_now().await;
    let refused = ask(&layer, request()).await;
    assert_eq!((refused.status().as_u16(), field(&refused, "retry-after")), (429, "1"));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(second.await.unwrap(), 200);
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_while_it_waits_gives_its_place_back() {
    let layer = queue(Duration::from_secs(60));
    assert_eq!(ask(&layer, request()).await.status(), 200);
    for _ in 0..3 {
        let dropped = tokio::time::timeout(Duration::from_millis(1), ask(&layer, request())).await;
        assert!(dropped.is_err());
    }
    // Had the three kept their places, the turn would come after 4 s.
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&layer, request()).await.status(), 200);
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
}

/// Whoever joined behind the one that is dropped waits on, and nobody is let in beside them.
#[tokio::test(start_paused = true)]
async fn a_place_given_up_in_the_middle_of_a_queue_is_nobody_elses() {
    for (dropped, expected) in [
        (&[][..], [1, 2, 3, 4]),
        // The last place is free again.
        (&[3], [1, 2, 0, 3]),
        (&[3, 2], [1, 0, 0, 2]),
        // B and C: C and whoever comes next would have had the same turn.
        (&[1], [0, 2, 3, 4]),
        (&[2], [1, 0, 3, 4]),
        // The one behind goes too, and then only its own place is free.
        (&[2, 3], [1, 0, 0, 3]),
    ] {
        let layer = queue(Duration::from_secs(60));
        let start = tokio::time::Instant::now();
        let join = || {
            let layer = layer.clone();
            tokio::spawn(async move {
                assert_eq!(ask(&layer, request()).await.status(), 200);
                start.elapsed().as_secs()
            })
        };
        assert_eq!(join().await.unwrap(), 0);
        let mut waiting: Vec<_> = (0..3).map(|_| join()).collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        for place in dropped {
            waiting[*place - 1].abort();
            tokio::task::yield_now().await;
        }
        waiting.push(join());
        let mut turns = Vec::new();
        for one in waiting {
            turns.push(one.await.unwrap_or_default());
        }
        assert_eq!(turns, expected, "{dropped:?}");
    }
}

/// A request that is given back after it was served takes nobody's place in the queue behind it.
#[tokio::test(start_paused = true)]
async fn a_refund_does_not_give_away_a_turn_of_somebody_who_waits() {
    let clock = Paused(tokio::time::Instant::now());
    let layer = burst("leaky-bucket:1/1s,burst=9").clock(clock).wait(TokioTimer, Duration::from_secs(60));
    let layer = layer.refund_when(|status| status.is_success()).build().unwrap();
    let start = tokio::time::Instant::now();
    let join = || {
        let served = move |_: Request<NoBody>| async move {
            let turn = start.elapsed().as_secs();
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(Response::builder().header("turn", turn).body(Full::<Bytes>::default()).unwrap())
        };
        tokio::spawn(ServiceBuilder::new().layer(&layer).service(service_fn(served)).oneshot(request()))
    };
    let mut waiting: Vec<_> = (0..3).map(|_| join()).collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    waiting.push(join());
    let mut turns = Vec::new();
    for one in waiting {
        turns.push(field(&one.await.unwrap().unwrap(), "turn").to_owned());
    }
    assert_eq!(turns, ["0", "1", "2", "3"]);
}

/// A queue in memory beside a limit on a backend: what the backend refuses has not stood in the queue.
#[tokio::test(start_paused = true)]
async fn a_queue_is_joined_only_by_those_whom_the_others_allow() {
    let clock = Paused(tokio::time::Instant::now());
    let rule: ratelimit_core::Policy = "fixed-window:3/1h".parse().unwrap();
    let queue = Limit::parse("queue", "leaky-bucket:1/1s,burst=9").unwrap();
    let shared = limit("fixed-window:3/1h").on(KeyedLimiter::builder(rule).clock(clock.clone()).build());
    let layer = RateLimitLayer::builder().limit(queue).limit(shared).clock(clock);
    let layer = layer.dialects([Dialect::Draft11]).wait(TokioTimer, Duration::from_secs(60)).build().unwrap();
    let start = tokio::time::Instant::now();
    let mut turns = Vec::new();
    for _ in 0..3 {
        turns.push((ask(&layer, request()).await.status().as_u16(), start.elapsed().as_secs()));
    }
    assert_eq!(turns, [(200, 0), (200, 1), (200, 2)]);
    let refused = ask(&layer, request()).await;
    assert_eq!(refused.status(), 429);
    assert!(field(&refused, "ratelimit").starts_with("\"queue\";r=8;"), "{}", field(&refused, "ratelimit"));
}

//! Limits on a backend that servers share, of which a test says how it behaves.

use super::*;

#[tokio::test]
async fn a_shared_backend_answers_like_memory() {
    let policies = ["fixed-window:3/1m", "sliding-log:3/1m", "sliding-counter:3/1m", "token-bucket:3/1m"];
    for policy in policies {
        let clock = ManualClock::new(Nanos::from_secs(86_400));
        let rule = policy.parse::<ratelimit_core::Policy>().unwrap();
        let backend = KeyedLimiter::builder(rule).clock(clock.clone()).build();
        let shared = RateLimitLayer::builder().limit(limit(policy).on(backend)).clock(clock.clone()).build().unwrap();
        let memory = RateLimitLayer::builder().limit(limit(policy)).clock(clock.clone()).build().unwrap();
        for step in 0..12 {
            let (one, other) = (ask(&shared, request()).await, ask(&memory, request()).await);
            assert_eq!(one.status(), other.status(), "{policy} at step {step}");
            for name in ["ratelimit-remaining", "ratelimit-policy", "retry-after"] {
                assert_eq!(field(&one, name), field(&other, name), "{policy} at step {step}");
            }
            clock.advance(Nanos::from_secs(7));
        }
    }
}

/// A backend on the network: it notes what it is asked, fails or hangs where a test says so, and has 5 of 9 left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    pub(crate) keys: Arc<Mutex<Vec<Vec<u8>>>>,
    pub(crate) calls: Arc<Mutex<Vec<(&'static str, u64)>>>,
    pub(crate) failing: &'static [&'static str],
    pub(crate) hanging: &'static [&'static str],
}

impl Recorder {
    fn called<T>(&self, what: &'static str, key: &[u8], units: u64, answer: T) -> Reply<T>
    where
        T: Send + 'static,
    {
        let (recorder, key) = (self.clone(), key.to_vec());
        // Nothing happens before the future is asked, as with a network.
        Box::pin(async move {
            recorder.keys.lock().unwrap().push(key);
            recorder.calls.lock().unwrap().push((what, units));
            if recorder.hanging.contains(&what) {
                std::future::pending::<()>().await;
            }
            if recorder.failing.contains(&what) { Err(std::io::Error::other("down")) } else { Ok(answer) }
        })
    }

    pub(crate) fn calls(&self) -> Vec<(&'static str, u64)> {
        self.calls.lock().unwrap().clone()
    }
}

type Reply<T> = std::pin::Pin<Box<dyn Future<Output = Result<T, std::io::Error>> + Send>>;

const FIVE_LEFT: Decision = Decision::Allowed { remaining: 5, reset_after: Nanos::from_secs(60), delay: Nanos::ZERO };

impl Backend for Recorder {
    type Error = std::io::Error;
    type Decide = Reply<Decision>;
    type Change = Reply<()>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.called("check", key, cost, FIVE_LEFT)
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.called("peek", key, cost, FIVE_LEFT)
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        self.called("charge", key, cost, ())
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        self.called("refund", key, cost, ())
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        self.called("reset", key, 0, ())
    }
}

/// Its limits are 5, and it says so of itself; of what it has left only when it does not fail.
#[derive(Debug, Clone)]
struct Small(Recorder);

impl Backend for Small {
    type Error = std::io::Error;
    type Decide = Reply<Decision>;
    type Change = Reply<()>;

    fn check_n(&self, _: &[u8], _: u64) -> Self::Decide {
        Box::pin(std::future::ready(Ok(Decision::Never { capacity: 5 })))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.0.peek(key, cost)
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        self.0.charge(key, cost)
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        self.0.refund(key, cost)
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        self.0.reset(key)
    }
}

/// What is refused for ever stays refused when the backend fails before it says what is there; nothing is claimed then.
#[tokio::test]
async fn of_a_refusal_for_ever_no_more_is_told_than_is_known() {
    for (failing, told) in [(&[][..], "\"small\";r=5;t=60, \"large\";r=9;t=60"), (&["peek"], "\"large\";r=9;t=60")] {
        let small = Small(Recorder { failing, ..Recorder::default() });
        let small = Limit::parse("small", "fixed-window:5/1m").unwrap().cost(6).on(small);
        let large = Limit::parse("large", "fixed-window:9/1m").unwrap().cost(6);
        for (beside, told) in [(Some(large), told), (None, if failing.is_empty() { "\"small\";r=5;t=60" } else { "" })]
        {
            let layer = RateLimitLayer::builder().limit(small.clone()).dialects([Dialect::Draft11, Dialect::Triple]);
            let layer = beside.into_iter().fold(layer, Builder::limit);
            let layer = layer.partition_key(false).clock(ManualClock::new(Nanos::from_secs(86_400))).build().unwrap();
            let refused = ask(&layer, request()).await;
            assert_eq!(refused.status(), 429, "{failing:?}");
            assert_eq!(field(&refused, "ratelimit"), told, "{failing:?}");
            let problem: serde_json::Value = serde_json::from_str(&body(refused).await).unwrap();
            assert_eq!(problem["type"], "urn:ratelimit:cost-exceeds-capacity");
            assert_eq!(problem["violated-policies"], serde_json::json!(["small"]));
        }
    }
}

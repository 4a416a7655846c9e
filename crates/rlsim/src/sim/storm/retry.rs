//! What a client does after a refusal.
//!
//! | text | waits before the next attempt |
//! |---|---|
//! | `give-up` | there is none |
//! | `at-once` | nothing |
//! | `fixed:1s` | the same every time |
//! | `exponential:100ms..30s` | 100 ms, 200 ms, 400 ms, ... up to 30 s |
//! | `exponential:100ms..30s,equal` | half of that, and a random part of the other half |
//! | `exponential:100ms..30s,full` | a random part of that |
//! | `exponential:100ms..30s,decorrelated` | at random between 100 ms and three times the last wait, up to 30 s |
//! | `retry-after` | as long as the server said |
//! | `retry-after,jitter` | as long as the server said, and at random up to as long again |
//!
//! The jitters are those of "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). Where the server said
//! nothing, `retry-after` falls back to exponential with full jitter.

use std::fmt;
use std::str::FromStr;

use crate::generate::random::Draws;
use crate::generate::units::Span;

/// A client's behaviour after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// One attempt is all.
    GiveUp,
    /// The next attempt follows the answer without a wait.
    AtOnce,
    /// Always the same wait, in nanoseconds.
    Fixed(u64),
    /// Waits that double.
    Exponential(Backoff),
    /// The wait that the server names; `true` adds up to as long again at random.
    Honour {
        /// Whether a random part is added.
        jitter: bool,
    },
}

/// Waits that double from `base` up to `cap`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub base: u64,
    /// The longest wait.
    pub cap: u64,
    /// How chance spreads the waits.
    pub jitter: Jitter,
}

/// How chance spreads the waits of a [`Backoff`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Not at all.
    None,
    /// Half of the wait is certain, half is random.
    Equal,
    /// All of the wait is random.
    Full,
    /// Random between the base and three times the last wait.
    Decorrelated,
}

/// Where the server gives no hint, a client that would honour one does what is best without.
const WITHOUT_HINT: Backoff = Backoff { base: 100_000_000, cap: 30_000_000_000, jitter: Jitter::Full };

impl Retry {
    /// How long to wait, in nanoseconds, after the refusal of attempt number `attempt` (from 1), when the server said
    /// `hint` and the wait before was `last`. `None`: not at all, the client gives up.
    pub fn wait(&self, attempt: u32, hint: Option<u64>, last: u64, draws: &mut Draws) -> Option<u64> {
        Some(match *self {
            Retry::GiveUp => return None,
            Retry::AtOnce => 0,
            Retry::Fixed(wait) => wait,
            Retry::Exponential(backoff) => backoff.wait(attempt, last, draws),
            Retry::Honour { jitter } => match hint {
                Some(hint) if jitter => hint.saturating_add(up_to(hint, draws)),
                Some(hint) => hint,
                None => WITHOUT_HINT.wait(attempt, last, draws),
            },
        })
    }
}

impl Backoff {
    fn wait(&self, attempt: u32, last: u64, draws: &mut Draws) -> u64 {
        let Backoff { base, cap, jitter } = *self;
        let doublings = attempt.saturating_sub(1);
        // Beyond 63 doublings any base has reached any cap.
        let full = base.checked_mul(1 << doublings.min(63)).map_or(cap, |wait| wait.min(cap));
        match jitter {
            Jitter::None => full,
            Jitter::Equal => full - full / 2 + up_to(full / 2, draws),
            Jitter::Full => up_to(full, draws),
            Jitter::Decorrelated => {
                let high = last.max(base).saturating_mul(3);
                base.saturating_add(up_to(high - base, draws)).min(cap)
            }
        }
    }
}

/// Uniform from 0 to `most`.
fn up_to(most: u64, draws: &mut Draws) -> u64 {
    match most.checked_add(1) {
        Some(n) => draws.below(n),
        None => draws.bits(),
    }
}

const FORMS: &str = "expected give-up, at-once, fixed:1s, exponential:100ms..30s (with ,equal ,full or ,decorrelated), \
                     retry-after or retry-after,jitter";

impl FromStr for Retry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{FORMS}, found `{text}`");
        let span = |text: &str| text.parse::<Span>().map(|Span(nanos)| nanos);
        if let Some(wait) = text.strip_prefix("fixed:") {
            return Ok(Retry::Fixed(span(wait)?));
        }
        if let Some(rest) = text.strip_prefix("exponential:") {
            let (range, jitter) = rest.split_once(',').map_or((rest, None), |(range, jitter)| (range, Some(jitter)));
            let (base, cap) = range.split_once("..").ok_or_else(wrong)?;
            let jitter = match jitter {
                None => Jitter::None,
                Some("equal") => Jitter::Equal,
                Some("full") => Jitter::Full,
                Some("decorrelated") => Jitter::Decorrelated,
                Some(_) => return Err(wrong()),
            };
            let (base, cap) = (span(base)?, span(cap)?);
            let sound = 0 < base && base <= cap;
            return if sound { Ok(Retry::Exponential(Backoff { base, cap, jitter })) } else { Err(wrong()) };
        }
        match text {
            "give-up" => Ok(Retry::GiveUp),
            "at-once" => Ok(Retry::AtOnce),
            "retry-after" => Ok(Retry::Honour { jitter: false }),
            "retry-after,jitter" => Ok(Retry::Honour { jitter: true }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Retry::GiveUp => f.write_str("give-up"),
            Retry::AtOnce => f.write_str("at-once"),
            Retry::Fixed(wait) => write!(f, "fixed:{}", Span(wait)),
            Retry::Exponential(Backoff { base, cap, jitter }) => {
                let jitter = match jitter {
                    Jitter::None => "",
                    Jitter::Equal => ",equal",
                    Jitter::Full => ",full",
                    Jitter::Decorrelated => ",decorrelated",
                };
                write!(f, "exponential:{}..{}{jitter}", Span(base), Span(cap))
            }
            Retry::Honour { jitter: false } => f.write_str("retry-after"),
            Retry::Honour { jitter: true } => f.write_str("retry-after,jitter"),
        }
    }
}

/// A population of behaviours: so many percent do this, so many that (`90% retry-after + 10% at-once`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixture(Vec<(u32, Retry)>);

impl Mixture {
    /// Everybody behaves like `retry`.
    pub fn all(retry: Retry) -> Self {
        Mixture(vec![(100, retry)])
    }

    /// The behaviour of client `index` of `count`: the first clients get the first behaviour, exactly its share.
    pub fn of_client(&self, index: u32, count: u32) -> Retry {
        let percent = u64::from(index) * 100 / u64::from(count.max(1));
        let mut below = 0;
        for &(share, retry) in &self.0 {
            below += u64::from(share);
            if percent < below {
                return retry;
            }
        }
        self.0.last().map_or(Retry::GiveUp, |&(_, retry)| retry)
    }
}

impl FromStr for Mixture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('%') {
            return text.parse().map(Mixture::all);
        }
        let wrong =
            || format!("expected shares that add up to 100 %, such as `90% retry-after + 10% at-once`, found `{text}`");
        let part = |part: &str| {
            let (share, retry) = part.trim().split_once('%').ok_or_else(wrong)?;
            Ok((share.trim().parse::<u32>().map_err(|_| wrong())?, retry.trim().parse::<Retry>()?))
        };
        let parts = text.split('+').map(part).collect::<Result<Vec<_>, String>>()?;
        let total: u64 = parts.iter().map(|&(share, _)| u64::from(share)).sum();
        if total == 100 { Ok(Mixture(parts)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, only)] = self.0[..] {
            return only.fmt(f);
        }
        let parts: Vec<_> = self.0.iter().map(|(share, retry)| format!("{share}% {retry}")).collect();
        f.write_str(&parts.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn waits(text: &str, hint: Option<u64>) -> Vec<u64> {
        let retry: Retry = text.parse().unwrap();
        let mut draws = Draws::new(1, 0);
        let mut last = 0;
        (1..=12)
            .map_while(|attempt| {
                last = retry.wait(attempt, hint, last, &mut draws)?;
                Some(last)
            })
            .collect()
    }

    #[test]
    fn without_jitter_waits_are_exact() {
        assert!(waits("give-up", Some(5)).is_empty());
        assert_eq!(waits("at-once", Some(5)), [0; 12]);
        assert_eq!(waits("fixed:250ms", None), [250 * MS; 12]);
        assert_eq!(waits("retry-after", Some(77)), [77; 12]);
        assert_eq!(waits("exponential:100ms..1s", None)[..6], [100, 200, 400, 800, 1000, 1000].map(|ms| ms * MS));
        assert!(waits("retry-after", None).iter().all(|&wait| wait <= 30_000 * MS));
    }

    #[test]
    fn jitter_keeps_within_its_bounds_and_uses_them() {
        let full = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000, 10_000].map(|ms| ms * MS);
        let equal = waits("exponential:100ms..10s,equal", None);
        assert!(equal.iter().zip(full).all(|(&wait, full)| full / 2 <= wait && wait <= full), "{equal:?}");
        let random = waits("exponential:100ms..10s,full", None);
        assert!(random.iter().zip(full).all(|(&wait, full)| wait <= full), "{random:?}");
        assert!(random.iter().zip(full).any(|(&wait, full)| wait < full / 2));
        let decorrelated = waits("exponential:100ms..10s,decorrelated", None);
        assert!(decorrelated.iter().all(|wait| (100 * MS..=10_000 * MS).contains(wait)), "{decorrelated:?}");
        assert!(decorrelated.windows(2).all(|pair| pair[1] <= 3 * pair[0]));
        assert!(waits("retry-after,jitter", Some(100)).iter().all(|wait| (100..=200).contains(wait)));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut draws = Draws::new(1, 0);
        for text in ["exponential:1ns..18446744073709551615ns", "exponential:200000d..200000d,decorrelated"] {
            let retry: Retry = text.parse().unwrap();
            for attempt in [0, 1, 64, 65, u32::MAX] {
                assert!(retry.wait(attempt, None, u64::MAX, &mut draws).is_some());
            }
        }
        assert!(Retry::Honour { jitter: true }.wait(1, Some(u64::MAX), 0, &mut draws) == Some(u64::MAX));
    }

    #[test]
    fn text_round_trips_and_mistakes_are_explained() {
        for text in [
            "give-up",
            "at-once",
            "fixed:1s",
            "exponential:100ms..30s",
            "exponential:100ms..30s,equal",
            "exponential:100ms..30s,full",
            "exponential:100ms..30s,decorrelated",
            "retry-after",
            "retry-after,jitter",
            "90% retry-after + 10% at-once",
        ] {
            assert_eq!(text.parse::<Mixture>().unwrap().to_string(), text);
        }
        for text in
            ["", "later", "fixed:", "exponential:1s", "exponential:1s..1ms", "exponential:0s..1s", "50% at-once"]
        {
            assert!(text.parse::<Mixture>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_mixture_gives_exact_shares() {
        let mixture: Mixture = "90% retry-after + 10% at-once".parse().unwrap();
        let rude = (0..200).filter(|&client| mixture.of_client(client, 200) == Retry::AtOnce).count();
        assert_eq!(rude, 20);
    }
}

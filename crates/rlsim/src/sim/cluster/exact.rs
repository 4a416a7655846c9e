//! What one exact limiter makes of the same requests: the measure of every strategy.

use ratelimit_core::{Policy, Rule};

use super::arrivals::Arrival;
use super::ledger::Answer;
use crate::sim::limiter::{By, Limiter};

/// Answers of a single limiter that sees every request the moment it comes.
#[derive(Debug)]
pub struct Exact {
    pub(super) answers: Vec<Answer>,
    /// Units admitted.
    pub units: u64,
    /// The most units admitted to one client in any window.
    pub peak: u64,
    /// The sum of the delays of a leaky bucket, in nanoseconds.
    pub delay_sum: u128,
}

impl Exact {
    /// Runs `policy` on `arrivals`, each client on its own.
    pub fn of(policy: &Policy, arrivals: &[Arrival]) -> Self {
        let mut limiter = Limiter::new(*policy, By::Client);
        let decide = |arrival: &Arrival| {
            let decision = limiter.decide(arrival.client, arrival.at, arrival.cost);
            Answer::new(arrival.at, decision)
        };
        let answers: Vec<Answer> = arrivals.iter().map(decide).collect();
        Exact {
            units: units(arrivals, &answers),
            peak: peak(arrivals, &answers, window(policy)),
            delay_sum: answers.iter().map(|answer| u128::from(answer.delay)).sum(),
            answers,
        }
    }
}

/// The window in which peaks are measured: the longest of the policy, or a second without any.
pub(super) fn window(policy: &Policy) -> u64 {
    let windows = policy.rules().iter().filter_map(Rule::quota);
    windows.map(|quota| quota.window().get()).max().unwrap_or(1_000_000_000)
}

/// Units admitted.
pub(super) fn units(arrivals: &[Arrival], answers: &[Answer]) -> u64 {
    let admitted = arrivals.iter().zip(answers).filter(|(_, answer)| answer.allowed);
    admitted.fold(0, |sum, (arrival, _)| sum.saturating_add(arrival.cost))
}

/// The most units admitted to one client within less than `window` nanoseconds, by the time at which the requests came:
/// with the time of the answers, messages that take longer and shorter would push requests of a coarse clock into one
/// window, and a strategy that refuses nothing would seem to exceed the limit.
pub(super) fn peak(arrivals: &[Arrival], answers: &[Answer], window: u64) -> u64 {
    let admitted = arrivals.iter().zip(answers).filter(|(_, answer)| answer.allowed);
    let mut admitted: Vec<_> = admitted.map(|(arrival, _)| (arrival.client, arrival.at, arrival.cost)).collect();
    admitted.sort_unstable();
    let mut most = 0;
    for mine in admitted.chunk_by(|a, b| a.0 == b.0) {
        let (mut first, mut sum) = (0, 0u64);
        for &(_, at, cost) in mine {
            sum = sum.saturating_add(cost);
            while at - mine[first].1 >= window {
                sum = sum.saturating_sub(mine[first].2);
                first += 1;
            }
            most = most.max(sum);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_of_one_client_in_a_half_open_window() {
        let arrivals: Vec<_> =
            [(0, 0), (5, 0), (9, 1), (10, 0), (12, 0)].map(|(at, client)| Arrival { at, client, cost: 2 }).to_vec();
        let answers: Vec<_> =
            arrivals.iter().map(|arrival| Answer { at: arrival.at, allowed: true, delay: 0 }).collect();
        assert_eq!(peak(&arrivals, &answers, 10), 6);
        assert_eq!(peak(&arrivals, &answers, 11), 6);
        assert_eq!(peak(&arrivals, &answers, 13), 8);
        assert_eq!(peak(&[], &[], 13), 0);
    }
}

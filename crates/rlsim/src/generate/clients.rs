//! Who sends each request.

#![expect(clippy::cast_possible_truncation, reason = "the bound of each cast stands beside it")]

use super::fixed;
use super::random::Draws;

/// How requests are shared out among the clients, numbered from 0.
#[derive(Debug, Clone)]
pub enum Clients {
    /// In turn: equal shares, whatever the seed.
    Dealt {
        /// How many there are.
        count: u32,
        /// Whose turn it is.
        next: u32,
    },
    /// Each is as likely as any other.
    Uniform {
        /// How many there are.
        count: u32,
        /// Where the choice comes from.
        draws: Draws,
    },
    /// Client `k` (from 1) is chosen with a weight of `1 / k^s`: few send most of the traffic.
    Zipf {
        /// Sums of the weights of clients up to each one, in units of `2^-30` of the first one's weight.
        sums: Vec<u64>,
        /// Where the choice comes from.
        draws: Draws,
    },
}

impl Clients {
    /// `count` clients (at least one) in turn.
    pub fn dealt(count: u32) -> Self {
        Clients::Dealt { count: count.max(1), next: 0 }
    }

    /// `count` clients (at least one), each as likely as any other.
    pub fn uniform(count: u32, draws: Draws) -> Self {
        Clients::Uniform { count: count.max(1), draws }
    }

    /// `count` clients (at least one) by Zipf's law with exponent `thousandths / 1000`. Eight bytes a client.
    pub fn zipf(count: u32, thousandths: u32, draws: Draws) -> Self {
        let mut sum = 0u64;
        let weights = (1..=u64::from(count.max(1))).map(|k| weight(k, thousandths));
        let sums = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        Clients::Zipf { sums, draws }
    }

    /// The next request's client. Constant time, or the logarithm of the number of clients for Zipf.
    pub fn next_client(&mut self) -> u32 {
        match self {
            Clients::Dealt { count, next } => {
                let client = *next;
                *next = (client + 1) % *count;
                client
            }
            Clients::Uniform { count, draws } => draws.below(u64::from(*count)) as u32,
            Clients::Zipf { sums, draws } => {
                let total = sums.last().copied().unwrap_or(0);
                let point = draws.below(total);
                // The first client whose sum lies beyond the point; there are at most u32::MAX of them.
                sums.partition_point(|&sum| sum <= point) as u32
            }
        }
    }
}

/// `2^30 / k^s`, at least one: 2^32 such weights fit in 64 bits.
fn weight(k: u64, thousandths: u32) -> u64 {
    let exponent = u128::from(fixed::ln(k)) * u128::from(thousandths) / 1000;
    let exponent = u64::try_from(exponent).unwrap_or(u64::MAX);
    (fixed::exp_of_negative(exponent) >> 32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(mut clients: Clients, count: usize, draws: u32) -> Vec<u32> {
        let mut seen = vec![0; count];
        for _ in 0..draws {
            seen[clients.next_client() as usize] += 1;
        }
        seen
    }

    #[test]
    fn dealing_is_exact() {
        assert_eq!(shares(Clients::dealt(4), 4, 40), [10; 4]);
        assert_eq!(shares(Clients::dealt(0), 1, 3), [3]);
    }

    #[test]
    fn uniform_is_even() {
        let seen = shares(Clients::uniform(10, Draws::new(4, 0)), 10, 100_000);
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 475), "{seen:?}");
    }

    #[test]
    fn zipf_falls_as_its_exponent_says() {
        // Harmonic number of 100: 5.187. Shares of clients 1, 2 and 10: 19.3 %, 9.6 %, 1.9 %.
        let seen = shares(Clients::zipf(100, 1000, Draws::new(5, 0)), 100, 100_000);
        assert!(seen[0].abs_diff(19_278) < 624, "{}", seen[0]);
        assert!(seen[1].abs_diff(9_639) < 467, "{}", seen[1]);
        assert!(seen[9].abs_diff(1_928) < 218, "{}", seen[9]);
        // An exponent of zero is uniform.
        let seen = shares(Clients::zipf(10, 0, Draws::new(4, 0)), 10, 100_000);
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 475), "{seen:?}");
    }
}

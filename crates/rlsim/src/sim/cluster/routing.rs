//! Which server a request is sent to.

use std::fmt;
use std::str::FromStr;

use crate::generate::random::Draws;

/// How a load balancer chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// One after another.
    RoundRobin,
    /// Any, with equal chances.
    Random,
    /// Always the same server for the same client.
    Sticky,
    /// Any, with these chances; the last weight counts for all further servers.
    Weighted(Vec<u32>),
}

/// A load balancer at work.
#[derive(Debug, Clone)]
pub(super) struct Router {
    routing: Routing,
    draws: Draws,
    next: usize,
}

impl Router {
    pub(super) fn new(routing: Routing, draws: Draws) -> Self {
        Router { routing, draws, next: 0 }
    }

    /// The server for a request of `client`, with `servers` of them (at least one) in service.
    pub(super) fn choose(&mut self, client: u32, servers: usize) -> usize {
        match &self.routing {
            Routing::RoundRobin => {
                let server = self.next % servers;
                self.next = server + 1;
                server
            }
            Routing::Random => index(self.draws.below(servers as u64)),
            Routing::Sticky => index(mix(u64::from(client)) % servers as u64),
            Routing::Weighted(weights) => {
                let weight = |server: usize| weights.get(server).or(weights.last()).copied().map_or(1, u64::from);
                let total = (0..servers).map(weight).sum();
                let mut point = self.draws.below(total);
                (0..servers)
                    .find(|&server| {
                        let mine = point < weight(server);
                        point = point.saturating_sub(weight(server));
                        mine
                    })
                    .unwrap_or(0)
            }
        }
    }
}

/// A number below the number of servers.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Spreads client numbers evenly: the finalizer of `SplitMix64` (Steele, Lea and Flood 2014).
fn mix(client: u64) -> u64 {
    let x = client.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl FromStr for Routing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected round-robin, random, sticky or weighted:W1,W2,..., found `{text}`");
        if let Some(weights) = text.strip_prefix("weighted:") {
            let weights = weights.split(',').map(|weight| weight.parse::<u32>().map_err(|_| wrong()));
            let weights = weights.collect::<Result<Vec<_>, _>>()?;
            return if weights.contains(&0) { Err(wrong()) } else { Ok(Routing::Weighted(weights)) };
        }
        match text {
            "round-robin" => Ok(Routing::RoundRobin),
            "random" => Ok(Routing::Random),
            "sticky" => Ok(Routing::Sticky),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Routing::RoundRobin => f.write_str("round-robin"),
            Routing::Random => f.write_str("random"),
            Routing::Sticky => f.write_str("sticky"),
            Routing::Weighted(weights) => {
                let weights: Vec<_> = weights.iter().map(u32::to_string).collect();
                write!(f, "weighted:{}", weights.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str, clients: u32, servers: usize) -> Vec<u32> {
        let mut router = Router::new(text.parse().unwrap(), Draws::new(1, 0));
        let mut seen = vec![0; servers];
        for request in 0..9000 {
            seen[router.choose(request % clients, servers)] += 1;
        }
        seen
    }

    #[test]
    fn each_routing_has_its_shares() {
        assert_eq!(shares("round-robin", 7, 3), [3000; 3]);
        assert!(shares("random", 1, 3).iter().all(|n: &u32| n.abs_diff(3000) < 230));
        assert!(shares("weighted:4,1", 1, 3).iter().zip([6000, 1500, 1500]).all(|(n, mean)| n.abs_diff(mean) < 230));
        assert_eq!(shares("sticky", 1, 3).iter().filter(|&&n| n > 0).count(), 1);
        assert!(shares("sticky", 3000, 3).iter().all(|n| n.abs_diff(3000) < 400));
    }

    #[test]
    fn text_round_trips_and_mistakes_are_explained() {
        for text in ["round-robin", "random", "sticky", "weighted:5,1"] {
            assert_eq!(text.parse::<Routing>().unwrap().to_string(), text);
        }
        for text in ["", "weighted:", "weighted:0,1", "roundrobin"] {
            assert!(text.parse::<Routing>().is_err(), "{text}");
        }
    }
}

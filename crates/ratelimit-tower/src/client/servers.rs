//! The servers that a client knows, each with its gate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::Request;
use http::header::HOST;
use http::uri::Authority;
use ratelimit_core::Nanos;

use super::gate::{self, Gate};

/// Servers that are remembered in any case; beyond them, idle ones are forgotten.
const MANY: usize = 1024;

/// Servers that are remembered at most, idle or not: what the others say is forgotten with the answer.
const MOST: usize = 16 * MANY;

/// The gates by server. Forgetting looks at all of them, so it is done once in as many newcomers as half of them: a
/// request costs the same however many there are.
#[derive(Debug, Default)]
pub(super) struct Servers {
    gates: HashMap<String, Arc<Mutex<Gate>>>,
    newcomers: usize,
}

impl Servers {
    /// The gate of this server.
    pub(super) fn gate(&mut self, server: String, now: Nanos) -> Arc<Mutex<Gate>> {
        if let Some(gate) = self.gates.get(&server) {
            return Arc::clone(gate);
        }
        self.newcomers += 1;
        if self.gates.len() >= MANY && self.newcomers >= self.gates.len() / 2 {
            self.newcomers = 0;
            // A gate that somebody else holds is in use.
            self.gates.retain(|_, gate| Arc::strong_count(gate) > 1 || !gate::lock(gate).is_idle(now));
        }
        let gate = Arc::<Mutex<Gate>>::default();
        if self.gates.len() < MOST {
            self.gates.insert(server, Arc::clone(&gate));
        }
        gate
    }
}

/// Scheme, host and port in one spelling, without who asks.
pub(super) fn name_of<B>(request: &Request<B>) -> String {
    let of_field = || request.headers().get(HOST)?.to_str().ok()?.parse::<Authority>().ok();
    let Some(authority) = request.uri().authority().cloned().or_else(of_field) else { return String::new() };
    let scheme = request.uri().scheme_str().unwrap_or_default();
    let port = authority.port_u16().or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    });
    let port = port.map_or_else(String::new, |port| port.to_string());
    format!("{scheme}://{}:{port}", authority.host().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn name(target: &str, host: Option<&str>) -> String {
        let request = host.into_iter().fold(Request::builder().uri(target), |request, host| request.header(HOST, host));
        name_of(&request.body(()).unwrap())
    }

    #[test]
    fn a_server_has_one_name() {
        for spelling in ["http://a.example/x", "http://A.Example:80/", "http://me:pw@a.example/"] {
            assert_eq!(name(spelling, None), "http://a.example:80", "{spelling}");
        }
        assert_eq!(name("/x", Some("a.example:8080")), "://a.example:8080");
        let others =
            ["https://a.example/", "http://a.example:81/", "/", "http://b.example/"].map(|one| name(one, None));
        assert_eq!(others.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert!(!others.contains(&"http://a.example:80".to_owned()));
    }

    #[test]
    fn idle_servers_are_forgotten_and_busy_ones_are_not_without_bound() {
        let mut servers = Servers::default();
        let at = Nanos::from_secs;
        for number in 0..100_000 {
            servers.gate(format!("idle {number}"), at(0));
        }
        assert!(servers.gates.len() <= 2 * MANY, "{}", servers.gates.len());
        let mut busy = Servers::default();
        for number in 0..2 * MOST {
            let gate = busy.gate(format!("busy {number}"), at(0));
            let ticket = gate::lock(&gate).enqueue();
            gate::lock(&gate).enter(ticket, at(0), Waker::noop());
            gate::lock(&gate).refused(at(0), at(10));
        }
        assert_eq!(busy.gates.len(), MOST);
        // What they said holds no longer.
        for number in 0..MOST {
            busy.gate(format!("late {number}"), at(11));
        }
        assert!(busy.gates.len() < MOST, "{}", busy.gates.len());
    }
}

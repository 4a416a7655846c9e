//! Fills the table of `docs/reliability.md`: breaks a real Redis in every listed way, under load, and counts.
//!
//! ```text
//! cargo run -p ratelimit-store --features redis-cluster --example reliability
//! ```
//!
//! With the feature `redis` alone the failover of a cluster is left out. Needs `redis-server` on the PATH; it starts its own, on free loopback ports, and takes about half a minute.

#[path = "../tests/redis_common/mod.rs"]
mod redis_common;

use redis_common::faults::{FAULTS, Fault};
use redis_common::load::BOUND;

fn main() {
    println!("| fault | sent | answered | shared | local | longest stall | wrongly admitted | extra after a loss |");
    println!("|---|---|---|---|---|---|---|---|");
    for fault in &FAULTS {
        row(fault);
    }
    #[cfg(feature = "redis-cluster")]
    row(&redis_common::faults::FAILOVER);
}

fn row(fault: &Fault) {
    let outcome = (fault.run)();
    let allowed = fault.losses * BOUND;
    let wrongly = outcome.beyond_local + outcome.beyond_shared.saturating_sub(allowed);
    let extra = match fault.losses {
        0 => "no state lost".to_owned(),
        _ => format!("{} of {allowed}", outcome.beyond_shared),
    };
    println!(
        "| {} | {} | {} | {} | {} | {} ms | {wrongly} | {extra} |",
        fault.name,
        outcome.sent,
        outcome.answered,
        outcome.from_shared,
        outcome.from_local,
        outcome.longest.as_millis(),
    );
}

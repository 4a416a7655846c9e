//! Fills the table of `docs/reliability.md`: breaks a real Redis in every listed way, under load, and counts.
//!
//! ```text
//! cargo run -p ratelimit-store --features redis --example reliability
//! ```
//!
//! Needs `redis-server` on the PATH; it starts its own, on free loopback ports, and takes about half a minute.

#[path = "../tests/redis_common/mod.rs"]
mod redis_common;

use redis_common::faults::FAULTS;

fn main() {
    println!(
        "| fault | sent | answered | by the shared limiter | by a local one | longest stall | wrongly admitted | extra after a loss |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for fault in FAULTS {
        let outcome = (fault.run)();
        let (wrongly, extra) = if fault.losses == 0 {
            (outcome.beyond_shared + outcome.beyond_local, "no state lost".into())
        } else {
            let allowed = fault.losses * redis_common::load::BOUND;
            let wrongly = outcome.beyond_local + outcome.beyond_shared.saturating_sub(allowed);
            (wrongly, format!("{} of {allowed}", outcome.beyond_shared))
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
}

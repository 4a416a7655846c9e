//! Until when a call may go on.

use std::time::Duration;

use tokio::time::Instant;

/// For what is longer than a clock can tell: 30 years.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// So long from now.
pub(crate) fn deadline(after: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(after).unwrap_or_else(|| now + FOR_EVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_without_end_is_no_panic() {
        for after in [Duration::ZERO, Duration::from_secs(1), Duration::MAX] {
            let now = Instant::now();
            assert!(deadline(after) >= now + after.min(FOR_EVER), "{after:?}");
        }
    }
}

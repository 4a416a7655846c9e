//! Fairness: Jain's index over what each client got relative to its max-min fair share.

use super::clients::ClientTally;

/// Jain's index of admitted / fair share over the clients with a fair share: 1 when all do equally well, towards 1/n when
/// one gets everything. `None` when nothing was admitted.
///
/// The max-min fair share divides what this policy admitted in total: nobody gets more than it asked for, and what the
/// modest leave is split evenly among the rest.
#[expect(clippy::cast_precision_loss, reason = "a ratio, and the sums before it are integers")]
pub(super) fn jain(tallies: &[ClientTally]) -> Option<f64> {
    let admitted: u128 = tallies.iter().map(|tally| u128::from(tally.units_allowed)).sum();
    let (level, sharers) = water_level(tallies, admitted)?;
    let (mut sum, mut squares, mut clients) = (0.0, 0.0, 0_u64);
    for tally in tallies.iter().filter(|tally| tally.units_offered > 0) {
        // min(offered, level / sharers), compared without dividing.
        let offered = u128::from(tally.units_offered);
        let below = sharers == 0 || offered.saturating_mul(sharers) <= level;
        let share = if below { offered as f64 } else { level as f64 / sharers as f64 };
        let got = tally.units_allowed as f64 / share;
        sum += got;
        squares += got * got;
        clients += 1;
    }
    (clients > 0 && squares > 0.0).then(|| sum * sum / (clients as f64 * squares))
}

/// The level to which `total` fills all demands, as a fraction: units left, and the clients that share them.
fn water_level(tallies: &[ClientTally], total: u128) -> Option<(u128, u128)> {
    if total == 0 {
        return None;
    }
    let mut demands: Vec<u64> = tallies.iter().map(|tally| tally.units_offered).filter(|&units| units > 0).collect();
    demands.sort_unstable();
    let (mut left, mut sharers) = (total, demands.len() as u128);
    for demand in demands.into_iter().map(u128::from) {
        if demand.saturating_mul(sharers) > left {
            break;
        }
        left -= demand;
        sharers -= 1;
    }
    Some((left, sharers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(rows: &[(u64, u64)]) -> Option<f64> {
        let tallies: Vec<_> = rows
            .iter()
            .map(|&(units_offered, units_allowed)| ClientTally {
                units_offered,
                units_allowed,
                ..ClientTally::default()
            })
            .collect();
        jain(&tallies)
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-12)
    }

    #[test]
    fn a_light_client_served_in_full_beside_a_capped_one_is_fair() {
        assert!(close(index(&[(5, 5), (1000, 95)]), 1.0));
        assert!(close(index(&[(10, 10), (20, 20)]), 1.0));
    }

    #[test]
    fn one_client_with_everything_among_equals_is_one_in_n() {
        assert!(close(index(&[(100, 100), (100, 0), (100, 0), (100, 0)]), 0.25));
    }

    #[test]
    fn nothing_admitted_has_no_fairness() {
        assert_eq!(index(&[(5, 0)]), None);
        assert_eq!(index(&[]), None);
    }
}

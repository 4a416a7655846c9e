//! Ranked clients: how much each client reached at most in a window, from the heaviest to the lightest, a line a policy.
//!
//! Where the grey line of what was asked for crosses the limit is the number of clients the limit concerns.

use super::curves::{Axis, Curve, Plot, curve_ink, plot};
use super::ink::Ink;
use super::scale::decade_ticks;
use crate::error::Result;
use crate::report::{Report, count, duration, policy_title, quota, short_count};

/// The chart as SVG text, `None` with fewer than two clients, under a shared limit, or where nothing was measured.
pub fn ranked(report: &Report) -> Option<Result<String>> {
    let offered = report.offered.as_ref()?;
    let asked = ranks(offered.peaks.iter().map(|(_, units)| *units));
    if asked.len() < 2 {
        return None;
    }
    let clients = asked.len() as u64;
    let mut curves = vec![Curve { name: "asked for".into(), ink: Ink::Asked, points: thin(&asked) }];
    for (i, policy) in report.policies.iter().enumerate() {
        let peaks = ranks(policy.details.clients.iter().map(|tally| tally.peak_units));
        curves.push(Curve { name: policy_title(policy), ink: curve_ink(i), points: thin(&peaks) });
    }
    curves.retain(|curve| !curve.points.is_empty());
    let quotas: Vec<_> = report.policies.iter().filter_map(|policy| policy.limit.zip(policy.window_ns)).collect();
    let &(limit, window) = quotas.first()?;
    let same = quotas.iter().all(|&other| other == (limit, window));
    let over = asked.iter().filter(|units| **units > limit).count() as u64;
    let most = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1)).max()?.max(limit);
    // Room above, so that the words at the limit stay clear of the caption.
    let room = most.saturating_add(most / 2).max(2);
    let title = match over {
        0 => format!("No client ever asks for more than {}", quota(limit, window)),
        1 => format!("1 of {} clients asks for more than {}", count(clients), quota(limit, window)),
        _ => format!("{} of {} clients ask for more than {}", count(over), count(clients), quota(limit, window)),
    };
    Some(plot(&Plot {
        id: "ranked",
        description: format!("{title}. The heaviest reaches {} in {}.", count(asked[0]), duration(window)),
        title,
        subtitle: format!(
            "The most that each client reached in any {}: asked for, and let through by each policy. Heaviest first.",
            duration(window)
        ),
        x: Axis {
            ends: (1, clients.max(2)),
            ticks: decade_ticks((1, clients.max(2))),
            caption: "clients, heaviest first".into(),
        },
        y: Axis {
            ends: (1, room),
            ticks: decade_ticks((1, room)),
            caption: format!("most in any {}", duration(window)),
        },
        curves,
        level: same.then(|| (limit, format!("limit {}", short_count(limit)))),
        marks: Vec::new(),
    }))
}

/// Values above zero, largest first.
fn ranks(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ranked: Vec<u64> = values.filter(|&value| value > 0).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    ranked
}

/// Rank and value as points, without those in the middle of a level stretch: what remains draws the same line.
fn thin(ranked: &[u64]) -> Vec<(u64, u64)> {
    let last = ranked.len().saturating_sub(1);
    let corner = |i: usize| i == 0 || i == last || ranked[i - 1] != ranked[i] || ranked[i + 1] != ranked[i];
    (0..ranked.len()).filter(|&i| corner(i)).map(|i| (i as u64 + 1, ranked[i])).collect()
}

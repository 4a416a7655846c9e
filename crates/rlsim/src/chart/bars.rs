//! What came in each bin, as stacked steps: admitted, on top of it denied, on top of that refused for good.

use super::canvas::Canvas;
use super::comparison::Panel;
use super::ink::Ink;
use super::panel::push_straight;
use super::scale::Scale;
use crate::error::Result;

/// The tops of the stacked bars of a bin: allowed, with denied, with never.
pub(super) fn stack(panel: &Panel, bin: usize) -> (u64, u64, u64) {
    let of = |units: &[u64]| units.get(bin).copied().unwrap_or(0);
    let allowed = of(&panel.series.allowed);
    let denied = allowed.saturating_add(of(&panel.series.denied));
    (allowed, denied, denied.saturating_add(of(&panel.series.never)))
}

/// What was admitted, on top of it what was denied, on top of that what was refused for good.
pub(super) fn stacked_steps(canvas: &mut Canvas<'_>, panel: &Panel, end: u64, time: Scale, bars: Scale) -> Result<()> {
    let series = &panel.series;
    let layers = [(Ink::Allowed, [0, 1]), (Ink::Denied, [1, 2]), (Ink::Never, [2, 3])];
    let edge = |bin: usize| series.start_ns.saturating_add(series.bin_ns.saturating_mul(bin as u64)).min(end);
    let visible = (0..series.allowed.len()).take_while(|&bin| edge(bin) < end);
    let levels: Vec<_> = visible.map(|bin| tops(stack(panel, bin), bars)).collect();
    for (ink, [low, high]) in layers {
        let mut run = 0..0;
        for bin in 0..=levels.len() {
            let filled = levels.get(bin).is_some_and(|level| level[low] > level[high]);
            if filled {
                run = if run.is_empty() { bin..bin + 1 } else { run.start..bin + 1 };
            } else if !run.is_empty() {
                let outline = steps(&levels, run, &edge, time, (low, high));
                canvas.polygon(outline, ink)?;
                run = 0..0;
            }
        }
    }
    Ok(())
}

/// Heights of the edges between the layers of a bin. What is not nothing is at least a pixel high.
fn tops((allowed, denied, never): (u64, u64, u64), bars: Scale) -> [i32; 4] {
    let base = bars.at(0);
    let visible = |units: u64, below: u64, floor: i32| {
        if units > below { bars.at(units).min(floor - 15) } else { floor }
    };
    let first = visible(allowed, 0, base);
    let second = visible(denied, allowed, first);
    [base, first, second, visible(never, denied, second)]
}

/// The outline of a run of bins between two edges: along the top from left to right, back along the bottom.
fn steps(
    levels: &[[i32; 4]],
    run: std::ops::Range<usize>,
    edge: &dyn Fn(usize) -> u64,
    time: Scale,
    (low, high): (usize, usize),
) -> Vec<(i32, i32)> {
    let mut outline = Vec::new();
    for bin in run.clone() {
        push_straight(&mut outline, (time.at(edge(bin)), levels[bin][high]));
        push_straight(&mut outline, (time.at(edge(bin + 1)), levels[bin][high]));
    }
    let mut back = Vec::new();
    for bin in run.rev() {
        push_straight(&mut back, (time.at(edge(bin + 1)), levels[bin][low]));
        push_straight(&mut back, (time.at(edge(bin)), levels[bin][low]));
    }
    outline.extend(back);
    outline
}

//! The traffic of a trace: what came in each bin with the busiest client's part, and above it the densest window of each
//! bin, which a mean would hide.

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::clock::time_axis;
use super::ink::Ink;
use super::page::{Header, Sample, WIDTH};
use super::scale::{Scale, round_ticks};
use super::svg;
use crate::error::Result;
use crate::inspect::Traffic;
use crate::report::{duration, short_count};

const LEFT: i32 = 760;
const RIGHT: i32 = 9360;
const STRIP: i32 = 1300;
const BETWEEN: i32 = 330;

/// The picture as SVG text: the same bytes for the same numbers.
///
/// # Errors
/// When the drawing backend fails, which it does not for text.
pub fn traffic(chart: &Traffic) -> Result<String> {
    let (window, bin) = (duration(chart.window_ns), duration(chart.bin_ns));
    let mut legend = vec![
        (Ink::Black, Sample::Line(18), format!("most {} in any {window}", chart.what)),
        (Ink::Allowed, Sample::Fill, format!("{} per {bin}", chart.what)),
    ];
    if chart.several {
        legend.push((Ink::Black, Sample::Fill, "of these, the busiest client's".to_owned()));
    }
    let header = Header::new(&chart.title, legend);
    let top = header.height() + 150;
    let height = top + 2 * STRIP + BETWEEN + 520;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let view = (chart.start_ns, edge(chart, chart.units.len()));
    let time = Scale::new(view, (LEFT, RIGHT));
    let axis = time_axis(view.0, view.1, 10);
    let bottom = top + 2 * STRIP + BETWEEN;
    for (at, label) in &axis.ticks {
        let x = time.at(*at);
        canvas.line(vec![(x, bottom), (x, bottom + 50)], 8, Ink::Grey)?;
        canvas.text(label, (x, bottom + 190), Anchor::Middle, Type::QUIET)?;
    }
    canvas.text(&axis.caption, (i32::midpoint(LEFT, RIGHT), bottom + 400), Anchor::Middle, Type::QUIET)?;
    let peaks = strip(&mut canvas, &chart.peaks, top)?;
    let mut line = Vec::new();
    for (i, peak) in chart.peaks.iter().enumerate() {
        let y = peaks.at(*peak);
        line.extend([(time.at(edge(chart, i)), y), (time.at(edge(chart, i + 1)), y)]);
    }
    canvas.line(line, 16, Ink::Black)?;
    let units = strip(&mut canvas, &chart.units, top + STRIP + BETWEEN)?;
    bars(&mut canvas, chart, &chart.units, time, units, Ink::Allowed)?;
    if chart.several {
        bars(&mut canvas, chart, &chart.busiest, time, units, Ink::Black)?;
    }
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "traffic", size, &chart.title, &description(chart)))
}

/// Where bin `i` starts.
fn edge(chart: &Traffic, i: usize) -> u64 {
    chart.start_ns.saturating_add(chart.bin_ns.saturating_mul(i as u64))
}

/// The axis of one strip; returns its scale.
fn strip(canvas: &mut Canvas<'_>, values: &[u64], top: i32) -> Result<Scale> {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let scale = Scale::new((0, most), (top + STRIP, top));
    for tick in round_ticks(most, 4) {
        let y = scale.at(tick);
        canvas.line(vec![(LEFT, y), (RIGHT, y)], if tick == 0 { 8 } else { 5 }, Ink::Faint)?;
        canvas.text(&short_count(tick), (LEFT - 90, y + 45), Anchor::End, Type::QUIET)?;
    }
    Ok(scale)
}

/// Bars next to each other, each at least a pixel high where there is something.
fn bars(canvas: &mut Canvas<'_>, chart: &Traffic, values: &[u64], time: Scale, units: Scale, ink: Ink) -> Result<()> {
    let base = units.at(0);
    for (i, &value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let (x, next) = (time.at(edge(chart, i)), time.at(edge(chart, i + 1)));
        // A pale line between bars, where there is room for one.
        let gap = if next - x > 60 { 10 } else { 0 };
        canvas.fill((x, units.at(value).min(base - 10)), ((next - gap).max(x + 5), base), ink)?;
    }
    Ok(())
}

/// The picture in words: the fullest bins.
fn description(chart: &Traffic) -> String {
    let mut ranked: Vec<usize> = (0..chart.units.len()).collect();
    ranked.sort_by_key(|bin| (std::cmp::Reverse(chart.units[*bin]), *bin));
    let mut text = format!("{} bins of {}. The fullest:", chart.units.len(), duration(chart.bin_ns));
    for bin in ranked.into_iter().take(5).filter(|bin| chart.units[*bin] > 0) {
        let _ = write!(
            text,
            "\nbin {}: {} {}, of these {} by the busiest client, at most {} in any {}.",
            bin + 1,
            chart.units[bin],
            chart.what,
            chart.busiest[bin],
            chart.peaks[bin],
            duration(chart.window_ns)
        );
    }
    text
}

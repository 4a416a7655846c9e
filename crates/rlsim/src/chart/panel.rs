//! One panel of the comparison: the trailing window against the limit, and what came, over the same time.

use super::bars::{stack, stacked_steps};
use super::canvas::{Anchor, Canvas, Type};
use super::clock::TimeAxis;
use super::comparison::{ComparisonChart, Panel, PeakMark};
use super::ink::Ink;
use super::scale::{Scale, round_ticks};
use super::text::{Size, shorten, width};
use crate::error::Result;
use crate::metrics::Trailing;
use crate::report::short_count;

/// More window edges than this would be a grey wall.
const MOST_EDGES: u64 = 40;

/// Heights within a panel, in tenths of a pixel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heights {
    heading: i32,
    room_for_label: i32,
    line: i32,
    gap: i32,
    bars: i32,
    below: i32,
}

impl Heights {
    /// Fewer panels are taller ones.
    pub(super) fn of(panels: i32) -> Self {
        let (line, bars) = match panels {
            1 => (2400, 900),
            2 => (1500, 600),
            3 | 4 => (1000, 440),
            _ => (780, 340),
        };
        Heights { heading: 200, room_for_label: 230, line, gap: 150, bars, below: 150 }
    }

    pub(super) fn total(&self) -> i32 {
        self.heading + self.room_for_label + self.line + self.gap + self.bars + self.below
    }
}

/// What all panels share.
#[derive(Debug)]
pub(super) struct Frame {
    time: Scale,
    view: (u64, u64),
    heights: Heights,
    most_in_window: u64,
    most_in_bin: u64,
    ticks: Vec<u64>,
    edges: Vec<u64>,
}

impl Frame {
    /// The axes that fit every panel. A policy without a limit is cut off where it would flatten the others.
    pub(super) fn shared(chart: &ComparisonChart, time: Scale, axis: &TimeAxis, heights: Heights) -> Self {
        let top = |panel: &Panel| panel.trailing.hi.iter().copied().max().unwrap_or(0).max(panel.limit.unwrap_or(0));
        let limited = chart.panels.iter().filter(|panel| panel.limit.is_some()).map(top).max();
        let all = chart.panels.iter().map(top).max().unwrap_or(1).max(1);
        let bins = chart.panels.iter().flat_map(|panel| (0..panel.series.allowed.len()).map(|bin| stack(panel, bin).2));
        Frame {
            time,
            view: chart.view,
            heights,
            most_in_window: limited.map_or(all, |limited| all.min(limited.saturating_mul(2)).max(1)),
            most_in_bin: bins.max().unwrap_or(1).max(1),
            ticks: axis.ticks.iter().map(|(at, _)| *at).collect(),
            edges: edges(chart),
        }
    }
}

impl Frame {
    /// Whether window edges are drawn.
    pub(super) fn has_edges(&self) -> bool {
        !self.edges.is_empty()
    }
}

/// The window edges in the view, when all panels have the same window and they are few.
fn edges(chart: &ComparisonChart) -> Vec<u64> {
    let Some(window) = chart.panels.first().map(|panel| panel.window_ns.max(1)) else { return Vec::new() };
    let (from, until) = chart.view;
    let same = chart.panels.iter().all(|panel| panel.window_ns == window);
    if !same || (until - from) / window > MOST_EDGES {
        return Vec::new();
    }
    let edges = (from / window..=until / window).map(|i| i.saturating_mul(window));
    edges.filter(|edge| from < *edge && *edge < until).collect()
}

/// Draws a panel whose upper edge is at `top`.
pub(super) fn draw(canvas: &mut Canvas<'_>, panel: &Panel, frame: &Frame, top: i32) -> Result<()> {
    let (left, right) = frame.time.ends();
    let heights = frame.heights;
    let line_top = top + heights.heading + heights.room_for_label;
    let line_bottom = line_top + heights.line;
    let bars_top = line_bottom + heights.gap;
    let bars_bottom = bars_top + heights.bars;
    canvas.text(&panel.title, (left, top + 150), Anchor::Start, Type::HEADING)?;
    if !panel.quota.is_empty() {
        let x = left + width(&panel.title, Size::Heading, true) + 60;
        let room = right - x - width(&panel.summary, Size::Label, false) - 100;
        let quota = shorten(&panel.quota, room.max(0), Size::Label, false);
        canvas.text(&quota, (x, top + 150), Anchor::Start, Type::QUIET)?;
    }
    canvas.text(&panel.summary, (right, top + 150), Anchor::End, Type::LABEL)?;
    for &edge in &frame.edges {
        let x = frame.time.at(edge);
        canvas.line(vec![(x, line_top - 60), (x, bars_bottom)], 10, Ink::Faint)?;
    }
    let units = Scale::new((0, frame.most_in_window), (line_bottom, line_top));
    let bars = Scale::new((0, frame.most_in_bin), (bars_bottom, bars_top));
    y_axis(canvas, units, left, &round_ticks(frame.most_in_window, 3))?;
    let most = round_ticks(frame.most_in_bin, 2).last().copied().unwrap_or(0);
    y_axis(canvas, bars, left, &[most])?;
    band(canvas, &panel.trailing, frame.time, units)?;
    if let Some(limit) = panel.limit {
        over(canvas, &panel.trailing, limit, frame.time, units)?;
    }
    canvas.line(vec![(left, line_bottom), (right, line_bottom)], 8, Ink::Faint)?;
    if let Some(limit) = panel.limit {
        let y = units.at(limit);
        canvas.line(vec![(left, y), (right, y)], 12, Ink::Limit)?;
        canvas.text(&format!("limit {}", short_count(limit)), (right + 50, y + 45), Anchor::Start, Type::QUIET)?;
    }
    let line = trace_line(&panel.trailing, frame.time, units);
    let above = panel.limit.map_or(Vec::new(), |limit| above(&line, units.at(limit)));
    canvas.line(line, 16, Ink::Black)?;
    for part in above {
        canvas.line(part, 16, Ink::OverLine)?;
    }
    stacked_steps(canvas, panel, frame.view.1, frame.time, bars)?;
    canvas.line(vec![(left, bars_bottom), (right, bars_bottom)], 10, Ink::Grey)?;
    for &tick in &frame.ticks {
        let x = frame.time.at(tick);
        canvas.line(vec![(x, bars_bottom), (x, bars_bottom + 40)], 10, Ink::Grey)?;
    }
    match &panel.peak {
        Some(peak) => bracket(canvas, panel, peak, frame, units),
        None => canvas.text("nothing let through", (left + 80, line_bottom - 60), Anchor::Start, Type::QUIET),
    }
}

fn y_axis(canvas: &mut Canvas<'_>, scale: Scale, left: i32, ticks: &[u64]) -> Result<()> {
    for &tick in ticks {
        let y = scale.at(tick);
        canvas.line(vec![(left - 40, y), (left, y)], 8, Ink::Grey)?;
        canvas.text(&short_count(tick), (left - 70, y + 45), Anchor::End, Type::QUIET)?;
    }
    let (top, bottom) = scale.ends();
    canvas.line(vec![(left, top), (left, bottom)], 8, Ink::Grey)
}

/// The line of the trailing window: the largest value of each column, so that no peak is lost. Below it, where the
/// smallest differs, is the band.
fn trace_line(trailing: &Trailing, time: Scale, units: Scale) -> Vec<(i32, i32)> {
    let mut points: Vec<(i32, i32)> = vec![(time.ends().0, units.at(0))];
    let mut fallen = true;
    for (column, (&lo, &hi)) in trailing.lo.iter().zip(&trailing.hi).enumerate() {
        let (x, next) = column_edges(trailing, column, time);
        push_straight(&mut points, (x, units.at(hi)));
        push_straight(&mut points, (next, units.at(hi)));
        fallen = lo < hi;
    }
    // A line that ends in a fall shows it.
    if let (true, Some(&(x, _)), Some(&lo)) = (fallen, points.last(), trailing.lo.last()) {
        push_straight(&mut points, (x, units.at(lo)));
    }
    points
}

/// The parts of a line of level and upright pieces that are above `limit` on the page.
fn above(line: &[(i32, i32)], limit: i32) -> Vec<Vec<(i32, i32)>> {
    let mut parts: Vec<Vec<(i32, i32)>> = Vec::new();
    let mut inside = false;
    for pair in line.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if y0.min(y1) < limit {
            if !inside {
                parts.push(vec![(x0, y0.min(limit))]);
            }
            parts.last_mut().expect("a part was begun").push((x1, y1.min(limit)));
        }
        inside = y1 < limit;
    }
    parts
}

/// Fills from the smallest to the largest value of each column where they differ.
fn band(canvas: &mut Canvas<'_>, trailing: &Trailing, time: Scale, units: Scale) -> Result<()> {
    let mut run: Vec<usize> = Vec::new();
    for column in 0..=trailing.hi.len() {
        let differs = trailing.lo.get(column).zip(trailing.hi.get(column)).is_some_and(|(lo, hi)| lo < hi);
        if differs {
            run.push(column);
        } else if !run.is_empty() {
            let mut outline = Vec::new();
            for &column in &run {
                let (x, next) = column_edges(trailing, column, time);
                push_straight(&mut outline, (x, units.at(trailing.hi[column])));
                push_straight(&mut outline, (next, units.at(trailing.hi[column])));
            }
            let mut back = Vec::new();
            for &column in run.iter().rev() {
                let (x, next) = column_edges(trailing, column, time);
                push_straight(&mut back, (next, units.at(trailing.lo[column])));
                push_straight(&mut back, (x, units.at(trailing.lo[column])));
            }
            outline.extend(back);
            canvas.polygon(outline, Ink::Band)?;
            run.clear();
        }
    }
    Ok(())
}

/// Appends a point, leaving out those in the middle of a straight line.
pub(super) fn push_straight(points: &mut Vec<(i32, i32)>, point: (i32, i32)) {
    if let [.., a, b] = points[..] {
        let level = a.1 == b.1 && b.1 == point.1;
        let upright = a.0 == b.0 && b.0 == point.0 && (b.1 - a.1).signum() == (point.1 - b.1).signum();
        if level || upright || b == point {
            points.pop();
        }
    }
    points.push(point);
}

fn column_edges(trailing: &Trailing, column: usize, time: Scale) -> (i32, i32) {
    let edge = |column: u64| trailing.start_ns.saturating_add(trailing.column_ns.saturating_mul(column));
    (time.at(edge(column as u64)), time.at(edge(column as u64 + 1)))
}

/// Shades the time in which the window holds more than the limit.
fn over(canvas: &mut Canvas<'_>, trailing: &Trailing, limit: u64, time: Scale, units: Scale) -> Result<()> {
    let base = units.at(limit);
    let mut shape: Vec<(i32, i32)> = Vec::new();
    for (column, &hi) in trailing.hi.iter().enumerate() {
        let (x, next) = column_edges(trailing, column, time);
        if hi > limit {
            if shape.is_empty() {
                shape.push((x, base));
            }
            let y = units.at(hi);
            push_straight(&mut shape, (x, y));
            push_straight(&mut shape, (next, y));
        } else if !shape.is_empty() {
            shape.push((x, base));
            canvas.polygon(std::mem::take(&mut shape), Ink::Over)?;
        }
    }
    if let Some(&(x, _)) = shape.last() {
        shape.push((x, base));
        canvas.polygon(shape, Ink::Over)?;
    }
    Ok(())
}

/// Marks the densest window from its first to its last release and says it in words.
fn bracket(canvas: &mut Canvas<'_>, panel: &Panel, peak: &PeakMark, frame: &Frame, units: Scale) -> Result<()> {
    let (left, right) = frame.time.ends();
    let (mut from, mut to) = (frame.time.at(peak.start_ns), frame.time.at(peak.end_ns));
    if to - from < 80 {
        // Too short to see: as wide as it can be made out.
        let middle = i32::midpoint(from, to).clamp(left + 40, right - 40);
        (from, to) = (middle - 40, middle + 40);
    }
    let y = units.at(peak.units) - 50;
    canvas.line(vec![(from, y + 40), (from, y), (to, y), (to, y + 40)], 14, Ink::Black)?;
    let face = Type { size: Size::Label, bold: panel.exceeds(), ink: Ink::Rimmed };
    let cut = if peak.units > frame.most_in_window { " (beyond the scale)" } else { "" };
    let words = format!("{}{cut}", peak.words);
    let room = width(&words, Size::Label, panel.exceeds());
    let middle = i32::midpoint(from, to).clamp(left + room / 2 + 30, (right - room / 2 - 30).max(left + room / 2 + 30));
    let mut base = y - 40;
    if let Some(limit) = panel.limit.map(|limit| units.at(limit)) {
        // Keep clear of the dashed line.
        if (base - 130..base + 40).contains(&limit) {
            base = limit - 40;
        }
    }
    canvas.text(&words, (middle, base), Anchor::Middle, face)
}

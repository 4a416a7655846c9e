//! Curves over a logarithmic axis, each named at its end, with a level and points to compare them with.

use super::canvas::{Anchor, Canvas, Type};
use super::ink::{CURVES, Ink};
use super::page::{MARGIN, WIDTH};
use super::scale::LogScale;
use super::svg;
use super::text::{Size, shorten, width, wrap};
use crate::error::Result;

const LEFT: i32 = 860;
const RIGHT: i32 = 7400;
const PLOT_HEIGHT: i32 = 4200;
/// The smallest value lies so far above the axis, to be told from it.
const ABOVE_AXIS: i32 = 100;
/// Names at the ends of curves keep this far apart.
const LINE: i32 = 170;

/// What one curve shows.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Its name, written at its end.
    pub(super) name: String,
    /// How it is drawn.
    pub(super) ink: Ink,
    /// Its points, rising in x.
    pub(super) points: Vec<(u64, u64)>,
}

/// The ink of the curve of the `i`th policy.
pub(super) fn curve_ink(i: usize) -> Ink {
    CURVES[i % CURVES.len()]
}

/// An axis: its ends, its ticks with their labels, and what it shows.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) ends: (u64, u64),
    pub(super) ticks: Vec<(u64, String)>,
    pub(super) caption: String,
}

/// A plot of curves.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    /// Keeps the ids of several charts on a page apart.
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    /// A level to keep below, dashed over the whole width.
    pub(super) level: Option<(u64, String)>,
    /// Points with a name.
    pub(super) marks: Vec<(u64, u64, String)>,
}

/// The plot as SVG text.
pub(super) fn plot(plot: &Plot) -> Result<String> {
    let title = wrap(&plot.title, WIDTH - 2 * MARGIN, Size::Title, true);
    let subtitle = wrap(&plot.subtitle, WIDTH - 2 * MARGIN, Size::Label, false);
    let lines = |count: usize| i32::try_from(count).unwrap_or(1);
    let top = 360 + lines(title.len()) * 260 + lines(subtitle.len()) * 190 + 120;
    let bottom = top + PLOT_HEIGHT;
    let size = (WIDTH.unsigned_abs(), (bottom + 520).unsigned_abs());
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, size.0, size.1);
    canvas.fill((0, 0), (WIDTH, bottom + 520), Ink::Paper)?;
    let mut y = 360;
    for line in &title {
        canvas.text(line, (MARGIN, y), Anchor::Start, Type::TITLE)?;
        y += 260;
    }
    for line in &subtitle {
        canvas.text(line, (MARGIN, y), Anchor::Start, Type::QUIET)?;
        y += 190;
    }
    let (x, y) = (LogScale::new(plot.x.ends, (LEFT, RIGHT)), LogScale::new(plot.y.ends, (bottom - ABOVE_AXIS, top)));
    axes(&mut canvas, plot, x, y, (top, bottom))?;
    if let Some((level, _)) = &plot.level {
        canvas.line(vec![(LEFT, y.at(*level)), (RIGHT, y.at(*level))], 12, Ink::Limit)?;
    }
    for curve in &plot.curves {
        let points = curve.points.iter().map(|&(a, b)| (x.at(a), y.at(b))).collect();
        canvas.line(points, if curve.ink == Ink::Asked { 40 } else { 22 }, curve.ink)?;
    }
    if let Some((level, name)) = &plot.level {
        // At the end where falling curves are far below, and on top of those that are not.
        let rimmed = Type { ink: Ink::Rimmed, ..Type::LABEL };
        canvas.text(name, (RIGHT - 60, y.at(*level) - 50), Anchor::End, rimmed)?;
    }
    names(&mut canvas, plot, x, y, (top, bottom))?;
    for (a, b, name) in &plot.marks {
        let at = (x.at(*a), y.at(*b));
        canvas.dot(at, 45, Ink::Black)?;
        let (place, anchor) = if at.0 > i32::midpoint(LEFT, RIGHT) { (-90, Anchor::End) } else { (90, Anchor::Start) };
        let rimmed = Type { size: Size::Label, bold: true, ink: Ink::Rimmed };
        // Below the point, unless the labels of the axis are there.
        let base = if at.1 + 180 > bottom - 60 { at.1 - 90 } else { at.1 + 180 };
        canvas.text(name, (at.0 + place, base), anchor, rimmed)?;
    }
    canvas.finish()?;
    Ok(svg::finish(&drawn, plot.id, size, &plot.title, &plot.description))
}

fn axes(canvas: &mut Canvas<'_>, plot: &Plot, x: LogScale, y: LogScale, (top, bottom): (i32, i32)) -> Result<()> {
    for (tick, label) in &plot.x.ticks {
        let at = x.at(*tick);
        canvas.line(vec![(at, top), (at, bottom + 40)], 8, Ink::Faint)?;
        canvas.text(label, (at, bottom + 180), Anchor::Middle, Type::QUIET)?;
    }
    for (tick, label) in &plot.y.ticks {
        let at = y.at(*tick);
        canvas.line(vec![(LEFT - 40, at), (RIGHT, at)], 8, Ink::Faint)?;
        canvas.text(label, (LEFT - 70, at + 45), Anchor::End, Type::QUIET)?;
    }
    canvas.line(vec![(LEFT, top), (LEFT, bottom), (RIGHT, bottom)], 10, Ink::Grey)?;
    canvas.text(&plot.x.caption, (i32::midpoint(LEFT, RIGHT), bottom + 400), Anchor::Middle, Type::QUIET)?;
    canvas.text(&plot.y.caption, (MARGIN, top - 130), Anchor::Start, Type::QUIET)
}

/// Writes each curve's name beside its end, moved apart where ends are close, with a line to where it belongs.
fn names(canvas: &mut Canvas<'_>, plot: &Plot, x: LogScale, y: LogScale, (top, bottom): (i32, i32)) -> Result<()> {
    let ends = plot.curves.iter().filter_map(|curve| curve.points.last().map(|&(a, b)| (curve, (x.at(a), y.at(b)))));
    let mut ends: Vec<_> = ends.collect();
    ends.sort_by_key(|(_, end)| end.1);
    let mut places: Vec<i32> = Vec::with_capacity(ends.len());
    for (_, end) in &ends {
        let above = places.last().map_or(top, |place| place + LINE);
        places.push(end.1.max(above));
    }
    // Pushed past the bottom: push back up from there.
    let mut below = bottom;
    for place in places.iter_mut().rev() {
        *place = (*place).min(below);
        below = *place - LINE;
    }
    for ((curve, end), place) in ends.iter().zip(places) {
        let elbow = RIGHT + 120;
        canvas.line(vec![(end.0, end.1), (elbow, place), (elbow + 80, place)], 8, Ink::Grey)?;
        canvas.line(vec![(elbow + 80, place), (elbow + 380, place)], 22, curve.ink)?;
        let room = WIDTH - MARGIN / 2 - elbow - 430;
        let name = shorten(&curve.name, room.max(width("…", Size::Label, false)), Size::Label, false);
        canvas.text(&name, (elbow + 430, place + 45), Anchor::Start, Type::LABEL)?;
    }
    Ok(())
}

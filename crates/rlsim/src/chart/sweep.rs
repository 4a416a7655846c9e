//! A sweep: a heat map of refusals (a row a policy without its limit, a column a limit), and below it the trade-off between
//! refusals and the most that gets through, with the knees named. Peaks in windows of different lengths cannot be compared,
//! so each window has a plot of its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::ink::{Ink, SHADES};
use super::page::{Header, MARGIN, Sample, WIDTH};
use super::scale::{Scale, round_ticks};
use super::svg;
use super::text::{Size, shorten, width};
use crate::error::Result;
use crate::inspect::percent;
use crate::report::{count, duration, short_count};
use crate::sweep::{Curve, Measured, Point, Sweep, knees};

const RIGHT: i32 = 9360;
const ROW: i32 = 230;
/// The height of the only plot, and of each of several.
const PLOTS: [i32; 2] = [3200, 2300];
/// Between two plots: a caption below, a heading above.
const BETWEEN: i32 = 1010;
/// The narrowest column that shows its number.
const ROOM_FOR_NUMBER: i32 = 420;

/// A row of the heat map: points of one algorithm, window and burst, by limit.
struct Row<'a> {
    label: String,
    points: Vec<&'a Point>,
}

/// The picture as SVG text: the same bytes for the same numbers.
///
/// # Errors
/// When the drawing backend fails, which it does not for text.
pub fn sweep(sweep: &Sweep) -> Result<String> {
    let rows = rows(sweep);
    let columns = rows.first().map_or(&[][..], |row| &row.points[..]);
    let title = title(sweep);
    let header = Header::new(&title, legend(sweep));
    let map_top = header.height() + 420;
    let map_bottom = map_top + ROW * i32::try_from(rows.len()).unwrap_or(1);
    let windows = windows(sweep);
    let plot_top = map_bottom + 950;
    let plot = PLOTS[usize::from(windows.len() > 1)];
    let stacked = i32::try_from(windows.len()).unwrap_or(1).max(1);
    let height = plot_top + stacked * (plot + BETWEEN) - BETWEEN + 560;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let several_windows = windows.len() > 1;
    canvas.text("share of requests refused", (MARGIN, map_top - 170), Anchor::Start, Type::HEADING)?;
    heat_map(&mut canvas, &rows, columns.len(), map_top)?;
    let label = |point: &Point| if several_windows { point.limit_as.clone() } else { short_count(point.limit) };
    column_labels(&mut canvas, &rows, &columns.iter().map(|point| label(point)).collect::<Vec<_>>(), map_bottom)?;
    for (window, top) in windows.iter().zip((plot_top..).step_by((plot + BETWEEN).unsigned_abs() as usize)) {
        trade_off(&mut canvas, sweep, *window, (top, plot))?;
    }
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "sweep", size, &title, &description(sweep)))
}

fn title(sweep: &Sweep) -> String {
    let events = sweep.meta.trace.events;
    let requests = if events == 1 { "1 request".into() } else { format!("{} requests", count(events)) };
    let tried = format!("{} policies on {requests}", count(sweep.points.len() as u64));
    let knees = || sweep.curves.iter().filter_map(|curve| sweep.points.get(curve.knee?));
    let shares = || knees().map(|point| point.refused_share);
    let (least, most) = (knees().map(|p| p.measured.peak).min(), knees().map(|p| p.measured.peak).max());
    let Some((least, most)) = least.zip(most) else { return tried };
    let peaks = if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) };
    let (few, many) = (shares().fold(1.0, f64::min), shares().fold(0.0, f64::max));
    let refused = match (percent(few), percent(many)) {
        (few, many) if few == many => few,
        (few, many) => format!("{} to {many}", few.trim_end_matches(" %")),
    };
    format!("{tried}: the trade-off bends where {peaks} pass in a window and {refused} are refused")
}

/// Each algorithm has an ink of its own, the same in every sweep.
fn ink(algorithm: &str) -> Ink {
    let names = crate::sweep::Algorithm::ALL.map(crate::sweep::Algorithm::name);
    let place = names.iter().position(|name| *name == algorithm).unwrap_or(0);
    Ink::Curve(u8::try_from(place).unwrap_or(0))
}

fn legend(sweep: &Sweep) -> Vec<super::page::Entry> {
    let mut entries: Vec<super::page::Entry> = Vec::new();
    for curve in &sweep.curves {
        if !entries.iter().any(|(_, _, name)| name == curve.algorithm) {
            entries.push((ink(curve.algorithm), Sample::Line(22), curve.algorithm.to_owned()));
        }
    }
    entries
}

/// The windows that were tried, the shortest first.
fn windows(sweep: &Sweep) -> Vec<u64> {
    let windows: BTreeSet<u64> = sweep.points.iter().map(|point| point.window_ns).collect();
    windows.into_iter().collect()
}

fn rows(sweep: &Sweep) -> Vec<Row<'_>> {
    let several_windows = windows(sweep).len() > 1;
    let same =
        |a: &Point, b: &Point| (a.algorithm, a.window_ns, &a.burst_as) == (b.algorithm, b.window_ns, &b.burst_as);
    let row = |points: &'_ [Point]| -> String {
        let mut label = points[0].algorithm.to_owned();
        if several_windows {
            let _ = write!(label, ", {}", duration(points[0].window_ns));
        }
        if let Some(burst) = &points[0].burst_as {
            let _ = write!(label, ", burst {burst}");
        }
        label
    };
    sweep.points.chunk_by(same).map(|points| Row { label: row(points), points: points.iter().collect() }).collect()
}

/// Where the map starts: behind its longest label.
fn map_left(rows: &[Row<'_>]) -> i32 {
    let longest = rows.iter().map(|row| width(&row.label, Size::Label, false)).max().unwrap_or(0);
    (MARGIN + longest + 120).min(3600)
}

/// The edge of a column.
fn column(left: i32, i: usize, columns: usize) -> i32 {
    let columns = i64::try_from(columns.max(1)).unwrap_or(1);
    let moved = i64::from(RIGHT - left) * i64::try_from(i).unwrap_or(0) / columns;
    left + i32::try_from(moved).unwrap_or(0)
}

fn heat_map(canvas: &mut Canvas<'_>, rows: &[Row<'_>], columns: usize, top: i32) -> Result<()> {
    let left = map_left(rows);
    for (row, y) in rows.iter().zip((top..).step_by(ROW.unsigned_abs() as usize)) {
        let label = shorten(&row.label, left - MARGIN - 100, Size::Label, false);
        canvas.text(&label, (left - 100, y + 160), Anchor::End, Type::LABEL)?;
        for (i, point) in row.points.iter().enumerate() {
            let (x, next) = (column(left, i, columns), column(left, i + 1, columns));
            let shade = shade(point);
            canvas.fill((x, y), (next - 8, y + ROW - 8), Ink::Shade(shade))?;
            if next - x >= ROOM_FOR_NUMBER {
                let dark = shade > SHADES / 2;
                let face = Type { size: Size::Label, bold: false, ink: if dark { Ink::Paper } else { Ink::Black } };
                canvas.text(&cell(point), (i32::midpoint(x, next - 8), y + 155), Anchor::Middle, face)?;
            }
        }
    }
    Ok(())
}

/// The share refused in four letters at most.
fn cell(point: &Point) -> String {
    let share = point.refused_share * 100.0;
    match point.measured.refused() {
        0 => "0".into(),
        _ if share < 0.1 => "<0.1".into(),
        _ if share < 9.95 => format!("{share:.1}"),
        _ => format!("{share:.0}"),
    }
}

/// Nothing refused is paper; every step darker is half as much again. From 0.1 % up to 100 %.
fn shade(point: &Point) -> u8 {
    const LEAST: [f64; SHADES as usize] = [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5];
    if point.measured.refused() == 0 {
        return 0;
    }
    let passed = LEAST.iter().filter(|least| point.refused_share >= **least).count();
    u8::try_from(passed).unwrap_or(SHADES)
}

fn column_labels(canvas: &mut Canvas<'_>, rows: &[Row<'_>], labels: &[String], bottom: i32) -> Result<()> {
    let left = map_left(rows);
    let mut free_from = i32::MIN;
    for (i, label) in labels.iter().enumerate() {
        let middle = i32::midpoint(column(left, i, labels.len()), column(left, i + 1, labels.len()) - 8);
        let half = width(label, Size::Label, false) / 2;
        if middle - half > free_from {
            canvas.text(label, (middle, bottom + 150), Anchor::Middle, Type::QUIET)?;
            free_from = middle + half + 60;
        }
    }
    let caption = "limit; cells: % of requests refused (palest: none, darkest: half or more)";
    canvas.text(caption, (i32::midpoint(left, RIGHT), bottom + 360), Anchor::Middle, Type::QUIET)
}

/// Refusals over peaks of one window: a line an algorithm through its best points, and its knee by name.
fn trade_off(canvas: &mut Canvas<'_>, sweep: &Sweep, window: u64, (top, plot): (i32, i32)) -> Result<()> {
    let left = 880;
    let points = || sweep.points.iter().filter(|point| point.window_ns == window).map(|point| &point.measured);
    let most = |number: fn(&Measured) -> u64| points().map(number).max().unwrap_or(1).max(1);
    let (widest, highest) = (most(|point| point.peak), most(Measured::refused));
    let x = Scale::new((0, widest), (left, RIGHT - 100));
    let y = Scale::new((0, highest), (top + plot, top));
    let window_as = duration(window);
    canvas.text(
        &format!("the trade-off at {window_as}: requests refused"),
        (MARGIN, top - 170),
        Anchor::Start,
        Type::HEADING,
    )?;
    for tick in round_ticks(highest, 5) {
        canvas.line(vec![(left, y.at(tick)), (RIGHT, y.at(tick))], 5, Ink::Faint)?;
        canvas.text(&short_count(tick), (left - 90, y.at(tick) + 45), Anchor::End, Type::QUIET)?;
    }
    for tick in round_ticks(widest, 8) {
        canvas.line(vec![(x.at(tick), top + plot), (x.at(tick), top + plot + 50)], 8, Ink::Grey)?;
        canvas.text(&short_count(tick), (x.at(tick), top + plot + 190), Anchor::Middle, Type::QUIET)?;
    }
    let whose = if sweep.by == "client" { "one client gets through" } else { "let through" };
    let caption = format!("most units {whose} in any {window_as} (peak)");
    canvas.text(&caption, (i32::midpoint(left, RIGHT), top + plot + 400), Anchor::Middle, Type::QUIET)?;
    let place = |index: &usize| {
        let point = &sweep.points[*index].measured;
        (x.at(point.peak), y.at(point.refused()))
    };
    let is_meant = |curve: &&Curve| curve.points.first().is_some_and(|first| sweep.points[*first].window_ns == window);
    let curves = || sweep.curves.iter().filter(is_meant);
    for curve in curves() {
        let line: Vec<(i32, i32)> = curve.points.iter().map(place).collect();
        for (px, py) in &line {
            canvas.fill((px - 22, py - 22), (px + 22, py + 22), ink(curve.algorithm))?;
        }
        canvas.line(line, 16, ink(curve.algorithm))?;
    }
    let mut taken: Vec<(i32, i32, i32, i32)> = Vec::new();
    let mut named: Vec<((i32, i32), &str, usize)> = Vec::new();
    for knee in curves().filter_map(|curve| curve.knee) {
        let (px, py) = place(&knee);
        let (from, to) = ((px - 50, py - 50), (px + 50, py + 50));
        canvas.line(vec![from, (to.0, from.1), to, (from.0, to.1), from], 14, Ink::Black)?;
        let name = sweep.points[knee].policy.as_str();
        // Curves that lie on each other have one label; the description names them all.
        match named.iter_mut().find(|(at, _, _)| *at == (px, py)) {
            Some((_, _, others)) => *others += 1,
            None => named.push(((px, py), name, 0)),
        }
    }
    for (at, name, others) in named {
        let more = if others == 0 { String::new() } else { format!(" and {others} more") };
        let room = RIGHT - left - 300 - width(&more, Size::Label, true);
        let names = shorten(name, room, Size::Label, true) + &more;
        knee_label(canvas, &names, at, top, &mut taken)?;
    }
    Ok(())
}

/// A knee's name to the upper right of it, moved up until it is free, with a line to its point.
fn knee_label(
    canvas: &mut Canvas<'_>,
    name: &str,
    (px, py): (i32, i32),
    top: i32,
    taken: &mut Vec<(i32, i32, i32, i32)>,
) -> Result<()> {
    let room = width(name, Size::Label, true);
    let x = (px + 260).min(RIGHT - room);
    let free = |y: i32| !taken.iter().any(|t| x < t.2 + 60 && t.0 < x + room + 60 && y - 130 < t.3 && t.1 < y + 50);
    let lowest = py - 260;
    let Some(y) = (0..14).map(|step| lowest - 190 * step).find(|y| *y > top + 100 && free(*y)) else { return Ok(()) };
    taken.push((x, y - 130, x + room, y + 50));
    let foot = if x > px { (x - 40, y - 40) } else { (px, y + 40) };
    canvas.line(vec![(px + 50, py - 50), foot], 6, Ink::Grey)?;
    canvas.text(name, (x, y), Anchor::Start, Type { size: Size::Label, bold: true, ink: Ink::Rimmed })
}

/// The picture in words: its knees, and its map as a table.
fn description(sweep: &Sweep) -> String {
    const MOST: usize = 200;
    let mut text = knees(sweep).join("\n");
    for point in sweep.points.iter().take(MOST) {
        let _ = write!(
            text,
            "\n{}: {} refused, {} of {} clients limited, peak {}.",
            point.policy,
            percent(point.refused_share),
            point.measured.limited,
            point.measured.clients,
            point.measured.peak
        );
    }
    text.trim_start().to_owned()
}

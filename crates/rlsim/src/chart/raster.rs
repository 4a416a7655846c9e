//! The raster: a row a client, a tick a request. An allowed request stands in the upper half of its row, a refused one
//! hangs in the lower half, so that the two are told apart without colour.

use super::canvas::{Anchor, Canvas, Type};
use super::clock::time_axis;
use super::ink::Ink;
use super::page::{Header, Sample, WIDTH};
use super::scale::Scale;
use super::svg;
use super::text::{Size, shorten};
use super::ticks::ticks;
use crate::error::Result;
use crate::metrics::{PolicyNumbers, RasterRow};
use crate::report::{Report, count, policy_title};
use std::fmt::Write as _;

const LEFT: i32 = 2000;
const RIGHT: i32 = LEFT + 6400;
const ROW: i32 = 260;

/// The chart of the policy that refused most (the first of equals) as SVG text, `None` where no rows were measured.
pub fn raster(report: &Report) -> Option<Result<String>> {
    let refused = |policy: &&PolicyNumbers| policy.requests.denied + policy.requests.never;
    let strictest = report.policies.iter().rev().max_by_key(refused)?;
    (!strictest.details.raster.is_empty()).then(|| draw(report, strictest))
}

fn draw(report: &Report, policy: &PolicyNumbers) -> Result<String> {
    let rows = &policy.details.raster;
    let refused: u64 = rows.iter().map(|row| sum(&row.rejected)).sum();
    let title =
        format!("{}: {} requests, {} refused", policy_title(policy), count(policy.requests.offered), count(refused));
    let header = Header::new(
        &title,
        vec![
            (Ink::Allowed, Sample::Line(24), "allowed (upper half of a row)".into()),
            (Ink::OverLine, Sample::Line(24), "refused (lower half)".into()),
        ],
    );
    let top = header.height() + 40;
    let bottom = top + i32::try_from(rows.len()).unwrap_or(1) * ROW;
    let height = bottom + 480;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, size.0, size.1);
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let line = &policy.details.trailing;
    let edge = |column: usize| line.start_ns.saturating_add(line.column_ns.saturating_mul(column as u64));
    let view = (line.start_ns, edge(line.hi.len()));
    let time = Scale::new(view, (LEFT, RIGHT));
    let mut names = String::new();
    for (row, top) in rows.iter().zip((top..).step_by(ROW.unsigned_abs() as usize)) {
        let name = row_name(report, row);
        let shown = shorten(&name, LEFT - 340, Size::Label, false);
        canvas.text(&shown, (LEFT - 80, top + 170), Anchor::End, Type::LABEL)?;
        let (allowed, rejected) = (sum(&row.allowed), sum(&row.rejected));
        canvas.text(
            &format!("{} / {}", count(allowed), count(rejected)),
            (RIGHT + 80, top + 170),
            Anchor::Start,
            Type::QUIET,
        )?;
        canvas.line(vec![(LEFT, top + 125), (RIGHT, top + 125)], 6, Ink::Faint)?;
        ticks(&mut canvas, &row.allowed, |c| time.at(edge(c)), (top + 30, top + 120), Ink::Allowed)?;
        ticks(&mut canvas, &row.rejected, |c| time.at(edge(c)), (top + 130, top + 220), Ink::OverLine)?;
        let _ = writeln!(names, "{name}: {allowed} allowed, {rejected} refused.");
    }
    canvas.text("allowed / refused", (RIGHT + 80, top - 40), Anchor::Start, Type::QUIET)?;
    canvas.line(vec![(LEFT, bottom), (RIGHT, bottom)], 10, Ink::Grey)?;
    let axis = time_axis(view.0, view.1, 8);
    for (at, label) in &axis.ticks {
        let x = time.at(*at);
        canvas.line(vec![(x, bottom), (x, bottom + 40)], 10, Ink::Grey)?;
        canvas.text(label, (x, bottom + 180), Anchor::Middle, Type::QUIET)?;
    }
    canvas.text(&axis.caption, (i32::midpoint(LEFT, RIGHT), bottom + 390), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    Ok(svg::finish(&drawn, "raster", size, &title, names.trim_end()))
}

fn row_name(report: &Report, row: &RasterRow) -> String {
    let Some(client) = row.client else { return "all others".into() };
    let name = report.meta.names.get(client as usize).map(|name| String::from_utf8_lossy(name).into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "everybody".into())
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().copied().map(u64::from).sum()
}

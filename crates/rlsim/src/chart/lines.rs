//! Lines over steps of something that was varied: one line a series, one panel a measure, on the same steps.

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::ink::Ink;
use super::page::{Header, Sample, WIDTH};
use super::scale::{Scale, round_ticks};
use super::svg;
use crate::error::Result;

const LEFT: i32 = 880;
const RIGHT: i32 = 9100;
const PLOT: i32 = 2200;
const PANEL: i32 = PLOT + 700;

/// All that the picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesChart {
    /// The finding, as a title.
    pub title: String,
    /// What the steps are.
    pub caption: String,
    /// Labels of the steps, evenly spaced.
    pub steps: Vec<String>,
    /// Names of the series; at most six are told apart.
    pub series: Vec<String>,
    /// One panel a measure.
    pub panels: Vec<LinesPanel>,
}

/// One measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesPanel {
    /// What is measured.
    pub title: String,
    /// What stands behind the numbers on the axis.
    pub unit: &'static str,
    /// Values by series and step, in thousandths.
    pub values: Vec<Vec<u64>>,
}

/// Draws the lines as SVG.
///
/// # Errors
/// When the backend cannot draw.
pub fn lines(chart: &LinesChart) -> Result<String> {
    let ink = |series: usize| Ink::Curve(u8::try_from(series % 6).unwrap_or(0));
    let entries = chart.series.iter().enumerate().map(|(index, name)| (ink(index), Sample::Line(22), name.clone()));
    let header = Header::new(&chart.title, entries.collect());
    let top = header.height() + 420;
    let panels = i32::try_from(chart.panels.len()).unwrap_or(1).clamp(1, 100);
    let height = top + panels * PANEL + 500;
    let last = chart.steps.len().saturating_sub(1) as u64;
    let across = Scale::new((0, last), (LEFT + 300, RIGHT - 300));
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    for (panel, top) in chart.panels.iter().zip((top..).step_by(PANEL.unsigned_abs() as usize)) {
        canvas.text(&panel.title, (LEFT, top - 150), Anchor::Start, Type::HEADING)?;
        let most = panel.values.iter().flatten().copied().max().unwrap_or(0).max(1000);
        let up = Scale::new((0, most), (top + PLOT, top));
        for tick in round_ticks(most / 1000, 4) {
            let y = up.at(tick.saturating_mul(1000));
            canvas.line(vec![(LEFT, y), (RIGHT, y)], 5, Ink::Faint)?;
            canvas.text(&format!("{tick}{}", panel.unit), (LEFT - 90, y + 45), Anchor::End, Type::QUIET)?;
        }
        for (index, values) in panel.values.iter().enumerate() {
            let points: Vec<_> = (0..).zip(values).map(|(step, &value)| (across.at(step), up.at(value))).collect();
            for &(x, y) in &points {
                canvas.fill((x - 35, y - 35), (x + 35, y + 35), ink(index))?;
            }
            if points.len() > 1 {
                canvas.line(points, 22, ink(index))?;
            }
        }
        for (step, label) in (0..).zip(&chart.steps) {
            canvas.text(label, (across.at(step), top + PLOT + 190), Anchor::Middle, Type::QUIET)?;
        }
    }
    let bottom = top + panels * PANEL - 300;
    canvas.text(&chart.caption, (i32::midpoint(LEFT, RIGHT), bottom + 120), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "lines", size, &chart.title, &description(chart)))
}

/// The picture in words, for those who do not see it.
fn description(chart: &LinesChart) -> String {
    let mut text = format!("{}: {}.", chart.caption, chart.steps.join(", "));
    for panel in &chart.panels {
        let _ = write!(text, "\n{}:", panel.title);
        for (name, values) in chart.series.iter().zip(&panel.values) {
            let values: Vec<_> = values.iter().map(|v| format!("{}.{:03}", v / 1000, v % 1000)).collect();
            let _ = write!(text, " {name}: {};", values.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_their_values() {
        let chart = LinesChart {
            title: "A finding".into(),
            caption: "interval".into(),
            steps: vec!["1 s".into(), "2 s".into()],
            series: vec!["2 servers".into()],
            panels: vec![LinesPanel { title: "overshoot".into(), unit: "x", values: vec![vec![1000, 2500]] }],
        };
        assert!(lines(&chart).unwrap().contains("2 servers: 1.000, 2.500;"));
        assert!(lines(&LinesChart { steps: Vec::new(), series: Vec::new(), panels: Vec::new(), ..chart }).is_ok());
    }
}

//! A grid of answers: rows and columns are what was varied, a cell is shaded by how bad it is and says the number.

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::ink::{Ink, SHADES};
use super::page::{Header, MARGIN, WIDTH};
use super::svg;
use super::text::{Size, width};
use crate::error::Result;

const RIGHT: i32 = 9360;
const ROW: i32 = 420;

/// All that the picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridChart {
    /// The finding, as a title.
    pub title: String,
    /// What a cell, a row and a column are.
    pub captions: [String; 3],
    /// One a column.
    pub columns: Vec<String>,
    /// A label and one cell a column.
    pub rows: Vec<(String, Vec<GridCell>)>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridCell {
    /// In a few letters.
    pub text: String,
    /// How bad it is, in percent: 100 is the worst.
    pub badness: u8,
}

/// Draws the grid as SVG.
///
/// # Errors
/// When the backend cannot draw.
pub fn grid(chart: &GridChart) -> Result<String> {
    let [cells, row_caption, column_caption] = &chart.captions;
    let header = Header::new(&chart.title, Vec::new());
    let labels = chart.rows.iter().map(|(label, _)| width(label, Size::Label, false));
    let left = MARGIN + labels.max().unwrap_or(0).max(width(row_caption, Size::Label, false)) + 140;
    let top = header.height() + 420;
    let rows = i32::try_from(chart.rows.len()).unwrap_or(1).clamp(1, 1000);
    let bottom = top + rows * ROW;
    let height = bottom + 620;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    canvas.text(cells, (left, top - 130), Anchor::Start, Type::LABEL)?;
    canvas.text(row_caption, (left - 100, top - 130), Anchor::End, Type::QUIET)?;
    let columns = i32::try_from(chart.columns.len()).unwrap_or(1).clamp(1, 1000);
    let edge = |column: i32| left + (RIGHT - left) / columns * column;
    for ((label, cells), y) in chart.rows.iter().zip((top..).step_by(ROW.unsigned_abs() as usize)) {
        canvas.text(label, (left - 100, y + ROW / 2 + 45), Anchor::End, Type::LABEL)?;
        for (cell, column) in cells.iter().zip(0..columns) {
            let shade = u8::try_from(u16::from(cell.badness.min(100)) * u16::from(SHADES) / 100).unwrap_or(SHADES);
            let (x, next) = (edge(column), edge(column + 1));
            canvas.fill((x, y), (next - 12, y + ROW - 12), Ink::Shade(shade))?;
            let ink = if shade > SHADES / 2 { Ink::Paper } else { Ink::Black };
            let middle = (i32::midpoint(x, next - 12), y + ROW / 2 + 40);
            canvas.text(&cell.text, middle, Anchor::Middle, Type { ink, ..Type::LABEL })?;
        }
    }
    for (label, column) in chart.columns.iter().zip(0..columns) {
        let middle = i32::midpoint(edge(column), edge(column + 1) - 12);
        canvas.text(label, (middle, bottom + 150), Anchor::Middle, Type::LABEL)?;
    }
    canvas.text(column_caption, (i32::midpoint(left, RIGHT), bottom + 380), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "grid", size, &chart.title, &description(chart)))
}

/// The picture in words, for those who do not see it.
fn description(chart: &GridChart) -> String {
    let [cells, rows, columns] = &chart.captions;
    let mut text = format!("{cells}; rows: {rows}; columns: {columns}.");
    for (label, cells) in &chart.rows {
        let cells: Vec<_> = cells.iter().map(|cell| cell.text.as_str()).collect();
        let _ = write!(text, "\n{label}: {}.", cells.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_says_every_cell() {
        let cell = |text: &str, badness| GridCell { text: text.into(), badness };
        let chart = GridChart {
            title: "A finding".into(),
            captions: ["time to recover", "load", "length"].map(String::from),
            columns: vec!["1 s".into(), "2 s".into()],
            rows: vec![("50 %".into(), vec![cell("0", 0), cell("never", 100)])],
        };
        let svg = grid(&chart).unwrap();
        assert!(svg.contains("50 %: 0, never."));
        assert!(grid(&GridChart { columns: Vec::new(), rows: Vec::new(), ..chart }).is_ok());
    }
}

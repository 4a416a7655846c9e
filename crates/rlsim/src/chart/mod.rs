//! Charts: numbers in, SVG text out. A chart never sees a trace, and the same numbers give the same bytes anywhere.
//!
//! No font is read: `text` estimates widths generously and everything is placed by anchors. Colours are those of Okabe
//! and Ito, and nothing is told by colour alone: denied is hatched, the limit dashed.

mod bars;
mod burst_curve;
mod canvas;
mod client;
mod clock;
mod comparison;
mod curves;
mod envelope;
#[cfg(test)]
mod gallery;
mod grid;
mod ink;
mod lines;
mod page;
mod panel;
#[cfg(feature = "png")]
mod png;
mod ranked;
mod raster;
mod scale;
mod svg;
mod sweep;
mod text;
mod ticks;
mod timeline;
mod traffic;

pub use burst_curve::burst_curve;
pub use client::client;
pub use comparison::{ComparisonChart, Panel, PeakMark, comparison};
pub use envelope::envelope;
pub use grid::{GridCell, GridChart, grid};
pub use lines::{LinesChart, LinesPanel, lines};
#[cfg(feature = "png")]
pub use png::png;
pub use ranked::ranked;
pub use raster::raster;
pub use sweep::sweep;
pub use timeline::{TimelineChart, TimelinePanel, timeline};
pub use traffic::traffic;

use crate::client::ClientView;
use crate::error::Result;
use crate::report::Report;

/// All charts of a report that its numbers allow, for a page: the comparison, the one client that was asked for, the
/// envelope, the ranked clients, and the raster.
///
/// # Errors
/// When the backend cannot draw.
pub fn all(report: &Report, view: Option<&ClientView>) -> Result<Vec<String>> {
    let mut charts = vec![comparison(&ComparisonChart::of(report))?];
    let optional = [view.map(client), envelope(report), ranked(report), raster(report)];
    for chart in optional.into_iter().flatten() {
        charts.push(chart?);
    }
    Ok(charts)
}

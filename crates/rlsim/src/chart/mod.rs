//! Charts: numbers in, SVG text out. A chart never sees a trace, and the same numbers give the same bytes anywhere.
//!
//! No font is read: `text` estimates widths generously and everything is placed by anchors. Colours are those of Okabe
//! and Ito, and nothing is told by colour alone: denied is hatched, the limit dashed.

mod bars;
mod burst_curve;
mod canvas;
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
mod timeline;
mod traffic;

pub use burst_curve::burst_curve;
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

use crate::error::Result;
use crate::report::Report;

/// All charts of a report that its numbers allow, for a page: the comparison, the envelope, the ranked clients, and the
/// raster of the policy that refused most (the first of equals).
pub fn all(report: &Report) -> Result<Vec<String>> {
    let mut charts = vec![comparison(&ComparisonChart::of(report))?];
    let refused = |policy: &&crate::metrics::PolicyNumbers| policy.requests.denied + policy.requests.never;
    let strictest = report.policies.iter().rev().max_by_key(refused);
    let optional = [envelope(report), ranked(report), strictest.and_then(|policy| raster(report, policy))];
    for chart in optional.into_iter().flatten() {
        charts.push(chart?);
    }
    Ok(charts)
}

//! Charts: numbers in, SVG text out. A chart never sees a trace, and the same numbers give the same bytes anywhere.
//!
//! No font is read: [`text`] estimates widths generously and everything is placed by anchors. Colours are those of Okabe
//! and Ito, and nothing is told by colour alone: denied is hatched, the limit dashed.

mod canvas;
mod clock;
mod comparison;
#[cfg(test)]
mod gallery;
mod grid;
mod ink;
mod lines;
mod page;
mod panel;
mod scale;
mod svg;
mod sweep;
mod text;

mod timeline;
mod traffic;
pub use comparison::{ComparisonChart, Panel, PeakMark, comparison};
pub use grid::{GridCell, GridChart, grid};
pub use lines::{LinesChart, LinesPanel, lines};
pub use sweep::sweep;
pub use timeline::{TimelineChart, TimelinePanel, timeline};
pub use traffic::traffic;

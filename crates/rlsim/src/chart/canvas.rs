//! A page to draw on: plotters' SVG backend with inks, in tenths of a pixel so that lines can be finer than one.

use super::ink::Ink;
use super::text::Size;
use crate::error::{Error, Result};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle};

/// Units of the page in a pixel.
pub(super) const TENTHS: i32 = 10;

/// The fonts to ask for, in order.
const FONTS: &str = "Helvetica, Arial, sans-serif";

/// Plotters divides a font's size by this before it writes it down.
const PLOTTERS_FONT_SCALE: f64 = 1.24;

/// Where a text's position is: at its start, middle or end on the base line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type {
    pub(super) size: Size,
    pub(super) bold: bool,
    pub(super) ink: Ink,
}

impl Type {
    pub(super) const TITLE: Type = Type { size: Size::Title, bold: true, ink: Ink::Black };
    pub(super) const HEADING: Type = Type { size: Size::Heading, bold: true, ink: Ink::Black };
    pub(super) const LABEL: Type = Type { size: Size::Label, bold: false, ink: Ink::Black };
    pub(super) const QUIET: Type = Type { size: Size::Label, bold: false, ink: Ink::Grey };
}

/// The backend's form of an ink and a width.
fn pen(ink: Ink, tenths: u32) -> ShapeStyle {
    let (r, g, b) = ink.rgb();
    RGBColor(r, g, b).stroke_width(tenths)
}

/// A page being drawn. Positions and widths are tenths of a pixel from the upper left.
pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

impl<'a> Canvas<'a> {
    /// A page of the given size in tenths of a pixel, written to `svg` when finished.
    pub(super) fn new(svg: &'a mut String, width: u32, height: u32) -> Self {
        Canvas { backend: SVGBackend::with_string(svg, (width, height)) }
    }

    /// A filled rectangle.
    pub(super) fn fill(&mut self, from: (i32, i32), to: (i32, i32), ink: Ink) -> Result<()> {
        let drawn = self.backend.draw_rect(from, to, &pen(ink, 0), true);
        drawn.map_err(failed)
    }

    /// A filled polygon.
    pub(super) fn polygon(&mut self, points: Vec<(i32, i32)>, ink: Ink) -> Result<()> {
        self.backend.fill_polygon(points, &pen(ink, 0)).map_err(failed)
    }

    /// A line through points.
    pub(super) fn line(&mut self, points: Vec<(i32, i32)>, tenths: u32, ink: Ink) -> Result<()> {
        self.backend.draw_path(points, &pen(ink, tenths)).map_err(failed)
    }

    /// A filled circle.
    pub(super) fn dot(&mut self, at: (i32, i32), radius: u32, ink: Ink) -> Result<()> {
        self.backend.draw_circle(at, radius, &pen(ink, 0), true).map_err(failed)
    }

    /// A text on its base line.
    pub(super) fn text(&mut self, text: &str, at: (i32, i32), anchor: Anchor, face: Type) -> Result<()> {
        let size = f64::from(face.size.tenths()) * PLOTTERS_FONT_SCALE;
        let style = if face.bold { FontStyle::Bold } else { FontStyle::Normal };
        let (r, g, b) = face.ink.rgb();
        let colour = RGBColor(r, g, b);
        let h_pos = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style =
            TextStyle::from((FONTS, size).into_font().style(style)).color(&colour).pos(Pos::new(h_pos, VPos::Bottom));
        self.backend.draw_text(text, &style, at).map_err(failed)
    }

    /// Ends the page.
    pub(super) fn finish(mut self) -> Result<()> {
        self.backend.present().map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(format!("cannot draw the chart: {error}"))
}

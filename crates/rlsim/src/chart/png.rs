//! A chart's SVG text as PNG, with a font that is part of the program: the same bytes on every machine.

use crate::error::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Pixels of the PNG for one of the SVG: sharp on dense screens and on paper.
const ZOOM: f32 = 2.0;

/// The most pixels of a picture's side; larger ones are drawn smaller.
const MOST_PIXELS: f32 = 16_000.0;

/// Draws SVG text.
///
/// # Errors
/// [`Error::Failed`] if the text is not SVG, or the picture does not fit into memory.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot draw the chart as PNG: {error}"));
    let tree = Tree::from_str(svg, &options()).map_err(|error| failed(&error))?;
    let size = tree.size();
    let zoom = ZOOM.min(MOST_PIXELS / size.width().max(size.height()));
    let size = size.to_int_size().scale_by(zoom).ok_or_else(|| failed(&"it has no size"))?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(|| failed(&"it is too large"))?;
    resvg::render(&tree, Transform::from_scale(zoom, zoom), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}

/// Condensed letters are about as wide as those that the layout reckons with.
fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    fonts.load_font_data(dejavu::sans_condensed::bold().to_vec());
    let family = fonts.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone())).unwrap_or_default();
    fonts.set_sans_serif_family(family.clone());
    Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{ComparisonChart, comparison};
    use crate::metrics::testing::{five, report};

    #[test]
    fn a_chart_is_drawn_with_its_words_and_the_same_each_time() {
        let report = report(&[(0, 0, 1), (1, 0, 1)], &five("1/10s"));
        let svg = comparison(&ComparisonChart::of(&report)).expect("a chart");
        let drawn = png(&svg).expect("a picture");
        assert!(drawn == png(&svg).expect("a picture"), "the second picture differs");
        // Without its words the picture is another one: the font was found.
        let mute = svg.replace("<text", "<g").replace("</text>", "</g>");
        assert!(drawn != png(&mute).expect("a picture"), "there are no words");
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(matches!(png("<svg"), Err(Error::Failed(_))));
        assert!(matches!(png(""), Err(Error::Failed(_))));
    }
}

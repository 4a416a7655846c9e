//! What the smaller charts share: a title, a legend, and a page around a plot.

use super::canvas::{Anchor, Canvas, Type};
use super::ink::Ink;
use super::text::{Size, width, wrap};
use crate::error::Result;

/// The width of a page, in tenths of a pixel.
pub(super) const WIDTH: i32 = 9600;
/// The margin of title and legend.
pub(super) const MARGIN: i32 = 240;
const GAP: i32 = 170;

/// How an entry of the legend is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// A line of this width in tenths of a pixel.
    Line(u32),
    /// A filled square.
    Fill,
    /// A cross.
    Cross,
    /// Ticks of a row, one of them wide: as many requests as join into a bar.
    Ticks,
}

impl Sample {
    /// How far the words stand from the beginning of a sample: dashes are told apart only where they come twice.
    fn room(self, ink: Ink) -> i32 {
        match self {
            Sample::Line(_) if ink != Ink::Limit && ink.dashes().is_some() => 460,
            _ => 280,
        }
    }
}

/// An entry of the legend.
pub(super) type Entry = (Ink, Sample, String);

/// The title and the legend, broken into lines.
pub(super) struct Header {
    title: Vec<String>,
    legend: Vec<Vec<Entry>>,
}

impl Header {
    pub(super) fn new(title: &str, entries: Vec<Entry>) -> Self {
        let mut legend: Vec<Vec<Entry>> = Vec::new();
        let mut x = MARGIN;
        for entry in entries {
            let room = entry.1.room(entry.0) + width(&entry.2, Size::Label, false);
            if x + room > WIDTH - MARGIN || legend.is_empty() {
                legend.push(Vec::new());
                x = MARGIN;
            }
            x += room + GAP;
            if let Some(line) = legend.last_mut() {
                line.push(entry);
            }
        }
        Header { title: wrap(title, WIDTH - 2 * MARGIN, Size::Title, true), legend }
    }

    /// The height that the header takes.
    pub(super) fn height(&self) -> i32 {
        let lines = |count: usize| i32::try_from(count).unwrap_or(1);
        360 + lines(self.title.len().max(1) - 1) * 260 + lines(self.legend.len()) * 220 + 150
    }

    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) -> Result<()> {
        let mut y = 360;
        for line in &self.title {
            canvas.text(line, (MARGIN, y), Anchor::Start, Type::TITLE)?;
            y += 260;
        }
        for line in &self.legend {
            let mut x = MARGIN;
            for (ink, sample, text) in line {
                let room = sample.room(*ink);
                match sample {
                    Sample::Line(tenths) => canvas.line(vec![(x, y - 15), (x + room - 60, y - 15)], *tenths, *ink)?,
                    Sample::Fill => canvas.fill((x + 40, y - 70), (x + 190, y + 35), *ink)?,
                    Sample::Cross => {
                        canvas.line(vec![(x + 130, y - 45), (x + 190, y + 15)], 14, *ink)?;
                        canvas.line(vec![(x + 130, y + 15), (x + 190, y - 45)], 14, *ink)?;
                    }
                    Sample::Ticks => {
                        for (from, to) in [(20, 38), (75, 150), (187, 205)] {
                            canvas.fill((x + from, y - 70), (x + to, y + 35), *ink)?;
                        }
                    }
                }
                canvas.text(text, (x + room, y + 30), Anchor::Start, Type::LABEL)?;
                x += room + width(text, Size::Label, false) + GAP;
            }
            y += 220;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::ink::CURVES;

    /// `- -` and `- .` look alike until the pattern begins anew.
    #[test]
    fn a_sample_shows_more_than_one_period_of_its_dashes() {
        for ink in CURVES {
            let Some(dashes) = ink.dashes() else { continue };
            let period: i32 = dashes.split(' ').map(|length| length.parse::<i32>().unwrap()).sum();
            assert!(Sample::Line(20).room(ink) - 60 >= period * 3 / 2, "{ink:?}: {period}");
        }
    }
}

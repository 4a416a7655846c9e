//! What things are drawn with. The SVG backend knows colours only, so an ink that is more than a colour (a hatching, a
//! dashed line) is drawn in a colour of its own that [`super::svg`] replaces afterwards.

/// Shades of a heat map, paper apart.
pub(super) const SHADES: u8 = 8;

/// A meaning, and the way it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// The page.
    Paper,
    /// Titles and the line that matters most.
    Black,
    /// Words that stand on top of lines: with a rim of paper.
    Rimmed,
    /// Labels of axes.
    Grey,
    /// Axes and window edges.
    Faint,
    /// What a state holds, under its line.
    Level,
    /// What lies between the smallest and the largest value of a line.
    Band,
    /// Admitted units.
    Allowed,
    /// Denied units: hatched.
    Denied,
    /// The outline of denied units.
    DeniedEdge,
    /// Units refused for good: cross-hatched.
    Never,
    /// The limit: dashed.
    Limit,
    /// The line where it is above the limit.
    OverLine,
    /// Where the window holds more than the limit.
    Over,
    /// A time in which something was wrong.
    Trouble,
    /// A cell of a heat map: 0 is hardly more than paper, [`SHADES`] the darkest.
    Shade(u8),
    /// The curve of what was asked for.
    Asked,
    /// One of several lines in a plot, told apart by dashes and labels as well as by colour.
    Curve(u8),
}

/// The inks of curves, in the order of policies.
pub(super) const CURVES: [Ink; 8] = [
    Ink::Curve(0),
    Ink::Curve(1),
    Ink::Curve(2),
    Ink::Curve(3),
    Ink::Curve(4),
    Ink::Curve(5),
    Ink::Curve(6),
    Ink::Curve(7),
];

impl Ink {
    /// The colour in which the backend draws it.
    pub(super) fn rgb(self) -> (u8, u8, u8) {
        match self {
            Ink::Paper => (0xFF, 0xFF, 0xFF),
            Ink::Black => (0x11, 0x11, 0x11),
            Ink::Rimmed => (0x11, 0x11, 0x12),
            Ink::Grey => (0x55, 0x55, 0x55),
            Ink::Faint => (0xCC, 0xCC, 0xCC),
            Ink::Level => (0xDC, 0xE8, 0xF1),
            Ink::Band => (0xB4, 0xB4, 0xB4),
            Ink::Allowed => (0x00, 0x72, 0xB2),
            Ink::Denied => (0xD5, 0x5E, 0x01),
            Ink::DeniedEdge => (0xD5, 0x5E, 0x00),
            Ink::Never => (0xCC, 0x79, 0xA8),
            Ink::Limit => (0x33, 0x33, 0x34),
            Ink::OverLine => (0xC2, 0x4E, 0x00),
            Ink::Over => (0xF3, 0xB7, 0x6B),
            Ink::Trouble => (0xE4, 0xE4, 0xE4),
            Ink::Shade(shade) => {
                // From a pale blue to a dark one, in even steps: monotone in greyscale too.
                let (pale, dark) = ([0xF2_u16, 0xF6, 0xFA], [0x08_u16, 0x30, 0x6B]);
                let (shade, all) = (u16::from(shade.min(SHADES)), u16::from(SHADES));
                let mixed = |i: usize| u8::try_from((pale[i] * (all - shade) + dark[i] * shade) / all).unwrap_or(0);
                (mixed(0), mixed(1), mixed(2))
            }
            Ink::Asked => (0xBB, 0xBB, 0xBB),
            Ink::Curve(line) => {
                const LINES: [(u8, u8, u8); CURVES.len()] = [
                    (0xD5, 0x5E, 0x02),
                    (0x11, 0x11, 0x13),
                    (0x00, 0x72, 0xB3),
                    (0x00, 0x9E, 0x73),
                    (0xCC, 0x79, 0xA9),
                    (0xE6, 0x9F, 0x00),
                    (0x56, 0xB4, 0xE9),
                    (0x7A, 0x6A, 0x00),
                ];
                LINES[usize::from(line) % LINES.len()]
            }
        }
    }

    /// The dashes of a curve in tenths of a pixel, `None` for a line that is not broken.
    pub(super) fn dashes(self) -> Option<&'static str> {
        const LINES: [Option<&str>; CURVES.len()] = [
            None,
            None,
            Some("140 50"),
            Some("30 40"),
            Some("140 40 30 40"),
            Some("70 40"),
            Some("200 60"),
            Some("30 80"),
        ];
        match self {
            Ink::Limit => Some("60 40"),
            Ink::Curve(line) => LINES[usize::from(line) % LINES.len()],
            _ => None,
        }
    }

    /// The colour as it stands in SVG text.
    pub(super) fn hex(self) -> String {
        let (r, g, b) = self.rgb();
        format!("#{r:02X}{g:02X}{b:02X}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lightness of an ink, on white paper or as the page's stylesheet turns it on a dark screen.
    fn lightness(ink: Ink, dark: bool) -> u32 {
        let style = include_str!("../report/page/style.css");
        let rule = format!("svg [fill=\"{}\"] {{ fill: #", ink.hex());
        let turned =
            style.split_once(&rule).filter(|_| dark).and_then(|(_, rest)| u32::from_str_radix(&rest[..6], 16).ok());
        let (r, g, b) = ink.rgb();
        let colour = turned.unwrap_or(u32::from(r) << 16 | u32::from(g) << 8 | u32::from(b));
        ((colour >> 16) * 299 + (colour >> 8 & 255) * 587 + (colour & 255) * 114) / 1000
    }

    /// Greyscale printers and screens must do, and eyes that see no red and green.
    #[test]
    fn areas_differ_without_colour() {
        let areas = [Ink::Paper, Ink::Allowed, Ink::Over];
        for dark in [false, true] {
            for (i, one) in areas.iter().enumerate() {
                for other in &areas[..i] {
                    let apart = lightness(*one, dark).abs_diff(lightness(*other, dark));
                    assert!(apart >= 50, "{one:?} and {other:?} are {apart} of 255 apart, dark: {dark}");
                }
            }
        }
    }
}

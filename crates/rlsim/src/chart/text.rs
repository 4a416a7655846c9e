//! Text without fonts: how wide it may get, and where to break it.
//!
//! Which font a reader has is unknown, so widths are those of a common sans-serif rounded up; labels then keep clear of
//! each other with any.

/// Font sizes in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The finding.
    Title,
    /// A panel's name.
    Heading,
    /// Everything else.
    Label,
}

impl Size {
    /// In tenths of a pixel.
    pub(super) fn tenths(self) -> i32 {
        match self {
            Size::Title => 200,
            Size::Heading => 150,
            Size::Label => 130,
        }
    }
}

/// The width that `text` takes at most with usual fonts, in tenths of a pixel.
pub(super) fn width(text: &str, size: Size, bold: bool) -> i32 {
    let thousandths: i32 = text.chars().map(advance).fold(0, i32::saturating_add);
    let wide = if bold { 120 } else { 112 };
    let tenths = i64::from(thousandths) * wide / 100 * i64::from(size.tenths()) / 1000;
    i32::try_from(tenths).unwrap_or(i32::MAX)
}

/// Advances of the printable ASCII letters in Helvetica, in thousandths of the font size.
#[rustfmt::skip]
const ADVANCES: [i32; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
];

/// The advance of a letter in thousandths of the font size.
fn advance(letter: char) -> i32 {
    let printable = (letter as usize).checked_sub(' ' as usize);
    match printable.and_then(|i| ADVANCES.get(i)) {
        Some(&advance) => advance,
        None if "µ·×".contains(letter) => 560,
        // Unknown scripts may be twice as wide.
        None => 1000,
    }
}

/// Breaks `text` between words into as few lines as fit into `room`, and these about equally long.
pub(super) fn wrap(text: &str, room: i32, size: Size, bold: bool) -> Vec<String> {
    let lines = fill(text, room, size, bold);
    let narrower = (1..=10).rev().map(|tenth| fill(text, room / 20 * (10 + tenth), size, bold));
    narrower.take_while(|narrow| narrow.len() == lines.len()).last().unwrap_or(lines)
}

/// Breaks `text` between words into lines that fit into `room`. A word longer than a line is cut with an ellipsis.
fn fill(text: &str, room: i32, size: Size, bold: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shorten(word, room, size, bold);
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer.filter(|line| width(line, size, bold) <= room) {
            Some(longer) => {
                lines.pop();
                lines.push(longer);
            }
            None => lines.push(word),
        }
    }
    lines
}

/// Cuts `text` so that it fits into `room`, with an ellipsis in place of what is gone.
pub(super) fn shorten(text: &str, room: i32, size: Size, bold: bool) -> String {
    if width(text, size, bold) <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if width(&format!("{kept}…"), size, bold) > room {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_keep_every_word() {
        let text = "Fixed window let 200 requests through in 0.2 s, twice its limit of 100 per minute";
        let lines = wrap(text, 3000, Size::Title, true);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, Size::Title, true) <= 3000));
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn an_endless_word_is_cut() {
        let lines = wrap(&"x".repeat(5000), 3000, Size::Title, true);
        assert!(lines.len() == 1 && lines[0].ends_with('…'));
    }
}

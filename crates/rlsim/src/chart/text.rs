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
            Size::Title => 180,
            Size::Heading => 140,
            Size::Label => 120,
        }
    }
}

/// The width that `text` takes at most with usual fonts, in tenths of a pixel.
pub(super) fn width(text: &str, size: Size, bold: bool) -> i32 {
    let thousandths: i32 = text.chars().map(advance).sum();
    let wide = if bold { 112 } else { 106 };
    // At most a few thousand letters of a title: far from overflow, and saturating all the same.
    thousandths.saturating_mul(wide) / 100 * size.tenths() / 1000
}

/// The advance of a letter in thousandths of the font size.
fn advance(letter: char) -> i32 {
    match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 280,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 340,
        'm' | 'M' | 'w' | 'W' | '%' | '@' => 890,
        'A'..='Z' | '=' | '+' | '<' | '>' | '~' => 680,
        c if c.is_ascii() || c == 'µ' => 560,
        // Unknown scripts may be twice as wide.
        _ => 1000,
    }
}

/// Breaks `text` between words into lines that fit into `room`. A word longer than a line is cut with an ellipsis.
pub(super) fn wrap(text: &str, room: i32, size: Size, bold: bool) -> Vec<String> {
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

//! Field values, made with as few allocations as can be: they are a good part of what a layer costs.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use http::header::HeaderValue;

/// A value made of printable ASCII, as all of ours are.
fn value_of(text: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(text).unwrap_or(HeaderValue::from_static(""))
}

/// Texts that are in every answer, kept for as long as the process runs: a copy of one counts no references, which would
/// be two steps that all processors wait for. They come from the configuration, so that there are few.
static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// No more are kept than so many, whoever makes layers without end.
const MOST_KEPT: usize = 256;

/// Nor longer ones, in bytes.
const LONGEST_KEPT: usize = 256;

/// The text as it is kept, unless there are too many or it is too long.
fn kept(text: &str) -> Option<&'static str> {
    // A panic under the lock leaves a set as good as any.
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return Some(known);
    }
    if all.len() >= MOST_KEPT || text.len() > LONGEST_KEPT {
        return None;
    }
    let text: &'static str = Box::leak(text.into());
    all.insert(text);
    Some(text)
}

/// A value for every answer of a layer.
fn fixed_value_of(text: &[u8]) -> HeaderValue {
    let value = value_of(text);
    // What is no text of visible ASCII makes `from_static` panic.
    match value.to_str().ok().and_then(kept) {
        Some(kept) => HeaderValue::from_static(kept),
        None => value,
    }
}

/// Text that becomes a value: in place, until it is longer than nearly all are.
pub(super) struct Text {
    place: [u8; Text::IN_PLACE],
    /// Bytes of `place` in use; not counted any more once the text is apart.
    len: usize,
    /// The whole text if it has been too long for `place`, and otherwise nothing.
    apart: Vec<u8>,
}

impl Text {
    const IN_PLACE: usize = 128;

    pub(super) fn new() -> Text {
        Text { place: [0; Text::IN_PLACE], len: 0, apart: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && self.apart.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Adds `number` in decimal.
    #[inline]
    pub(super) fn push_number(&mut self, number: u64) {
        self.push_bytes(itoa::Buffer::new().format(number).as_bytes());
    }

    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.place.get_mut(self.len..end) {
            Some(free) if self.apart.is_empty() => {
                free.copy_from_slice(bytes);
                self.len = end;
            }
            _ => self.push_apart(bytes),
        }
    }

    #[cold]
    fn push_apart(&mut self, bytes: &[u8]) {
        if self.apart.is_empty() {
            self.apart.extend_from_slice(&self.place[..self.len]);
        }
        self.apart.extend_from_slice(bytes);
    }

    fn as_bytes(&self) -> &[u8] {
        if self.apart.is_empty() { &self.place[..self.len] } else { &self.apart }
    }

    pub(super) fn into_value(self) -> HeaderValue {
        value_of(self.as_bytes())
    }

    /// A value that is made once, and copied into every answer of a layer.
    pub(super) fn into_fixed_value(self) -> HeaderValue {
        fixed_value_of(self.as_bytes())
    }
}

/// A number as a value. Small ones cost nothing.
pub(super) fn number(number: u64) -> HeaderValue {
    if let Some(digits) = written(number) {
        return HeaderValue::from_static(digits);
    }
    value_of(itoa::Buffer::new().format(number).as_bytes())
}

/// A number that is in every answer of a layer.
pub(super) fn fixed_number(number: u64) -> HeaderValue {
    fixed_value_of(number.to_string().as_bytes())
}

/// Numbers below this are written beforehand: seconds in an hour are.
const WRITTEN: u64 = 10_000;

/// `0000` to `9999`, one after the other.
static DIGITS: &str = match std::str::from_utf8(&FOUR_DIGITS) {
    Ok(digits) => digits,
    Err(_) => panic!("digits are ASCII"),
};

static FOUR_DIGITS: [u8; 4 * WRITTEN as usize] = four_digits();

#[expect(clippy::large_stack_arrays, reason = "on no stack: it is computed when the crate is compiled")]
const fn four_digits() -> [u8; 4 * WRITTEN as usize] {
    let mut all = [0; 4 * WRITTEN as usize];
    let mut at = 0;
    while at < all.len() {
        let shifted = [at / 4000, at / 400, at / 40, at / 4][at % 4];
        // A digit.
        all[at] = b'0' + (shifted % 10) as u8;
        at += 1;
    }
    all
}

/// The decimal digits of a small number, if it is one.
fn written(number: u64) -> Option<&'static str> {
    if number >= WRITTEN {
        return None;
    }
    let end = 4 * (number as usize + 1);
    let digits = 1 + usize::from(number >= 10) + usize::from(number >= 100) + usize::from(number >= 1000);
    DIGITS.get(end - digits..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        let powers = (0..20).map(|digits| 10u64.pow(digits));
        for expected in (0..20_000).chain((0..64).map(|bits| (1 << bits) - 1)).chain(powers).chain([u64::MAX]) {
            assert_eq!(number(expected).to_str().unwrap(), expected.to_string());
            let mut text = Text::new();
            text.push("x=");
            text.push_number(expected);
            assert_eq!(text.into_value(), format!("x={expected}"));
        }
    }

    #[test]
    fn text_of_every_length() {
        for pieces in 0..60 {
            let (mut text, mut expected) = (Text::new(), String::new());
            for piece in 0..pieces {
                text.push("a piece");
                text.push_number(piece);
                expected.push_str(&format!("a piece{piece}"));
            }
            assert_eq!(text.is_empty(), pieces == 0);
            assert_eq!(text.into_value(), expected);
        }
    }

    #[test]
    fn fixed_values_are_kept_up_to_a_limit_and_right_beyond() {
        let fixed = |text: &str| {
            let mut field = Text::new();
            field.push(text);
            field.into_fixed_value()
        };
        let longest = "x".repeat(LONGEST_KEPT);
        for text in [&longest, &format!("{longest}x"), "a\u{e9}", ""] {
            assert_eq!(fixed(text).as_bytes(), text.as_bytes());
        }
        assert!(kept(&longest).is_some() && kept(&format!("{longest}x")).is_none());
        for number in 0..2 * MOST_KEPT as u64 {
            assert_eq!(fixed_number(number), number.to_string());
        }
        assert_eq!(KEPT.lock().unwrap().len(), MOST_KEPT);
        assert_eq!(kept(&longest), Some(longest.as_str()));
    }

    #[test]
    fn a_text_that_begins_too_long_is_not_empty() {
        let mut text = Text::new();
        text.push(&"x".repeat(Text::IN_PLACE + 1));
        assert!(!text.is_empty());
    }
}

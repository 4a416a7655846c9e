//! Field values, made with as few allocations as can be: they are a good part of what a layer costs.

use bytes::Bytes;
use http::header::HeaderValue;

/// A value made of printable ASCII, as all of ours are.
fn value_of(text: Bytes) -> HeaderValue {
    HeaderValue::from_maybe_shared(text).unwrap_or_else(|_| HeaderValue::from_static(""))
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
        self.len == 0
    }

    #[inline]
    pub(super) fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Adds `number` in decimal.
    pub(super) fn push_number(&mut self, number: u64) {
        match written(number) {
            Some(digits) => self.push_bytes(digits),
            None => self.push_bytes(Digits::of(number).as_bytes()),
        }
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

    pub(super) fn into_value(self) -> HeaderValue {
        let text = if self.apart.is_empty() { &self.place[..self.len] } else { &self.apart };
        value_of(Bytes::copy_from_slice(text))
    }
}

/// A number as a value. Small ones cost nothing.
pub(super) fn number(number: u64) -> HeaderValue {
    match written(number) {
        Some(digits) => value_of(Bytes::from_static(digits)),
        None => value_of(Bytes::copy_from_slice(Digits::of(number).as_bytes())),
    }
}

/// Numbers below this are written beforehand: seconds in an hour are.
const WRITTEN: u64 = 10_000;

/// `0000` to `9999`.
static DIGITS: [[u8; 4]; WRITTEN as usize] = four_digits();

#[expect(clippy::large_stack_arrays, reason = "on no stack: it is computed when the crate is compiled")]
const fn four_digits() -> [[u8; 4]; WRITTEN as usize] {
    let mut all = [[0; 4]; WRITTEN as usize];
    let mut n = 0;
    while n < all.len() {
        // Each is a digit.
        all[n] = [digit(n / 1000), digit(n / 100), digit(n / 10), digit(n)];
        n += 1;
    }
    all
}

/// The last digit of `n`.
const fn digit(n: usize) -> u8 {
    b'0' + (n % 10) as u8
}

/// The decimal digits of a small number, if it is one.
fn written(number: u64) -> Option<&'static [u8]> {
    let digits = DIGITS.get(usize::try_from(number).ok()?)?;
    Some(&digits[leading_zeros(number)..])
}

/// Of a number written with four digits.
fn leading_zeros(number: u64) -> usize {
    usize::from(number < 10) + usize::from(number < 100) + usize::from(number < 1000)
}

/// The decimal digits of a number.
struct Digits {
    digits: [u8; 20],
    start: usize,
}

impl Digits {
    /// Four at a time.
    fn of(number: u64) -> Digits {
        let (mut digits, mut start, mut rest) = ([b'0'; 20], 20, number);
        while rest >= WRITTEN {
            start -= 4;
            // A remainder of 10 000 is an index of the table.
            digits[start..start + 4].copy_from_slice(&DIGITS[(rest % WRITTEN) as usize]);
            rest /= WRITTEN;
        }
        digits[start - 4..start].copy_from_slice(&DIGITS[rest as usize]);
        Digits { digits, start: start - 4 + leading_zeros(rest) }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
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
}

//! Field values, made with as few allocations as can be: they are a good part of what a layer costs.

use bytes::Bytes;
use http::header::HeaderValue;

/// A value made of printable ASCII, as all of ours are.
pub(super) fn value(text: String) -> HeaderValue {
    // A boxed slice becomes `Bytes` without another allocation.
    let bytes = Bytes::from(text.into_bytes().into_boxed_slice());
    HeaderValue::from_maybe_shared(bytes).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Numbers below this are written beforehand.
const WRITTEN: u64 = 1000;

/// `000` to `999`.
static DIGITS: [[u8; 3]; WRITTEN as usize] = digits();

const fn digits() -> [[u8; 3]; WRITTEN as usize] {
    let mut all = [[0; 3]; WRITTEN as usize];
    let mut n = 0;
    while n < all.len() {
        // Each is a digit.
        all[n] = [b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    all
}

/// The decimal digits of a small number, if it is one.
fn written(number: u64) -> Option<&'static str> {
    let digits = DIGITS.get(usize::try_from(number).ok()?)?;
    let leading = usize::from(number < 10) + usize::from(number < 100);
    std::str::from_utf8(&digits[leading..]).ok()
}

/// A number as a value. Small ones cost nothing.
pub(super) fn number(number: u64) -> HeaderValue {
    match written(number) {
        Some(digits) => HeaderValue::from_static(digits),
        None => {
            let mut text = String::with_capacity(20);
            push_number(&mut text, number);
            value(text)
        }
    }
}

/// Appends `number` in decimal.
pub(super) fn push_number(out: &mut String, number: u64) {
    if let Some(digits) = written(number) {
        return out.push_str(digits);
    }
    let mut digits = [0u8; 20];
    let (mut start, mut rest) = (digits.len(), number);
    while rest > 0 {
        start -= 1;
        // A remainder of 10 is one digit.
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Digits are ASCII.
    out.push_str(std::str::from_utf8(&digits[start..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        for expected in (0..2000).chain((0..64).map(|bits| (1 << bits) - 1)).chain([u64::MAX]) {
            assert_eq!(number(expected).to_str().unwrap(), expected.to_string());
            let mut text = String::from("x=");
            push_number(&mut text, expected);
            assert_eq!(text, format!("x={expected}"));
        }
    }
}

//! Structured fields (RFC 9651): lists, dictionaries and items, as far as rate limiting needs them.
//!
//! Parsing is strict: what RFC 9651 rejects is rejected, and the caller ignores the field as a whole, as that document
//! asks. Two leniencies are its own: base64 may lack padding and may have spare bits set.

mod base64;
mod parse;

use std::fmt;

pub use parse::{parse_dictionary, parse_list};

/// The largest integer that a structured field can carry: 15 digits.
pub const MAX_INTEGER: u64 = 999_999_999_999_999;

/// A value without parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bare {
    /// A whole number of at most 15 digits.
    Integer(i64),
    /// A number with up to three decimals, in thousandths.
    Decimal(i64),
    /// Text in double quotes.
    String(String),
    /// A bare word.
    Token(String),
    /// Bytes, written as base64 between colons.
    Bytes(Vec<u8>),
    /// `?0`, `?1`, or a parameter without a value.
    Boolean(bool),
    /// `@` and seconds since the Unix epoch.
    Date(i64),
    /// Unicode text, percent-encoded.
    Display(String),
}

/// The parameters of an item: the last of equal names counts.
pub type Parameters = Vec<(String, Bare)>;

/// A value with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The value.
    pub value: Bare,
    /// What follows it after semicolons.
    pub parameters: Parameters,
}

impl Item {
    /// The parameter of this name.
    pub fn get(&self, name: &str) -> Option<&Bare> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A parameter that is an integer and not negative.
    pub fn unsigned(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Bare::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }
}

/// A member of a list or dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// One item.
    Item(Item),
    /// Items in parentheses, with parameters of the whole.
    Inner(Vec<Item>, Parameters),
}

/// Why a field is not well formed, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Bytes before the place.
    pub position: usize,
    /// What would have been right there.
    pub expected: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: expected {}", self.position + 1, self.expected)
    }
}

impl std::error::Error for Malformed {}

/// Appends `bytes` as a byte sequence: padded base64 between colons.
pub fn write_bytes(out: &mut String, bytes: &[u8]) {
    out.push(':');
    base64::encode(out, bytes);
    out.push(':');
}

/// Whether `text` can be written as a String at all: printable ASCII.
pub fn is_string(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, 0x20..=0x7E))
}

/// Appends `text` as a String; [`is_string`] is the caller's duty.
pub fn write_string(out: &mut String, text: &str) {
    debug_assert!(is_string(text));
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> Option<Bare> {
        match parse_list(text.as_bytes()).ok()?.pop()? {
            Member::Item(item) => Some(item.value),
            Member::Inner(..) => None,
        }
    }

    #[test]
    fn values_of_each_type() {
        assert_eq!(bare("-12"), Some(Bare::Integer(-12)));
        assert_eq!(bare("1.5"), Some(Bare::Decimal(1500)));
        assert_eq!(bare("-0.125"), Some(Bare::Decimal(-125)));
        assert_eq!(bare(r#""a\"b\\c""#), Some(Bare::String(r#"a"b\c"#.into())));
        assert_eq!(bare("*t/x:y"), Some(Bare::Token("*t/x:y".into())));
        assert_eq!(bare(":aGVsbG8=:"), Some(Bare::Bytes(b"hello".to_vec())));
        assert_eq!(bare("::"), Some(Bare::Bytes(Vec::new())));
        assert_eq!(bare("?0"), Some(Bare::Boolean(false)));
        assert_eq!(bare("@1659578233"), Some(Bare::Date(1_659_578_233)));
        assert_eq!(bare("%\"f%c3%bc\""), Some(Bare::Display("fü".into())));
    }

    #[test]
    fn the_largest_integer_is_the_largest_that_can_be_read() {
        let largest = i64::try_from(MAX_INTEGER).unwrap();
        for integer in [largest, -largest] {
            assert_eq!(bare(&integer.to_string()), Some(Bare::Integer(integer)));
        }
        assert_eq!(bare(&(largest + 1).to_string()), None);
    }

    #[test]
    fn what_is_malformed_is_refused_at_its_place() {
        for (text, position) in [
            ("\"a", 2),
            ("\"a\\n\"", 3),
            ("1.", 2),
            ("1.2345", 6),
            ("1234567890123.1", 14),
            ("-", 1),
            (":a:", 1),
            (":aGVs", 5),
            (":a=b=:", 1),
            ("?2", 1),
            ("@1.5", 4),
            ("%\"%C3\"", 3),
            ("%\"%ff\"", 6),
            ("(1 2", 4),
            ("(1,2)", 2),
            ("1,,2", 2),
            ("1;", 2),
            ("\u{e9}", 0),
        ] {
            assert_eq!(parse_list(text.as_bytes()).unwrap_err().position, position, "{text}");
        }
    }

    #[test]
    fn lists_and_dictionaries() {
        assert_eq!(parse_list(b"").unwrap(), []);
        assert_eq!(parse_list(b"(1 2);a, 3").unwrap().len(), 2);
        let entries = parse_dictionary(b"limit=1, remaining=2;x, limit=3, flag").unwrap();
        let names: Vec<_> = entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["remaining", "limit", "flag"]);
    }

    /// Thirty thousand names: their square would be half a minute.
    #[test]
    fn many_names_cost_no_square() {
        let parameters: Vec<String> = (0..30_000).map(|i| format!(";p{i}=1;again={i}")).collect();
        let [Member::Item(item)] = &parse_list(format!("1{}", parameters.concat()).as_bytes()).unwrap()[..] else {
            panic!()
        };
        assert_eq!((item.parameters.len(), item.unsigned("again")), (30_001, Some(29_999)));
        let entries: Vec<String> = (0..30_000).map(|i| format!("p{i}=1, again={i}")).collect();
        assert_eq!(parse_dictionary(entries.join(", ").as_bytes()).unwrap().len(), 30_001);
    }

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        for len in 0..20 {
            let bytes: Vec<u8> = (0u8..len).map(|i| i.wrapping_mul(37).wrapping_add(250)).collect();
            let mut text = String::new();
            write_bytes(&mut text, &bytes);
            assert_eq!(bare(&text), Some(Bare::Bytes(bytes)), "{text}");
        }
    }
}

//! Structured fields (RFC 9651): lists, dictionaries and items, as far as rate limiting needs them.
//!
//! Parsing is strict: what RFC 9651 rejects is rejected, and the caller ignores the field as a whole, as that document
//! asks. Two leniencies are its own: base64 may lack padding and may have spare bits set.

use std::fmt;

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

type Parsed<T> = Result<T, Malformed>;

/// Parses a list; several field lines are joined with `, ` first.
pub fn parse_list(field: &[u8]) -> Parsed<Vec<Member>> {
    let mut reader = Reader { field, at: 0 };
    reader.members(Reader::member)
}

/// Parses a dictionary; the last of equal names counts.
pub fn parse_dictionary(field: &[u8]) -> Parsed<Vec<(String, Member)>> {
    let mut reader = Reader { field, at: 0 };
    let mut entries: Vec<(String, Member)> = Vec::new();
    for (name, member) in reader.members(Reader::entry)? {
        entries.retain(|(known, _)| *known != name);
        entries.push((name, member));
    }
    Ok(entries)
}

struct Reader<'a> {
    field: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.field.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn next_if(&mut self, matches: impl Fn(u8) -> bool) -> Option<u8> {
        let byte = self.peek().filter(|byte| matches(*byte))?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, matches: impl Fn(u8) -> bool) {
        while self.next_if(&matches).is_some() {}
    }

    fn fail<T>(&self, expected: &'static str) -> Parsed<T> {
        Err(Malformed { position: self.at, expected })
    }

    /// Comma-separated members up to the end of the field.
    fn members<T>(&mut self, one: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut members = Vec::new();
        self.skip(|byte| byte == b' ');
        if self.peek().is_none() {
            return Ok(members);
        }
        loop {
            members.push(one(self)?);
            self.skip(is_ows);
            if self.peek().is_none() {
                return Ok(members);
            }
            if !self.take(b',') {
                return self.fail("a comma or the end");
            }
            self.skip(is_ows);
        }
    }

    fn entry(&mut self) -> Parsed<(String, Member)> {
        let name = self.key()?;
        if self.take(b'=') {
            return Ok((name, self.member()?));
        }
        let parameters = self.parameters()?;
        Ok((name, Member::Item(Item { value: Bare::Boolean(true), parameters })))
    }

    fn member(&mut self) -> Parsed<Member> {
        if !self.take(b'(') {
            return Ok(Member::Item(self.item()?));
        }
        let mut items = Vec::new();
        loop {
            self.skip(|byte| byte == b' ');
            if self.take(b')') {
                return Ok(Member::Inner(items, self.parameters()?));
            }
            items.push(self.item()?);
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return self.fail("a space or `)`");
            }
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        Ok(Item { value: self.bare()?, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> Parsed<Parameters> {
        let mut parameters: Parameters = Vec::new();
        while self.take(b';') {
            self.skip(|byte| byte == b' ');
            let name = self.key()?;
            let value = if self.take(b'=') { self.bare()? } else { Bare::Boolean(true) };
            parameters.retain(|(known, _)| *known != name);
            parameters.push((name, value));
        }
        Ok(parameters)
    }

    fn key(&mut self) -> Parsed<String> {
        let mut key = String::new();
        match self.next_if(|byte| byte.is_ascii_lowercase() || byte == b'*') {
            Some(byte) => key.push(char::from(byte)),
            None => return self.fail("a name in lower case"),
        }
        let follows = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte);
        while let Some(byte) = self.next_if(follows) {
            key.push(char::from(byte));
        }
        Ok(key)
    }

    fn bare(&mut self) -> Parsed<Bare> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b':') => self.bytes(),
            Some(b'?') => self.boolean(),
            Some(b'@') => self.date(),
            Some(b'%') => self.display(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'*' => Ok(self.token()),
            _ => self.fail("a value"),
        }
    }

    fn string(&mut self) -> Parsed<Bare> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    if !matches!(self.peek(), Some(b'"' | b'\\')) {
                        return self.fail("a quote or backslash after `\\`");
                    }
                }
                Some(0x20..=0x7E) => {}
                _ => return self.fail("printable ASCII or a closing quote"),
            }
            text.push(char::from(self.field[self.at]));
            self.at += 1;
        }
        self.at += 1;
        Ok(Bare::String(text))
    }

    fn bytes(&mut self) -> Parsed<Bare> {
        self.at += 1;
        let start = self.at;
        self.skip(|byte| byte != b':');
        let Some(bytes) = decode_base64(&self.field[start..self.at]) else {
            self.at = start;
            return self.fail("base64");
        };
        if self.take(b':') { Ok(Bare::Bytes(bytes)) } else { self.fail("`:`") }
    }

    fn boolean(&mut self) -> Parsed<Bare> {
        self.at += 1;
        match self.next_if(|byte| matches!(byte, b'0' | b'1')) {
            Some(byte) => Ok(Bare::Boolean(byte == b'1')),
            None => self.fail("0 or 1"),
        }
    }

    fn date(&mut self) -> Parsed<Bare> {
        self.at += 1;
        match self.number()? {
            Bare::Integer(seconds) => Ok(Bare::Date(seconds)),
            _ => self.fail("whole seconds"),
        }
    }

    fn display(&mut self) -> Parsed<Bare> {
        self.at += 1;
        if !self.take(b'"') {
            return self.fail("a quote");
        }
        let mut bytes = Vec::new();
        while !self.take(b'"') {
            match self.next_if(|byte| matches!(byte, 0x20..=0x7E)) {
                Some(b'%') => bytes.push(self.hex()? * 16 + self.hex()?),
                Some(byte) => bytes.push(byte),
                None => return self.fail("printable ASCII or a closing quote"),
            }
        }
        String::from_utf8(bytes).map(Bare::Display).or_else(|_| self.fail("UTF-8"))
    }

    fn hex(&mut self) -> Parsed<u8> {
        match self.next_if(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')) {
            Some(byte @ b'0'..=b'9') => Ok(byte - b'0'),
            Some(byte) => Ok(byte - b'a' + 10),
            None => self.fail("a hexadecimal digit in lower case"),
        }
    }

    fn token(&mut self) -> Bare {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte));
        // Every byte that was skipped is ASCII.
        Bare::Token(String::from_utf8_lossy(&self.field[start..self.at]).into_owned())
    }

    fn number(&mut self) -> Parsed<Bare> {
        let sign = if self.take(b'-') { -1 } else { 1 };
        let (whole, digits) = self.digits(15)?;
        if !self.take(b'.') {
            return Ok(Bare::Integer(sign * whole));
        }
        if digits > 12 {
            return self.fail("at most 12 digits before the point");
        }
        let (fraction, decimals) = self.digits(3)?;
        // At most 12 + 3 digits: no overflow.
        let thousandths = whole * 1000 + fraction * [100, 10, 1][decimals - 1];
        Ok(Bare::Decimal(sign * thousandths))
    }

    /// From one to `most` digits, and how many they were.
    fn digits(&mut self, most: usize) -> Parsed<(i64, usize)> {
        let (mut value, mut count) = (0, 0);
        while let Some(byte) = self.next_if(|byte| byte.is_ascii_digit()) {
            if count == most {
                return self.fail("fewer digits");
            }
            // At most 15 digits: no overflow.
            value = value * 10 + i64::from(byte - b'0');
            count += 1;
        }
        if count == 0 { self.fail("a digit") } else { Ok((value, count)) }
    }
}

fn is_ows(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(end);
    if padding.len() > 2 || padding.iter().any(|byte| *byte != b'=') || digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            let value = ALPHABET.iter().position(|known| known == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

/// Appends `bytes` as a byte sequence: padded base64 between colons.
pub fn write_bytes(out: &mut String, bytes: &[u8]) {
    out.push(':');
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        for byte in group {
            bits = bits << 8 | u32::from(*byte);
        }
        bits <<= 8 * (3 - group.len());
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit)) & 63;
            // Six bits index an alphabet of 64.
            out.push(if digit > group.len() { '=' } else { char::from(ALPHABET[six as usize]) });
        }
    }
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

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        for len in 0..20 {
            let bytes: Vec<u8> = (0..len).map(|i| i * 37 + 250 % 7).collect();
            let mut text = String::new();
            write_bytes(&mut text, &bytes);
            assert_eq!(bare(&text), Some(Bare::Bytes(bytes)), "{text}");
        }
    }
}

//! The parsing algorithms of RFC 9651, section 4.2, one function each.

use std::collections::HashSet;

use super::base64;
use super::{Bare, Item, Malformed, Member, Parameters};

type Parsed<T> = Result<T, Malformed>;

/// Parses a list; several field lines are joined with `, ` first.
pub fn parse_list(field: &[u8]) -> Parsed<Vec<Member>> {
    let mut reader = Reader { field, at: 0 };
    reader.members(Reader::member)
}

/// Parses a dictionary; the last of equal names counts.
pub fn parse_dictionary(field: &[u8]) -> Parsed<Vec<(String, Member)>> {
    let mut reader = Reader { field, at: 0 };
    Ok(last_of_equal(reader.members(Reader::entry)?))
}

/// Of entries with equal names the last, in time that grows with the entries and not with their square.
fn last_of_equal<T>(mut entries: Vec<(String, T)>) -> Vec<(String, T)> {
    if entries.len() < 2 {
        return entries;
    }
    let mut seen = HashSet::with_capacity(entries.len());
    entries.reverse();
    entries.retain(|(name, _)| seen.insert(name.clone()));
    entries.reverse();
    entries
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
            parameters.push((name, value));
        }
        Ok(last_of_equal(parameters))
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
        let Some(bytes) = base64::decode(&self.field[start..self.at]) else {
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

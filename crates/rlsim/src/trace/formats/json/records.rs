//! The objects of a JSON input, one after the other: one a line, or the elements of an array wherever it is.

use super::layout::{WRAPPERS, is_lines};
use super::scan::Scan;
use crate::error::Result;
use crate::trace::lines::{HEAD, LONGEST, line_end, next_extent, without_return};
use crate::trace::names::common;
use crate::trace::record::Place;
use crate::trace::source::Source;

/// Objects that do not end before each line is taken for itself: this bounds the work that looking for their ends costs.
const BROKEN_MOST: u32 = 100;

/// What comes next.
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// An object, probably.
    Record(Place<'a>),
    /// A blank line.
    Blank,
    /// Something else, and what was expected.
    Bad(Place<'a>, &'static str),
    /// An object larger than any real record.
    TooLong(Place<'a>),
}

/// Where the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between lines of one object each.
    Lines,
    /// Before a value at the outermost level.
    Top,
    /// In the array of records, inside of so many objects.
    Array(u64),
    /// After it, inside of so many objects.
    Closing(u64),
    Done,
}

/// What an object at the outermost level is.
enum Outermost {
    /// It holds the records in an array that starts after so many bytes, inside of so many objects.
    Wrapper(usize, u64),
    /// It is a record of so many bytes.
    Record(usize),
    /// It does not end, or is no JSON.
    Broken,
}

/// The records of a source.
pub(super) struct Records<'s> {
    source: &'s mut Source,
    state: State,
    end: u8,
    line: u64,
    column: usize,
    /// Bytes given out last, consumed at the next call.
    given: usize,
    broken: u32,
}

impl<'s> Records<'s> {
    pub(super) fn new(source: &'s mut Source) -> Result<Self> {
        let head = source.head(HEAD)?.to_vec();
        let whole = source.ended() && source.window().len() <= HEAD;
        let state = if is_lines(&head, whole) { State::Lines } else { State::Top };
        Ok(Records { source, state, end: line_end(&head), line: 1, column: 1, given: 0, broken: 0 })
    }

    /// The next record, or whatever is in its place; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Item<'_>>> {
        self.pass(self.given);
        self.given = 0;
        loop {
            match self.state {
                State::Done => return Ok(None),
                State::Lines => return self.next_line(),
                State::Closing(open) => {
                    let mut scan = Scan::inside(open);
                    if !self.pass_over(&mut scan)? {
                        return Ok(Some(self.cut("the end of the object around the records")));
                    }
                    self.state = State::Top;
                }
                State::Top => match self.next_byte()? {
                    None => return Ok(None),
                    Some(b'[') => {
                        self.pass(1);
                        self.state = State::Array(0);
                    }
                    Some(b'{') => match self.outermost()? {
                        Outermost::Wrapper(length, open) => {
                            self.pass(length);
                            self.state = State::Array(open);
                        }
                        Outermost::Record(length) if length > LONGEST => {
                            return Ok(Some(Item::TooLong(Place { bytes: &[], ..self.give(length) })));
                        }
                        Outermost::Record(length) => return Ok(Some(Item::Record(self.give(length)))),
                        Outermost::Broken => return self.bad_line("a complete JSON object").map(Some),
                    },
                    Some(_) => return self.bad_line("a JSON object or array").map(Some),
                },
                State::Array(open) => match self.next_byte()? {
                    None => return Ok(Some(self.cut("the end of the array of records"))),
                    Some(b']') => {
                        self.pass(1);
                        self.state = if open == 0 { State::Top } else { State::Closing(open) };
                    }
                    Some(b',') => self.pass(1),
                    Some(first) => return self.element(first).map(Some),
                },
            }
        }
    }

    /// One line; what stands before its first `{` is a prefix.
    fn next_line(&mut self) -> Result<Option<Item<'_>>> {
        let Some(extent) = next_extent(self.source, self.end)? else { return Ok(None) };
        let line = self.line;
        if extent.too_long {
            // The line is gone from the window already, but for its end.
            self.source.consume(extent.consumed);
            self.line += 1;
            return Ok(Some(Item::TooLong(Place { line, column: 1, bytes: &[] })));
        }
        self.given = extent.consumed;
        let bytes = without_return(&self.source.window()[..extent.length], self.end);
        if bytes.trim_ascii().is_empty() {
            return Ok(Some(Item::Blank));
        }
        Ok(Some(match memchr::memchr(b'{', bytes) {
            Some(start) => Item::Record(Place { line, column: start + 1, bytes: &bytes[start..] }),
            None => Item::Bad(Place { line, column: 1, bytes }, "a JSON object"),
        }))
    }

    /// One element of the array.
    fn element(&mut self, first: u8) -> Result<Item<'_>> {
        let mut scan = Scan::new();
        match self.value_end(0, &mut scan)? {
            Some(length) if length > LONGEST => Ok(Item::TooLong(Place { bytes: &[], ..self.give(length) })),
            Some(length) if first == b'{' => Ok(Item::Record(self.give(length))),
            Some(length) => Ok(Item::Bad(self.give(length.max(1)), "an object in the array of records")),
            None if scan.seen > LONGEST => {
                let (line, column) = (self.line, self.column);
                let ended = self.pass_over(&mut scan)?;
                self.state = if ended { self.state } else { State::Done };
                Ok(Item::TooLong(Place { line, column, bytes: &[] }))
            }
            None => Ok(self.cut("the end of the record")),
        }
    }

    /// What the object at the front of the window is. Looks no further than the record or the start of its array.
    fn outermost(&mut self) -> Result<Outermost> {
        let mut path: Vec<String> = Vec::new();
        let mut at = 1;
        let mut dated = false;
        loop {
            let Some(byte) = self.byte_from(&mut at)? else { return Ok(Outermost::Broken) };
            match byte {
                b'}' if path.is_empty() => return Ok(Outermost::Record(at + 1)),
                b'}' => {
                    path.pop();
                    at += 1;
                }
                b',' => at += 1,
                b'"' => {
                    let Some(key) = self.key(&mut at)? else { return Ok(Outermost::Broken) };
                    dated |= path.is_empty() && common(std::slice::from_ref(&key)).time.is_some();
                    path.push(key);
                    let Some(value) = self.byte_from(&mut at)? else { return Ok(Outermost::Broken) };
                    let leads = |whole: bool| {
                        WRAPPERS
                            .iter()
                            .any(|w| if whole { *w == path } else { w.len() > path.len() && path == w[..path.len()] })
                    };
                    // An object with a time of its own is a record, whatever arrays it has.
                    if value == b'[' && !dated && leads(true) && self.holds_objects(at)? {
                        return Ok(Outermost::Wrapper(at + 1, path.len() as u64));
                    }
                    if value == b'{' && !dated && leads(false) {
                        at += 1;
                        continue;
                    }
                    path.pop();
                    let mut scan = Scan::new();
                    let Some(length) = self.value_end(at, &mut scan)? else { return Ok(Outermost::Broken) };
                    at += length.max(1);
                }
                _ => return Ok(Outermost::Broken),
            }
        }
    }

    /// The key at `at`, with its colon passed.
    fn key(&mut self, at: &mut usize) -> Result<Option<String>> {
        let mut scan = Scan::new();
        let Some(length) = self.value_end(*at, &mut scan)? else { return Ok(None) };
        let key = serde_json::from_slice(&self.source.window()[*at..*at + length]).ok();
        *at += length;
        let colon = self.byte_from(at)?;
        *at += 1;
        Ok(key.filter(|_| colon == Some(b':')))
    }

    /// Whether the array at `at` begins with an object, or is empty.
    fn holds_objects(&mut self, at: usize) -> Result<bool> {
        let mut inside = at + 1;
        Ok(matches!(self.byte_from(&mut inside)?, Some(b'{' | b']')))
    }

    /// The length of the value at `at`; `None` if it does not end within the longest record.
    fn value_end(&mut self, at: usize, scan: &mut Scan) -> Result<Option<usize>> {
        loop {
            if let Some(length) = scan.end(&self.source.window()[at..]) {
                return Ok(Some(length));
            }
            if self.source.window().len() > LONGEST {
                return Ok(None);
            }
            if !self.source.more()? {
                return Ok(scan.at_end_of_input());
            }
        }
    }

    /// Drops bytes until the value ends; `false` if the input ends first.
    fn pass_over(&mut self, scan: &mut Scan) -> Result<bool> {
        loop {
            let end = scan.end(self.source.window());
            self.pass(end.unwrap_or(self.source.window().len()));
            if end.is_some() {
                return Ok(true);
            }
            scan.seen = 0;
            if !self.source.more()? {
                return Ok(false);
            }
        }
    }

    /// The first byte that is no white space, everything before it passed.
    fn next_byte(&mut self) -> Result<Option<u8>> {
        loop {
            let window = self.source.window();
            let space = window.iter().take_while(|&&b| is_space(b)).count();
            let found = window.get(space).copied();
            self.pass(space);
            if found.is_some() || !self.source.more()? {
                return Ok(found);
            }
        }
    }

    /// The first byte from `at` on that is no white space; `at` becomes its place.
    fn byte_from(&mut self, at: &mut usize) -> Result<Option<u8>> {
        loop {
            let window = self.source.window();
            while let Some(&byte) = window.get(*at) {
                if !is_space(byte) {
                    return Ok(Some(byte));
                }
                *at += 1;
            }
            if window.len() > LONGEST || !self.source.more()? {
                return Ok(None);
            }
        }
    }

    fn give(&mut self, length: usize) -> Place<'_> {
        self.given = length;
        Place { line: self.line, column: self.column, bytes: &self.source.window()[..length] }
    }

    /// The rest of the line as one bad record; reading goes on after it.
    fn bad_line(&mut self, expected: &'static str) -> Result<Item<'_>> {
        self.broken += 1;
        if self.broken == BROKEN_MOST {
            self.state = State::Lines;
        }
        let Some(extent) = next_extent(self.source, self.end)? else { return Ok(self.cut(expected)) };
        self.given = extent.consumed;
        let bytes = &self.source.window()[..extent.length];
        Ok(Item::Bad(Place { line: self.line, column: self.column, bytes }, expected))
    }

    /// The rest of the input as one bad record.
    fn cut(&mut self, expected: &'static str) -> Item<'_> {
        self.state = State::Done;
        Item::Bad(Place { line: self.line, column: self.column, bytes: &[] }, expected)
    }

    /// Consumes bytes and keeps count of lines.
    fn pass(&mut self, count: usize) {
        let passed = &self.source.window()[..count];
        match memchr::memrchr(self.end, passed) {
            Some(last) => {
                self.line += memchr::memchr_iter(self.end, passed).count() as u64;
                self.column = passed.len() - last;
            }
            None => self.column += passed.len(),
        }
        self.source.consume(count);
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x1e)
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;

//! Where a JSON value ends, found without recursion and without a second look at any byte, however the input is cut.

/// The state of looking for the end of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scan {
    kind: Kind,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// Bytes of the value seen so far.
    pub(super) seen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    /// An object, an array or a string: ends with its own mark.
    Marked,
    /// A number or a word: ends before what cannot belong to it.
    Bare,
}

impl Scan {
    /// Before the first byte of a value.
    pub(super) fn new() -> Self {
        Scan { kind: Kind::Start, depth: 0, in_string: false, escaped: false, seen: 0 }
    }

    /// Inside of `depth` open objects or arrays, to find where the outermost one ends.
    pub(super) fn inside(depth: u64) -> Self {
        Scan { kind: Kind::Marked, depth, in_string: false, escaped: false, seen: 0 }
    }

    /// Looks at `bytes[self.seen..]`; the length of the value if it ends there.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&byte) = bytes.get(self.seen) {
            if self.in_string {
                self.string_byte(byte, &bytes[self.seen..]);
                if !self.in_string && self.depth == 0 {
                    return Some(self.seen);
                }
                continue;
            }
            match byte {
                b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' if self.kind == Kind::Bare => return Some(self.seen),
                b'"' => (self.in_string, self.kind) = (true, self.marked()),
                b'{' | b'[' => {
                    self.depth += 1;
                    self.kind = self.marked();
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.seen += 1;
                        return Some(self.seen);
                    }
                }
                _ if self.kind == Kind::Start => self.kind = Kind::Bare,
                _ => {}
            }
            self.seen += 1;
        }
        None
    }

    /// The input has ended: a bare value ends with it.
    pub(super) fn at_end_of_input(&self) -> Option<usize> {
        (self.kind == Kind::Bare).then_some(self.seen)
    }

    fn marked(&self) -> Kind {
        if self.kind == Kind::Start { Kind::Marked } else { self.kind }
    }

    fn string_byte(&mut self, byte: u8, rest: &[u8]) {
        if self.escaped {
            self.escaped = false;
            self.seen += 1;
        } else {
            match byte {
                b'"' => {
                    self.in_string = false;
                    self.seen += 1;
                }
                b'\\' => {
                    self.escaped = true;
                    self.seen += 1;
                }
                _ => self.seen += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_end_however_they_are_cut() {
        for (text, length) in [
            (r#"{"a":1} "#, 7),
            (r#"{"a":"}"},"#, 9),
            (r#"{"a":"\"}"} "#, 11),
            ("[[{}],[]]]", 9),
            (r#""x\\" "#, 5),
            ("12.5,", 4),
            ("true}", 4),
            ("-1\n", 2),
        ] {
            for cut in 0..=text.len() {
                let mut scan = Scan::new();
                let found = scan.end(&text.as_bytes()[..cut]).or_else(|| scan.end(text.as_bytes()));
                assert_eq!(found, Some(length), "{text} cut at {cut}");
            }
        }
        assert_eq!(Scan::new().end(b"{\"a\":["), None);
        let mut number = Scan::new();
        assert_eq!((number.end(b"12"), number.at_end_of_input()), (None, Some(2)));
    }

    #[test]
    fn the_end_of_what_is_open_already() {
        assert_eq!(Scan::inside(2).end(br#","x":[1]},"y":{}} "#), Some(17));
    }
}

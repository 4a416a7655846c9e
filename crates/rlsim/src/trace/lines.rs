//! An input as lines, ended by LF, CR LF or (in files without any LF) CR.

use super::source::Source;
use crate::error::Result;

/// The longest line that is read; a longer one is passed over in blocks, and counts as one bad record.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// Bytes looked at to tell what ends a line, and what the format is.
pub(crate) const HEAD: usize = 64 * 1024;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) bytes: &'a [u8],
    /// 1 for the first.
    pub(crate) number: u64,
    /// Whether it was longer than `LONGEST`; then `bytes` is empty.
    pub(crate) too_long: bool,
}

/// Where the next line lies in the window of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Bytes without the line end; 0 for a line too long to keep.
    pub(crate) length: usize,
    /// Bytes with it.
    pub(crate) consumed: usize,
    /// Whether the line was longer than [`LONGEST`].
    pub(crate) too_long: bool,
}

/// Finds the end of the line at the front of the window, reading on as needed; `None` at the end of the input.
///
/// A line longer than [`LONGEST`] is dropped block by block, so it takes bounded memory.
pub(crate) fn next_extent(source: &mut Source, end: u8) -> Result<Option<Extent>> {
    let mut searched = 0;
    loop {
        let window = source.window();
        if let Some(found) = memchr::memchr(end, &window[searched..]) {
            let length = searched + found;
            return Ok(Some(if length > LONGEST {
                source.consume(length);
                Extent { length: 0, consumed: 1, too_long: true }
            } else {
                Extent { length, consumed: length + 1, too_long: false }
            }));
        }
        searched = window.len();
        if searched > LONGEST {
            return pass_over(source, end).map(Some);
        }
        if !source.more()? {
            return Ok((searched > 0).then_some(Extent { length: searched, consumed: searched, too_long: false }));
        }
    }
}

fn pass_over(source: &mut Source, end: u8) -> Result<Extent> {
    loop {
        source.consume(source.window().len());
        if !source.more()? {
            return Ok(Extent { length: 0, consumed: 0, too_long: true });
        }
        if let Some(found) = memchr::memchr(end, source.window()) {
            return Ok(Extent { length: 0, consumed: found + 1, too_long: true });
        }
    }
}

/// The lines of a source.
pub(crate) struct Lines<'s> {
    source: &'s mut Source,
    end: u8,
    number: u64,
    /// Bytes of the line given out last, consumed at the next call.
    given: usize,
}

impl<'s> Lines<'s> {
    pub(crate) fn new(source: &'s mut Source) -> Result<Self> {
        let end = line_end(source.head(HEAD)?);
        Ok(Lines { source, end, number: 0, given: 0 })
    }

    /// The next line; `None` at the end. A last line needs no end.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.source.consume(self.given);
        self.given = 0;
        let Some(extent) = next_extent(self.source, self.end)? else { return Ok(None) };
        self.given = extent.consumed;
        self.number += 1;
        let bytes = without_return(&self.source.window()[..extent.length], self.end);
        Ok(Some(Line { bytes, number: self.number, too_long: extent.too_long }))
    }
}

/// A line without the CR of a CR LF.
pub(crate) fn without_return(bytes: &[u8], end: u8) -> &[u8] {
    if end == b'\n' { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes }
}

/// CR where the head has a CR and no LF at all, otherwise LF.
pub(crate) fn line_end(head: &[u8]) -> u8 {
    if memchr::memchr(b'\n', head).is_none() && memchr::memchr(b'\r', head).is_some() { b'\r' } else { b'\n' }
}

/// The lines of a head, without the last one if it may be cut.
pub(crate) fn head_lines(head: &[u8], whole: bool) -> impl Iterator<Item = &[u8]> {
    let end = line_end(head);
    let length = if whole { head.len() } else { memchr::memrchr(end, head).unwrap_or(head.len()) };
    head[..length].split(move |&b| b == end).map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::source::Meter;

    fn lines(bytes: &'static [u8]) -> Vec<(u64, Vec<u8>)> {
        let mut source = Source::from_reader(Box::new(bytes), "test".into(), &Meter::default()).unwrap();
        let mut lines = Lines::new(&mut source).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.bytes.to_vec()));
        }
        all
    }

    #[test]
    fn any_line_end_and_none_at_the_end() {
        let expect = vec![(1, b"a".to_vec()), (2, Vec::new()), (3, b"b".to_vec())];
        for text in [&b"a\n\nb"[..], b"a\n\nb\n", b"a\r\n\r\nb\r\n", b"a\r\rb", b"a\r\rb\r", b"\xef\xbb\xbfa\n\nb"] {
            assert_eq!(lines(text), expect, "{text:?}");
        }
        assert_eq!(lines(b""), vec![]);
    }

    #[test]
    fn a_line_too_long_is_one_record_and_reading_goes_on() {
        let mut text = vec![b'x'; LONGEST + 3 * 1024 * 1024];
        text.extend_from_slice(b"\nnext\n");
        let mut source =
            Source::from_reader(Box::new(std::io::Cursor::new(text)), "test".into(), &Meter::default()).unwrap();
        let mut lines = Lines::new(&mut source).unwrap();
        let long = lines.next().unwrap().unwrap();
        assert!(long.too_long && long.number == 1);
        let next = lines.next().unwrap().unwrap();
        assert_eq!((next.bytes, next.number, next.too_long), (&b"next"[..], 2, false));
        assert!(lines.next().unwrap().is_none());
    }
}

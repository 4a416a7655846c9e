//! Bytes of one input, in blocks: a window over what was read and not used yet. Never seeks.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use super::options::{Input, ReadOptions};
use crate::error::{Error, Result};

/// Bytes asked for at once.
const BLOCK: usize = 256 * 1024;

/// Where an input's bytes come from.
pub(crate) struct Source {
    reader: Box<dyn Read>,
    label: String,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    taken: u64,
    max_bytes: Option<u64>,
}

impl Source {
    /// Opens a file or standard input.
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let reader: Box<dyn Read> = match input {
            Input::Stdin => Box::new(io::stdin().lock()),
            Input::File(path) => {
                let file = File::open(path).map_err(|e| Error::failed(format!("{input}: cannot open: {e}")))?;
                Box::new(file)
            }
        };
        Source::new(reader, input.to_string(), options)
    }

    /// Bytes from anywhere, for instance a test's own.
    pub(crate) fn new(reader: Box<dyn Read>, label: String, options: &ReadOptions) -> Result<Self> {
        let mut source = Source {
            reader,
            label,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            taken: 0,
            max_bytes: options.max_bytes,
        };
        source.skip_byte_order_mark()?;
        Ok(source)
    }

    fn skip_byte_order_mark(&mut self) -> Result<()> {
        while self.window().len() < 3 && self.more()? {}
        match self.window() {
            [0xef, 0xbb, 0xbf, ..] => self.consume(3),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                return Err(Error::failed(format!(
                    "{}: UTF-16 text: expected UTF-8 or ASCII; convert it with `iconv -f utf-16 -t utf-8`",
                    self.label
                )));
            }
            _ => {}
        }
        Ok(())
    }

    /// What was read and not consumed.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether everything was read into the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Drops bytes from the front of the window.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Makes the window larger; `false` at the end of the input. The cost of keeping the rest is linear over a whole read.
    pub(crate) fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < self.end + BLOCK {
            // Doubling keeps a long record linear.
            self.buffer.resize((self.end * 2).max(self.end + BLOCK), 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    self.taken += count as u64;
                    return self.within_limit().map(|()| true);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::failed(format!("{}: cannot read: {e}", self.label))),
            }
        }
    }

    fn within_limit(&self) -> Result<()> {
        match self.max_bytes {
            Some(most) if self.taken > most => Err(Error::failed(format!(
                "{}: more than {most} bytes, the limit set with --max-bytes; raise it, or read a smaller file",
                self.label
            ))),
            _ => Ok(()),
        }
    }

    /// The first `want` bytes, or all there are, without consuming them.
    pub(crate) fn head(&mut self, want: usize) -> Result<&[u8]> {
        while self.window().len() < want && self.more()? {}
        Ok(&self.window()[..want.min(self.end - self.start)])
    }
}

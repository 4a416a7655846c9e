//! Bytes of one input, in blocks: a window over what was read and not used yet. Never seeks.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::decompress::decompressed;
use super::options::{Input, OnProgress, Progress, ReadOptions};
use crate::error::{Error, Result};

/// Bytes asked for at once.
const BLOCK: usize = 256 * 1024;
/// Compressed input may grow to this size whatever its own, and to this multiple of its own size whatever that is.
const EXPANDED: u64 = 1024 * 1024 * 1024;
const EXPANSION: u64 = 200;

/// What all inputs of a run share.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    /// Bytes as stored.
    stored: Arc<AtomicU64>,
    /// Bytes after decompression.
    plain: Arc<AtomicU64>,
    total: Option<u64>,
    max_bytes: Option<u64>,
    progress: Option<OnProgress>,
}

impl Meter {
    /// A meter for these inputs.
    pub(crate) fn new(inputs: &[Input], options: &ReadOptions) -> Self {
        let size = |input: &Input| match input {
            Input::Stdin => None,
            Input::File(path) => std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len()),
        };
        let total = inputs.iter().map(size).sum();
        Meter { total, max_bytes: options.max_bytes, progress: options.progress.clone(), ..Meter::default() }
    }
}

/// Counts what is read from a file.
struct Metered {
    inner: Box<dyn Read>,
    all: Arc<AtomicU64>,
    own: Arc<AtomicU64>,
}

impl Read for Metered {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.all.fetch_add(count as u64, Ordering::Relaxed);
        self.own.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Where an input's bytes come from.
pub(crate) struct Source {
    reader: Box<dyn Read>,
    label: String,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Bytes read from this input, and, if it is compressed, the bytes they were stored in.
    taken: u64,
    compressed: Option<Arc<AtomicU64>>,
    meter: Option<Meter>,
}

impl Source {
    /// Opens a file or standard input.
    pub(crate) fn open(input: &Input, meter: &Meter) -> Result<Self> {
        let raw: Box<dyn Read> = match input {
            Input::Stdin => Box::new(io::stdin().lock()),
            Input::File(path) => {
                let file = File::open(path).map_err(|e| Error::failed(format!("{input}: cannot open: {e}")))?;
                Box::new(file)
            }
        };
        Source::from_reader(raw, input.to_string(), meter)
    }

    /// Bytes as they are stored, from anywhere.
    pub(crate) fn from_reader(raw: Box<dyn Read>, label: String, meter: &Meter) -> Result<Self> {
        let own = Arc::new(AtomicU64::new(0));
        let metered = Metered { inner: raw, all: Arc::clone(&meter.stored), own: Arc::clone(&own) };
        let found = decompressed(Box::new(metered)).map_err(|e| read_error(&label, e))?;
        let mut source = Source::plain(found.reader, label);
        source.compressed = found.compressed.then_some(own);
        source.meter = Some(meter.clone());
        source.skip_byte_order_mark()?;
        Ok(source)
    }

    /// Bytes of another source that something was done to; limits and meters are the other's.
    pub(crate) fn plain(reader: Box<dyn Read>, label: String) -> Self {
        Source {
            reader,
            label,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            taken: 0,
            compressed: None,
            meter: None,
        }
    }

    /// The name of the input in messages.
    pub(crate) fn label(&self) -> &str {
        &self.label
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
                    return self.count(count as u64).map(|()| true);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&self.label, e)),
            }
        }
    }

    /// Checks the limits, and tells how far reading has come.
    fn count(&mut self, bytes: u64) -> Result<()> {
        self.taken += bytes;
        let Some(meter) = &self.meter else { return Ok(()) };
        let all = meter.plain.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = &meter.progress {
            (progress.0)(Progress { bytes: meter.stored.load(Ordering::Relaxed), total: meter.total });
        }
        match (meter.max_bytes, &self.compressed) {
            (Some(most), _) if all > most => Err(Error::failed(format!(
                "{}: more than {most} bytes, the limit set with --max-bytes; raise it, or read a smaller file",
                self.label
            ))),
            (None, Some(stored)) => {
                let stored = stored.load(Ordering::Relaxed);
                if self.taken <= EXPANDED.max(stored.saturating_mul(EXPANSION)) {
                    return Ok(());
                }
                Err(Error::failed(format!(
                    "{}: {stored} compressed bytes hold more than {} bytes, over {EXPANSION} times as many: is this a \
                     compression bomb? --max-bytes N reads up to N bytes whatever their compression",
                    self.label, self.taken
                )))
            }
            _ => Ok(()),
        }
    }

    /// The first `want` bytes, or all there are, without consuming them.
    pub(crate) fn head(&mut self, want: usize) -> Result<&[u8]> {
        while self.window().len() < want && self.more()? {}
        Ok(&self.window()[..want.min(self.end - self.start)])
    }
}

/// A failure of the source below keeps its own message.
fn read_error(label: &str, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Error::failed(format!("{label}: the compressed data ends too early: is the file complete?"))
        }
        Err(error) => Error::failed(format!("{label}: cannot read: {error}")),
    }
}

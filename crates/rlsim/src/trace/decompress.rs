//! Compressed input, told by its first bytes: gzip (any number of members) and zstd (any number of frames).

use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes looked at.
const MAGIC: usize = 6;

/// An input, decompressed if need be.
pub(crate) struct Decompressed {
    pub(crate) reader: Box<dyn Read>,
    /// Whether it was compressed.
    pub(crate) compressed: bool,
}

/// Looks at the first bytes and puts the decoder before the rest.
///
/// # Errors
/// A reading error, or one of kind `Unsupported` that says how to decompress a format that is known and not read.
pub(crate) fn decompressed(mut raw: Box<dyn Read>) -> io::Result<Decompressed> {
    let mut magic = Vec::with_capacity(MAGIC);
    raw.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
    let known = [
        (&b"BZh"[..], "bzip2", "bzcat"),
        (b"\xfd7zXZ\0", "xz", "xzcat"),
        (b"PK\x03\x04", "zip", "unzip -p"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4cat"),
    ];
    if let Some((_, name, tool)) = known.iter().find(|(start, ..)| magic.starts_with(start)) {
        let message =
            format!("{name} data: expected plain text, gzip or zstd; try `{tool} FILE | rlsim ... --trace -`");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let gzip = magic.starts_with(b"\x1f\x8b");
    let zstd = magic.starts_with(b"\x28\xb5\x2f\xfd");
    let whole: Box<dyn Read> = Box::new(Cursor::new(magic).chain(raw));
    Ok(Decompressed {
        reader: if gzip {
            Box::new(MultiGzDecoder::new(whole))
        } else if zstd {
            Box::new(Zstd { input: BufReader::new(whole), decoder: FrameDecoder::new(), started: false })
        } else {
            whole
        },
        compressed: gzip || zstd,
    })
}

/// The frames of a zstd input, one after the other.
struct Zstd {
    input: BufReader<Box<dyn Read>>,
    decoder: FrameDecoder,
    started: bool,
}

impl Read for Zstd {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.started {
                if self.decoder.can_collect() > 0 {
                    return self.decoder.read(out);
                }
                if !self.decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder.decode_blocks(&mut self.input, one).map_err(io::Error::other)?;
                    continue;
                }
            }
            if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}

impl Zstd {
    /// Starts the next frame, passing over skippable ones; `false` at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        self.started = false;
        while !io::BufRead::fill_buf(&mut self.input)?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => {
                    self.started = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

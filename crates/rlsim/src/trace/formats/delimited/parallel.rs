//! Delimited text on several threads: blocks of whole lines are split and parsed by workers and taken back in order.
//!
//! The result does not depend on the number of threads: blocks come back in the order of the input, every worker goes on
//! with the kind of times that the first rows had, and clients are numbered as they are taken back. A block with a quote
//! ends this way of reading, because a quoted field may reach over any border; the ordinary way goes on from there.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::available_parallelism;

use super::header::Header;
use super::rows::{Spans, Splitter};
use crate::error::{Error, Result};
use crate::trace::options::ReadOptions;
use crate::trace::sink::{Batch, Sink};
use crate::trace::source::Source;

/// Bytes of a block.
const BLOCK: usize = 1024 * 1024;
/// Blocks on their way for each worker: one in work, one waiting.
const AHEAD: usize = 2;

/// A block, and the lines before it.
type Job = (Vec<u8>, u64);

/// The threads to read with.
pub(super) fn threads(options: &ReadOptions) -> usize {
    options.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Reads blocks of about `size` bytes as long as they hold no quote; `line` is kept up to date.
pub(super) fn read(
    source: &mut Source,
    line: &mut u64,
    splitter: Splitter,
    header: &Header,
    sink: &mut Sink<'_>,
    workers: usize,
) -> Result<()> {
    read_blocks(source, line, splitter, header, sink, workers, BLOCK)
}

fn read_blocks(
    source: &mut Source,
    line: &mut u64,
    splitter: Splitter,
    header: &Header,
    sink: &mut Sink<'_>,
    workers: usize,
    size: usize,
) -> Result<()> {
    // A sink that has seen no time yet does not know what the workers are to expect.
    if workers < 2 || !sink.settle()? {
        return Ok(());
    }
    std::thread::scope(|scope| {
        let lines: Vec<(Sender<Job>, Receiver<Result<Batch>>)> = (0..workers)
            .map(|_| {
                let (jobs, todo) = channel::<Job>();
                let (done, batches) = channel();
                let worker = sink.worker();
                scope.spawn(move || work(worker, splitter, header, &todo, &done));
                (jobs, batches)
            })
            .collect();
        let mut seen: Vec<Vec<u32>> = vec![Vec::new(); workers];
        let (mut sent, mut taken) = (0, 0);
        let mut take = |taken: usize, sink: &mut Sink<'_>| -> Result<()> {
            let batch = lines[taken % workers].1.recv().map_err(|_| Error::failed("a reading thread stopped"))?;
            sink.absorb(batch?, &mut seen[taken % workers])
        };
        while let Some(block) = next_block(source, splitter.end, size)? {
            let before = *line;
            *line += memchr::memchr_iter(splitter.end, &block).count() as u64;
            lines[sent % workers].0.send((block, before)).map_err(|_| Error::failed("a reading thread stopped"))?;
            sent += 1;
            if sent - taken > AHEAD * workers {
                take(taken, sink)?;
                taken += 1;
            }
        }
        while taken < sent {
            take(taken, sink)?;
            taken += 1;
        }
        Ok(())
    })
}

/// A worker's life: a batch for every block, until no more come or an error ends the run.
fn work(mut sink: Sink<'_>, splitter: Splitter, header: &Header, todo: &Receiver<Job>, done: &Sender<Result<Batch>>) {
    let mut spans = Spans::default();
    while let Ok((block, line)) = todo.recv() {
        let result = splitter.rows_of_block(&block, line, &mut spans, |row| header.deliver(row, &mut sink));
        let failed = result.is_err();
        if done.send(result.and_then(|()| sink.take_batch())).is_err() || failed {
            break;
        }
    }
    // After an error, which is taken in its turn, blocks are only received.
    while todo.recv().is_ok() {}
}

/// Whole lines from the front of the window; `None` where the ordinary way must go on: at a quote, and at the last line.
fn next_block(source: &mut Source, end: u8, size: usize) -> Result<Option<Vec<u8>>> {
    while source.window().len() < size && source.more()? {}
    let window = source.window();
    let Some(last) = memchr::memrchr(end, &window[..window.len().min(size)]) else { return Ok(None) };
    if memchr::memchr(b'"', &window[..=last]).is_some() {
        return Ok(None);
    }
    let block = window[..=last].to_vec();
    source.consume(block.len());
    Ok(Some(block))
}

#[cfg(test)]
#[path = "parallel_tests.rs"]
mod tests;

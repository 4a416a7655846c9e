//! A trace that is sorted already, handed on block by block: memory grows with the clients, not with the events.

use super::columns::Facts;
use super::options::{Input, ReadOptions};
use super::order::Resolution;
use super::{no_trace, read_into, sink::Sink, source};
use crate::error::{Error, Result};

/// Events kept before they are handed on.
pub(crate) const EVENTS: usize = 64 * 1024;

/// Events in time order, as columns of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// When, in nanoseconds, never before the last event of the block before.
    pub at: &'a [u64],
    /// Who: numbers in the order of their first appearance, whose names come at the end.
    pub client: &'a [u32],
    /// How much, in units; empty where every event of the block costs one unit.
    pub cost: &'a [u64],
}

/// Takes the blocks; an error ends the reading.
pub type OnBlock<'o> = dyn FnMut(Block<'_>) -> Result<()> + Send + 'o;

/// Where a sink's events go.
pub(crate) struct Stream<'o> {
    each: &'o mut OnBlock<'o>,
    last: u64,
    resolution: Resolution,
}

impl Stream<'_> {
    /// Refuses an event that lies before the one before it; `lines` holds the line of each, `input` the name of its file.
    pub(crate) fn check_order<'l>(&self, at: &[u64], lines: &[u64], input: impl Fn(usize) -> &'l str) -> Result<()> {
        let mut last = self.last;
        for (event, &time) in at.iter().enumerate() {
            if time < last {
                return Err(Error::failed(format!(
                    "{}:{}: not in time order: this event lies {} ns before the one before it; --stream reads sorted input \
                     only: leave it out, and any order will do, or sort the input by time (and give several files in the \
                     order of their times)",
                    input(event),
                    lines.get(event).copied().unwrap_or(0),
                    last - time
                )));
            }
            last = time;
        }
        Ok(())
    }

    /// Hands on a block that is in order.
    pub(crate) fn hand_on(&mut self, at: &[u64], client: &[u32], cost: &[u64]) -> Result<()> {
        self.last = at.last().copied().unwrap_or(self.last);
        self.resolution.add(at);
        if at.is_empty() { Ok(()) } else { (self.each)(Block { at, client, cost }) }
    }

    pub(crate) fn resolution_ns(&self) -> u64 {
        self.resolution.nanos()
    }
}

/// Reads sorted inputs, one after the other in the order given, and hands every event on without keeping it. Returns the
/// names of the clients, and the facts.
///
/// The unit of numeric times is guessed from the first events of each input (10000 or more), as the rest is not known yet;
/// at the end the guess is made again from all of them.
///
/// # Errors
/// As [`load`](super::load); also if an event lies before the one before it, if the two guesses differ, and whatever error
/// `each` returns.
pub fn sorted_stream<'o>(
    inputs: &[Input],
    options: &'o ReadOptions,
    each: &'o mut OnBlock<'o>,
) -> Result<(Vec<Box<[u8]>>, Facts)> {
    if inputs.is_empty() {
        return Err(no_trace());
    }
    let stream = Stream { each, last: 0, resolution: Resolution::default() };
    let mut sink = Sink::streaming(options, stream)?;
    let meter = source::Meter::new(inputs, options);
    for input in inputs {
        read_into(&mut sink, source::Source::open(input, &meter)?, input, options)?;
    }
    sink.finish_stream()
}

//! What was asked for, whatever became of it: the curves to compare a policy's with.

use super::admitted::{Admission, collect_offered};
use super::envelope::Envelope;
use super::peak::densest;
use super::saturate;
use crate::replay::{History, Subject};
use serde::Serialize;

/// The accumulator. Costs 16 bytes a client.
#[derive(Debug)]
pub struct OfferedMetrics {
    window: u64,
    envelope: Envelope,
    peaks: Vec<(u32, u64)>,
    scratch: Vec<Admission>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Most units asked for in any window of each length, as `[nanoseconds, units]`.
    pub envelope: Vec<(u64, u64)>,
    /// Client and most units asked for in any window of W, by client; empty under a shared limit.
    #[serde(skip)]
    pub peaks: Vec<(u32, u64)>,
}

impl OfferedMetrics {
    /// An empty accumulator for these lengths of the envelope and this window.
    pub fn new(lengths: &[u64], window: u64) -> Self {
        OfferedMetrics {
            window: window.max(1),
            envelope: Envelope::new(lengths),
            peaks: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Takes in all events of a history, at their arrival.
    pub fn observe(&mut self, history: &History<'_>) {
        collect_offered(history, &mut self.scratch);
        self.envelope.observe(&self.scratch);
        if let Subject::One(client) = history.subject {
            let peak = densest(&self.scratch, self.window, None);
            self.peaks.push((client, peak.map_or(0, |window| saturate(window.units))));
        }
    }

    /// Adds another accumulator of the same lengths and window.
    pub fn merge(&mut self, other: Self) {
        self.envelope.merge(&other.envelope);
        self.peaks.extend(other.peaks);
    }

    /// The curves. The envelope is empty when no length was asked for.
    pub fn finish(mut self) -> Offered {
        self.peaks.sort_unstable();
        Offered { envelope: self.envelope.finish().unwrap_or_default(), peaks: self.peaks }
    }
}

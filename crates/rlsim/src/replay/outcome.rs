//! What became of events under one policy, as plain numbers: all that a metric ever sees.

/// The answer to one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Admitted, to be released to the service `delay` nanoseconds later (zero but for the leaky bucket).
    Allowed {
        /// Nanoseconds from the event to its release.
        delay: u64,
    },
    /// Refused for now.
    Denied {
        /// Nanoseconds until the same cost would be allowed, if nothing else came.
        retry_after: u64,
    },
    /// Refused for good: the cost exceeds the capacity.
    Never,
}

/// One event and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// When it came, in nanoseconds.
    pub at: u64,
    /// Units asked for.
    pub cost: u64,
    /// Who asked: an index into the trace's names.
    pub client: u32,
    /// The answer.
    pub verdict: Verdict,
}

impl Outcome {
    /// When the service sees it: the arrival and the delay. `None` when refused.
    pub fn release(&self) -> Option<u64> {
        match self.verdict {
            Verdict::Allowed { delay } => Some(self.at.saturating_add(delay)),
            Verdict::Denied { .. } | Verdict::Never => None,
        }
    }
}

/// Costs of a slice of events.
#[derive(Debug, Clone, Copy)]
pub enum CostColumn<'a> {
    /// Every event costs one unit.
    Unit,
    /// One cost an event.
    Each(&'a [u64]),
}

/// Whose history it is.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// One client, limited on its own.
    One(u32),
    /// All clients under one shared limit; one client index an event.
    All(&'a [u32]),
}

/// The whole history of one limited subject (a client, or everybody under a global limit), in time order.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// Arrival times in nanoseconds, never decreasing.
    pub at: &'a [u64],
    /// Costs in units.
    pub cost: CostColumn<'a>,
    /// Who asked.
    pub subject: Subject<'a>,
    /// The answers.
    pub verdict: &'a [Verdict],
}

impl<'a> History<'a> {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Event `i` with its answer. `i` must be below [`len`](Self::len).
    pub fn get(&self, i: usize) -> Outcome {
        Outcome {
            at: self.at[i],
            cost: match self.cost {
                CostColumn::Unit => 1,
                CostColumn::Each(costs) => costs[i],
            },
            client: match self.subject {
                Subject::One(client) => client,
                Subject::All(clients) => clients[i],
            },
            verdict: self.verdict[i],
        }
    }

    /// Events in time order.
    pub fn iter(self) -> impl Iterator<Item = Outcome> + 'a {
        (0..self.len()).map(move |i| self.get(i))
    }
}

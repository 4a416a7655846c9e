//! What can happen, and how an attempt is named.

/// One try of one request. Slots of finished requests are used again, serial numbers never are: an attempt whose serial
/// is not its request's newest is over for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    /// The request's slot.
    pub(super) request: usize,
    /// Counts all attempts of a run from one.
    pub(super) serial: u64,
    /// Who sends it.
    pub(super) client: u32,
}

/// What the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The work is done.
    Served,
    /// The limiter says not now, and perhaps when.
    Limited { retry_after: Option<u64> },
    /// The limiter says never.
    Never,
    /// There is no room to wait in: turned away at the door, at no cost.
    Full,
    /// The server is out.
    Failed,
    /// The caller held the attempt back: it never reached the server.
    Withheld,
}

/// Something that happens at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The next request of an open-loop source is due.
    Begin { source: usize },
    /// A closed-loop client has thought long enough.
    Thought { client: u32 },
    /// A client that waited sends its request again.
    Send { request: usize },
    /// An attempt reaches the server.
    Arrive(Attempt),
    /// An attempt that the limiter delayed has its turn.
    Turn(Attempt),
    /// A worker is done with an attempt, and answers.
    Done(Attempt, Answer),
    /// An answer reaches the client.
    Answered(Attempt, Answer),
    /// A client's patience with an attempt ends.
    Timeout(Attempt),
    /// The trigger begins or ends.
    Trigger { on: bool },
}

//! A sink's work shared with other threads: workers collect parts of an input, and the sink takes them back in order.

use super::doubtful::Doubtful;
use super::kept::Mark;
use super::{SHOWN, Sink};
use crate::error::Result;
use crate::trace::client_column::ClientColumn;
use crate::trace::columns::Facts;
use crate::trace::times::Times;

/// What a worker read of a part of an input.
pub(crate) struct Batch {
    times: Times,
    client: Vec<u32>,
    cost: Vec<u64>,
    /// Clients that the worker met for the first time.
    names: Vec<Box<[u8]>>,
    facts: Facts,
    bad_shown: Vec<String>,
    unnamed: u64,
    doubtful: Doubtful,
    lines: Option<Vec<u64>>,
    marks: Option<Vec<Mark>>,
}

impl<'o> Sink<'o> {
    /// Whether the input has shown what its times are, so that workers can go on with it. A stream decides the unit now, since its
    /// blocks cannot wait for the whole column.
    pub(crate) fn settle(&mut self) -> Result<bool> {
        self.flow(true)?;
        Ok(self.times.is_settled())
    }

    /// A sink for a part of this input on another thread.
    pub(crate) fn worker(&self) -> Sink<'o> {
        Sink {
            options: self.options,
            zone: self.zone.clone(),
            times: self.times.worker(),
            client: ClientColumn::new(self.options),
            cost: Vec::new(),
            facts: Facts::default(),
            input: self.input.clone(),
            duration_unit: self.duration_unit,
            has_client: self.has_client,
            client_field: None,
            bad_shown: Vec::new(),
            unnamed: 0,
            handed: 0,
            clamped: 0,
            doubtful: Doubtful::of_one(),
            stream: None,
            marks: self.marks.is_some().then(Vec::new),
            span: None,
            lines: self.lines.is_some().then(Vec::new),
        }
    }

    /// What came in since the last batch; the clients stay known.
    pub(crate) fn take_batch(&mut self) -> Result<Batch> {
        let client = std::mem::take(self.client.column()?);
        let next = self.times.worker();
        let names = self.client.names()[self.handed..].to_vec();
        self.handed += names.len();
        Ok(Batch {
            times: std::mem::replace(&mut self.times, next),
            client,
            cost: std::mem::take(&mut self.cost),
            names,
            facts: std::mem::take(&mut self.facts),
            bad_shown: std::mem::take(&mut self.bad_shown),
            unnamed: std::mem::take(&mut self.unnamed),
            doubtful: std::mem::replace(&mut self.doubtful, Doubtful::of_one()),
            lines: self.lines.as_mut().map(std::mem::take),
            marks: self.marks.as_mut().map(std::mem::take),
        })
    }

    /// Adds a worker's batch. `seen` holds the indices here of the clients that the worker knows.
    pub(crate) fn absorb(&mut self, batch: Batch, seen: &mut Vec<u32>) -> Result<()> {
        let before = self.client.len();
        self.client.absorb(&batch.client, &batch.names, seen)?;
        if !batch.cost.is_empty() || !self.cost.is_empty() {
            self.cost.resize(before, 1);
            self.cost.extend_from_slice(&batch.cost);
            self.cost.resize(self.client.len(), 1);
        }
        if let (Some(lines), Some(later)) = (&mut self.lines, &batch.lines) {
            lines.extend_from_slice(later);
        }
        if let (Some(marks), Some(later)) = (&mut self.marks, &batch.marks) {
            marks.extend_from_slice(later);
        }
        self.times.absorb(&batch.times);
        let facts = batch.facts;
        self.facts.rows += facts.rows;
        self.facts.events += facts.events;
        self.facts.bad += facts.bad;
        self.facts.blank += facts.blank;
        self.facts.skipped += facts.skipped;
        self.facts.answers.merge(&facts.answers);
        self.unnamed += batch.unnamed;
        self.doubtful.absorb(batch.doubtful);
        let room = SHOWN.saturating_sub(self.bad_shown.len());
        self.bad_shown.extend(batch.bad_shown.into_iter().take(room));
        self.within_rows()?;
        self.flow(false)
    }
}

//! The end of reading: units decided, events sorted, everything worth saying said.

use std::fmt::Write as _;

use super::kept::Inputs;
use super::{SHOWN, Sink};
use crate::error::{Error, Result};
use crate::trace::between::shown;
use crate::trace::columns::{Costs, Facts, Trace};
use crate::trace::options::{OnError, TimeUnit};
use crate::trace::order::{Disorder, in_order_of_appearance, permuted, resolution_ns, stable_order};
use crate::trace::stream::Stream;
use crate::trace::wording::{agreeing, counted};

impl Sink<'_> {
    /// Hands on the last block.
    pub(crate) fn finish_stream(mut self) -> Result<(Vec<Box<[u8]>>, Facts)> {
        self.flow(true)?;
        if let Some((input, guessed, unit)) = self.times.wrong_guess() {
            return Err(Error::failed(format!(
                "{input}: the first times look like {}, all of them together like {}: say which with --time-unit, or leave \
                 out --stream",
                guessed.symbol(),
                unit.symbol()
            )));
        }
        self.explain_bad();
        if self.facts.events == 0 {
            return Err(self.nothing());
        }
        self.explain_events();
        self.facts.resolution_ns = self.stream.as_ref().map_or(0, Stream::resolution_ns);
        Ok((self.client.into_parts()?.1, self.facts))
    }

    fn explain_events(&mut self) {
        if self.clamped > 0 {
            let starts = counted(self.clamped, "start");
            self.facts.notes.push(format!("{starts} before time zero moved to zero: is the duration right?"));
        }
        if self.unnamed > 0 {
            let (events, have) = (counted(self.unnamed, "event"), agreeing(self.unnamed, "has", "have"));
            self.facts.notes.push(format!("{events} {have} an empty client (nothing or -)"));
        }
    }

    /// Sorts, and hands over the columns.
    pub(crate) fn finish(mut self) -> Result<Trace> {
        let finished = std::mem::take(&mut self.times).finish();
        self.facts.notes.extend(finished.notes);
        self.clamped += finished.clamped;
        let (mut at, mut starts) = (finished.at, finished.starts);
        self.drop_beyond(&mut at, &mut starts, &finished.beyond, &finished.units)?;
        self.keep_between(&mut at, Inputs { starts: &mut starts, numbers: &finished.numbers })?;
        let ends = starts.iter().copied().skip(1).chain([at.len()]);
        let disorder = starts.iter().zip(ends).map(|(&start, end)| Disorder::of(&at[start..end]));
        let disorder = disorder.fold(Disorder::default(), Disorder::and);
        (self.facts.reordered, self.facts.largest_step_back_ns) = (disorder.steps_back, disorder.largest_ns);
        self.explain_bad();
        if at.is_empty() {
            return Err(self.nothing());
        }
        if u32::try_from(at.len()).is_err() {
            return Err(Error::failed("more than 4294967295 events; read fewer files at once".to_owned()));
        }
        self.explain_events();
        let (mut client, names) = self.client.into_parts()?;
        if !at.is_sorted() {
            let order = stable_order(&at, &starts);
            at = permuted(&at, &order);
            client = permuted(&client, &order);
            self.cost = if self.cost.is_empty() { Vec::new() } else { permuted(&self.cost, &order) };
        }
        let names = in_order_of_appearance(&mut client, names);
        self.facts.resolution_ns = resolution_ns(&at);
        let cost = if self.cost.is_empty() { Costs::Unit } else { Costs::Each(self.cost) };
        Ok(Trace { at, client, cost, names, facts: self.facts })
    }

    /// Takes out events whose time turned out too large for the unit of their column.
    pub(super) fn drop_beyond(
        &mut self,
        at: &mut Vec<u64>,
        starts: &mut [usize],
        beyond: &[usize],
        units: &[Option<TimeUnit>],
    ) -> Result<()> {
        let messages = self.doubtful.in_units(units);
        if beyond.is_empty() {
            return Ok(());
        }
        let count = beyond.len() as u64;
        if let (OnError::Fail, Some(message)) = (self.options.on_error, messages.first()) {
            return Err(Error::failed(format!("{message} (--time-unit names another unit)")));
        }
        let room = SHOWN.saturating_sub(self.bad_shown.len());
        self.bad_shown.extend(messages.into_iter().take(room));
        self.facts.events -= count;
        self.facts.bad += count;
        for start in starts {
            *start -= beyond.partition_point(|removed| removed < start);
        }
        retain_others(at, beyond);
        retain_others(self.client.column()?, beyond);
        if let Some(lines) = &mut self.lines {
            retain_others(lines, beyond);
        }
        if let Some(marks) = &mut self.marks {
            retain_others(marks, beyond);
        }
        if !self.cost.is_empty() {
            retain_others(&mut self.cost, beyond);
        }
        Ok(())
    }

    fn explain_bad(&mut self) {
        if self.facts.bad > 0 {
            let more = self.facts.bad - self.bad_shown.len() as u64;
            let (records, were) = (counted(self.facts.bad, "bad record"), agreeing(self.facts.bad, "was", "were"));
            self.facts.notes.push(format!("{records} {were} left out"));
            self.facts.notes.extend(self.bad_shown.iter().map(|shown| format!("bad: {shown}")));
            if more > 0 {
                self.facts.notes.push(format!("bad: and {more} more"));
            }
        }
    }

    fn nothing(&self) -> Error {
        let paths: Vec<String> = self.facts.paths.iter().map(|p| p.display().to_string()).collect();
        if let Some((first, last)) = self.span {
            return Error::failed(format!(
                "{}: no event is left by {}: the trace spans {} to {}",
                paths.join(", "),
                self.options.between.words(),
                shown(first),
                shown(last)
            ));
        }
        let mut message = match self.facts.rows {
            0 => format!("{}: empty: no records at all", paths.join(", ")),
            rows => format!(
                "{}: no readable record: {} read as {}, of {} {} bad, {} blank, {} skipped",
                paths.join(", "),
                counted(rows, "record"),
                self.facts.format,
                agreeing(rows, "it", "them"),
                self.facts.bad,
                self.facts.blank,
                self.facts.skipped
            ),
        };
        for shown in &self.bad_shown {
            let _ = write!(message, "\n  {shown}");
        }
        if self.facts.bad > 0 {
            message.push_str("\n  --format, --time-column and --log-format say how to read the input");
        } else if self.facts.skipped > 0 && !self.options.filters.is_empty() {
            message.push_str("\n  no record passes --where");
        }
        Error::failed(message)
    }
}

/// Removes the elements at these increasing indices.
fn retain_others<T>(column: &mut Vec<T>, removed: &[usize]) {
    let mut removed = removed.iter().copied().peekable();
    let mut index = 0;
    column.retain(|_| {
        let keep = removed.next_if_eq(&index).is_none();
        index += 1;
        keep
    });
}

//! Where readers put records: counts every one, makes events of those that can be read, remembers the first bad ones.

use std::fmt::Write as _;

use super::client_name::ClientNames;
use super::columns::{Costs, Facts, Trace};
use super::options::{OnError, ReadOptions, TimeUnit};
use super::order::{Disorder, in_order_of_appearance, permuted, resolution_ns, stable_order};
use super::plan::Plan;
use super::record::{Bad, Field, Parsed, Place, Record, When, Why, shown};
use super::stream::{EVENTS, Stream};
use super::time_text::{parse, parse_pair};
use super::times::Times;
use super::units::{duration_nanos, whole_units};
use super::zone::Zone;
use crate::error::{Error, Result};

/// Bad records shown to the user; the rest are only counted.
const SHOWN: usize = 5;

/// Collects the events of all inputs.
pub(crate) struct Sink<'o> {
    options: &'o ReadOptions,
    zone: Zone,
    times: Times,
    clients: ClientNames,
    client: Vec<u32>,
    /// Empty while every cost is one unit.
    cost: Vec<u64>,
    facts: Facts,
    input: String,
    duration_unit: TimeUnit,
    has_client: bool,
    bad_shown: Vec<String>,
    /// Events whose client is empty or `-`.
    unnamed: u64,
    /// Names handed over in batches.
    handed: usize,
    /// Where events go instead of being kept.
    stream: Option<Stream<'o>>,
}

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
}

impl<'o> Sink<'o> {
    /// An empty sink.
    pub(crate) fn new(options: &'o ReadOptions) -> Result<Self> {
        Ok(Sink {
            options,
            zone: Zone::named(options.timezone.as_deref())?,
            times: Times::default(),
            clients: ClientNames::new(options),
            client: Vec::new(),
            cost: Vec::new(),
            facts: Facts::default(),
            input: String::new(),
            duration_unit: TimeUnit::Millis,
            has_client: false,
            bad_shown: Vec::new(),
            unnamed: 0,
            handed: 0,
            stream: None,
        })
    }

    /// A sink that hands events on in blocks instead of keeping them.
    pub(crate) fn streaming(options: &'o ReadOptions, stream: Stream<'o>) -> Result<Self> {
        Ok(Sink { stream: Some(stream), ..Sink::new(options)? })
    }

    /// Starts another input.
    pub(crate) fn begin(&mut self, input: &super::options::Input, format: &str) {
        self.facts.paths.push(input.path());
        if !self.facts.format.split('+').any(|known| known == format) {
            if !self.facts.format.is_empty() {
                self.facts.format.push('+');
            }
            self.facts.format.push_str(format);
        }
        self.input = input.to_string();
        self.times.begin(self.input.clone());
    }

    /// Says what the records of this input will hold, before the first of them.
    pub(crate) fn expect(&mut self, plan: &Plan) {
        self.times.expect_unit(plan.time_unit);
        self.duration_unit = plan.duration_unit;
        self.has_client = plan.has_client();
        if !self.has_client {
            self.note(format!("{}: no client column: all requests count as one global client", self.input));
        }
    }

    /// Something a person should know. Said once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.facts.notes.contains(&note) {
            self.facts.notes.push(note);
        }
    }

    /// A blank line.
    pub(crate) fn blank(&mut self) -> Result<()> {
        self.facts.blank += 1;
        self.row()
    }

    /// A record passed over on purpose.
    pub(crate) fn skipped(&mut self) -> Result<()> {
        self.facts.skipped += 1;
        self.row()
    }

    /// Whatever a line turned out to be.
    pub(crate) fn take(&mut self, place: Place<'_>, parsed: Parsed<'_>) -> Result<()> {
        match parsed {
            Parsed::Record(record) => self.record(place, &record),
            Parsed::Skipped => self.skipped(),
            Parsed::Bad(bad) => self.bad(place, &bad),
        }
    }

    /// A record that cannot be read.
    pub(crate) fn bad(&mut self, place: Place<'_>, bad: &Bad<'_>) -> Result<()> {
        self.facts.bad += 1;
        let fail = self.options.on_error == OnError::Fail;
        if fail || self.bad_shown.len() < SHOWN {
            let message = describe(&self.input, place, bad);
            if fail {
                return Err(Error::failed(format!("{message} (--on-error skip counts such records and goes on)")));
            }
            self.bad_shown.push(message);
        }
        self.row()
    }

    /// A record that may be an event.
    pub(crate) fn record(&mut self, place: Place<'_>, record: &Record<'_>) -> Result<()> {
        match self.event(record) {
            Ok(()) => self.row(),
            Err(bad) => self.bad(place, &bad),
        }
    }

    fn row(&mut self) -> Result<()> {
        self.facts.rows += 1;
        self.within_rows()?;
        self.flow(false)
    }

    fn within_rows(&self) -> Result<()> {
        match self.options.max_rows {
            Some(most) if self.facts.rows > most => Err(Error::failed(format!(
                "{}: more than {most} records, the limit set with --max-rows; raise it, or read fewer files",
                self.input
            ))),
            _ => Ok(()),
        }
    }

    /// Appends to every column, or to none.
    fn event<'a>(&mut self, record: &Record<'a>) -> std::result::Result<(), Bad<'a>> {
        let (stamp, at) = match record.when {
            When::One(field) => (parse(field.text), field),
            When::DateAndTime(date, time) => (parse_pair(date.text, time.text), date),
        };
        let stamp = stamp.map_err(|error| Bad { why: Why::Time(error), found: at })?;
        let cost = match (record.cost, record.count) {
            (None, None) => 1,
            (Some(cost), None) => units("cost", cost)?,
            (None, Some(count)) => units("count", count)?,
            (Some(cost), Some(count)) => {
                let product = units("cost", cost)?.checked_mul(units("count", count)?);
                product.ok_or(Bad { why: Why::Units("cost", super::record::NumberError::BeyondRange), found: cost })?
            }
        };
        let duration = match record.duration {
            None => 0,
            Some(field) => duration_nanos(field.text, self.duration_unit)
                .map_err(|error| Bad { why: Why::Duration(error), found: field })?,
        };
        let name = record.client.unwrap_or_default();
        let client = self.clients.index(name.text).ok_or(Bad { why: Why::TooManyClients, found: name })?;
        self.times.push(stamp, duration, &mut self.zone).map_err(|why| Bad { why, found: at })?;
        if self.has_client && matches!(name.text, b"" | b"-") {
            self.unnamed += 1;
        }
        if cost != 1 && self.cost.is_empty() {
            self.cost.resize(self.client.len(), 1);
        }
        if cost != 1 || !self.cost.is_empty() {
            self.cost.push(cost);
        }
        self.client.push(client);
        self.facts.events += 1;
        Ok(())
    }

    /// Hands on what has come in, if that is a whole block or the end.
    fn flow(&mut self, end: bool) -> Result<()> {
        if self.stream.is_none() || (self.client.len() < EVENTS && !end) {
            return Ok(());
        }
        let finished = std::mem::take(&mut self.times).finish();
        self.times = finished.next;
        self.facts.notes.extend(finished.notes);
        let (mut at, mut starts) = (finished.at, finished.starts);
        self.drop_beyond(&mut at, &mut starts, &finished.beyond)?;
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let handed_on = stream.hand_on(&self.input, &at, &self.client, &self.cost);
        self.client.clear();
        self.cost.clear();
        handed_on
    }

    /// Hands on the last block.
    pub(crate) fn finish_stream(mut self) -> Result<(Vec<Box<[u8]>>, Facts)> {
        self.flow(true)?;
        self.explain_bad();
        if self.facts.events == 0 {
            return Err(self.nothing());
        }
        self.explain_unnamed();
        self.facts.resolution_ns = self.stream.as_ref().map_or(0, Stream::resolution_ns);
        Ok((self.clients.into_names(), self.facts))
    }

    fn explain_unnamed(&mut self) {
        if self.unnamed > 0 {
            self.facts.notes.push(format!("{} events have an empty client (nothing or -)", self.unnamed));
        }
    }

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
            clients: ClientNames::new(self.options),
            client: Vec::new(),
            cost: Vec::new(),
            facts: Facts::default(),
            input: self.input.clone(),
            duration_unit: self.duration_unit,
            has_client: self.has_client,
            bad_shown: Vec::new(),
            unnamed: 0,
            handed: 0,
            stream: None,
        }
    }

    /// What came in since the last batch; the clients stay known.
    pub(crate) fn take_batch(&mut self) -> Batch {
        let next = self.times.worker();
        let names = self.clients.names()[self.handed..].to_vec();
        self.handed += names.len();
        Batch {
            times: std::mem::replace(&mut self.times, next),
            client: std::mem::take(&mut self.client),
            cost: std::mem::take(&mut self.cost),
            names,
            facts: std::mem::take(&mut self.facts),
            bad_shown: std::mem::take(&mut self.bad_shown),
            unnamed: std::mem::take(&mut self.unnamed),
        }
    }

    /// Adds a worker's batch. `seen` holds the indices here of the clients that the worker knows.
    pub(crate) fn absorb(&mut self, batch: Batch, seen: &mut Vec<u32>) -> Result<()> {
        let too_many = || Error::failed(Why::TooManyClients.to_string());
        for name in &batch.names {
            // Names of a worker have their normal form already.
            seen.push(self.clients.index_of_normal(name).ok_or_else(too_many)?);
        }
        let before = self.client.len();
        self.client.extend(batch.client.iter().map(|&c| seen[c as usize]));
        if !batch.cost.is_empty() || !self.cost.is_empty() {
            self.cost.resize(before, 1);
            self.cost.extend_from_slice(&batch.cost);
            self.cost.resize(self.client.len(), 1);
        }
        self.times.absorb(batch.times);
        let facts = batch.facts;
        self.facts.rows += facts.rows;
        self.facts.events += facts.events;
        self.facts.bad += facts.bad;
        self.facts.blank += facts.blank;
        self.facts.skipped += facts.skipped;
        self.unnamed += batch.unnamed;
        let room = SHOWN.saturating_sub(self.bad_shown.len());
        self.bad_shown.extend(batch.bad_shown.into_iter().take(room));
        self.within_rows()?;
        self.flow(false)
    }

    /// Sorts, and hands over the columns.
    pub(crate) fn finish(mut self) -> Result<Trace> {
        let finished = std::mem::take(&mut self.times).finish();
        self.facts.notes.extend(finished.notes);
        let (mut at, mut starts) = (finished.at, finished.starts);
        self.drop_beyond(&mut at, &mut starts, &finished.beyond)?;
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
        if !at.is_sorted() {
            let order = stable_order(&at, &starts);
            at = permuted(&at, &order);
            self.client = permuted(&self.client, &order);
            self.cost = if self.cost.is_empty() { Vec::new() } else { permuted(&self.cost, &order) };
        }
        self.explain_unnamed();
        let names = in_order_of_appearance(&mut self.client, self.clients.into_names());
        self.facts.resolution_ns = resolution_ns(&at);
        let cost = if self.cost.is_empty() { Costs::Unit } else { Costs::Each(self.cost) };
        Ok(Trace { at, client: self.client, cost, names, facts: self.facts })
    }

    /// Takes out events whose time turned out too large for the unit of their column.
    fn drop_beyond(&mut self, at: &mut Vec<u64>, starts: &mut [usize], beyond: &[usize]) -> Result<()> {
        let Some(&first) = beyond.first() else { return Ok(()) };
        let count = beyond.len() as u64;
        let message = format!(
            "{}: event {} of the input has a time of {} that lies beyond the range in the unit of its column",
            self.input,
            first + 1,
            at[first]
        );
        if self.options.on_error == OnError::Fail {
            return Err(Error::failed(format!("{message} (--time-unit names another unit)")));
        }
        if self.bad_shown.len() < SHOWN {
            self.bad_shown.push(message);
        }
        self.facts.events -= count;
        self.facts.bad += count;
        for start in starts {
            *start -= beyond.partition_point(|removed| removed < start);
        }
        retain_others(at, beyond);
        retain_others(&mut self.client, beyond);
        if !self.cost.is_empty() {
            retain_others(&mut self.cost, beyond);
        }
        Ok(())
    }

    fn explain_bad(&mut self) {
        if self.facts.bad > 0 {
            let more = self.facts.bad - self.bad_shown.len() as u64;
            self.facts.notes.push(format!("{} bad records were left out", self.facts.bad));
            self.facts.notes.extend(self.bad_shown.iter().map(|shown| format!("bad: {shown}")));
            if more > 0 {
                self.facts.notes.push(format!("bad: and {more} more"));
            }
        }
    }

    fn nothing(&self) -> Error {
        let paths: Vec<String> = self.facts.paths.iter().map(|p| p.display().to_string()).collect();
        let mut message = match self.facts.rows {
            0 => format!("{}: empty: no records at all", paths.join(", ")),
            rows => format!(
                "{}: no readable record: {rows} records read as {}, of them {} bad, {} blank, {} skipped",
                paths.join(", "),
                self.facts.format,
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

fn units<'a>(what: &'static str, field: Field<'a>) -> std::result::Result<u64, Bad<'a>> {
    whole_units(field.text).map_err(|error| Bad { why: Why::Units(what, error), found: field })
}

/// `file:line:column: reason: found "text"`.
fn describe(input: &str, place: Place<'_>, bad: &Bad<'_>) -> String {
    let (line, column) = place.of(&bad.found);
    let found = if bad.found.text.is_empty() { String::new() } else { format!(", found {}", shown(bad.found.text)) };
    format!("{input}:{line}:{column}: {}{found}", bad.why)
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

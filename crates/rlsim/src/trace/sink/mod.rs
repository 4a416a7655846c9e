//! Where readers put records: counts every one, makes events of those that can be read, remembers the first bad ones.

mod batch;
mod doubtful;
mod finish;
mod kept;

pub(crate) use batch::Batch;

use self::doubtful::Doubtful;
use self::kept::{Inputs, Mark};
use super::client_column::ClientColumn;
use super::columns::Facts;
use super::options::{ClientAs, OnError, ReadOptions, TimeUnit};
use super::plan::Plan;
use super::record::{Bad, Field, Parsed, Place, Record, When, Why, shown};
use super::stream::{EVENTS, Stream};
use super::time_text::{TimeError, parse, parse_pair};
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
    client: ClientColumn,
    /// Empty while every cost is one unit.
    cost: Vec<u64>,
    facts: Facts,
    input: String,
    duration_unit: TimeUnit,
    has_client: bool,
    /// The field of the client, where that is to be said with an example.
    client_field: Option<String>,
    bad_shown: Vec<String>,
    /// Events whose client is empty or `-`.
    unnamed: u64,
    /// Names handed over in batches.
    handed: usize,
    /// Starts before time zero, moved there.
    clamped: u64,
    doubtful: Doubtful,
    /// Where events go instead of being kept.
    stream: Option<Stream<'o>>,
    /// What waits to be counted, where some events may not be kept.
    marks: Option<Vec<Mark>>,
    /// The first and the last time of all events, kept or not.
    span: Option<(u64, u64)>,
    /// The line of each event, kept where events are handed on, so that one out of order can be shown.
    lines: Option<Vec<u64>>,
}

impl<'o> Sink<'o> {
    /// An empty sink.
    pub(crate) fn new(options: &'o ReadOptions) -> Result<Self> {
        let mut zone = Zone::named(options.timezone.as_deref())?;
        options.between.check(&mut zone, options.time_unit)?;
        Ok(Sink {
            options,
            zone,
            times: Times::default(),
            client: ClientColumn::new(options),
            cost: Vec::new(),
            facts: Facts::default(),
            input: String::new(),
            duration_unit: TimeUnit::Millis,
            has_client: false,
            client_field: None,
            bad_shown: Vec::new(),
            unnamed: 0,
            handed: 0,
            clamped: 0,
            doubtful: Doubtful::default(),
            stream: None,
            marks: (!options.between.is_all()).then(Vec::new),
            span: None,
            lines: None,
        })
    }

    /// A sink that hands events on in blocks instead of keeping them.
    pub(crate) fn streaming(options: &'o ReadOptions, stream: Stream<'o>) -> Result<Self> {
        Ok(Sink { stream: Some(stream), lines: Some(Vec::new()), ..Sink::new(options)? })
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
        self.doubtful.begin();
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

    /// Says which field was taken for the client, with what the first event has in it.
    pub(crate) fn say_client(&mut self, field: String) {
        self.client_field = Some(field);
    }

    fn show_client(&mut self, name: &[u8]) {
        let Some(field) = self.client_field.take() else { return };
        let said = format!("the client is the field {field:?}, such as ");
        if self.facts.notes.iter().any(|note| note.starts_with(&said)) {
            return;
        }
        let list = match self.options.client_as {
            ClientAs::Raw if name.contains(&b',') => "; --client-as ip takes the first of a list",
            _ => "",
        };
        self.note(format!("{said}{}{list}", shown(name)));
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
        match self.event(place, record) {
            Ok(()) => {
                if let Some(lines) = &mut self.lines {
                    lines.push(place.line);
                }
                self.row()
            }
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
    fn event<'a>(&mut self, place: Place<'_>, record: &Record<'a>) -> std::result::Result<(), Bad<'a>> {
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
        let doubtful = self.times.push(stamp, duration, &mut self.zone).map_err(|why| Bad { why, found: at })?;
        if doubtful {
            let bad = Bad { why: Why::Time(TimeError::BeyondRange), found: at };
            self.doubtful.add(self.times.doubtful(&stamp), || describe(&self.input, place, &bad));
        }
        if cost != 1 && self.cost.is_empty() {
            self.cost.resize(self.client.len(), 1);
        }
        if cost != 1 || !self.cost.is_empty() {
            self.cost.push(cost);
        }
        self.client.push(name.text);
        self.show_client(name.text);
        self.mark(Mark { answer: record.answer, unnamed: self.has_client && matches!(name.text, b"" | b"-") });
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
        self.clamped += finished.clamped;
        let (mut at, mut starts) = (finished.at, finished.starts);
        self.drop_beyond(&mut at, &mut starts, &finished.beyond, &finished.units)?;
        self.keep_between(&mut at, Inputs { starts: &mut starts, numbers: &finished.numbers })?;
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let lines = self.lines.as_deref().unwrap_or_default();
        stream.check_order(&at, lines, |event| self.times.label_of(&starts, event))?;
        let client = self.client.column()?;
        let handed_on = stream.hand_on(&at, client, &self.cost);
        client.clear();
        self.cost.clear();
        if let Some(lines) = &mut self.lines {
            lines.clear();
        }
        handed_on
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

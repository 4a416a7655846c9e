//! Which fields of a record matter: what was asked for, or what the names say.

use std::cell::Cell;

use super::answers::{Answer, Answers};
use super::options::{Column, ReadOptions, TimeColumn, TimeIs, TimeUnit};
use super::record::{Bad, Field, Parsed, Record, When, Why, unquoted};
use crate::error::{Error, Result};

/// The fields of one record, by index from 0.
pub(crate) trait Fields<'a> {
    /// Field `index`, if the record has it.
    fn get(&self, index: usize) -> Option<Field<'a>>;
}

impl<'a> Fields<'a> for [Field<'a>] {
    fn get(&self, index: usize) -> Option<Field<'a>> {
        <[Field<'a>]>::get(self, index).copied()
    }
}

/// The columns of an input: where a name or a number leads.
pub(crate) trait Columns {
    /// The index of a column; `None` if there is none of that name or number.
    fn index(&mut self, column: &Column) -> Option<usize>;
    /// The names there are, for messages.
    fn listing(&self) -> String;
}

/// Names that a message lists at most.
const NAMES_SHOWN: usize = 40;

/// Columns that have names, or only numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Empty without a header.
    pub(crate) names: Vec<String>,
    /// How many columns there are.
    pub(crate) count: usize,
}

impl Names {
    /// What a column is called in messages.
    pub(crate) fn name(&self, index: usize) -> String {
        self.names.get(index).cloned().unwrap_or_else(|| format!("number {}", index + 1))
    }
}

/// An address without the port behind its last colon; brackets of IPv6 stay.
fn without_port(text: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', text) {
        // An IPv6 address without brackets has no port.
        Some(colon) if text[0] != b'[' && memchr::memchr(b':', text) != Some(colon) => text,
        Some(colon) if colon > 0 && text[colon + 1..].iter().all(u8::is_ascii_digit) => &text[..colon],
        _ => text,
    }
}

impl Columns for Names {
    /// An exact name first (its first occurrence), then one that differs in case only, then a number.
    fn index(&mut self, column: &Column) -> Option<usize> {
        match column {
            Column::Name(name) => (self.names.iter().position(|n| n == name))
                .or_else(|| self.names.iter().position(|n| n.eq_ignore_ascii_case(name))),
            Column::Number(number) => {
                // A header may name a column by digits only.
                let named = self.names.iter().position(|n| *n == number.to_string());
                named.or_else(|| number.checked_sub(1).filter(|&i| i < self.count))
            }
        }
    }

    fn listing(&self) -> String {
        if self.names.is_empty() {
            return format!("there are {} columns and no header: give a number from 1 to {0}", self.count);
        }
        // Names come from the input: nothing in them may move a terminal's cursor, and a line of a page is no list.
        let list: Vec<String> = self.names.iter().take(NAMES_SHOWN).map(|name| unquoted(name.as_bytes())).collect();
        let more = self.names.len().saturating_sub(NAMES_SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("the columns are: {}{more}", list.join(", "))
    }
}

/// Columns that a format uses when nothing is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roles {
    /// One column, or date and time.
    pub(crate) time: Option<(usize, Option<usize>)>,
    pub(crate) client: Option<usize>,
    pub(crate) cost: Option<usize>,
    pub(crate) count: Option<usize>,
    pub(crate) duration: Option<usize>,
    /// The unit of the duration.
    pub(crate) duration_unit: Option<TimeUnit>,
    /// The unit of numeric times.
    pub(crate) time_unit: Option<TimeUnit>,
    /// Whether the client is written with its port, which is no part of its name.
    pub(crate) client_has_port: bool,
    /// Fields that only requests have with these values, in inputs that hold other records too.
    pub(crate) only: [Option<(usize, &'static str)>; 2],
}

impl Roles {
    /// No column at all.
    pub(crate) const NONE: Roles = Roles {
        time: None,
        client: None,
        cost: None,
        count: None,
        duration: None,
        duration_unit: None,
        time_unit: None,
        client_has_port: false,
        only: [None; 2],
    };
}

/// Where the parts of a request stand in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    time: (usize, Option<usize>),
    client: Option<usize>,
    client_has_port: bool,
    cost: Option<usize>,
    count: Option<usize>,
    duration: Option<usize>,
    filters: Vec<(usize, Vec<u8>, bool)>,
    /// Columns that say how a request was answered, each after the place of its counts.
    answers: Vec<(usize, usize)>,
    /// The unit of the duration.
    pub(crate) duration_unit: TimeUnit,
    /// The unit of numeric times, if known.
    pub(crate) time_unit: Option<TimeUnit>,
}

/// The columns there are of those that say how a request was answered; one that was asked for must be there.
fn answers(columns: &mut dyn Columns, wanted: &Answers, input: &str) -> Result<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for (place, column) in wanted.columns() {
        match columns.index(&column) {
            Some(index) => found.push((place, index)),
            None if matches!(wanted, Answers::In(_)) => {
                return Err(Error::failed(format!(
                    "{input}: no column {column} for --status-column; {}",
                    columns.listing()
                )));
            }
            None => {}
        }
    }
    Ok(found)
}

impl Plan {
    /// Options first, then the roles that the format knows.
    pub(crate) fn new(columns: &mut dyn Columns, options: &ReadOptions, roles: Roles, input: &str) -> Result<Self> {
        let mut find = |column: &Column, option: &str| {
            columns.index(column).ok_or_else(|| {
                Error::failed(format!("{input}: no column {column} for {option}; {}", columns.listing()))
            })
        };
        let mut optional = |column: &Option<Column>, option: &str, role: Option<usize>| match column {
            Some(column) => find(column, option).map(Some),
            None => Ok(role),
        };
        let client = optional(&options.client_column, "--client-column", roles.client)?;
        let cost = optional(&options.cost_column, "--cost-column", roles.cost)?;
        let count = optional(&options.count_column, "--count-column", roles.count)?;
        let duration = optional(&options.duration_column, "--duration-column", roles.duration)?;
        let mut filters: Vec<(usize, Vec<u8>, bool)> = Vec::new();
        for filter in &options.filters {
            filters.push((find(&filter.column, "--where")?, filter.value.clone(), filter.keep_equal));
        }
        // A filter asked for takes the place of the one that the format has on the same field.
        for (index, value) in roles.only.into_iter().flatten() {
            if filters.iter().all(|(asked, ..)| *asked != index) {
                filters.push((index, value.into(), true));
            }
        }
        let asked_time = match &options.time_column {
            Some(TimeColumn::One(column)) => Some((find(column, "--time-column")?, None)),
            Some(TimeColumn::DateAndTime(date, time)) => {
                Some((find(date, "--time-column")?, Some(find(time, "--time-column")?)))
            }
            None => None,
        };
        let Some(time) = asked_time.or(roles.time) else {
            return Err(Error::failed(format!(
                "{input}: no column is known to hold the time; {}; name one with --time-column",
                columns.listing()
            )));
        };
        let answers = answers(columns, &options.answers, input)?;
        let ends = options.time_is == TimeIs::End;
        if ends && duration.is_none() {
            return Err(Error::failed(format!(
                "{input}: --time-is end needs the duration of each request; {}; name one with --duration-column",
                columns.listing()
            )));
        }
        Ok(Plan {
            time,
            client,
            client_has_port: roles.client_has_port && client == roles.client,
            cost,
            count,
            duration: duration.filter(|_| ends),
            filters,
            answers,
            duration_unit: options.duration_unit.or(roles.duration_unit).unwrap_or(TimeUnit::Millis),
            time_unit: options.time_unit.or(if asked_time.is_some() { None } else { roles.time_unit }),
        })
    }

    /// Whether records name a client.
    pub(crate) fn has_client(&self) -> bool {
        self.client.is_some()
    }

    /// Where the client stands.
    pub(crate) fn client(&self) -> Option<usize> {
        self.client
    }

    fn client_name<'a>(&self, field: Field<'a>) -> Field<'a> {
        if self.client_has_port { Field { text: without_port(field.text), ..field } } else { field }
    }

    /// Picks the parts of one record.
    pub(crate) fn parse<'a>(&self, fields: &(impl Fields<'a> + ?Sized), names: &dyn Fn(usize) -> String) -> Parsed<'a> {
        for (index, value, keep_equal) in &self.filters {
            let equal = fields.get(*index).is_some_and(|field| field.text.trim_ascii() == value.as_slice());
            if equal != *keep_equal {
                return Parsed::Skipped;
            }
        }
        let missing = Cell::new(None);
        let need = |index: usize| {
            fields.get(index).unwrap_or_else(|| {
                missing.set(Some(index));
                Field::default()
            })
        };
        let when = match self.time {
            (time, None) => When::One(need(time)),
            (date, Some(time)) => When::DateAndTime(need(date), need(time)),
        };
        let mut answer = Answer::default();
        for &(place, index) in &self.answers {
            answer.add(place, fields.get(index).unwrap_or_default().text);
        }
        let record = Record {
            answer,
            when,
            client: self.client.map(|i| self.client_name(fields.get(i).unwrap_or_default())),
            cost: self.cost.map(need),
            count: self.count.map(need),
            duration: self.duration.map(need),
        };
        match missing.get() {
            None => Parsed::Record(record),
            Some(index) => Parsed::Bad(Bad { why: Why::NoField(names(index).into()), found: Field::default() }),
        }
    }
}

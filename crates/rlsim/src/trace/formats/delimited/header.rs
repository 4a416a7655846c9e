//! The first line: whether it is a header, and which columns matter.

use std::collections::HashSet;

use super::presets::known;
use super::rows::{Row, RowFields, RowKind, Rows};
use crate::error::Result;
use crate::trace::formats::Head;
use crate::trace::names::common;
use crate::trace::options::{Column, ReadOptions, TimeColumn};
use crate::trace::plan::{Fields, Names, Plan, Roles};
use crate::trace::record::Place;
use crate::trace::sink::Sink;
use crate::trace::time_text::{Stamp, TimeError, parse};

/// What the first line told.
pub(super) struct Header {
    pub(super) names: Names,
    pub(super) plan: Plan,
}

impl Header {
    /// Puts a row into the sink.
    pub(super) fn deliver(&self, row: Row<'_>, sink: &mut Sink<'_>) -> Result<()> {
        row.deliver(self.names.count, |fields| self.plan.parse(fields, &|i| self.names.name(i)), sink)
    }
}

/// What splits the first lines: the delimiter that makes a known header of the first one, otherwise the one on which most
/// lines agree and that splits most. A single column passes for CSV if it is or is called a time.
pub(super) fn delimiter(head: &Head<'_>) -> Option<u8> {
    const DELIMITERS: [u8; 3] = [b',', b'\t', b';'];
    let lines: Vec<&[u8]> =
        head.lines().filter(|line| line.first() != Some(&b'#') && !line.trim_ascii().is_empty()).take(20).collect();
    let (&first, rest) = lines.split_first()?;
    if let Some(known) = DELIMITERS.into_iter().find(|&d| delimiters(first, d) > 0 && is_known_header(first, d)) {
        return Some(known);
    }
    let agree = |d: u8| {
        let fields = delimiters(first, d);
        // A delimiter too many at the end of a row is a habit of some writers.
        let alike = rest.iter().filter(|line| (fields..=fields + 1).contains(&delimiters(line, d))).count();
        fields > 0 && alike * 2 >= rest.len()
    };
    let best = DELIMITERS.into_iter().filter(|&d| agree(d)).max_by_key(|&d| delimiters(first, d));
    let only_time = || {
        DELIMITERS.into_iter().all(|d| delimiters(first, d) == 0)
            && (is_known_header(first, b',') || parse(first).is_ok())
    };
    best.or_else(|| only_time().then_some(b','))
}

/// Delimiters outside quotes.
fn delimiters(line: &[u8], delimiter: u8) -> usize {
    let mut quoted = false;
    let outside = |b: u8| {
        quoted ^= b == b'"';
        b == delimiter && !quoted
    };
    line.iter().copied().map(outside).filter(|&counts| counts).count()
}

fn is_known_header(line: &[u8], delimiter: u8) -> bool {
    let names: Vec<String> = line
        .split(|&b| b == delimiter)
        .map(|name| String::from_utf8_lossy(name).trim().trim_matches('"').to_owned())
        .collect();
    common(&names).time.is_some()
}

/// Reads up to the first line that is neither blank nor a comment, and puts it into the sink if it is no header.
pub(super) fn read(
    rows: &mut Rows<'_>,
    options: &ReadOptions,
    sink: &mut Sink<'_>,
    label: &str,
) -> Result<Option<Header>> {
    while let Some(row) = rows.next()? {
        match row.kind {
            RowKind::Fields(fields) => return first_line(row.place, fields, options, sink, label).map(Some),
            _ => row.deliver(0, |_| crate::trace::record::Parsed::Skipped, sink)?,
        }
    }
    Ok(None)
}

fn first_line(
    place: Place<'_>,
    fields: RowFields<'_>,
    options: &ReadOptions,
    sink: &mut Sink<'_>,
    label: &str,
) -> Result<Header> {
    let texts: Vec<String> = (0..fields.len())
        .filter_map(|i| fields.get(i))
        .map(|field| String::from_utf8_lossy(field.text.trim_ascii()).into_owned())
        .collect();
    if is_header(&texts, options) {
        say_if_repeated(&texts, sink, label);
        let mut names = Names { count: texts.len(), names: texts };
        let roles = header_roles(&names, options, sink, label);
        let plan = Plan::new(&mut names, options, roles, label)?;
        return Ok(Header { names, plan });
    }
    let mut names = Names { count: texts.len(), names: Vec::new() };
    let time = texts.iter().position(|text| is_instant(text));
    let roles = Roles { time: time.map(|i| (i, None)), ..Roles::NONE };
    let plan = Plan::new(&mut names, options, roles, label)?;
    if let (Some(i), None) = (time, &options.time_column) {
        sink.note(format!("{label}: no header; the time is column {}", i + 1));
    }
    sink.expect(&plan);
    let expected = names.count;
    let row = Row { place, kind: RowKind::Fields(fields) };
    row.deliver(expected, |fields| plan.parse(fields, &|i| names.name(i)), sink)?;
    Ok(Header { names, plan })
}

/// Of columns with one name only the first is found by it.
fn say_if_repeated(names: &[String], sink: &mut Sink<'_>, label: &str) {
    let mut seen = HashSet::with_capacity(names.len());
    if let Some(name) = names.iter().filter(|name| !name.is_empty()).find(|name| !seen.insert(name.as_str())) {
        sink.note(format!(
            "{label}: several columns are called {name:?}: the first counts, the others have only numbers"
        ));
    }
}

/// The first line is a header if the field asked for as time is no time; if none was asked for, if no field is one.
fn is_header(texts: &[String], options: &ReadOptions) -> bool {
    let asked = match &options.time_column {
        Some(TimeColumn::One(Column::Number(n))) => texts.get(n - 1),
        Some(TimeColumn::DateAndTime(Column::Number(date), Column::Number(time))) => {
            let pair = texts.get(date - 1).zip(texts.get(time - 1));
            return pair.is_none_or(|(d, t)| {
                crate::trace::time_text::parse_pair(d.as_bytes(), t.as_bytes()) == Err(TimeError::NotATime)
            });
        }
        Some(_) => return true,
        None => None,
    };
    match asked {
        Some(text) => parse(text.as_bytes()) == Err(TimeError::NotATime),
        None => !texts.iter().any(|text| parse(text.as_bytes()).is_ok()),
    }
}

/// Whether a text is a date, or a number of the size of one.
fn is_instant(text: &str) -> bool {
    match parse(text.as_bytes()) {
        Ok(Stamp::Number { whole, .. }) => whole >= 100_000_000,
        Ok(Stamp::Zoned(..) | Stamp::Local(_)) => true,
        Err(_) => false,
    }
}

/// The roles that common names give, and a word about the columns that matter.
fn header_roles(names: &Names, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Roles {
    if let Some((tool, roles)) = known(&names.names) {
        let only = roles.only[0]
            .map_or(String::new(), |(i, value)| format!(", requests are rows with {} = {value}", names.name(i)));
        sink.note(format!("{label}: results of {tool}{only}"));
        return roles;
    }
    let found = common(&names.names);
    let mut said = Vec::new();
    let mut role = |what: &str, index: Option<usize>, asked: bool| {
        if let (Some(i), false) = (index, asked) {
            said.push(format!("{what} {:?}", names.names[i]));
        }
    };
    role("time", found.time, options.time_column.is_some());
    role("client", found.client, options.client_column.is_some());
    role("cost", found.cost, options.cost_column.is_some());
    role("count", found.count, options.count_column.is_some());
    if !said.is_empty() {
        sink.note(format!("{label}: columns by their names: {}", said.join(", ")));
    }
    Roles {
        time: found.time.map(|i| (i, None)),
        time_unit: found.time_unit,
        client: found.client,
        cost: found.cost,
        count: found.count,
        ..Roles::NONE
    }
}

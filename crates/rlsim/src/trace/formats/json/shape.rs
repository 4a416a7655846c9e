//! The names of the fields that the first records have, and which of them matter.

use std::collections::BTreeSet;

use serde_json::Value;

use super::presets::Preset;
use crate::trace::names::common;
use crate::trace::options::{Column, TimeUnit};
use crate::trace::plan::{Columns, Roles};

/// Nested objects are looked into this deep, and this many names are kept.
const DEPTH: usize = 4;
const NAMES: usize = 1_000;
/// Names shown in messages.
const LISTED: usize = 60;

/// The fields seen in the first records, and the paths that are asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// Depth and path: shallow ones first, then by the alphabet.
    seen: BTreeSet<(usize, String)>,
    /// The paths to look for in every record, by index.
    pub(super) wanted: Vec<String>,
}

impl Shape {
    /// Adds the fields of a record; whether it is a JSON object at all.
    pub(super) fn add(&mut self, record: &[u8]) -> bool {
        match serde_json::from_slice(record) {
            Ok(Value::Object(fields)) => {
                self.add_fields(&fields, "", 1);
                true
            }
            _ => false,
        }
    }

    fn add_fields(&mut self, fields: &serde_json::Map<String, Value>, prefix: &str, depth: usize) {
        for (key, value) in fields {
            let path = format!("{prefix}{key}");
            match value {
                Value::Object(inside) if depth < DEPTH => self.add_fields(inside, &format!("{path}."), depth + 1),
                _ if self.seen.len() < NAMES => drop(self.seen.insert((depth, path))),
                _ => {}
            }
        }
    }

    /// Whether some record had this field.
    pub(super) fn has(&self, path: &str) -> bool {
        // An object asked for as a whole is there if something inside it is.
        self.seen.iter().any(|(_, p)| p == path || p.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    fn want(&mut self, path: &str) -> usize {
        let known = self.wanted.iter().position(|w| w == path);
        known.unwrap_or_else(|| {
            self.wanted.push(path.to_owned());
            self.wanted.len() - 1
        })
    }

    fn first_of(&mut self, paths: &[&str]) -> Option<usize> {
        let found = paths.iter().find(|path| self.has(path))?;
        Some(self.want(found))
    }

    /// The roles that a preset gives.
    pub(super) fn roles_of(&mut self, preset: &Preset) -> Roles {
        let duration = preset.duration.filter(|(path, _)| self.has(path)).map(|(path, unit)| (self.want(path), unit));
        Roles {
            time: self.first_of(preset.time).map(|i| (i, None)),
            time_unit: preset.time_unit,
            client: self.first_of(preset.client),
            client_has_port: preset.client_has_port,
            duration: duration.map(|d| d.0),
            duration_unit: duration.map(|d| d.1),
            only: preset.only.map(|only| only.map(|(path, value)| (self.want(path), value))),
            ..Roles::NONE
        }
    }

    /// The roles that common names give, and what to say about them. A nested field counts by its whole path (`user.id`), then by
    /// its last name.
    pub(super) fn roles_by_names(&mut self) -> (Roles, Vec<String>) {
        let paths: Vec<String> = self.seen.iter().map(|(_, path)| path.clone()).collect();
        let leaves: Vec<String> = self.seen.iter().map(|(depth, path)| leaf(*depth, path)).collect();
        let (joined, last) = (common(&paths), common(&leaves));
        let mut said = Vec::new();
        let mut role = |what: &str, index: Option<usize>| {
            let path = &paths[index?];
            said.push(format!("{what} {path:?}"));
            Some(self.want(path))
        };
        let roles = Roles {
            time: role("time", joined.time.or(last.time)).map(|i| (i, None)),
            time_unit: joined.time.map_or(last.time_unit, |_| joined.time_unit),
            client: role("client", joined.client.or(last.client)),
            cost: role("cost", joined.cost.or(last.cost)),
            count: role("count", joined.count.or(last.count)),
            duration_unit: Some(TimeUnit::Millis),
            ..Roles::NONE
        };
        (roles, said)
    }
}

/// The last name of a path. Headers and a nested `host` speak of the server as often as of the client, so they do not count.
fn leaf(depth: usize, path: &str) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    let vague = depth > 1 && (path.to_ascii_lowercase().contains("header") || last.eq_ignore_ascii_case("host"));
    if vague { String::new() } else { last.to_owned() }
}

impl Columns for Shape {
    fn index(&mut self, column: &Column) -> Option<usize> {
        match column {
            Column::Name(path) if self.has(path) => Some(self.want(path)),
            Column::Number(number) if self.has(&number.to_string()) => Some(self.want(&number.to_string())),
            _ => None,
        }
    }

    fn listing(&self) -> String {
        let mut list: Vec<&str> = self.seen.iter().map(|(_, path)| path.as_str()).take(LISTED).collect();
        if self.seen.len() > LISTED {
            list.push("...");
        }
        format!("the fields are: {}", list.join(", "))
    }
}

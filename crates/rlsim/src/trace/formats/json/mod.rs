//! JSON: one object a line, arrays of objects, objects that hold such an array, HAR; known logs by their fields.
//!
//! Fields are named by path (`request.remote_ip`). What a container runtime or syslog puts before a line's `{` is passed
//! over. Records are cut out first and parsed one by one, so a damaged one costs only itself.

mod extract;
mod layout;
mod presets;
mod records;
mod scan;
mod shape;

pub(crate) use presets::{AZURE_GATEWAY, CADDY, CLOUDFLARE, CLOUDTRAIL, ENVOY, HAR, JSON, K6, TRAEFIK, VEGETA};

use extract::{Slots, extract};
use presets::Preset;
use records::{Item, Records};
use shape::Shape;

use super::{Format, Head};
use crate::error::Result;
use crate::trace::lines::LONGEST;
use crate::trace::options::ReadOptions;
use crate::trace::plan::Plan;
use crate::trace::record::{Bad, Field, Parsed, Place, Why};
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// Records looked at before the columns are chosen, and their bytes.
const SAMPLE: usize = 1_000;
const SAMPLE_BYTES: usize = 1024 * 1024;

/// JSON with what is known about its fields.
pub(crate) struct Json {
    name: &'static str,
    about: &'static str,
    preset: Preset,
}

impl Format for Json {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn detect(&self, head: &Head<'_>) -> bool {
        if self.preset.telling.is_empty() {
            return looks_like_json(head);
        }
        // A key is told by its name in quotes: the head may be cut inside of a record.
        looks_like_json(head)
            && self.preset.telling.iter().all(|path| {
                path.split('.').all(|key| memchr::memmem::find(head.bytes, format!("\"{key}\"").as_bytes()).is_some())
            })
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        let mut records = Records::new(source)?;
        let sample = Sample::take(&mut records)?;
        let Some(reader) = self.reader(&sample, options, sink, label)? else {
            return sample.deliver(None, sink);
        };
        sample.deliver(Some(&reader), sink)?;
        while let Some(item) = records.next()? {
            reader.take(&item, sink)?;
        }
        Ok(())
    }
}

impl Json {
    /// Chooses the fields by the first records; `None` if none of them is an object.
    fn reader(
        &self,
        sample: &Sample,
        options: &ReadOptions,
        sink: &mut Sink<'_>,
        label: &str,
    ) -> Result<Option<Reader>> {
        let mut shape = Shape::default();
        let mut objects = 0;
        for (_, _, bytes) in sample.records() {
            objects += usize::from(shape.add(bytes));
        }
        if objects == 0 {
            return Ok(None);
        }
        let roles = if self.preset.time.is_empty() {
            let (roles, said) = shape.roles_by_names();
            if !said.is_empty() {
                sink.note(format!("{label}: fields by their names: {}", said.join(", ")));
            }
            roles
        } else {
            shape.roles_of(&self.preset)
        };
        let plan = Plan::new(&mut shape, options, roles, label)?;
        sink.expect(&plan);
        Ok(Some(Reader { plan, paths: shape.wanted }))
    }
}

fn looks_like_json(head: &Head<'_>) -> bool {
    let first = head.bytes.iter().find(|b| !b.is_ascii_whitespace());
    match first {
        Some(b'{') => true,
        // An array of objects; a lone `[` also begins other things, such as a time.
        Some(b'[') => {
            let rest = head.bytes.trim_ascii_start()[1..].trim_ascii_start();
            matches!(rest.first(), Some(b'{' | b']'))
        }
        // A prefix before the object in most lines.
        Some(_) => {
            let (mut all, mut objects) = (0, 0);
            for line in head.lines().filter(|l| !l.trim_ascii().is_empty()) {
                let start = memchr::memchr(b'{', line).unwrap_or(line.len());
                all += 1;
                objects += usize::from(serde_json::from_slice::<serde::de::IgnoredAny>(&line[start..]).is_ok());
            }
            objects * 2 > all
        }
        None => false,
    }
}

/// What makes events of records.
struct Reader {
    plan: Plan,
    paths: Vec<String>,
}

impl Reader {
    fn take(&self, item: &Item<'_>, sink: &mut Sink<'_>) -> Result<()> {
        let place = match item {
            Item::Record(place) => *place,
            other => return passed_over(other, sink),
        };
        match extract(place.bytes, &self.paths) {
            Ok(slots) => {
                let name_of = |i: usize| self.paths.get(i).cloned().unwrap_or_default();
                sink.take(place, self.plan.parse(&Slots(&slots), &name_of))
            }
            Err(error) => sink.take(place, Parsed::Bad(not_json(place, &error))),
        }
    }
}

/// Counts what is no record.
fn passed_over(item: &Item<'_>, sink: &mut Sink<'_>) -> Result<()> {
    match item {
        Item::Blank => sink.blank(),
        Item::Record(place) => {
            sink.bad(*place, &Bad { why: Why::Shape("a JSON object"), found: Field { text: place.bytes, column: 1 } })
        }
        Item::Bad(place, expected) => {
            sink.bad(*place, &Bad { why: Why::Shape(expected), found: Field { text: place.bytes, column: 1 } })
        }
        Item::TooLong(place) => sink.bad(*place, &Bad { why: Why::TooLong(LONGEST), found: Field::default() }),
    }
}

/// The parser's complaint, at its place in the record.
fn not_json<'a>(place: Place<'a>, error: &serde_json::Error) -> Bad<'a> {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    let line_start = match error.line() {
        0 | 1 => 0,
        line => memchr::memchr_iter(b'\n', place.bytes).nth(line - 2).map_or(0, |i| i + 1),
    };
    let at = (line_start + error.column().saturating_sub(1)).min(place.bytes.len());
    let text = &place.bytes[at..];
    Bad { why: Why::Json(message.into()), found: Field { text, column: at + 1 } }
}

/// The first records, kept until the columns are chosen.
#[derive(Default)]
struct Sample(Vec<Kept>);

/// An item that outlives the window it was in.
enum Kept {
    Record(u64, usize, Vec<u8>),
    Blank,
    Bad(u64, usize, Vec<u8>, &'static str),
    TooLong(u64, usize),
}

impl Sample {
    fn take(records: &mut Records<'_>) -> Result<Self> {
        let mut kept = Vec::new();
        let mut bytes = 0;
        while kept.len() < SAMPLE && bytes < SAMPLE_BYTES {
            let Some(item) = records.next()? else { break };
            kept.push(match item {
                Item::Record(place) => {
                    bytes += place.bytes.len();
                    Kept::Record(place.line, place.column, place.bytes.to_vec())
                }
                Item::Blank => Kept::Blank,
                Item::Bad(place, expected) => {
                    let beginning = &place.bytes[..place.bytes.len().min(SAMPLE)];
                    Kept::Bad(place.line, place.column, beginning.to_vec(), expected)
                }
                Item::TooLong(place) => Kept::TooLong(place.line, place.column),
            });
        }
        Ok(Sample(kept))
    }

    fn records(&self) -> impl Iterator<Item = (u64, usize, &[u8])> {
        self.0.iter().filter_map(|kept| match kept {
            Kept::Record(line, column, bytes) => Some((*line, *column, bytes.as_slice())),
            _ => None,
        })
    }

    fn deliver(&self, reader: Option<&Reader>, sink: &mut Sink<'_>) -> Result<()> {
        for kept in &self.0 {
            let item = match kept {
                Kept::Record(line, column, bytes) => Item::Record(Place { line: *line, column: *column, bytes }),
                Kept::Blank => Item::Blank,
                Kept::Bad(line, column, bytes, expected) => {
                    Item::Bad(Place { line: *line, column: *column, bytes }, expected)
                }
                Kept::TooLong(line, column) => Item::TooLong(Place { line: *line, column: *column, bytes: &[] }),
            };
            match reader {
                Some(reader) => reader.take(&item, sink)?,
                None => passed_over(&item, sink)?,
            }
        }
        Ok(())
    }
}

//! The time column while it grows: dates are nanoseconds at once, numbers wait until the whole column tells their unit.

use super::options::TimeUnit;
use super::record::Why;
use super::time_text::{Stamp, TimeError};
use super::unit_guess::{Guess, Magnitudes, guess};
use super::units::nanos_of;
use super::zone::Zone;

/// Units in which a number may lie beyond the range; every number of nanoseconds lies within.
pub(crate) const DOUBTFUL: [TimeUnit; 3] = [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros];

/// The smallest number of seconds that may lie beyond the range.
const DOUBTFUL_FROM: u64 = u64::MAX / 1_000_000_000;

/// What the times of one input are.
enum Kind {
    /// No time yet.
    Unknown,
    /// Dates, in nanoseconds already.
    Dates,
    /// Numbers of a known unit, in nanoseconds already.
    Known(TimeUnit),
    /// Numbers of a unit to be guessed.
    Undecided(Box<Magnitudes>),
    /// Numbers of a unit that was guessed from those before, in nanoseconds already: all of them are kept in mind, so that
    /// the guess can be checked at the end.
    Guessed(TimeUnit, Box<Magnitudes>),
}

/// The times of one input.
struct Segment {
    /// What the input is called in notes.
    label: String,
    /// Index of the first event.
    start: usize,
    /// The unit to assume, if the user, the format or the name of the column tells.
    unit: Option<TimeUnit>,
    kind: Kind,
}

/// The times of all inputs so far.
#[derive(Default)]
pub(crate) struct Times {
    /// Nanoseconds, or the whole part of undecided numbers.
    whole: Vec<u64>,
    /// Billionths of undecided numbers; empty until the first one that is not zero.
    billionths: Vec<u32>,
    /// Nanoseconds to take off; empty until the first that is not zero and cannot be taken off at once.
    durations: Vec<u64>,
    segments: Vec<Segment>,
    /// Starts before time zero, moved there.
    clamped: u64,
}

/// The times in nanoseconds, and what was found out about them.
pub(crate) struct Finished {
    /// One a event, in the order of the input; `None` where the time lies beyond the range.
    pub(crate) at: Vec<u64>,
    /// Events whose time lies beyond the range in the unit that the column has, in order.
    pub(crate) beyond: Vec<usize>,
    /// Where the events of each input begin.
    pub(crate) starts: Vec<usize>,
    /// The unit of each input's numbers, where it was guessed just now.
    pub(crate) units: Vec<Option<TimeUnit>>,
    /// The unit of each input's numbers; `None` for dates.
    pub(crate) numbers: Vec<Option<TimeUnit>>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
    /// Starts before time zero, moved there.
    pub(crate) clamped: u64,
    /// The column after this one, for times of the last input that are still to come.
    pub(crate) next: Times,
}

impl Times {
    /// Starts the times of another input.
    pub(crate) fn begin(&mut self, label: String) {
        self.segments.push(Segment { label, start: self.whole.len(), unit: None, kind: Kind::Unknown });
    }

    /// Says which unit the numbers of this input have.
    pub(crate) fn expect_unit(&mut self, unit: Option<TimeUnit>) {
        if let Some(segment) = self.segments.last_mut() {
            segment.unit = unit;
        }
    }

    /// Adds one time; nothing is added if it does not fit. Whether it may turn out to lie beyond the range, in a unit not
    /// known yet.
    pub(crate) fn push(&mut self, stamp: Stamp, duration: u64, zone: &mut Zone) -> Result<bool, Why> {
        let Some(segment) = self.segments.last_mut() else { return Err(Why::Time(TimeError::NotATime)) };
        let at = match stamp {
            Stamp::Number { whole, billionths } => {
                if let Kind::Unknown = segment.kind {
                    segment.kind = match segment.unit {
                        Some(unit) => Kind::Known(unit),
                        None => Kind::Undecided(Box::default()),
                    };
                }
                match &mut segment.kind {
                    Kind::Known(unit) => nanos_of(whole, billionths, *unit).ok_or(Why::Time(TimeError::BeyondRange))?,
                    Kind::Undecided(magnitudes) => {
                        magnitudes.add(whole, billionths);
                        self.push_undecided(whole, billionths, duration);
                        return Ok(whole >= DOUBTFUL_FROM);
                    }
                    Kind::Guessed(unit, magnitudes) => {
                        let at = nanos_of(whole, billionths, *unit);
                        magnitudes.add(whole, billionths);
                        at.ok_or(Why::Time(TimeError::BeyondRange))?
                    }
                    Kind::Dates | Kind::Unknown => return Err(Why::MixedTimes { numbers_before: false }),
                }
            }
            Stamp::Zoned(..) | Stamp::Local(_) => {
                match segment.kind {
                    Kind::Unknown => segment.kind = Kind::Dates,
                    Kind::Dates => {}
                    Kind::Known(_) | Kind::Undecided(_) | Kind::Guessed(..) => {
                        return Err(Why::MixedTimes { numbers_before: true });
                    }
                }
                match stamp {
                    Stamp::Zoned(civil, offset) => civil.nanos_at(offset),
                    Stamp::Local(civil) => zone.nanos(&civil),
                    Stamp::Number { .. } => Err(TimeError::NotATime),
                }
                .map_err(Why::Time)?
            }
        };
        self.clamped += u64::from(at < duration);
        self.push_undecided(at.saturating_sub(duration), 0, 0);
        Ok(false)
    }

    fn push_undecided(&mut self, whole: u64, billionths: u32, duration: u64) {
        push_sparse(&mut self.billionths, self.whole.len(), billionths);
        push_sparse(&mut self.durations, self.whole.len(), duration);
        self.whole.push(whole);
    }

    /// The units in which this number of the current input lies beyond the range, while its unit is not known: bits by unit.
    pub(crate) fn doubtful(&self, stamp: &Stamp) -> [bool; 3] {
        match (stamp, self.segments.last()) {
            (Stamp::Number { whole, billionths }, Some(Segment { kind: Kind::Undecided(_), .. })) => {
                DOUBTFUL.map(|unit| nanos_of(*whole, *billionths, unit).is_none())
            }
            _ => [false; 3],
        }
    }

    /// Whether the current input has shown whether its times are dates or numbers.
    pub(crate) fn is_settled(&self) -> bool {
        self.segments.last().is_some_and(|segment| !matches!(segment.kind, Kind::Unknown))
    }

    /// An empty column for a part of the current input: it takes the same kind of times and refuses the other.
    pub(crate) fn worker(&self) -> Times {
        let segments = self.segments.last().map(|segment| Segment {
            label: segment.label.clone(),
            start: 0,
            unit: segment.unit,
            kind: match segment.kind {
                Kind::Unknown => Kind::Unknown,
                Kind::Dates => Kind::Dates,
                Kind::Known(unit) => Kind::Known(unit),
                Kind::Undecided(_) => Kind::Undecided(Box::default()),
                Kind::Guessed(unit, _) => Kind::Guessed(unit, Box::default()),
            },
        });
        Times { segments: segments.into_iter().collect(), ..Times::default() }
    }

    /// Appends the times of a worker.
    pub(crate) fn absorb(&mut self, part: &Times) {
        let length = self.whole.len() + part.whole.len();
        append_sparse(&mut self.billionths, &part.billionths, self.whole.len(), length);
        append_sparse(&mut self.durations, &part.durations, self.whole.len(), length);
        self.whole.extend_from_slice(&part.whole);
        self.clamped += part.clamped;
        let mine = self.segments.last_mut().and_then(|segment| segment.kind.magnitudes_mut());
        let theirs = part.segments.last().and_then(|segment| segment.kind.magnitudes());
        if let (Some(mine), Some(theirs)) = (mine, theirs) {
            mine.merge(theirs);
        }
    }

    /// Decides the units and turns everything into nanoseconds.
    pub(crate) fn finish(mut self) -> Finished {
        let mut notes = Vec::new();
        let mut beyond = Vec::new();
        let ends: Vec<usize> = self.segments.iter().skip(1).map(|s| s.start).chain([self.whole.len()]).collect();
        let ambiguous = self.ambiguous_together();
        let mut units = vec![None; self.segments.len()];
        for ((segment, &end), decided) in self.segments.iter().zip(&ends).zip(&mut units) {
            let Kind::Undecided(magnitudes) = &segment.kind else { continue };
            let Guess { unit, why } = guess(if magnitudes.is_absolute() { magnitudes } else { &ambiguous });
            notes.push(format!(
                "{}: times read as {}: {why}; --time-unit says otherwise",
                segment.label,
                unit.symbol()
            ));
            *decided = Some(unit);
            for i in segment.start..end {
                let billionths = self.billionths.get(i).copied().unwrap_or(0);
                let Some(at) = nanos_of(self.whole[i], billionths, unit) else {
                    beyond.push(i);
                    continue;
                };
                let duration = self.durations.get(i).copied().unwrap_or(0);
                self.clamped += u64::from(at < duration);
                self.whole[i] = at.saturating_sub(duration);
            }
        }
        let starts = self.segments.iter().map(|s| s.start).collect();
        let next = Times { segments: self.segments, ..Times::default() }.after(&units);
        let numbers = next.segments.iter().map(|segment| segment.kind.unit()).collect();
        Finished { at: self.whole, beyond, starts, units, numbers, notes, clamped: self.clamped, next }
    }

    /// The inputs without their times, and with the units that were decided.
    fn after(mut self, units: &[Option<TimeUnit>]) -> Times {
        for (segment, unit) in self.segments.iter_mut().zip(units) {
            segment.start = 0;
            if let (Kind::Undecided(magnitudes), Some(unit)) = (&mut segment.kind, unit) {
                segment.kind = Kind::Guessed(*unit, std::mem::take(magnitudes));
            }
        }
        self
    }

    /// An input whose whole column gives another unit than the part from which it was guessed: its name, both units.
    pub(crate) fn wrong_guess(&self) -> Option<(&str, TimeUnit, TimeUnit)> {
        let ambiguous = self.ambiguous_together();
        self.segments.iter().find_map(|segment| {
            let Kind::Guessed(unit, magnitudes) = &segment.kind else { return None };
            let whole = guess(if magnitudes.is_absolute() { magnitudes } else { &ambiguous }).unit;
            (whole != *unit).then_some((segment.label.as_str(), *unit, whole))
        })
    }

    /// What the input is called that the event at `index` belongs to.
    pub(crate) fn label_of(&self, starts: &[usize], index: usize) -> &str {
        let input = starts.partition_point(|&start| start <= index).saturating_sub(1);
        self.segments.get(input).map_or("", |segment| &segment.label)
    }

    /// The small numbers of all inputs: rotated sets of relative times have one unit.
    fn ambiguous_together(&self) -> Magnitudes {
        let mut together = Magnitudes::default();
        let undecided = self.segments.iter().filter_map(|segment| segment.kind.magnitudes());
        undecided.filter(|magnitudes| !magnitudes.is_absolute()).for_each(|magnitudes| together.merge(magnitudes));
        together
    }
}

impl Kind {
    /// The unit of numbers, once it is known.
    fn unit(&self) -> Option<TimeUnit> {
        match self {
            Kind::Known(unit) | Kind::Guessed(unit, _) => Some(*unit),
            Kind::Unknown | Kind::Dates | Kind::Undecided(_) => None,
        }
    }

    fn magnitudes(&self) -> Option<&Magnitudes> {
        match self {
            Kind::Undecided(magnitudes) | Kind::Guessed(_, magnitudes) => Some(magnitudes),
            Kind::Unknown | Kind::Dates | Kind::Known(_) => None,
        }
    }

    fn magnitudes_mut(&mut self) -> Option<&mut Magnitudes> {
        match self {
            Kind::Undecided(magnitudes) | Kind::Guessed(_, magnitudes) => Some(magnitudes),
            Kind::Unknown | Kind::Dates | Kind::Known(_) => None,
        }
    }
}

/// Appends a part to a column that stays empty while it holds only zeros; both have the given lengths otherwise.
fn append_sparse<T: Copy + Default>(column: &mut Vec<T>, part: &[T], before: usize, after: usize) {
    if column.is_empty() && part.is_empty() {
        return;
    }
    column.resize(before, T::default());
    column.extend_from_slice(part);
    column.resize(after, T::default());
}

/// Appends to a column that stays empty while it holds only zeros.
fn push_sparse<T: Copy + Default + PartialEq>(column: &mut Vec<T>, length: usize, value: T) {
    if column.is_empty() {
        if value == T::default() {
            return;
        }
        column.resize(length, T::default());
    }
    column.push(value);
}

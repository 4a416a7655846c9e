//! Events that lie outside `--from` and `--until` leave every column; what is counted of an event waits for that.

use super::Sink;
use crate::error::Result;
use crate::trace::answers::Answer;
use crate::trace::between::Instants;
use crate::trace::options::TimeUnit;

/// What is counted of an event that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) answer: Answer,
    /// Whether its client is empty or `-`.
    pub(super) unnamed: bool,
}

/// Where the events of each input begin, and the unit of its numbers.
pub(super) struct Inputs<'a> {
    pub(super) starts: &'a mut [usize],
    pub(super) numbers: &'a [Option<TimeUnit>],
}

impl Sink<'_> {
    /// Counts an event now, or once it is known that it is kept.
    pub(super) fn mark(&mut self, mark: Mark) {
        match &mut self.marks {
            Some(marks) => marks.push(mark),
            None => self.count(mark),
        }
    }

    fn count(&mut self, mark: Mark) {
        self.facts.answers.count(mark.answer);
        self.unnamed += u64::from(mark.unnamed);
    }

    /// Takes out events outside the times asked for.
    pub(super) fn keep_between(&mut self, at: &mut Vec<u64>, inputs: Inputs<'_>) -> Result<()> {
        let Some(marks) = self.marks.as_mut().map(std::mem::take) else { return Ok(()) };
        let kept = self.kept(at, &inputs)?;
        for (mark, _) in marks.into_iter().zip(&kept).filter(|(_, kept)| **kept) {
            self.count(mark);
        }
        let left_out = kept.iter().filter(|kept| !**kept).count() as u64;
        if left_out == 0 {
            return Ok(());
        }
        self.facts.events -= left_out;
        self.facts.skipped += left_out;
        let (mut counted, mut before) = (0, 0);
        for start in inputs.starts {
            before += kept[counted..*start].iter().filter(|kept| **kept).count();
            counted = std::mem::replace(start, before);
        }
        retain(at, &kept);
        retain(self.client.column()?, &kept);
        if let Some(lines) = &mut self.lines {
            retain(lines, &kept);
        }
        if !self.cost.is_empty() {
            retain(&mut self.cost, &kept);
        }
        Ok(())
    }

    /// Whether each event is kept. What all of them span is remembered, to be said where none is.
    fn kept(&mut self, at: &[u64], inputs: &Inputs<'_>) -> Result<Vec<bool>> {
        let mut kept = Vec::with_capacity(at.len());
        let ends = inputs.starts.iter().copied().skip(1).chain([at.len()]);
        for ((&start, end), unit) in inputs.starts.iter().zip(ends).zip(inputs.numbers) {
            let own = &at[start..end];
            if own.is_empty() {
                continue;
            }
            let instants = self.options.between.instants(&mut self.zone, unit.or(self.options.time_unit))?;
            kept.extend(own.iter().map(|&at| Instants::contain(&instants, at)));
            for &at in own {
                let (first, last) = self.span.unwrap_or((at, at));
                self.span = Some((first.min(at), last.max(at)));
            }
        }
        Ok(kept)
    }
}

/// Keeps the elements so marked; the columns are of equal length.
fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().is_none_or(|kept| *kept));
}

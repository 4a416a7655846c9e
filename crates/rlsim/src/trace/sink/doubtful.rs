//! Times that may turn out to lie beyond the range: where they stand, remembered until the unit of their column is known.

use super::SHOWN;
use crate::trace::options::TimeUnit;
use crate::trace::times::DOUBTFUL;

/// The first doubtful times of each input.
#[derive(Default)]
pub(crate) struct Doubtful {
    /// For each input and each unit of [`DOUBTFUL`], the messages in the order of the records.
    inputs: Vec<[Vec<String>; 3]>,
}

impl Doubtful {
    /// For a part of one input.
    pub(crate) fn of_one() -> Self {
        Doubtful { inputs: vec![Default::default()] }
    }

    /// Starts another input.
    pub(crate) fn begin(&mut self) {
        self.inputs.push(Default::default());
    }

    /// Remembers a time of the current input under the units in which it is beyond the range; `message` is made if need be.
    pub(crate) fn add(&mut self, beyond: [bool; 3], message: impl Fn() -> String) {
        let Some(units) = self.inputs.last_mut() else { return };
        for (messages, _) in units.iter_mut().zip(beyond).filter(|(messages, beyond)| *beyond && messages.len() < SHOWN)
        {
            messages.push(message());
        }
    }

    /// Adds those of a worker on the current input.
    pub(crate) fn absorb(&mut self, part: Doubtful) {
        for (mine, theirs) in self.inputs.iter_mut().next_back().into_iter().zip(part.inputs) {
            for (messages, later) in mine.iter_mut().zip(theirs) {
                let room = SHOWN - messages.len().min(SHOWN);
                messages.extend(later.into_iter().take(room));
            }
        }
    }

    /// Those that are beyond the range in the units that the inputs turned out to have.
    pub(crate) fn in_units(&mut self, units: &[Option<TimeUnit>]) -> Vec<String> {
        let known = self.inputs.iter_mut().zip(units).filter_map(|(messages, unit)| {
            let index = DOUBTFUL.iter().position(|doubtful| Some(*doubtful) == *unit)?;
            Some(std::mem::take(&mut messages[index]))
        });
        known.flatten().collect()
    }
}

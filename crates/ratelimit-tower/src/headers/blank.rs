//! All fields of an answer as one map, made once with everything that stays the same from answer to answer. A copy of it
//! with the numbers filled in costs half of what adding field after field does: no name is hashed.

use std::mem;

use http::header::{HeaderMap, HeaderValue, ValuesMut};

/// The fields of every dialect, in the order in which the dialects write them.
#[derive(Debug)]
pub(super) struct Blank {
    fields: HeaderMap,
}

/// An answer with more fields of its own is not moved into the copy: that would cost more than it saves.
const FEW: usize = 2;

impl Blank {
    pub(super) fn new(fields: HeaderMap) -> Blank {
        Blank { fields }
    }

    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether an answer can be moved into a copy: it is small, and no inner layer has said anything of limits.
    pub(super) fn takes(&self, answer: &HeaderMap) -> bool {
        answer.len() <= FEW && answer.keys().all(|name| !self.fields.contains_key(name))
    }

    /// Puts the fields into an answer that it takes.
    pub(super) fn put(&self, answer: &mut HeaderMap, fill: impl FnOnce(&mut Slots<'_>)) {
        if answer.is_empty() {
            answer.clone_from(&self.fields);
            return fill(&mut Slots { values: answer.values_mut() });
        }
        let theirs = mem::replace(answer, self.fields.clone());
        fill(&mut Slots { values: answer.values_mut() });
        answer.extend(theirs);
    }
}

/// The values of a copy, one after the other.
pub(super) struct Slots<'m> {
    values: ValuesMut<'m, HeaderValue>,
}

impl Slots<'_> {
    /// The next value stays as it is.
    pub(super) fn keep(&mut self) {
        self.values.next();
    }

    /// The next value becomes this one.
    pub(super) fn put(&mut self, value: HeaderValue) {
        if let Some(slot) = self.values.next() {
            *slot = value;
        }
    }
}

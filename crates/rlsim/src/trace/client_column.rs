//! The client column while it grows.
//!
//! With many clients a look-up waits for memory. Short names are therefore looked up some dozen at a time in a loop of
//! nothing else, where these waits overlap.

use super::client_name::ClientNames;
use super::intern::Short;
use super::options::ReadOptions;
use crate::error::{Error, Result};
use crate::trace::record::Why;

/// Client names by index.
type Names = Vec<Box<[u8]>>;

/// Names looked up together.
const TOGETHER: usize = 64;

/// One index an event, and the names that they stand for.
pub(crate) struct ClientColumn {
    names: ClientNames,
    column: Vec<u32>,
    /// The names of the latest events, which are not in the column yet.
    pending: Vec<Short>,
    overflowed: bool,
}

impl ClientColumn {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let pending = Vec::with_capacity(TOGETHER);
        ClientColumn { names: ClientNames::new(options), column: Vec::new(), pending, overflowed: false }
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.column.len() + self.pending.len()
    }

    /// Adds the client of an event.
    pub(crate) fn push(&mut self, name: &[u8]) {
        if let Some(short) = self.names.short(name) {
            self.pending.push(short);
            if self.pending.len() == TOGETHER {
                self.look_up();
            }
        } else {
            self.look_up();
            let index = self.names.index(name);
            self.add(index);
        }
    }

    fn look_up(&mut self) {
        for short in &self.pending {
            let index = self.names.index_of_short(*short);
            self.overflowed |= index.is_none();
            self.column.push(index.unwrap_or(u32::MAX));
        }
        self.pending.clear();
    }

    fn add(&mut self, index: Option<u32>) {
        self.overflowed |= index.is_none();
        self.column.push(index.unwrap_or(u32::MAX));
    }

    /// The whole column.
    ///
    /// # Errors
    /// More clients than indices.
    pub(crate) fn column(&mut self) -> Result<&mut Vec<u32>> {
        self.look_up();
        if self.overflowed { Err(too_many()) } else { Ok(&mut self.column) }
    }

    /// Adds the events of a worker. `names` are those that it met for the first time, `seen` the indices here of all that
    /// it knows.
    ///
    /// # Errors
    /// As [`column`](Self::column).
    pub(crate) fn absorb(&mut self, part: &[u32], names: &[Box<[u8]>], seen: &mut Vec<u32>) -> Result<()> {
        for name in names {
            // Names of a worker have their normal form already.
            seen.push(self.names.index_of_normal(name).ok_or_else(too_many)?);
        }
        self.column()?.extend(part.iter().map(|&client| seen[client as usize]));
        Ok(())
    }

    /// The names so far, by index. Those of events that were not looked up are missing.
    pub(crate) fn names(&self) -> &[Box<[u8]>] {
        self.names.names()
    }

    /// The column and the names.
    ///
    /// # Errors
    /// As [`column`](Self::column).
    pub(crate) fn into_parts(mut self) -> Result<(Vec<u32>, Names)> {
        self.column()?;
        Ok((self.column, self.names.into_names()))
    }
}

fn too_many() -> Error {
    Error::failed(Why::TooManyClients.to_string())
}

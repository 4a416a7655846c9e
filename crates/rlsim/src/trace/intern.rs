//! Client names as small numbers, in the order of their first appearance.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Maps names to indices. The indices depend on the input alone, whatever the hash seed.
pub(crate) struct Interner {
    names: Vec<Box<[u8]>>,
    /// Part of the hash beside the index: a differing name is told apart without touching its bytes.
    slots: HashTable<(u32, u32)>,
    hasher: RandomState,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Interner { names: Vec::new(), slots: HashTable::new(), hasher: RandomState::default() }
    }

    /// The index of `name`, a new one at its first appearance. `None` when 2^32 names are taken.
    pub(crate) fn intern(&mut self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        // The upper half serves as the tag: the table itself uses both ends of the hash, so any half would do.
        let tag = (hash >> 32) as u32;
        let names = &self.names;
        if let Some(&(_, index)) = self.slots.find(hash, |&(t, index)| t == tag && *names[index as usize] == *name) {
            return Some(index);
        }
        let index = u32::try_from(self.names.len()).ok()?;
        self.names.push(name.into());
        let (names, hasher) = (&self.names, &self.hasher);
        self.slots.insert_unique(hash, (tag, index), |&(_, i)| hasher.hash_one(&*names[i as usize]));
        Some(index)
    }

    /// The names so far, by index.
    pub(crate) fn names(&self) -> &[Box<[u8]>] {
        &self.names
    }

    /// The names, by index.
    pub(crate) fn into_names(self) -> Vec<Box<[u8]>> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_first_appearance_and_names_are_opaque() {
        let mut interner = Interner::new();
        let names: [&[u8]; 6] = [b"b", b"a", b"b", b"\xff\x00", b"", b"a"];
        let indices: Vec<u32> = names.iter().map(|name| interner.intern(name).unwrap()).collect();
        assert_eq!(indices, [0, 1, 0, 2, 3, 1]);
        let kept = interner.into_names();
        assert_eq!(kept.iter().map(|name| &**name).collect::<Vec<_>>(), [&b"b"[..], b"a", b"\xff\x00", b""]);
    }

    #[test]
    fn many_names_stay_apart_while_the_table_grows() {
        let mut interner = Interner::new();
        for round in 0..2 {
            for i in 0..10_000u32 {
                assert_eq!(interner.intern(&i.to_le_bytes()), Some(i), "round {round}");
            }
        }
    }
}

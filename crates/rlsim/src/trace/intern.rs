//! Client names as small numbers, in the order of their first appearance.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Names of at most this many bytes are compared within the table.
const SHORT: usize = 16;

/// Maps names to indices. The indices depend on the input alone, whatever the hash seed.
///
/// With many clients nearly every look-up misses the cache, so it is made to touch as few lines as it can: a short name
/// (an address, most keys) lies in the slot itself, and only a long one is followed to its bytes.
pub(crate) struct Interner {
    names: Vec<Box<[u8]>>,
    short: HashTable<Slot>,
    /// Part of the hash beside the index: a differing name is told apart without touching its bytes.
    long: HashTable<(u32, u32)>,
    hasher: RandomState,
}

/// A short name: its first and its last bytes, which overlap, and its length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Short {
    first: u64,
    last: u64,
    length: u32,
}

/// A short name and its index: 24 bytes, so that a look-up touches few lines.
struct Slot {
    first: u64,
    last: u64,
    length: u32,
    index: u32,
}

impl Short {
    /// `None` for a long name.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        let length = u32::try_from(name.len()).ok()?;
        let (first, last) = match name.len() {
            8..=SHORT => (u64::from_le_bytes(*name.first_chunk()?), u64::from_le_bytes(*name.last_chunk()?)),
            4..8 => (u32::from_le_bytes(*name.first_chunk()?).into(), u32::from_le_bytes(*name.last_chunk()?).into()),
            0..4 => (name.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u64::from(byte)), 0),
            _ => return None,
        };
        Some(Short { first, last, length })
    }

    /// The name again.
    fn name(self) -> Box<[u8]> {
        let length = self.length as usize;
        let mut bytes = [0; SHORT];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        match length {
            8..=SHORT => bytes[length - 8..length].copy_from_slice(&self.last.to_le_bytes()),
            4..8 => bytes[length - 4..length].copy_from_slice(&self.last.to_le_bytes()[..4]),
            _ => {}
        }
        bytes[..length].into()
    }
}

impl Interner {
    pub(crate) fn new() -> Self {
        Interner { names: Vec::new(), short: HashTable::new(), long: HashTable::new(), hasher: RandomState::default() }
    }

    /// The index of `name`, a new one at its first appearance. `None` when 2^32 names are taken.
    pub(crate) fn intern(&mut self, name: &[u8]) -> Option<u32> {
        match Short::of(name) {
            Some(short) => self.intern_short(short),
            None => self.intern_long(name),
        }
    }

    /// The index of a short name, as that of the name itself.
    pub(crate) fn intern_short(&mut self, name: Short) -> Option<u32> {
        let hash_of = |hasher: &RandomState, first: u64, last: u64| hasher.hash_one((first, last));
        let hash = hash_of(&self.hasher, name.first, name.last);
        let same = |slot: &Slot| (slot.first, slot.last, slot.length) == (name.first, name.last, name.length);
        if let Some(slot) = self.short.find(hash, same) {
            return Some(slot.index);
        }
        let index = self.add(name.name())?;
        let Short { first, last, length } = name;
        let hasher = &self.hasher;
        self.short
            .insert_unique(hash, Slot { first, last, length, index }, |slot| hash_of(hasher, slot.first, slot.last));
        Some(index)
    }

    fn intern_long(&mut self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        // The upper half serves as the tag: the table itself uses both ends of the hash, so any half would do.
        let tag = (hash >> 32) as u32;
        let names = &self.names;
        if let Some(&(_, index)) = self.long.find(hash, |&(t, index)| t == tag && *names[index as usize] == *name) {
            return Some(index);
        }
        let index = self.add(name.into())?;
        let (names, hasher) = (&self.names, &self.hasher);
        self.long.insert_unique(hash, (tag, index), |&(_, i)| hasher.hash_one(&*names[i as usize]));
        Some(index)
    }

    fn add(&mut self, name: Box<[u8]>) -> Option<u32> {
        let index = u32::try_from(self.names.len()).ok()?;
        self.names.push(name);
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

    #[test]
    fn names_of_every_length_stay_apart() {
        // Every length on both sides of each border, with bytes that are easily confused: zeros, and shared ends.
        let mut all: std::collections::HashMap<Vec<u8>, u32> = std::collections::HashMap::new();
        let mut interner = Interner::new();
        for length in 0..40_usize {
            for fill in [0_u8, 1, b'0'] {
                for at in 0..=length {
                    let mut name = vec![fill; length];
                    if let Some(byte) = name.get_mut(at) {
                        *byte ^= 0x80;
                    }
                    let next = u32::try_from(all.len()).unwrap();
                    let expect = *all.entry(name.clone()).or_insert(next);
                    assert_eq!(interner.intern(&name), Some(expect), "{name:?}");
                }
            }
        }
        assert_eq!(interner.names().len(), all.len());
        assert!(interner.names().iter().enumerate().all(|(i, name)| all[&**name] as usize == i));
    }
}

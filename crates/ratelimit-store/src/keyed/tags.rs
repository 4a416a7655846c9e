//! One byte of the fingerprint of each client of a page, looked at all together: where a client stands is known before the
//! memory of any client is touched.
//!
//! As in the control bytes of a Swiss table (Abseil's, std's `HashMap`), but beside the page's lock and not beside the clients.

/// Clients of a page that have a tag; as many as fill the page's cache line.
pub(super) const TAGGED: usize = 22;

/// A tag for each of the first clients of a page, 0 beyond the last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tags([u8; TAGGED]);

impl Tags {
    /// Of clients in their order.
    pub(super) fn of(fingerprints: impl Iterator<Item = u64>) -> Self {
        let mut tags = [0; TAGGED];
        for (place, fingerprint) in tags.iter_mut().zip(fingerprints) {
            *place = tag(fingerprint);
        }
        Tags(tags)
    }

    /// A client comes to stand at `i`, and those from there on one further.
    pub(super) fn insert(&mut self, i: usize, fingerprint: u64) {
        if i < TAGGED {
            self.0.copy_within(i..TAGGED - 1, i + 1);
            self.0[i] = tag(fingerprint);
        }
    }

    /// The places whose tag is that of a fingerprint, in their order: that of the client, if it has a tag, and one in 255 others.
    #[inline]
    pub(super) fn places(&self, fingerprint: u64) -> impl Iterator<Item = usize> {
        let mut left = self.equal_to(tag(fingerprint));
        std::iter::from_fn(move || {
            let place = (left != 0).then_some(left.trailing_zeros() as usize);
            left &= left.wrapping_sub(1);
            place
        })
    }

    /// A bit for each place with this tag, without a branch: which place it is, no processor could foretell.
    #[inline]
    fn equal_to(&self, tag: u8) -> u32 {
        let word = |from: usize| {
            // Three words cover the tags; the last overlaps the one before.
            let bytes = self.0.get(from..).and_then(|rest| rest.first_chunk::<8>());
            zero_bytes(u64::from_le_bytes(*bytes.unwrap_or(&[0; 8])) ^ u64::from_le_bytes([tag; 8]))
        };
        word(0) | word(8) << 8 | word(TAGGED - 8) << (TAGGED - 8)
    }
}

/// Never 0, which is no client's.
#[inline]
fn tag(fingerprint: u64) -> u8 {
    // The highest byte; the lowest bits are the same in a whole page.
    ((fingerprint >> 56) as u8).max(1)
}

/// A bit for each byte that is 0, the lowest byte first.
#[inline]
fn zero_bytes(word: u64) -> u32 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    // The high bit of each byte that is 0, and no other bit: no carry leaves its byte.
    let high = !(((word & LOW) + LOW) | word | LOW);
    // The product moves the bit of byte i to bit 56 + i; no two of its terms meet there.
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zero_bytes_are_found_one_by_one(bytes in proptest::array::uniform8(prop_oneof![Just(0_u8), Just(1), Just(0x80), any::<u8>()])) {
            let expected = (0..8).filter(|i| bytes[*i] == 0).fold(0, |bits, i| bits | 1 << i);
            prop_assert_eq!(zero_bytes(u64::from_le_bytes(bytes)), expected);
        }

        #[test]
        fn places_are_those_of_equal_tags(high in proptest::collection::vec(0_u8..4, 0..40), asked in 0_u8..4) {
            let fingerprint = |high: &u8| u64::from(*high) << 56 | 7;
            let tags = Tags::of(high.iter().map(fingerprint));
            let expected: Vec<usize> =
                (0..high.len().min(TAGGED)).filter(|i| high[*i].max(1) == asked.max(1)).collect();
            prop_assert_eq!(tags.places(fingerprint(&asked)).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn inserting_is_the_same_as_beginning_anew(at in proptest::collection::vec((0_usize..40, any::<u64>()), 0..40)) {
            let (mut tags, mut fingerprints) = (Tags::default(), Vec::new());
            for (place, fingerprint) in at {
                let i = place.min(fingerprints.len());
                fingerprints.insert(i, fingerprint);
                tags.insert(i, fingerprint);
            }
            prop_assert_eq!(tags.0, Tags::of(fingerprints.into_iter()).0);
        }
    }
}

//! A key as it is kept beside a request, until what the request has cost is known for sure.

/// The bytes of a key: in place, unless they are more than an address or the hash of a credential take, with a word or two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredKey {
    /// The first `len` bytes count; `len` is at most [`StoredKey::SHORT`].
    Short {
        len: u8,
        bytes: [u8; StoredKey::SHORT],
    },
    Long(Box<[u8]>),
}

impl StoredKey {
    /// So that all of it takes 32 bytes: it is moved several times.
    pub(crate) const SHORT: usize = 30;

    /// The first `len` bytes of `place`.
    #[inline]
    pub(super) fn of<const N: usize>(place: &[u8; N], len: usize) -> StoredKey {
        const { assert!(StoredKey::SHORT <= N && N <= u8::MAX as usize) };
        match place.first_chunk() {
            // Copied as a whole: a copy of a length that is not known when this is compiled is a call.
            Some(bytes) if len <= Self::SHORT => StoredKey::Short { len: len as u8, bytes: *bytes },
            _ => StoredKey::Long(place[..len].into()),
        }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            StoredKey::Short { len, bytes } => &bytes[..usize::from(*len)],
            StoredKey::Long(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_length_are_kept_as_they_are() {
        let place: [u8; 64] = std::array::from_fn(|at| at as u8 + 1);
        for len in 0..=64 {
            assert_eq!(StoredKey::of(&place, len).as_bytes(), &place[..len], "{len}");
        }
        assert_eq!(size_of::<StoredKey>(), 32);
    }
}

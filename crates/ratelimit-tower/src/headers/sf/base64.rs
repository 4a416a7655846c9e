//! Base64 (RFC 4648, section 4): read with or without padding, written with it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(end);
    if padding.len() > 2 || padding.iter().any(|byte| *byte != b'=') || digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            let value = ALPHABET.iter().position(|known| known == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

/// Appends `bytes`, padded.
pub(super) fn encode(out: &mut String, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        for byte in group {
            bits = bits << 8 | u32::from(*byte);
        }
        bits <<= 8 * (3 - group.len());
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit)) & 63;
            // Six bits index an alphabet of 64.
            out.push(if digit > group.len() { '=' } else { char::from(ALPHABET[six as usize]) });
        }
    }
}

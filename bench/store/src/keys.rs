//! Keys, and the order in which they come.

use std::borrow::Cow;
use std::hash::Hash;

/// A client's key.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {
    const NAME: &'static str;

    fn make(i: u64) -> Self;
    fn bytes(&self) -> &[u8];
    /// As text, for peers that take nothing else: an id is written out, as a service would have to.
    fn text(&self) -> Cow<'_, str>;
}

/// 19 bytes, such as an account with a prefix.
impl Key for String {
    const NAME: &'static str = "19-byte strings";

    fn make(i: u64) -> Self {
        // An odd multiplier spreads the digits, and is a bijection.
        format!("client:{:012}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_000_000_000_000)
    }

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

/// An id; as bytes, since that is what the store takes.
impl Key for [u8; 8] {
    const NAME: &'static str = "u64 ids";

    fn make(i: u64) -> Self {
        i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()
    }

    fn bytes(&self) -> &[u8] {
        self
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Owned(u64::from_le_bytes(*self).to_string())
    }
}

/// How clients are drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Draw {
    Uniform,
    /// The client of rank r with weight 1/r.
    Zipf,
}

/// A sequence of indices below `clients`.
pub fn sequence(draw: Draw, clients: usize, length: usize, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    let harmonic: f64 = (1..=clients).map(|rank| 1.0 / rank as f64).sum();
    let cumulative: Vec<f64> = match draw {
        Draw::Uniform => Vec::new(),
        Draw::Zipf => (1..=clients)
            .scan(0.0, |sum, rank| {
                *sum += 1.0 / rank as f64 / harmonic;
                Some(*sum)
            })
            .collect(),
    };
    let below = |x: u64| x as f64 / 2f64.powi(64);
    (0..length)
        .map(|_| {
            let x = random.next();
            match draw {
                Draw::Uniform => (u128::from(x) * clients as u128 >> 64) as u32,
                Draw::Zipf => cumulative.partition_point(|share| *share < below(x)).min(clients - 1) as u32,
            }
        })
        .collect()
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

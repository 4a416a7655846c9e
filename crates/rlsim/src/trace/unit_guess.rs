//! The unit of a column of numbers, from the whole column.
//!
//! Numbers of this century tell their unit by their size, since a second, a millisecond and so on differ by a thousand:
//! the size that most of the column has decides. Other numbers are relative times, and only their form can tell.

use super::options::TimeUnit;

/// Instants between 1973 and 2099, in seconds; those in smaller units are a thousand times as large, and so on.
const INSTANTS: std::ops::Range<u64> = 100_000_000..4_100_000_000;

const UNITS: [TimeUnit; 4] = [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos];

/// What a column of numbers looks like. Kept while reading, in a few bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Magnitudes {
    /// How many numbers have the size of an instant in each of the four units.
    absolute: [u64; 4],
    /// How many have not.
    relative: u64,
    /// The largest of the others.
    largest: u64,
    /// Whether some of the others have a fraction.
    fractions: bool,
    /// How many of the others are not zero, and how many of those are multiples of a thousand and of a million.
    nonzero: u64,
    thousands: u64,
    millions: u64,
}

impl Magnitudes {
    pub(crate) fn add(&mut self, whole: u64, billionths: u32) {
        let mut scale = 1;
        for count in &mut self.absolute {
            if (INSTANTS.start * scale..INSTANTS.end * scale).contains(&whole) {
                *count += 1;
                return;
            }
            scale *= 1_000;
        }
        self.relative += 1;
        self.largest = self.largest.max(whole);
        self.fractions |= billionths != 0;
        if whole != 0 {
            self.nonzero += 1;
            self.thousands += u64::from(whole.is_multiple_of(1_000));
            self.millions += u64::from(whole.is_multiple_of(1_000_000));
        }
    }

    /// Whether the column holds instants since 1970 rather than relative times: the majority decides.
    pub(crate) fn is_absolute(&self) -> bool {
        self.absolute.iter().sum::<u64>() > self.relative
    }

    /// Both columns together.
    pub(crate) fn merge(&mut self, other: &Magnitudes) {
        for (mine, theirs) in self.absolute.iter_mut().zip(other.absolute) {
            *mine += theirs;
        }
        self.relative += other.relative;
        self.largest = self.largest.max(other.largest);
        self.fractions |= other.fractions;
        self.nonzero += other.nonzero;
        self.thousands += other.thousands;
        self.millions += other.millions;
    }
}

/// A unit, and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guess {
    pub(crate) unit: TimeUnit,
    pub(crate) why: &'static str,
}

/// The most likely unit of a column.
pub(crate) fn guess(column: &Magnitudes) -> Guess {
    if column.is_absolute() {
        // Of equally frequent sizes the larger unit is taken, which keeps every number of the smaller size readable or refused.
        let most = column.absolute.iter().copied().max().unwrap_or(0);
        let index = column.absolute.iter().position(|&count| count == most).unwrap_or(0);
        return Guess { unit: UNITS[index], why: "the numbers have the size of dates in that unit" };
    }
    // The majority decides here too: clocks of a smaller unit often tick in whole larger ones, and not always.
    let most = |count: u64| count > column.nonzero / 2;
    let (unit, why) = if column.fractions {
        (TimeUnit::Seconds, "relative numbers with fractions, which is a guess")
    } else if most(column.millions) && column.largest >= 1_000_000_000 {
        (TimeUnit::Nanos, "relative numbers, most of them multiples of 1000000, which is a guess")
    } else if most(column.millions) {
        (TimeUnit::Micros, "relative numbers, most of them multiples of 1000000, which is a guess")
    } else if most(column.thousands) {
        (TimeUnit::Millis, "relative numbers, most of them multiples of 1000, which is a guess")
    } else {
        (TimeUnit::Seconds, "relative whole numbers without any sign of a smaller unit, which is a guess")
    };
    match UNITS.into_iter().find(|smaller| column.largest <= u64::MAX / smaller.nanos()) {
        Some(fitting) if fitting > unit => {
            Guess { unit: fitting, why: "relative numbers too large for a larger unit, which is a guess" }
        }
        _ => Guess { unit, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_of(numbers: &[(u64, u32)]) -> &'static str {
        let mut column = Magnitudes::default();
        for &(whole, billionths) in numbers {
            column.add(whole, billionths);
        }
        guess(&column).unit.symbol()
    }

    #[test]
    fn instants_tell_their_unit_by_their_size() {
        for (number, unit) in [
            (807_256_800, "s"),
            (1_532_376_558, "s"),
            (1_532_376_558_110, "ms"),
            (1_532_376_558_110_000, "us"),
            (1_712_790_000_123_000_000, "ns"),
        ] {
            assert_eq!(unit_of(&[(number, 0)]), unit, "{number}");
        }
    }

    #[test]
    fn one_stray_number_does_not_turn_a_column() {
        assert_eq!(unit_of(&[(1_532_376_558, 0), (1_532_376_559, 0), (1_532_376_558_110, 0)]), "s");
        assert_eq!(unit_of(&[(0, 0), (1_532_376_558_110, 0), (1_532_376_558_111, 0)]), "ms");
    }

    #[test]
    fn other_numbers_tell_by_their_form() {
        assert_eq!(unit_of(&[(0, 0), (1, 500_000_000)]), "s");
        assert_eq!(unit_of(&[(9, 0), (10, 0)]), "s");
        assert_eq!(unit_of(&[(0, 0), (3_000, 0), (27_000, 0)]), "ms");
        assert_eq!(unit_of(&[(0, 0), (3_000_000, 0)]), "us");
        assert_eq!(unit_of(&[(59_900_000_000, 0), (60_100_000_000, 0)]), "ns");
        assert_eq!(unit_of(&[(59_900_000_001, 0)]), "ms");
        // Ticks of 3 s in milliseconds, and some stamps beside them.
        assert_eq!(unit_of(&[(0, 0), (0, 0), (3_000, 0), (6_000, 0), (9_000, 0), (9_999, 0)]), "ms");
        assert_eq!(unit_of(&[(1_000, 0), (1_001, 0), (1_002, 0)]), "s");
        assert_eq!(unit_of(&[(u64::MAX, 0)]), "ns");
        assert_eq!(unit_of(&[(0, 0), (0, 0)]), "s");
        assert_eq!(unit_of(&[]), "s");
    }
}

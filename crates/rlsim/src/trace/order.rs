//! Events into time order, and what the order they came in says about the input.

/// What the order of one input says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Disorder {
    /// Events earlier than the event just before them in the input.
    pub(crate) steps_back: u64,
    /// The largest of these steps, in nanoseconds.
    pub(crate) largest_ns: u64,
}

impl Disorder {
    /// Looks at the times of one input, in the order they came.
    pub(crate) fn of(at: &[u64]) -> Self {
        let mut found = Disorder::default();
        for pair in at.windows(2) {
            if pair[1] < pair[0] {
                found.steps_back += 1;
                found.largest_ns = found.largest_ns.max(pair[0] - pair[1]);
            }
        }
        found
    }

    /// Both inputs together; going from one to the other is no step.
    pub(crate) fn and(self, other: Disorder) -> Self {
        Disorder { steps_back: self.steps_back + other.steps_back, largest_ns: self.largest_ns.max(other.largest_ns) }
    }
}

/// The stable order of the times, as indices. At most 2^32 events, which the caller makes sure of.
pub(crate) fn stable_order(at: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..=u32::MAX).take(at.len()).collect();
    // The standard stable sort finds the runs that are in order already, so rotated files merge in nearly linear time.
    order.sort_by_key(|&i| at[i as usize]);
    order
}

/// A column in another order.
pub(crate) fn permuted<T: Copy>(column: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|&i| column[i as usize]).collect()
}

/// The largest whole step that divides every distance between times, in nanoseconds: 0 with fewer than two distinct times.
pub(crate) fn resolution_ns(sorted: &[u64]) -> u64 {
    let Some(&first) = sorted.first() else { return 0 };
    let (mut step, mut last) = (0, first);
    for &time in sorted {
        if time != last {
            last = time;
            let distance = time - first;
            if step == 0 || distance % step != 0 {
                step = gcd(step, distance);
                if step == 1 {
                    break;
                }
            }
        }
    }
    step
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disorder_counts_steps_back_of_neighbours() {
        assert_eq!(Disorder::of(&[]), Disorder::default());
        assert_eq!(Disorder::of(&[1, 1, 2]), Disorder::default());
        assert_eq!(Disorder::of(&[5, 1, 2, 6]), Disorder { steps_back: 1, largest_ns: 4 });
        let both = Disorder::of(&[9, 8]).and(Disorder::of(&[5, 3]));
        assert_eq!(both, Disorder { steps_back: 2, largest_ns: 2 });
    }

    #[test]
    fn equal_times_keep_the_order_of_the_input() {
        let at = [3, 1, 3, 1, 2];
        let order = stable_order(&at);
        assert_eq!(order, [1, 3, 4, 0, 2]);
        assert_eq!(permuted(&at, &order), [1, 1, 2, 3, 3]);
    }

    #[test]
    fn resolution_is_the_greatest_common_step() {
        for (times, step) in [
            (&[][..], 0),
            (&[7], 0),
            (&[7, 7], 0),
            (&[7, 10], 3),
            (&[7, 10, 16, 16], 3),
            (&[5, 3_000_000_005, 9_000_000_005], 3_000_000_000),
            (&[0, 10, 15], 5),
            (&[0, 2, 3, 9], 1),
            (&[0, u64::MAX], u64::MAX),
        ] {
            assert_eq!(resolution_ns(times), step, "{times:?}");
        }
    }
}

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
///
/// Events of one instant keep the order of their input; inputs count by their first time, so that a rotated set gives
/// the same trace however it is listed.
pub(crate) fn stable_order(at: &[u64], starts: &[usize]) -> Vec<u32> {
    let ends = starts.iter().copied().skip(1).chain([at.len()]);
    let mut inputs: Vec<std::ops::Range<usize>> =
        starts.iter().zip(ends).map(|(&start, end)| start..end).filter(|range| !range.is_empty()).collect();
    inputs.sort_by_key(|range| at[range.start]);
    let mut order: Vec<u32> = Vec::with_capacity(at.len());
    order.extend(inputs.into_iter().flatten().filter_map(|i| u32::try_from(i).ok()));
    // The standard stable sort finds the runs that are in order already, so rotated files merge in nearly linear time.
    order.sort_by_key(|&i| at[i as usize]);
    order
}

/// Numbers the clients by their first appearance in the column, and drops those without any.
pub(crate) fn in_order_of_appearance(client: &mut [u32], mut names: Vec<Box<[u8]>>) -> Vec<Box<[u8]>> {
    const NONE: u32 = u32::MAX;
    let mut number = vec![NONE; names.len()];
    let mut ordered = Vec::with_capacity(names.len());
    for index in client {
        let old = *index as usize;
        if number[old] == NONE {
            // There are at most as many as before, which were numbered in 32 bits.
            number[old] = u32::try_from(ordered.len()).unwrap_or(NONE);
            ordered.push(std::mem::take(&mut names[old]));
        }
        *index = number[old];
    }
    ordered
}

/// A column in another order.
pub(crate) fn permuted<T: Copy>(column: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|&i| column[i as usize]).collect()
}

/// The largest whole step that divides every distance between times, found as they come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resolution {
    first: Option<u64>,
    last: u64,
    step: u64,
}

impl Resolution {
    /// Goes on with more times, none before those given already.
    pub(crate) fn add(&mut self, sorted: &[u64]) {
        let Some(&beginning) = sorted.first() else { return };
        let first = *self.first.get_or_insert(beginning);
        for &time in sorted {
            if self.step == 1 {
                return;
            }
            if time != self.last {
                self.last = time;
                let distance = time - first;
                if self.step == 0 || !distance.is_multiple_of(self.step) {
                    self.step = gcd(self.step, distance);
                }
            }
        }
    }

    /// The step in nanoseconds: 0 with fewer than two distinct times.
    pub(crate) fn nanos(&self) -> u64 {
        self.step
    }
}

/// Whether a trace's clock ticks too rarely for a window. A handful of events says nothing of a clock.
pub(crate) fn is_too_coarse(resolution_ns: u64, events: u64, window_ns: u64) -> bool {
    events >= 20 && resolution_ns > window_ns
}

/// The resolution of a whole column.
pub(crate) fn resolution_ns(sorted: &[u64]) -> u64 {
    let mut resolution = Resolution::default();
    resolution.add(sorted);
    resolution.nanos()
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
        let order = stable_order(&at, &[0]);
        assert_eq!(order, [1, 3, 4, 0, 2]);
        assert_eq!(permuted(&at, &order), [1, 1, 2, 3, 3]);
    }

    #[test]
    fn inputs_count_by_their_first_time() {
        // The second input begins first, so its event at 5 comes before that of the first input.
        assert_eq!(stable_order(&[5, 7, 3, 5], &[0, 2, 4]), [2, 3, 0, 1]);
        assert!(stable_order(&[], &[0]).is_empty());
    }

    #[test]
    fn clients_are_numbered_by_appearance() {
        let mut client = [2, 0, 2, 3];
        let names = [&b"a"[..], b"unused", b"b", b"c"].map(Box::from).to_vec();
        let names = in_order_of_appearance(&mut client, names);
        assert_eq!(client, [0, 1, 0, 2]);
        assert_eq!(names, [&b"b"[..], b"a", b"c"].map(Box::from));
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

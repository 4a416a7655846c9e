//! Events of a trace grouped by client, each client's in time order.

use crate::trace::{Costs, Trace};

/// The columns of a trace in the order (client, time), and where each client begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouped {
    /// Arrival times in nanoseconds.
    pub at: Vec<u64>,
    /// Costs in units.
    pub cost: Costs,
    /// Client `i` has the events `starts[i]..starts[i + 1]`; one entry more than there are clients.
    pub starts: Vec<usize>,
}

impl Grouped {
    /// Groups a trace by counting sort: stable, linear, 8 bytes an event beside the result.
    pub fn new(trace: &Trace) -> Self {
        let mut starts = vec![0_usize; trace.names.len() + 1];
        for client in &trace.client {
            starts[*client as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut grouped = Grouped { at: Vec::new(), cost: Costs::Unit, starts };
        grouped.at = grouped.scatter(trace, &trace.at, 0);
        if let Costs::Each(costs) = &trace.cost {
            grouped.cost = Costs::Each(grouped.scatter(trace, costs, 0));
        }
        grouped
    }

    /// A column of the trace in the order (client, time). `filler` is any value.
    pub fn scatter<T: Copy>(&self, trace: &Trace, column: &[T], filler: T) -> Vec<T> {
        let mut next = self.starts.clone();
        let mut grouped = vec![filler; column.len()];
        for (value, client) in column.iter().zip(&trace.client) {
            let slot = &mut next[*client as usize];
            grouped[*slot] = *value;
            *slot += 1;
        }
        grouped
    }

    /// Number of clients.
    pub fn clients(&self) -> usize {
        self.starts.len() - 1
    }
}

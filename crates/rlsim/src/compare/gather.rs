//! Blocks of a stream gathered into larger ones, each client's events side by side.
//!
//! A client's state then comes into the cache once for several events, and not once for each.

use crate::replay::By;
use crate::trace::Block;

/// Events gathered before they are decided.
const EVENTS: usize = 1 << 20;

/// Events in time order, until there are enough.
#[derive(Default)]
pub(super) struct Gather {
    at: Vec<u64>,
    client: Vec<u32>,
    /// Empty while every cost is one unit.
    cost: Vec<u64>,
    numbers: Numbers,
}

/// Gathered events, each subject's in time order.
#[derive(Default)]
pub(super) struct Gathered {
    at: Vec<u64>,
    client: Vec<u32>,
    cost: Vec<u64>,
}

impl Gathered {
    pub(super) fn block(&self) -> Block<'_> {
        Block { at: &self.at, client: &self.client, cost: &self.cost }
    }
}

impl Gather {
    pub(super) fn add(&mut self, block: &Block<'_>) {
        self.at.extend_from_slice(block.at);
        self.numbers.extend(&mut self.client, block.client);
        if !block.cost.is_empty() || !self.cost.is_empty() {
            self.cost.resize(self.at.len() - block.at.len(), 1);
            self.cost.extend_from_slice(block.cost);
            self.cost.resize(self.at.len(), 1);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.at.len() >= EVENTS
    }

    /// Everything gathered: by client in time order, or, under a shared limit, in time order.
    pub(super) fn take(&mut self, by: By) -> Gathered {
        if by == By::Global {
            let (at, client) = (std::mem::take(&mut self.at), std::mem::take(&mut self.client));
            return Gathered { at, client, cost: std::mem::take(&mut self.cost) };
        }
        let mut slots = self.slots();
        let mut gathered = Gathered { at: vec![0; self.at.len()], client: vec![0; self.at.len()], cost: Vec::new() };
        gathered.cost.resize(self.cost.len(), 0);
        for (i, (&at, &client)) in self.at.iter().zip(&self.client).enumerate() {
            let slot = &mut slots[client as usize];
            (gathered.at[*slot], gathered.client[*slot]) = (at, client);
            if let Some(&cost) = self.cost.get(i) {
                gathered.cost[*slot] = cost;
            }
            *slot += 1;
        }
        self.at.clear();
        self.client.clear();
        self.cost.clear();
        gathered
    }

    /// Where the events of each client begin.
    fn slots(&self) -> Vec<usize> {
        let mut slots = vec![0; self.numbers.order.len()];
        self.client.iter().for_each(|&client| slots[client as usize] += 1);
        let mut start = 0;
        for slot in &mut slots {
            start += std::mem::replace(slot, start);
        }
        slots
    }

    /// The names by the numbers given here.
    pub(super) fn names(&self, mut names: Vec<Box<[u8]>>) -> Vec<Box<[u8]>> {
        self.numbers.order.iter().map(|&client| std::mem::take(&mut names[client as usize])).collect()
    }
}

/// Numbers clients by their first event: the reader also knows those whose records were all bad.
#[derive(Default)]
struct Numbers {
    number: Vec<Option<u32>>,
    order: Vec<u32>,
}

impl Numbers {
    fn extend(&mut self, into: &mut Vec<u32>, clients: &[u32]) {
        for &client in clients {
            let index = client as usize;
            if self.number.len() <= index {
                self.number.resize(index + 1, None);
            }
            let order = &mut self.order;
            into.push(*self.number[index].get_or_insert_with(|| {
                order.push(client);
                // There are no more of them than the reader numbered in 32 bits.
                u32::try_from(order.len() - 1).unwrap_or(u32::MAX)
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_lie_together_in_time_order() {
        let mut gather = Gather::default();
        gather.add(&Block { at: &[1, 2, 3], client: &[7, 2, 7], cost: &[] });
        gather.add(&Block { at: &[4, 5], client: &[2, 0], cost: &[9, 1] });
        let gathered = gather.take(By::Client);
        let expect = Block { at: &[1, 3, 2, 4, 5], client: &[0, 0, 1, 1, 2], cost: &[1, 1, 1, 9, 1] };
        assert_eq!(gathered.block(), expect);
        gather.add(&Block { at: &[6], client: &[2], cost: &[] });
        assert_eq!(gather.take(By::Global).block(), Block { at: &[6], client: &[1], cost: &[] });
        let names = (0..8_u8).map(|i| vec![i].into()).collect();
        assert_eq!(gather.names(names), [&[7_u8][..], &[2], &[0]].map(Box::from));
    }
}

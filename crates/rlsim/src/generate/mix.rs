//! Patterns added together: rows of several components, merged by time.

use super::clients::Clients;
use super::costs::Costs;
use super::pattern::Instants;
use super::random::Draws;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When, in nanoseconds.
    pub at: u64,
    /// Which component of the mix made it.
    pub component: usize,
    /// Which of that component's clients sent it, from 0.
    pub client: u32,
    /// Units asked for.
    pub cost: u64,
}

/// One pattern with its clients and costs: an endless or finite stream of requests in time order.
pub struct Component {
    instants: Instants,
    clients: Clients,
    costs: Costs,
    cost_draws: Draws,
}

impl Component {
    /// Requests at `instants`, each by the next of `clients` and of the next of `costs`.
    pub fn new(instants: Instants, clients: Clients, costs: Costs, cost_draws: Draws) -> Self {
        Component { instants, clients, costs, cost_draws }
    }

    fn next_row(&mut self, component: usize) -> Option<Row> {
        let at = self.instants.next()?;
        let client = self.clients.next_client();
        Some(Row { at, component, client, cost: self.costs.next_cost(&mut self.cost_draws) })
    }
}

/// Rows of all components in time order; at equal times, in the order of the components. Memory: one row a component.
pub struct Mix {
    components: Vec<(Component, Option<Row>)>,
}

impl Mix {
    /// Merges `components`.
    pub fn new(components: Vec<Component>) -> Self {
        let waiting = |(index, mut component): (usize, Component)| {
            let row = component.next_row(index);
            (component, row)
        };
        Mix { components: components.into_iter().enumerate().map(waiting).collect() }
    }
}

impl Iterator for Mix {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let rows = self.components.iter().filter_map(|(_, row)| *row);
        let row = rows.min_by_key(|row| (row.at, row.component))?;
        let (component, waiting) = &mut self.components[row.component];
        *waiting = component.next_row(row.component);
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(instants: Vec<u64>, clients: u32) -> Component {
        let costs = Costs::Constant(1);
        Component::new(Box::new(instants.into_iter()), Clients::dealt(clients), costs, Draws::new(0, 0))
    }

    #[test]
    fn rows_come_in_time_order_and_ties_in_component_order() {
        let mix = Mix::new(vec![component(vec![1, 3, 3, 9], 2), component(vec![0, 3, 10], 1)]);
        let rows: Vec<_> = mix.map(|row| (row.at, row.component, row.client)).collect();
        assert_eq!(rows, [(0, 1, 0), (1, 0, 0), (3, 0, 1), (3, 0, 0), (3, 1, 0), (9, 0, 1), (10, 1, 0)]);
        assert_eq!(Mix::new(Vec::new()).next(), None);
    }
}

//! Requests of single clients over time: for each column of a picture, how many were allowed and how many were not.

use super::layout::Layout;
use crate::replay::{History, Subject, Verdict};

/// The most rows of single clients.
pub const MOST_ROWS: usize = 16;

/// One row: a client, or all clients without a row of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RasterRow {
    /// Index into the trace's names, `None` for all others together.
    pub client: Option<u32>,
    /// Requests allowed in each column, by arrival.
    pub allowed: Vec<u32>,
    /// Requests denied or refused for good in each column.
    pub rejected: Vec<u32>,
}

impl RasterRow {
    fn new(client: Option<u32>, columns: usize) -> Self {
        RasterRow { client, allowed: vec![0; columns], rejected: vec![0; columns] }
    }

    fn add(&mut self, column: usize, verdict: Verdict) {
        let cells = if let Verdict::Allowed { .. } = verdict { &mut self.allowed } else { &mut self.rejected };
        if let Some(cell) = cells.get_mut(column) {
            *cell = cell.saturating_add(1);
        }
    }

    fn is_empty(&self) -> bool {
        self.allowed.iter().chain(&self.rejected).all(|&count| count == 0)
    }
}

/// The clients with the most requests, busiest first, the first of equals first: those worth a row of their own.
pub fn busiest(requests: &[u64]) -> Vec<u32> {
    let mut clients: Vec<usize> = (0..requests.len()).filter(|&client| requests[client] > 0).collect();
    clients.sort_by_key(|&client| std::cmp::Reverse(requests[client]));
    clients.into_iter().take(MOST_ROWS).filter_map(|client| u32::try_from(client).ok()).collect()
}

/// The accumulator: no rows, no work.
#[derive(Debug)]
pub(super) struct Raster {
    layout: Layout,
    /// One row a chosen client, and at the end one for the others.
    rows: Vec<RasterRow>,
}

impl Raster {
    pub(super) fn new(layout: &Layout, clients: &[u32]) -> Self {
        let mut rows: Vec<_> = clients.iter().map(|&client| RasterRow::new(Some(client), layout.columns())).collect();
        if !rows.is_empty() {
            rows.push(RasterRow::new(None, layout.columns()));
        }
        Raster { layout: *layout, rows }
    }

    pub(super) fn observe(&mut self, history: &History<'_>) {
        if self.rows.is_empty() {
            return;
        }
        if let Subject::One(client) = history.subject {
            let row = self.row(client);
            for outcome in history.iter() {
                let column = self.column(outcome.at);
                self.rows[row].add(column, outcome.verdict);
            }
        } else {
            for outcome in history.iter() {
                let (row, column) = (self.row(outcome.client), self.column(outcome.at));
                self.rows[row].add(column, outcome.verdict);
            }
        }
    }

    fn row(&self, client: u32) -> usize {
        self.rows.iter().position(|row| row.client == Some(client)).unwrap_or(self.rows.len() - 1)
    }

    fn column(&self, at: u64) -> usize {
        usize::try_from(at.saturating_sub(self.layout.start_ns) / self.layout.column_ns).unwrap_or(usize::MAX)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (row, other) in self.rows.iter_mut().zip(&other.rows) {
            row.allowed.iter_mut().zip(&other.allowed).for_each(|(a, b)| *a = a.saturating_add(*b));
            row.rejected.iter_mut().zip(&other.rejected).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
    }

    pub(super) fn finish(mut self) -> Vec<RasterRow> {
        if self.rows.last().is_some_and(RasterRow::is_empty) {
            self.rows.pop();
        }
        self.rows
    }
}

//! Rows of ticks: one for each column in which there is a request.

use super::canvas::Canvas;
use super::ink::Ink;
use crate::error::Result;

/// Draws a tick for each column in which `counts` says that there is something; neighbours join into a bar, which loses
/// nothing. `x` is where a column begins.
pub(super) fn ticks(
    canvas: &mut Canvas<'_>,
    counts: &[u32],
    x: impl Fn(usize) -> i32,
    (from, to): (i32, i32),
    ink: Ink,
) -> Result<()> {
    let mut begun: Option<usize> = None;
    for column in 0..=counts.len() {
        let filled = counts.get(column).is_some_and(|&count| count > 0);
        match (filled, begun) {
            (true, None) => begun = Some(column),
            (false, Some(first)) => {
                // At least 1.4 pixels wide, so that a single tick shows at half size.
                canvas.fill((x(first), from), (x(column).max(x(first) + 14), to), ink)?;
                begun = None;
            }
            _ => {}
        }
    }
    Ok(())
}

//! Text for people: tables whose first column is words and whose others are numbers, and beginnings of sentences.

/// Rows of cells under headings, columns two spaces apart.
pub(super) fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let lines = || std::iter::once(&headings).chain(rows);
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in lines() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

/// With a capital letter at the beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_to_the_left_and_numbers_to_the_right() {
        let rows = [vec!["at once".to_owned(), "7".to_owned()], vec!["x".to_owned(), "1234".to_owned()]];
        assert_eq!(aligned(&["who", "n"], &rows), "who         n\nat once     7\nx        1234\n");
    }
}

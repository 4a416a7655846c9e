//! Numbers of things in messages: one of them is no plural.

/// `1 record`, `20 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", ending(count))
}

/// The end of a noun of which there are so many.
pub(crate) fn ending(count: u64) -> &'static str {
    agreeing(count, "", "s")
}

/// The word that goes with so many: `1 record was`, `20 records were`.
pub(crate) fn agreeing(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "record")), ["0 records", "1 record", "2 records"]);
        assert_eq!([0, 1, 2].map(|n| agreeing(n, "was", "were")), ["were", "was", "were"]);
    }
}

//! What this build leaves out, and the exact line that brings it.

use crate::error::Error;

/// The error for something that needs the feature `feature`.
pub(super) fn error(what: &str, feature: &str) -> Error {
    Error::usage(format!(
        "{what} is not in this build; this builds and runs it:\n  \
         cargo run --release -p rlsim --features {feature} -- {}",
        std::env::args().skip(1).collect::<Vec<_>>().join(" ")
    ))
}

//! Policy text.

/// Whatever parses prints to a text that parses to the same policy.
///
/// # Panics
/// If it does not.
pub fn policy_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(policy) = text.parse::<ratelimit_core::Policy>() {
        let printed = policy.to_string();
        assert_eq!(printed.parse::<ratelimit_core::Policy>().ok(), Some(policy), "{text} prints as {printed}");
    }
}

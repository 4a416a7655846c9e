//! The mistakes that are found when a layer is built.

use std::fmt;

use http::header::HeaderName;

use crate::headers::sf;

/// Why a layer cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No policy was given.
    NoLimit,
    /// This policy has several rules.
    SeveralRules(String),
    /// This policy has no quota to speak of.
    Unlimited(String),
    /// This name, or its unit, cannot be written into a field.
    NotAscii(String),
    /// Two policies have this name.
    SameName(String),
    /// This policy's quota or window cannot be written into a field.
    TooLarge(String),
    /// A dialect tells policies apart by their quota, and this one's is another one's too.
    SameQuota(String),
    /// Two dialects use this field.
    SameField(HeaderName),
    /// A leaky bucket without a timer.
    NoTimer,
    /// Keys of a shared backend that may be hashed, without a secret to hash them with.
    NoSecret,
    /// The key of this limit cannot be had as it was asked for.
    Key(String, &'static str),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoLimit => f.write_str("the layer has no limit: add one with `.limit(..)`"),
            BuildError::SeveralRules(name) => {
                write!(
                    f,
                    "the limit `{name}` joins several rules: add each as a limit of its own, so that it has a name"
                )
            }
            BuildError::Unlimited(name) => {
                write!(f, "the limit `{name}` is unlimited: leave it out, or let requests pass with `.skip(..)`")
            }
            BuildError::NotAscii(name) => {
                write!(f, "the name or unit of the limit {name:?} is not printable ASCII, which fields are made of")
            }
            BuildError::SameName(name) => write!(f, "two limits are named `{name}`: clients tell them apart by name"),
            BuildError::TooLarge(name) => {
                write!(
                    f,
                    "the quota or window of the limit `{name}` exceeds {}, the most that a field can hold",
                    sf::MAX_INTEGER
                )
            }
            BuildError::SameQuota(name) => {
                write!(
                    f,
                    "the quota of the limit `{name}` is another one's too: drafts -06 and -07 tell them apart by it"
                )
            }
            BuildError::SameField(field) => write!(f, "two of the dialects use the field {field}: choose one of them"),
            BuildError::NoTimer => f.write_str(
                "a leaky bucket lets requests wait, and the layer has no timer: `.wait(TokioTimer, at_most)` \
                 (feature `tokio`)",
            ),
            BuildError::NoSecret => f.write_str(
                "servers that share limits by credentials, or by keys that may be long, must share the secret that such \
                 keys are hashed with: `.secret(Secret::new(..))`",
            ),
            BuildError::Key(name, why) => write!(f, "the key of the limit `{name}`: {why}"),
        }
    }
}

impl std::error::Error for BuildError {}

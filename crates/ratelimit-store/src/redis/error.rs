//! Why a shared limiter has no answer.

use std::fmt;
use std::time::Duration;

use super::exact::NotExact;
use super::key::BadPrefix;

/// Why there is no decision. None of these says anything about the client: what to do then is the caller's choice, and
/// [`Fallback`](crate::Fallback) makes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SharedError {
    /// No answer within the time allowed for the whole call. Whether the cost was charged is not known.
    Timeout {
        /// The time allowed.
        after: Duration,
    },
    /// There is no connection, or it broke. Whether the cost was charged is not known if it broke during the call.
    Unreachable(redis::RedisError),
    /// The server answered with an error, such as OOM, READONLY, LOADING, WRONGTYPE or CLUSTERDOWN. Nothing was charged.
    Server(redis::RedisError),
    /// The server answered with something that is no answer of the script.
    Reply {
        /// What came.
        found: String,
    },
    /// As many calls as allowed are waiting for an answer already. Nothing was sent.
    Busy {
        /// The calls allowed at a time.
        calls: usize,
    },
    /// The time passed by a replay lies beyond 2^52 microseconds (the year 2112). Nothing was sent.
    TimeTooLate,
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedError::Timeout { after } => write!(f, "no answer from the shared limiter within {after:?}"),
            SharedError::Unreachable(error) => write!(f, "the shared limiter cannot be reached: {error}"),
            SharedError::Server(error) => write!(f, "the shared limiter's server refused the call: {error}"),
            SharedError::Reply { found } => {
                write!(f, "the shared limiter's server answered {found}, expected the integers of the script")
            }
            SharedError::Busy { calls } => write!(f, "{calls} calls wait for the shared limiter already"),
            SharedError::TimeTooLate => f.write_str("the time is later than 2^52 us since the epoch (the year 2112)"),
        }
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SharedError::Unreachable(error) | SharedError::Server(error) => Some(error),
            _ => None,
        }
    }
}

/// What a server says that refuses all calls, or all that write.
const DOWN: [&str; 10] = [
    "OOM",
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MISCONF",
    "NOREPLICAS",
    "BUSY",
    "UNKILLABLE",
];

impl SharedError {
    /// Whether the shared limiter is down for others too: no answer in time, no connection, or a server that refuses
    /// whoever asks. A bad key, a missing right or too many calls at a time say nothing about the server.
    pub fn is_down(&self) -> bool {
        match self {
            SharedError::Timeout { .. } | SharedError::Unreachable(_) => true,
            SharedError::Server(error) => error.code().is_some_and(|code| DOWN.contains(&code)),
            SharedError::Reply { .. } | SharedError::Busy { .. } | SharedError::TimeTooLate => false,
        }
    }

    /// Sorts what the client library reports.
    pub(crate) fn from_redis(error: redis::RedisError) -> Self {
        match error.kind() {
            redis::ErrorKind::Server(_) | redis::ErrorKind::Extension => SharedError::Server(error),
            _ => SharedError::Unreachable(error),
        }
    }
}

/// Why a shared limiter cannot be built.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BuildError {
    /// The scripts could not decide the policy exactly.
    NotExact(NotExact),
    /// The key prefix has other characters than ASCII letters, digits, `-`, `_` and `.`.
    Prefix(BadPrefix),
    /// A quota cannot be split into no parts, nor into more than it has units.
    Parts {
        /// The parts asked for.
        parts: u32,
        /// The units there are.
        capacity: u64,
    },
    /// The address is none.
    Address(redis::RedisError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NotExact(error) => error.fmt(f),
            BuildError::Prefix(error) => error.fmt(f),
            BuildError::Parts { parts, capacity } => {
                write!(f, "a quota of {capacity} units cannot be split into {parts} parts, expected 1 to {capacity}")
            }
            BuildError::Address(error) => {
                write!(
                    f,
                    "the address of the shared limiter is refused: {error}; expected such as redis://127.0.0.1:6379"
                )
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::NotExact(error) => Some(error),
            BuildError::Prefix(error) => Some(error),
            BuildError::Address(error) => Some(error),
            BuildError::Parts { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a server sends it.
    fn server(line: &str) -> SharedError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).and_then(redis::Value::extract_error);
        SharedError::from_redis(value.unwrap_err())
    }

    #[test]
    fn a_server_is_down_when_it_refuses_everybody() {
        for line in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "LOADING Redis is loading the dataset in memory",
            "READONLY You can't write against a read only replica.",
            "CLUSTERDOWN Hash slot not served",
            "MASTERDOWN Link with MASTER is down",
            "MISCONF Redis is configured to save RDB snapshots",
            "NOREPLICAS Not enough good replicas to write.",
            "BUSY Redis is busy running a script.",
        ] {
            assert!(server(line).is_down(), "{line}");
        }
        for line in [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "ERR user_script:12: data string too short",
            "NOPERM this user has no permissions",
            "NOSCRIPT No matching script.",
        ] {
            assert!(!server(line).is_down(), "{line}");
        }
        assert!(SharedError::Timeout { after: Duration::ZERO }.is_down());
        assert!(!SharedError::Busy { calls: 1 }.is_down());
    }
}

//! What goes wrong in a cluster.

use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::error::Error;
use crate::generate::units::Span;
use crate::report::duration;

/// Faults, as typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Faults")]
pub struct Faults {
    /// The store cannot be reached in this time, such as 20s..30s
    #[arg(long, value_name = "FROM..TO")]
    pub store_down: Option<During>,
    /// What a server does with a request when the store does not answer
    #[arg(long, value_enum, value_name = "WHAT", default_value = "local")]
    pub when_down: WhenDown,
    /// How long a server waits for an answer of the store, from its question on; then it does what --when-down says
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    pub timeout: Timeout,
    /// The last server leaves at this time
    #[arg(long, value_name = "TIME")]
    pub leave: Option<Span>,
    /// The last server joins at this time; before, or since an earlier --leave, it is missing
    #[arg(long, value_name = "TIME")]
    pub join: Option<Span>,
    /// Clocks of the servers differ, evenly from the right time to so much ahead of it
    #[arg(long, value_name = "TIME")]
    pub skew: Option<Span>,
    /// So many percent of the messages are lost
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = parse_percent)]
    pub lost: u32,
    /// The instant that the times above count from, in nanoseconds: zero for a pattern, the first request of a trace.
    #[arg(skip)]
    pub origin: u64,
}

/// What a server does with a request when the store does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum WhenDown {
    /// Lets it through
    Open,
    /// Refuses it
    Closed,
    /// Decides alone with its part of the limit
    #[default]
    Local,
}

/// How long a server waits for the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub u64);

impl Default for Timeout {
    fn default() -> Self {
        Timeout(50_000_000)
    }
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<Span>().map(|Span(nanos)| Timeout(nanos))
    }
}

/// From one time to another, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct During {
    /// First instant.
    pub from: u64,
    /// First instant after it.
    pub to: u64,
}

impl During {
    /// Whether `at` is in it.
    pub fn contains(&self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

impl FromStr for During {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected FROM..TO, such as 20s..30s, found `{text}`");
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let (Span(from), Span(to)) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
        if from < to { Ok(During { from, to }) } else { Err(wrong()) }
    }
}

/// `5` or `5%`.
fn parse_percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    number.filter(|percent| *percent <= 100).ok_or_else(|| "expected whole percent from 0 to 100, such as 5".into())
}

impl Faults {
    /// Whether what is typed can happen: to one of `servers`, and before the last request, at `last`.
    ///
    /// # Errors
    /// [`Error::Usage`] that names the option.
    pub fn check(&self, servers: usize, last: u64) -> Result<(), Error> {
        let times = [
            ("--leave", self.leave, true),
            ("--join", self.join, true),
            ("--store-down", self.store_down.map(|down| Span(down.from)), false),
        ];
        for (option, time, needs_two) in times {
            let Some(time) = time else { continue };
            if needs_two && servers < 2 {
                return Err(Error::usage(format!(
                    "{option} with one server: nobody would be left; expected --servers 2 or more"
                )));
            }
            if self.origin.saturating_add(time.0) > last {
                return Err(Error::usage(format!(
                    "{option} {time}: the last request comes {} after the beginning; expected a time before that",
                    duration(last.saturating_sub(self.origin))
                )));
            }
        }
        Ok(())
    }

    /// Whether the store cannot be reached at `at`.
    pub fn store_is_down(&self, at: u64) -> bool {
        let since = at.checked_sub(self.origin);
        self.store_down.zip(since).is_some_and(|(down, since)| down.contains(since))
    }

    /// How many of `servers` are in service at `at`: the last one may be missing.
    pub fn in_service(&self, servers: usize, at: u64) -> usize {
        let at = at.saturating_sub(self.origin);
        let left = self.leave.is_some_and(|Span(leave)| leave <= at);
        let joined = self.join.is_none_or(|Span(join)| join <= at);
        let missing = match (self.leave, self.join) {
            // Joins first, or leaves first: what happened last counts.
            (Some(leave), Some(join)) if join > leave => left && !joined,
            (Some(_), _) => left || !joined,
            (None, _) => !joined,
        };
        if missing { (servers - 1).max(1) } else { servers }
    }

    /// How far the clock of `server` is ahead.
    pub fn ahead(&self, server: usize, servers: usize) -> u64 {
        let Some(Span(skew)) = self.skew else { return 0 };
        let last = (servers.max(2) - 1) as u128;
        // At most the skew.
        u64::try_from(u128::from(skew) * server as u128 / last).unwrap_or(skew)
    }

    /// When something is wrong: for shading.
    pub fn when(&self) -> Option<(u64, u64, String)> {
        if let Some(During { from, to }) = self.store_down {
            return Some((from, to, "the store is down".into()));
        }
        match (self.leave, self.join) {
            (Some(Span(from)), Some(Span(to))) if from < to => Some((from, to, "one server is missing".into())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_come_and_go() {
        let seconds = |n: u64| Some(Span(n));
        let at = |leave, join| {
            let faults = Faults { leave, join, ..Faults::default() };
            [0, 5, 10, 15, 20].map(|at| faults.in_service(3, at))
        };
        assert_eq!(at(None, None), [3; 5]);
        assert_eq!(at(seconds(10), None), [3, 3, 2, 2, 2]);
        assert_eq!(at(None, seconds(10)), [2, 2, 3, 3, 3]);
        assert_eq!(at(seconds(5), seconds(15)), [3, 2, 2, 3, 3]);
        assert_eq!(at(seconds(15), seconds(5)), [2, 3, 3, 2, 2]);
        assert_eq!(Faults { leave: seconds(0), ..Faults::default() }.in_service(1, 9), 1);
    }

    #[test]
    fn clocks_differ_evenly() {
        let faults = Faults { skew: Some(Span(300)), ..Faults::default() };
        assert_eq!([0, 1, 2, 3].map(|server| faults.ahead(server, 4)), [0, 100, 200, 300]);
        assert_eq!(faults.ahead(0, 1), 0);
    }

    #[test]
    fn times_are_read() {
        assert_eq!("20s..30s".parse::<During>().unwrap(), During { from: 20_000_000_000, to: 30_000_000_000 });
        assert!(["", "20s", "30s..20s", "1..2"].iter().all(|text| text.parse::<During>().is_err()));
    }
}

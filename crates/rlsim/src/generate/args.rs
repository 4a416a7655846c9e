//! `rlsim generate`: what can be typed, and the CSV that comes of it.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::iter;

use clap::{Args, Parser};

use super::clients::Clients;
use super::costs::Costs;
use super::mix::{Component, Mix, Row};
use super::pattern::{Pattern, Period, Poisson};
use super::random::Draws;
use super::stop::Stop;
use super::units::{Rate, Span, whole};
use crate::error::{Error, Result};
use crate::report::count;

/// Clients that may have a weight of their own: 80 MB, in about a second.
const MOST_ZIPF_CLIENTS: u32 = 10_000_000;

/// Make a trace: traffic of a named pattern, as CSV on standard output
#[derive(Debug, Clone, Args)]
pub struct GenerateArgs {
    /// The pattern of arrivals
    #[command(subcommand)]
    pub pattern: Pattern,
    /// Clients and costs of this pattern
    #[command(flatten)]
    pub source: SourceArgs,
    /// How long the trace is
    #[arg(long, global = true, default_value = "60s")]
    pub duration: Span,
    /// When it starts: a time since the Unix epoch (90m, 1767225600s) or RFC 3339 (2026-01-01T00:00:00Z)
    #[arg(long, global = true, default_value = "0s", value_parser = parse_start)]
    pub start: Span,
    /// Stop after this many rows
    #[arg(long, global = true)]
    pub rows: Option<u64>,
    /// The seed of every random choice; the same seed gives the same bytes
    #[arg(long, global = true, default_value_t = 1)]
    pub seed: u64,
    /// Another pattern on top, with its own options, such as --add "cron --burst 500 --clients 50"; repeatable
    #[arg(long, global = true, value_name = "PATTERN")]
    pub add: Vec<String>,
}

/// Who sends and what it costs: options of every pattern.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Number of clients
    #[arg(long, global = true, default_value_t = 1, value_parser = parse_clients)]
    pub clients: u32,
    /// Skew of the clients: client k sends in proportion to 1/k^S, such as 1 or 0.8 [default: equal shares]
    #[arg(long, global = true, value_name = "S")]
    pub zipf: Option<Exponent>,
    /// Cost of a request: 5, 1..10, exp:MEAN, or COST*WEIGHT,... such as 1*95,100*5
    #[arg(long, global = true, default_value = "1")]
    pub cost: Costs,
    /// One more client, the abuser, that sends at random times at this rate
    #[arg(long, global = true, value_name = "RATE")]
    pub abuser: Option<Rate>,
    /// What client names start with
    #[arg(long, global = true, default_value = "c", value_parser = parse_prefix)]
    pub prefix: String,
}

/// What `--add` accepts: a pattern with the options of its source.
#[derive(Debug, Parser)]
#[command(name = "--add", no_binary_name = true, disable_help_flag = true)]
struct Added {
    #[command(subcommand)]
    pattern: Pattern,
    #[command(flatten)]
    source: SourceArgs,
}

impl GenerateArgs {
    /// Writes the trace as CSV: a comment line with the command and the seed, a header, a row a request.
    ///
    /// # Errors
    /// When options contradict each other or `out` cannot be written. A closed pipe is not an error.
    pub fn run(&self, out: &mut dyn Write) -> Result<()> {
        self.run_until(&Stop::default(), out)
    }

    /// [`run`](Self::run), ended early once `stop` is set: then the trace is cut, and that is no error.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_until(&self, stop: &Stop, out: &mut dyn Write) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let sources = self.sources()?;
        let rows = self.mix(&sources, stop)?;
        let written = self.write(rows, &sources, &mut out).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::failed(format!("cannot write the trace: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// The rows that [`run`](Self::run) writes, one at a time.
    ///
    /// # Errors
    /// When options contradict each other.
    pub fn events(&self) -> Result<impl Iterator<Item = Row> + use<>> {
        self.mix(&self.sources()?, &Stop::default())
    }

    fn sources(&self) -> Result<Vec<(Pattern, SourceArgs)>> {
        let added = self.add.iter().map(|text| {
            if text.trim().is_empty() {
                return Err(Error::usage(
                    "in --add \"\": expected a pattern with its options, such as --add \"cron --burst 500 --clients 50\"",
                ));
            }
            let parsed = Added::try_parse_from(text.split_whitespace());
            let added = parsed.map_err(|error| Error::usage(format!("in --add \"{text}\": {}", brief(&error))))?;
            Ok((added.pattern, added.source))
        });
        let typed = iter::once(Ok((self.pattern.clone(), self.source.clone()))).chain(added);
        let mut sources = Vec::new();
        for source in typed {
            let source: (Pattern, SourceArgs) = source?;
            let abuser = source.1.abuser.map(abuser);
            sources.extend(iter::once(source).chain(abuser));
        }
        Ok(sources)
    }

    /// The mix of `sources`, cut to `--rows`.
    fn mix(&self, sources: &[(Pattern, SourceArgs)], stop: &Stop) -> Result<impl Iterator<Item = Row> + use<>> {
        let period = Period { start: self.start.0, end: self.start.0.saturating_add(self.duration.0) };
        let component = |(index, (pattern, source)): (usize, &(Pattern, SourceArgs))| {
            source.check(pattern)?;
            // Three streams a component: another choice of clients or costs leaves the times alone.
            let draws = |purpose| Draws::new(self.seed, 3 * index as u64 + purpose);
            let instants = pattern.instants(period, source.clients, draws(0), stop)?;
            let clients = source.clients(pattern.deals(), draws(1));
            Ok(Component::new(instants, clients, source.cost.clone(), draws(2)))
        };
        let components: Result<Vec<_>> = sources.iter().enumerate().map(component).collect();
        let rows = usize::try_from(self.rows.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        Ok(Mix::new(components?).take(rows))
    }

    fn write(
        &self,
        rows: impl Iterator<Item = Row>,
        sources: &[(Pattern, SourceArgs)],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let with_cost = sources.iter().any(|(_, source)| !source.cost.is_unit());
        writeln!(out, "# {self}")?;
        writeln!(out, "time_ns,client{}", if with_cost { ",cost" } else { "" })?;
        for row in rows {
            let prefix = &sources[row.component].1.prefix;
            write!(out, "{},{prefix}{}", row.at, u64::from(row.client) + 1)?;
            if with_cost {
                write!(out, ",{}", row.cost)?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl SourceArgs {
    /// The worst trace for a policy is made of single units of clients in turn.
    fn check(&self, pattern: &Pattern) -> Result<()> {
        if matches!(pattern, Pattern::Adversary(_)) && (self.zipf.is_some() || !self.cost.is_unit()) {
            return Err(Error::usage(
                "adversary sends single units, as often for each client: leave out --zipf and --cost",
            ));
        }
        // By Zipf's law each client has a weight in memory, and by the law of the others none.
        if self.zipf.is_some() && self.clients > MOST_ZIPF_CLIENTS {
            return Err(Error::usage(format!(
                "--clients {} with --zipf: expected at most {} clients; without --zipf there may be more",
                self.clients,
                count(MOST_ZIPF_CLIENTS.into())
            )));
        }
        Ok(())
    }

    fn clients(&self, dealt: bool, draws: Draws) -> Clients {
        match self.zipf {
            Some(Exponent(thousandths)) => Clients::zipf(self.clients, thousandths, draws),
            None if dealt => Clients::dealt(self.clients),
            None => Clients::uniform(self.clients, draws),
        }
    }
}

/// The extra component that `--abuser` stands for.
fn abuser(rate: Rate) -> (Pattern, SourceArgs) {
    let prefix = "abuser".to_owned();
    let source = SourceArgs { clients: 1, zipf: None, cost: Costs::Constant(1), abuser: None, prefix };
    (Pattern::Poisson(Poisson { rate }), source)
}

/// The command with every option written out: typed again, it gives the same bytes.
impl fmt::Display for GenerateArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rlsim generate {} {}", self.pattern, self.source)?;
        write!(f, " --duration {} --start {}", self.duration, self.start)?;
        if let Some(rows) = self.rows {
            write!(f, " --rows {rows}")?;
        }
        write!(f, " --seed {}", self.seed)?;
        // One line, whatever was typed.
        self.add.iter().try_for_each(|text| write!(f, " --add \"{}\"", text.replace(['\r', '\n'], " ")))
    }
}

impl fmt::Display for SourceArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--clients {}", self.clients)?;
        if let Some(Exponent(thousandths)) = self.zipf {
            write!(f, " --zipf {}.{:03}", thousandths / 1000, thousandths % 1000)?;
        }
        if !self.cost.is_unit() {
            write!(f, " --cost {}", self.cost)?;
        }
        if let Some(rate) = self.abuser {
            write!(f, " --abuser {rate}")?;
        }
        match self.prefix.as_str() {
            "c" => Ok(()),
            // As a word of its own it would be taken for nothing, or for an option.
            prefix if prefix.is_empty() || prefix.starts_with('-') => write!(f, " --prefix={prefix}"),
            prefix => write!(f, " --prefix {prefix}"),
        }
    }
}

/// A Zipf exponent in thousandths, up to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exponent(pub u32);

impl std::str::FromStr for Exponent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a number from 0 to 10 with up to three decimals, such as 1.2, found `{text}`");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) {
            return Err(wrong());
        }
        let thousandths = format!("{whole}{decimals:0<3}").parse().map_err(|_| wrong())?;
        if thousandths <= 10_000 { Ok(Exponent(thousandths)) } else { Err(wrong()) }
    }
}

fn parse_clients(text: &str) -> Result<u32, String> {
    let number = whole(text, 1, u32::MAX.into())?;
    u32::try_from(number).map_err(|error| error.to_string())
}

/// What needs no quotes in CSV, nor on a command line.
fn parse_prefix(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/@+".contains(c);
    if text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err("expected letters, digits and - _ . : / @ + only".into())
}

fn parse_start(text: &str) -> Result<Span, String> {
    if let Ok(span) = text.parse::<Span>() {
        return Ok(span);
    }
    let wrong = || format!("expected a time since 1970 (0s, 90m) or 2026-01-01T00:00:00Z, found `{text}`");
    let time: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    u64::try_from(time.as_nanosecond()).map(Span).map_err(|_| wrong())
}

/// The first line of clap's message, without its own label.
fn brief(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

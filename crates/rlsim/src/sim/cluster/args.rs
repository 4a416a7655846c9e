//! `rlsim cluster`: what can be typed.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ratelimit_core::Policy;

use super::arrivals::{self, Arrival};
use super::compare::compare;
use super::exact::Exact;
use super::faults::Faults;
use super::network::Delay;
use super::report;
use super::routing::Routing;
use super::strategy::Strategy;
use super::sweep;
use super::world::Cluster;
use crate::error::Result;
use crate::generate::units::parse_threads;
use crate::sim::export::{ExportArgs, Targets};
use crate::sim::parallel;
use crate::trace::{Between, TimeBound};

/// Steady demand near the limit, and a flood of forty times as much for five seconds.
const PATTERN: &str = "spike --rate 500/s --times 40 --at 20s --for 5s --duration 45s";

/// The strategies of the default comparison.
const STRATEGIES: [Strategy; 7] = [
    Strategy::OwnLimit,
    Strategy::SplitLimit,
    Strategy::SharedStore,
    Strategy::ReadThenWrite,
    Strategy::SubKeys(4),
    Strategy::Leases(0),
    Strategy::Sync(1_000_000_000),
];

/// Simulate many servers that share one limit, and compare how they do it
#[derive(Debug, Clone, Args)]
pub struct ClusterArgs {
    /// Number of servers
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub servers: u16,
    /// The limit of each client over all servers together
    #[arg(long, value_name = "POLICY", default_value = "token-bucket:500/1s")]
    pub policy: Policy,
    /// The requests, as what rlsim generate takes: a pattern with its options
    #[arg(long, value_name = "TEXT", default_value = PATTERN, conflicts_with = "trace")]
    pub pattern: String,
    /// The requests from recorded traces instead
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub trace: Vec<PathBuf>,
    /// Take only requests of the trace from this time on, written as in a trace
    #[arg(long, value_name = "TIME", requires = "trace", allow_negative_numbers = true)]
    pub from: Option<TimeBound>,
    /// Take only requests of the trace before this time
    #[arg(long, value_name = "TIME", requires = "trace", allow_negative_numbers = true)]
    pub until: Option<TimeBound>,
    /// Which server a request goes to: round-robin, random, sticky (by client) or weighted:5,1
    #[arg(long, default_value = "random")]
    pub routing: Routing,
    /// Compare these instead of all: own-limit, split-limit, shared-store, read-then-write, sub-keys:4, leases,
    /// leases:100, sync:1s; repeatable
    #[arg(long, value_name = "STRATEGY", num_args = 1..)]
    pub strategy: Vec<Strategy>,
    /// How long a message to or from the store takes, one way: half fixed, half random (constant:1ms: all fixed)
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub delay: Delay,
    /// Instead: asynchronous sync over its interval and the number of servers
    #[arg(long, conflicts_with_all = ["strategy", "servers"])]
    pub sweep: bool,
    /// The seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// What goes wrong
    #[command(flatten)]
    pub faults: Faults,
    /// Files
    #[command(flatten)]
    pub export: ExportArgs,
}

impl ClusterArgs {
    /// Runs the simulation: the table to `out`, the chart `cluster.svg` to the working directory, its name to `talk`.
    ///
    /// # Errors
    /// When the requests cannot be read or something cannot be written.
    pub fn run(&self, out: &mut dyn Write, talk: &mut dyn Write) -> Result<()> {
        let chart = if self.sweep { "cluster-sweep.svg" } else { "cluster.svg" };
        let targets = Targets::open(&self.export, chart, &self.trace, talk)?;
        let arrivals = self.arrivals(talk)?;
        let first = if self.trace.is_empty() { 0 } else { arrivals.first().map_or(0, |arrival| arrival.at) };
        let cluster = self.cluster(first);
        let smallest = if self.sweep { sweep::SERVERS[0] } else { cluster.servers };
        cluster.faults.check(smallest, arrivals.last().map_or(0, |arrival| arrival.at))?;
        let strategies = if self.strategy.is_empty() { &STRATEGIES[..] } else { &self.strategy };
        let exact = Exact::of(&cluster.policy, &arrivals);
        let threads = self.threads.map_or_else(parallel::all_cores, NonZeroUsize::get);
        if self.sweep {
            return targets.write(&sweep::findings(&cluster, &arrivals, &exact, threads)?, out, talk);
        }
        let compared = compare(&cluster, strategies, &arrivals, &exact, threads);
        let origin = if self.trace.is_empty() { self.pattern.clone() } else { "the trace".to_owned() };
        targets.write(&report::findings(&cluster, &origin, &arrivals, &exact, &compared)?, out, talk)
    }

    fn arrivals(&self, talk: &mut dyn Write) -> Result<Vec<Arrival>> {
        if self.trace.is_empty() {
            arrivals::of_pattern(&self.pattern, self.seed)
        } else {
            let between = Between { from: self.from.clone(), until: self.until.clone() };
            arrivals::of_traces(&self.trace, &between, talk)
        }
    }

    fn cluster(&self, origin: u64) -> Cluster {
        Cluster {
            servers: usize::from(self.servers),
            policy: self.policy,
            routing: self.routing.clone(),
            delay: self.delay,
            faults: Faults { origin, ..self.faults.clone() },
            seed: self.seed,
        }
    }
}

//! The command line: what was typed (`args`), what it means, and the wiring of the pipeline, one file a command.
//!
//! stdout is data, stderr is talk. Exit codes: 0 done, 1 failed, 2 usage, 3 an assertion did not hold.

mod args;
mod compare;
mod engines;
mod export;
mod inspect;
#[cfg(not(all(feature = "png", feature = "serve", feature = "redis")))]
mod left_out;
mod output;
mod policies;
mod progress;
mod recommend;
#[cfg(feature = "redis")]
mod redis_engine;
mod sweep;
mod told;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ErrorKind};

pub use args::{Cli, Command};
pub(crate) use export::{Exports, Kind};
pub(crate) use output::print_to;

use crate::error::{Error, Result};

/// Runs the program on its words, the first being its own name.
pub fn run(words: &[OsString]) -> ExitCode {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, words),
    };
    match dispatch(cli, words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::talk(&format!("rlsim: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Help and version go to stdout and are no error; mistakes go to stderr with exit code 2.
fn not_parsed(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // A closed pipe is no error.
    let _ = error.print();
    if let Some(file) = file_without_option(error, words) {
        output::talk(&format!("\n  tip: a trace is named with --trace {file}"));
    }
    if asked_for { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// A word that is no option where only options are expected, in a command that reads a trace: most likely the trace.
fn file_without_option(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let command = words.get(1)?.to_str()?;
    let reads = ["compare", "inspect", "sweep", "recommend", "cluster"].contains(&command);
    let typed = error.get(ContextKind::InvalidArg)?.to_string();
    let reads = reads && !words.iter().any(|word| word == "--trace");
    (reads && error.kind() == ErrorKind::UnknownArgument && !typed.starts_with('-')).then_some(typed)
}

fn dispatch(cli: Cli, words: &[OsString]) -> Result<()> {
    match cli.command {
        Command::Compare(args) => compare::run(args, words),
        Command::Inspect(args) => inspect::run(*args, words),
        Command::Sweep(args) => sweep::run(*args, words),
        Command::Recommend(args) => recommend::run(*args, words),
        Command::Generate(args) => output::to_stdout(|out| args.run(out)),
        Command::Cluster(args) => args.run(&mut std::io::stdout().lock(), &mut std::io::stderr()),
        Command::Storm(args) => args.run(&mut std::io::stdout().lock(), &mut std::io::stderr()),
        #[cfg(feature = "serve")]
        Command::Serve(args) => args.run(),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(left_out::error("serve", "serve")),
        Command::Completions { shell } => {
            // In memory first: the generator cannot bear a closed pipe.
            let mut script = Vec::new();
            clap_complete::generate(
                shell.generator(),
                &mut <Cli as clap::CommandFactory>::command(),
                "rlsim",
                &mut script,
            );
            output::print(&script)
        }
        Command::Man => {
            let mut page = Vec::new();
            let manual = clap_mangen::Man::new(<Cli as clap::CommandFactory>::command());
            manual.render(&mut page).map_err(|error| Error::failed(format!("the manual: {error}")))?;
            output::print(&page)
        }
    }
}

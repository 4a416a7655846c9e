//! Files that a simulation leaves behind: opened before the work, written whole after it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::cli::{Exports, Kind, print_to};
use crate::error::{Error, Result};

/// Options of both simulations for what is written where.
#[derive(Debug, Clone, Default, Args)]
pub struct ExportArgs {
    /// Write a file too, its kind by its ending: .svg or .png (the chart) or .json, or by a word before it: json:FILE; `-` is
    /// JSON on standard output instead of the table, `svg:-` the chart there; repeatable
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub export: Vec<PathBuf>,
    /// Write no chart
    #[arg(long)]
    pub no_chart: bool,
}

/// What a simulation has to say in the end.
pub(super) struct Findings {
    /// For people, on standard output.
    pub(super) text: String,
    /// For programs.
    pub(super) json: String,
    /// The picture.
    pub(super) svg: String,
}

/// JSON as it is written: indented, with a line break at the end.
pub(super) fn pretty(json: &Value) -> Result<String> {
    let text = serde_json::to_string_pretty(json);
    text.map(|text| text + "\n").map_err(|error| Error::failed(format!("cannot write JSON: {error}")))
}

/// Where findings will go.
pub(super) struct Targets(Exports);

impl Targets {
    /// Opens every file; none may be one that is to be `read`. Without `--export` of a chart and without `--no-chart`, the chart
    /// goes to `default` in the working directory.
    ///
    /// # Errors
    /// When a kind of file is not known or a file cannot be written.
    pub(super) fn open(args: &ExportArgs, default: &str, read: &[PathBuf], talk: &mut dyn Write) -> Result<Self> {
        let mut exports = Exports::open(&args.export, &[Kind::Svg, Kind::Json], read)?;
        if !args.no_chart && !exports.has(&[Kind::Svg]) {
            exports.add_unasked(Kind::Svg, Path::new(default), read, talk);
        }
        Ok(Targets(exports))
    }

    /// Writes everything: the text to `out` unless that is wanted for an export, the files, and their names to `talk`.
    ///
    /// # Errors
    /// When something cannot be written. A closed pipe is no error.
    pub(super) fn write(self, findings: &Findings, out: &mut dyn Write, talk: &mut dyn Write) -> Result<()> {
        if !self.0.take_stdout() {
            print_to(out, findings.text.as_bytes())?;
        }
        let render = |kind| if kind == Kind::Json { &findings.json } else { &findings.svg };
        self.0.write_to(|kind| Ok(render(kind).clone()), out, talk)
    }
}

//! Files that a simulation leaves behind: opened before the work, written whole after it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::cli::Output;
use crate::error::{Error, Result};

/// Options of both simulations for what is written where.
#[derive(Debug, Clone, Default, Args)]
pub struct ExportArgs {
    /// Write a file too, its kind by its ending: .svg (the chart) or .json; `-` is the JSON on standard output instead of
    /// the table; repeatable
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Json,
}

/// Where findings will go.
pub(super) struct Targets {
    files: Vec<(Kind, Output)>,
    json_on_stdout: bool,
}

impl Targets {
    /// Opens every file; none may be one that is to be `read`. Without `--export` of a chart and without `--no-chart`, the chart goes to `default` in the
    /// working directory; where that cannot be written it is said on `talk`, and no error.
    ///
    /// # Errors
    /// When an ending is not known or a file cannot be written.
    pub(super) fn open(args: &ExportArgs, default: &str, read: &[PathBuf], talk: &mut dyn Write) -> Result<Self> {
        let on_stdout = |path: &&PathBuf| path.as_os_str() == "-";
        let json_on_stdout = args.export.iter().any(|path| on_stdout(&path));
        let paths = args.export.iter().filter(|path| !on_stdout(path));
        let mut files = paths.map(|path| Ok((kind(path)?, Output::create(path, read)?))).collect::<Result<Vec<_>>>()?;
        if !args.no_chart && !files.iter().any(|&(kind, _)| kind == Kind::Svg) {
            match Output::create(Path::new(default), read) {
                Ok(file) => files.push((Kind::Svg, file)),
                Err(error) => say(talk, &format!("no chart: {error}")),
            }
        }
        Ok(Targets { files, json_on_stdout })
    }

    /// Writes everything: the text (or the JSON) to `out`, the files, and their names to `talk`.
    ///
    /// # Errors
    /// When something cannot be written. A closed pipe is no error.
    pub(super) fn write(self, findings: &Findings, out: &mut dyn Write, talk: &mut dyn Write) -> Result<()> {
        let text = if self.json_on_stdout { &findings.json } else { &findings.text };
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(Error::failed(format!("stdout: {error}")));
            }
            _ => {}
        }
        for (kind, file) in self.files {
            let path = file.path().display().to_string();
            file.write(match kind {
                Kind::Svg => findings.svg.as_bytes(),
                Kind::Json => findings.json.as_bytes(),
            })?;
            say(talk, &format!("wrote {path}"));
        }
        Ok(())
    }
}

fn kind(path: &Path) -> Result<Kind> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Kind::Svg),
        Some("json") => Ok(Kind::Json),
        _ => {
            Err(Error::usage(format!("--export {}: expected a name that ends in .svg or .json, or -", path.display())))
        }
    }
}

/// Nothing is lost when nobody listens.
fn say(talk: &mut dyn Write, message: &str) {
    let _ = writeln!(talk, "{message}");
}

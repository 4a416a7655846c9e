//! The outputs of the commands that advise: `--export` paths opened before the work, and written after it.

use std::path::{Path, PathBuf};

use super::output::{self, Output};
use crate::error::{Error, Result};

/// What an export holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Svg,
    Json,
    Csv,
    Markdown,
    Toml,
}

impl Kind {
    fn ending(self) -> &'static str {
        match self {
            Kind::Svg => "svg",
            Kind::Json => "json",
            Kind::Csv => "csv",
            Kind::Markdown => "md",
            Kind::Toml => "toml",
        }
    }
}

/// The exports of one command.
pub(super) struct Files {
    open: Vec<(Kind, Option<Output>)>,
}

impl Files {
    /// Opens all paths. The kind is that of the ending, among those a command `knows`; `-` is JSON on stdout, and `-.csv`
    /// and the like the other kinds.
    pub(super) fn open(paths: &[PathBuf], knows: &[Kind]) -> Result<Self> {
        let open = paths.iter().map(|path| open(path, knows)).collect::<Result<_>>()?;
        Ok(Files { open })
    }

    /// Whether stdout is taken, so that the table has to stay away.
    pub(super) fn take_stdout(&self) -> bool {
        self.open.iter().any(|(_, file)| file.is_none())
    }

    /// Writes all, whole or not at all.
    pub(super) fn write(self, render: impl Fn(Kind) -> Result<String>) -> Result<()> {
        for (kind, file) in self.open {
            let content = render(kind)?;
            match file {
                None => output::print(&content)?,
                Some(file) => {
                    let path = file.path().display().to_string();
                    file.write(content.as_bytes())?;
                    output::talk(&format!("wrote {path}"));
                }
            }
        }
        Ok(())
    }
}

fn open(path: &Path, knows: &[Kind]) -> Result<(Kind, Option<Output>)> {
    let stdout = path.file_stem().is_some_and(|stem| stem == "-") && path.parent() == Some(Path::new(""));
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let kind = match ending.as_deref() {
        None if stdout => Some(Kind::Json),
        Some(ending) => knows.iter().copied().find(|kind| kind.ending() == ending),
        None => None,
    };
    let Some(kind) = kind else {
        let endings: Vec<String> = knows.iter().map(|kind| format!(".{}", kind.ending())).collect();
        return Err(Error::usage(format!(
            "--export {}: this command does not write that kind of file, expected a name that ends in {}, or `-` for JSON on \
             stdout",
            path.display(),
            endings.join(", ")
        )));
    };
    Ok((kind, if stdout { None } else { Some(Output::create(path)?) }))
}

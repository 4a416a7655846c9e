//! `--export`: paths opened before the work, and written after it. One file for all commands, so that a path means the
//! same in each: the kind is that of the ending, `-` is JSON on stdout, and `csv:-` another kind there.

use std::path::{Path, PathBuf};

use super::output::{self, Output};
use crate::error::{Error, Result};

/// What an export holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Svg,
    Html,
    Json,
    Csv,
    Markdown,
    Toml,
    /// The SVG as a picture of dots. No command renders it: it is made here.
    Png,
}

const KINDS: [(Kind, &str); 7] = [
    (Kind::Svg, "svg"),
    (Kind::Png, "png"),
    (Kind::Html, "html"),
    (Kind::Json, "json"),
    (Kind::Csv, "csv"),
    (Kind::Markdown, "md"),
    (Kind::Toml, "toml"),
];

/// The exports of one command: each a kind, and a file or stdout.
pub(super) struct Exports {
    open: Vec<(Kind, Option<Output>)>,
}

impl Exports {
    /// Opens all paths, of the kinds that a command `knows`; one that knows SVG has PNG too.
    ///
    /// # Errors
    /// [`Error::Usage`] for another kind of file, [`Error::Failed`] for a path that cannot be written.
    pub(super) fn open(paths: &[PathBuf], knows: &[Kind]) -> Result<Self> {
        let open = paths.iter().map(|path| open(path, knows)).collect::<Result<_>>()?;
        Ok(Exports { open })
    }

    /// Adds a file that was opened elsewhere.
    pub(super) fn add(&mut self, kind: Kind, file: Output) {
        self.open.push((kind, Some(file)));
    }

    /// Whether stdout is taken, so that the table has to stay away.
    pub(super) fn take_stdout(&self) -> bool {
        self.open.iter().any(|(_, file)| file.is_none())
    }

    /// Whether any export is of one of `kinds`.
    pub(super) fn has(&self, kinds: &[Kind]) -> bool {
        self.open.iter().any(|(kind, _)| kinds.contains(kind))
    }

    /// Writes all, whole or not at all.
    pub(super) fn write(self, render: impl Fn(Kind) -> Result<String>) -> Result<()> {
        for (kind, file) in self.open {
            let content = match kind {
                Kind::Png => png(&render(Kind::Svg)?)?,
                kind => render(kind)?.into_bytes(),
            };
            match file {
                None => output::print(&content)?,
                Some(file) => {
                    let path = file.path().display().to_string();
                    file.write(&content)?;
                    output::talk(&format!("wrote {path}"));
                }
            }
        }
        Ok(())
    }
}

fn open(path: &Path, knows: &[Kind]) -> Result<(Kind, Option<Output>)> {
    let text = path.to_string_lossy();
    let on_stdout = if text == "-" { Some("json") } else { text.strip_suffix(":-") };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let wanted = on_stdout.or(ending.as_deref());
    let known = |kind: &Kind| knows.contains(kind) || *kind == Kind::Png && knows.contains(&Kind::Svg);
    let found = KINDS.iter().find(|(kind, name)| wanted == Some(*name) && known(kind));
    let Some((kind, _)) = found else {
        let endings: Vec<String> =
            KINDS.iter().filter(|(kind, _)| known(kind)).map(|(_, name)| format!(".{name}")).collect();
        return Err(Error::usage(format!(
            "--export {text}: this command does not write that kind of file, expected a name that ends in {}, or `-` for JSON \
             on stdout",
            endings.join(", ")
        )));
    };
    #[cfg(not(feature = "png"))]
    if *kind == Kind::Png {
        return Err(super::left_out::error("--export of a PNG", "png"));
    }
    Ok((*kind, if on_stdout.is_some() { None } else { Some(Output::create(path)?) }))
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>> {
    crate::chart::png(svg)
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Result<Vec<u8>> {
    Err(super::left_out::error("--export of a PNG", "png"))
}

//! `--export`: paths opened before the work, and written after it. One file for all commands, so that a path means the
//! same in each: `KIND:FILE`, where the kind may be left out if the ending of the file says it, and `-` is stdout (JSON
//! without a kind). A kind is a form of file, such as `csv`, or one of several charts, such as `envelope`.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::output::{self, Output};
use crate::error::{Error, Result};

/// What an export holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The chart that the command is about.
    Svg,
    /// The burst envelope.
    Envelope,
    /// The raster of requests.
    Raster,
    /// The ranked clients.
    Ranked,
    /// One client's state over time.
    Client,
    Html,
    Json,
    Csv,
    Markdown,
    Toml,
}

/// Kinds by the ending of a file, which may also stand before it. A PNG is the chart as dots: no command renders it, it is
/// made here.
const FORMS: [(&str, Kind); 7] = [
    ("svg", Kind::Svg),
    (PNG, Kind::Svg),
    ("html", Kind::Html),
    ("json", Kind::Json),
    ("csv", Kind::Csv),
    ("md", Kind::Markdown),
    ("toml", Kind::Toml),
];

/// The form that charts are drawn in at last.
const PNG: &str = "png";

/// Charts beside the command's own, by what stands before the file.
const CHARTS: [(&str, Kind); 4] =
    [("envelope", Kind::Envelope), ("raster", Kind::Raster), ("ranked", Kind::Ranked), ("client", Kind::Client)];

/// The exports of one command.
pub(crate) struct Exports {
    open: Vec<Export>,
}

/// A kind, and a file or stdout.
struct Export {
    kind: Kind,
    /// A chart as dots.
    png: bool,
    /// `None` is stdout.
    file: Option<Output>,
}

impl Exports {
    /// Opens all paths, of the kinds that a command `knows`; what it draws as SVG may be PNG too. None may be a file that is to
    /// be `read`.
    ///
    /// # Errors
    /// [`Error::Usage`] for another kind of file, [`Error::Failed`] for a path that cannot be written.
    pub(crate) fn open(paths: &[PathBuf], knows: &[Kind], read: &[PathBuf]) -> Result<Self> {
        let open = paths.iter().map(|path| open(path, knows, read)).collect::<Result<_>>()?;
        Ok(Exports { open })
    }

    /// Adds the chart that is written without being asked for; where it cannot be, that is said on `talk`, and no error.
    pub(crate) fn add_unasked(&mut self, kind: Kind, path: &Path, read: &[PathBuf], talk: &mut dyn Write) {
        match Output::create(path, read) {
            Ok(file) => self.open.push(Export { kind, png: false, file: Some(file) }),
            Err(error) => output::say(
                talk,
                &format!("rlsim: no chart: {error} (--export FILE.svg writes it elsewhere, --no-chart leaves it)"),
            ),
        }
    }

    /// Whether stdout is taken, so that the table has to stay away.
    pub(crate) fn take_stdout(&self) -> bool {
        self.open.iter().any(|export| export.file.is_none())
    }

    /// Whether any export is of one of `kinds`.
    pub(crate) fn has(&self, kinds: &[Kind]) -> bool {
        self.open.iter().any(|export| kinds.contains(&export.kind))
    }

    /// Renders all, then writes all: whole or not at all.
    pub(super) fn write(self, render: impl Fn(Kind) -> Result<String>) -> Result<()> {
        output::to_stdout(|out| self.write_to(render, out, &mut std::io::stderr()))
    }

    /// As [`write`](Exports::write), with `out` for stdout; names of files go to `talk`.
    ///
    /// # Errors
    /// What `render` returns, and [`Error::Failed`] where something cannot be written. A closed pipe is no error.
    pub(crate) fn write_to(
        self,
        render: impl Fn(Kind) -> Result<String>,
        out: &mut dyn Write,
        talk: &mut dyn Write,
    ) -> Result<()> {
        let mut contents = Vec::with_capacity(self.open.len());
        for export in &self.open {
            let text = render(export.kind)?;
            contents.push(if export.png { png(&text)? } else { text.into_bytes() });
        }
        for (export, content) in self.open.into_iter().zip(contents) {
            match export.file {
                None => output::print_to(out, &content)?,
                Some(file) => {
                    let path = file.path().display().to_string();
                    file.write(&content)?;
                    output::say(talk, &format!("wrote {path}"));
                }
            }
        }
        Ok(())
    }
}

fn open(path: &Path, knows: &[Kind], read: &[PathBuf]) -> Result<Export> {
    let text = path.to_string_lossy();
    let (name, file) = match text.split_once(':').filter(|(name, _)| named(name).is_some()) {
        Some((name, file)) => (Some(name), Path::new(file)),
        None => (None, path),
    };
    let on_stdout = file.as_os_str() == "-";
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let ending = ending.as_deref();
    // What a chart's name leaves open is its form.
    let form = if on_stdout { None } else { ending };
    let found = match name.and_then(named) {
        Some(kind) if !CHARTS.contains(&(name.unwrap_or_default(), kind)) => Some((kind, name == Some(PNG))),
        Some(kind) if matches!(form, None | Some("svg" | PNG)) && (on_stdout || form.is_some()) => {
            Some((kind, form == Some(PNG)))
        }
        Some(_) => None,
        None if on_stdout => Some((Kind::Json, false)),
        None => FORMS.iter().find(|(form, _)| ending == Some(form)).map(|(form, kind)| (*kind, *form == PNG)),
    };
    let Some((kind, png)) = found.filter(|(kind, _)| knows.contains(kind)) else {
        return Err(unknown(&text, knows));
    };
    #[cfg(not(feature = "png"))]
    if png {
        return Err(super::left_out::error("--export of a PNG", PNG));
    }
    let file = if on_stdout { None } else { Some(Output::create(file, read)?) };
    Ok(Export { kind, png, file })
}

/// The kind that a word before a file names.
fn named(name: &str) -> Option<Kind> {
    FORMS.iter().chain(&CHARTS).find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

fn unknown(text: &str, knows: &[Kind]) -> Error {
    let names = |all: &[(&str, Kind)], write: fn(&str) -> String| -> Vec<String> {
        all.iter().filter(|(_, kind)| knows.contains(kind)).map(|(name, _)| write(name)).collect()
    };
    let endings = names(&FORMS, |form| format!(".{form}")).join(", ");
    let charts = names(&CHARTS, |chart| format!("{chart}:FILE.svg")).join(", ");
    let charts = if charts.is_empty() { String::new() } else { format!("one of {charts} (or .png), ") };
    Error::usage(format!(
        "--export {text}: this command does not write that kind of file, expected a name that ends in {endings}, {charts}or \
         `-` for JSON on stdout"
    ))
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>> {
    crate::chart::png(svg)
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Result<Vec<u8>> {
    Err(super::left_out::error("--export of a PNG", PNG))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Kind; 5] = [Kind::Svg, Kind::Json, Kind::Csv, Kind::Envelope, Kind::Client];

    /// The kind, whether it is a PNG, and the file (empty for stdout).
    fn opened(folder: &Path, text: &str) -> Result<(Kind, bool, String)> {
        let text = text.replace("{}", &folder.to_string_lossy());
        let export = open(Path::new(&text), &ALL, &[])?;
        let name = |file: Output| file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((export.kind, export.png, export.file.map(name).unwrap_or_default()))
    }

    #[test]
    fn a_kind_stands_before_the_file_or_is_its_ending() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = [
            ("-", Kind::Json, false, ""),
            ("csv:-", Kind::Csv, false, ""),
            ("svg:-", Kind::Svg, false, ""),
            ("envelope:-", Kind::Envelope, false, ""),
            ("{}/x.SVG", Kind::Svg, false, "x.SVG"),
            ("csv:{}/x.txt", Kind::Csv, false, "x.txt"),
            ("client:{}/x.svg", Kind::Client, false, "x.svg"),
            ("{}/client:x.svg", Kind::Svg, false, "client:x.svg"),
        ];
        for (text, kind, png, file) in rows {
            assert_eq!(opened(folder.path(), text), Ok((kind, png, file.to_owned())), "{text}");
        }
        #[cfg(feature = "png")]
        assert_eq!(opened(folder.path(), "envelope:{}/x.png"), Ok((Kind::Envelope, true, "x.png".to_owned())));
    }

    #[test]
    fn what_a_command_does_not_write_is_said_with_what_it_does() {
        let folder = tempfile::tempdir().expect("a folder");
        for text in ["x", "x.txt", "x.html", "html:-", "raster:x.svg", "envelope:x.json", "envelope:x", "client:", ""] {
            let Err(Error::Usage(message)) = opened(folder.path(), text) else { panic!("{text} was opened") };
            for part in [text, ".svg, ", ".csv, ", "envelope:FILE.svg, client:FILE.svg (or .png)"] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
}

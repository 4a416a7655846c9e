//! Where output goes: stdout without complaint about closed pipes, and files written whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Result};

/// Says something on stderr.
pub(super) fn talk(message: &str) {
    say(&mut io::stderr().lock(), message);
}

/// Says something beside the output. Nothing is lost when nobody listens.
pub(super) fn say(talk: &mut dyn Write, message: &str) {
    let _ = writeln!(talk, "{message}");
}

/// Runs `write` on a buffered stdout.
pub(super) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    unless_closed(out.flush())
}

/// Writes text or bytes to stdout.
pub(super) fn print(content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    print_to(&mut io::stdout().lock(), content.as_ref())
}

/// Writes to `out`, which stands for stdout.
pub(crate) fn print_to(out: &mut dyn Write, content: &[u8]) -> Result<()> {
    unless_closed(out.write_all(content).and_then(|()| out.flush()))
}

/// A reader that has gone away is no error.
fn unless_closed(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::failed(format!("stdout: {error}"))),
        _ => Ok(()),
    }
}

/// A file to be written: a temporary one beside it is opened before the work, and takes its place after it. Dropped
/// unwritten, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    temporary: NamedTempFile,
}

/// Temporary files that an interrupt must remove.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Output {
    /// Makes sure that `path` can be written, and writes nothing yet. It must be none of the files that are to be `read`: nobody
    /// means to replace a log by a report about it.
    ///
    /// # Errors
    /// [`Error::Failed`] that names the path and what stands in the way.
    pub(super) fn create(path: &Path, read: &[PathBuf]) -> Result<Self> {
        let refused =
            |why: &dyn std::fmt::Display| Error::failed(format!("{}: cannot be written: {why}", path.display()));
        if read.iter().any(|read| is_same_file(read, path)) {
            return Err(refused(&"it is read here too and would be lost, expected another name"));
        }
        if path.is_dir() {
            return Err(refused(&"it is a directory, expected the path of a file"));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(refused(&format_args!("there is no folder {}", folder.display())));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".rlsim-").suffix(".tmp");
        // A temporary file is private by default, but a report is made as any other file is.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        clean_up_when_interrupted();
        let temporary = builder.tempfile_in(folder).map_err(|error| refused(&error))?;
        pending(|paths| paths.push(temporary.path().to_owned()));
        Ok(Output { path: path.to_owned(), temporary })
    }

    /// Puts the whole content in place.
    ///
    /// # Errors
    /// [`Error::Failed`] if the content cannot be stored; then the old file, if any, is as it was.
    pub(super) fn write(mut self, content: &[u8]) -> Result<()> {
        let failed = |error: io::Error| Error::failed(format!("{}: cannot be written: {error}", self.path.display()));
        self.temporary.write_all(content).and_then(|()| self.temporary.flush()).map_err(failed)?;
        let temporary = self.temporary.path().to_owned();
        let persisted = self.temporary.persist(&self.path).map(drop).map_err(|error| failed(error.error));
        pending(|paths| paths.retain(|path| *path != temporary));
        persisted
    }

    /// The path that is written in the end.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether two paths lead to one file that exists, by whatever links.
fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn pending<R>(change: impl FnOnce(&mut Vec<PathBuf>) -> R) -> R {
    change(&mut PENDING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// From the first output on, Ctrl-C removes temporary files and ends with the customary code 130.
fn clean_up_when_interrupted() {
    static ONCE: Once = Once::new();
    let clean_up = || {
        pending(|paths| {
            for path in paths.drain(..) {
                // Dropping a temporary path removes the file.
                drop(TempPath::try_from_path(path));
            }
        });
        std::process::exit(130);
    };
    // Without a handler an interrupt still ends the program; only a temporary file may stay.
    ONCE.call_once(|| drop(ctrlc::set_handler(clean_up)));
}

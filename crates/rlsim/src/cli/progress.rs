//! A progress bar on stderr, on a terminal only, for reading that takes longer than a moment.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Result;
use crate::trace::{OnProgress, Progress, ReadOptions};

/// Work shorter than this shows no bar.
const QUIET: Duration = Duration::from_secs(1);

/// Reads with a bar, which is gone afterwards.
pub(super) fn shown<T>(mut options: ReadOptions, read: impl FnOnce(&ReadOptions) -> Result<T>) -> Result<T> {
    let bar = bar();
    if let Some((on_progress, _)) = &bar {
        options.progress = Some(on_progress.clone());
    }
    let read = read(&options);
    if let Some((_, bar)) = bar {
        bar.finish_and_clear();
    }
    read
}

/// A callback for the readers, and the bar to clear when they are done.
fn bar() -> Option<(OnProgress, ProgressBar)> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let template = if std::env::var_os("NO_COLOR").is_some() {
        "reading {bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)"
    } else {
        "reading {bar:30.cyan} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let (shared, started) = (bar.clone(), Instant::now());
    let report = move |progress: Progress| {
        if started.elapsed() >= QUIET {
            if shared.is_hidden() {
                shared.set_draw_target(ProgressDrawTarget::stderr());
            }
            if let Some(total) = progress.total {
                shared.set_length(total);
            }
            shared.set_position(progress.bytes);
        }
    };
    Some((OnProgress(Arc::new(report)), bar))
}

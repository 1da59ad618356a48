//! Results to standard output or a file, and how they look.

use anyhow::{Context, anyhow};
use report::Style;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Columns where the terminal's are not known.
const DEFAULT_WIDTH: usize = 80;

/// Whether a document says that its numbers are what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They are.
    Clean,
    /// They are not: exit code 1.
    NotClean,
}

impl Verdict {
    /// From a document's own word.
    pub(crate) fn of(clean: bool) -> Self {
        if clean { Self::Clean } else { Self::NotClean }
    }
}

/// Colour on a terminal unless NO_COLOR is set (no-color.org: to anything but nothing).
pub(crate) fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Style { color: wanted && terminal && !dumb, width: columns.unwrap_or(DEFAULT_WIDTH) }
}

/// Writes a result; a reader that has gone away is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// A file for the result, made before anything is measured, so that a bad path fails at once.
/// What was there before is replaced only when the result is complete.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    partial: PathBuf,
    file: File,
}

impl OutputFile {
    /// Makes the file under a temporary name next to its place.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let name = path.file_name().ok_or_else(|| anyhow!("--output {path:?} names no file"))?;
        if path.is_dir() {
            return Err(anyhow!("--output {path:?} is a directory; name a file in it"));
        }
        let partial = path.with_file_name(format!(
            ".{}.{}.partial",
            name.to_string_lossy(),
            std::process::id()
        ));
        let file = File::create(&partial)
            .with_context(|| format!("cannot make the file of --output {path:?}"))?;
        Ok(Self { path: path.to_owned(), partial, file })
    }

    /// Writes the result and puts it in its place.
    pub(crate) fn finish(mut self, text: &str) -> anyhow::Result<()> {
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| std::fs::rename(&self.partial, &self.path))
            .with_context(|| format!("cannot write the result to {:?}", self.path))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // Gone already where the result was complete.
        let _ = std::fs::remove_file(&self.partial);
    }
}

/// A document as JSON, with a line end.
pub(crate) fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write JSON")?;
    text.push('\n');
    Ok(text)
}

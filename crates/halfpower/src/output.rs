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

/// Writes a line to standard error; a reader that has gone away is no error there either, which
/// `eprintln!` would make a panic of.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A place for the result, tried before anything is measured, so that a bad path fails at once.
/// What was there before is replaced only when the result is complete, and nothing is left beside
/// it however the program ends: the trial of the place is deleted again at once.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    /// A device or a pipe, which is written and not replaced.
    open: Option<File>,
}

impl OutputFile {
    /// Makes sure that the file can be made.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        path.file_name().ok_or_else(|| anyhow!("--output {path:?} names no file"))?;
        let cannot = || format!("cannot make the file of --output {path:?}; check its folder");
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => {
                return Err(anyhow!("--output {path:?} is a directory; name a file in it"));
            }
            Ok(facts) if !facts.is_file() => {
                let file = File::options().write(true).open(path).with_context(cannot)?;
                return Ok(Self { path: path.to_owned(), open: Some(file) });
            }
            // A link stays one: what it points to is replaced.
            Ok(_) | Err(_) => {}
        }
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let output = Self { path: place, open: None };
        let partial = output.partial();
        File::create(&partial).and_then(|_| std::fs::remove_file(&partial)).with_context(cannot)?;
        Ok(output)
    }

    /// Writes the result and puts it in its place.
    pub(crate) fn finish(self, text: &str) -> anyhow::Result<()> {
        let cannot = || format!("cannot write the result to {:?}", self.path);
        if let Some(mut file) = self.open.as_ref() {
            return file.write_all(text.as_bytes()).with_context(cannot);
        }
        let partial = self.partial();
        let written = File::create(&partial)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&partial, &self.path));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&partial);
        }
        written.with_context(cannot)
    }

    /// A temporary name next to the file's own.
    fn partial(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{}.partial", std::process::id()))
    }
}

/// A document as JSON, with a line end.
pub(crate) fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write JSON")?;
    text.push('\n');
    Ok(text)
}

//! Results to standard output or a file, and how they look.

use crate::failure::Refusal;
use anyhow::{Context, anyhow};
use report::Style;
use serde::Deserialize;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Columns where the terminal's are not known.
const DEFAULT_WIDTH: usize = 80;
/// Longest first line that is looked at to tell what a file is.
const FIRST_LINE_BYTES: u64 = 4_096;

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

/// Colour on a terminal unless NO_COLOR is set (no-color.org: to anything but nothing); the
/// terminal's width, else that of COLUMNS.
pub(crate) fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let size = rustix::termios::tcgetwinsize(&stdout).ok().filter(|size| size.ws_col > 0);
    let said = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = size.map(|size| usize::from(size.ws_col)).or_else(said).unwrap_or(DEFAULT_WIDTH);
    Style { color: wanted && terminal && !dumb, width }
}

/// A story as a page for the terminal or file that standard output is.
pub(crate) fn page(story: &report::Story) -> String {
    report::terminal(story, &style())
}

/// Writes a result; a reader that has gone away is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Writes a part of a result that has no end of its own; `false` where its reader has gone away.
pub(crate) fn print_on(text: &str) -> anyhow::Result<bool> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context("cannot write to standard output"),
    }
}

/// Writes a line to standard error; a reader that has gone away is no error there either, which
/// `eprintln!` would make a panic of.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A file that this command uses for something else.
#[derive(Debug)]
pub(crate) struct InUse {
    /// Where it is, or will be.
    pub(crate) path: PathBuf,
    /// What it is to the command.
    pub(crate) role: &'static str,
}

/// What is written to a file of the user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The document, by `--output`.
    Document,
    /// The intervals, by `--csv`.
    Intervals,
    /// The intervals of a diagnosis, by `--csv`.
    Moments,
    /// A page, by `--html`.
    Page,
    /// A report, by `--output`.
    Report,
    /// The values of plots, by `--csv`.
    Values,
}

impl Kind {
    fn flag(self) -> &'static str {
        match self {
            Self::Document | Self::Report => "--output",
            Self::Intervals | Self::Moments | Self::Values => "--csv",
            Self::Page => "--html",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Document => "halfpower document",
            Self::Intervals => "CSV of intervals of this program",
            Self::Moments => "CSV of a diagnosis of this program",
            Self::Page | Self::Report => "HTML page of this program",
            Self::Values => "CSV of plots of this program",
        }
    }

    /// Whether a file holds one, whose loss is what a repeated command means.
    fn is_in(self, path: &Path) -> bool {
        match self {
            Self::Document => is_document(path),
            Self::Intervals => {
                first_line(path).is_ok_and(|line| line.trim_end() == report::intervals_header())
            }
            Self::Moments => {
                first_line(path).is_ok_and(|line| line.trim_end() == report::DIAGNOSIS_CSV_HEADER)
            }
            Self::Page | Self::Report => {
                first_line(path).is_ok_and(|line| line.trim_end() == report::HTML_HEAD)
            }
            Self::Values => {
                first_line(path).is_ok_and(|line| line.trim_end() == report::csv_header())
            }
        }
    }
}

/// The first line of a file, as far as it can belong to a text; empty for an empty file.
pub(crate) fn first_line(path: &Path) -> std::io::Result<String> {
    let mut line = Vec::new();
    let file = File::open(path)?.take(FIRST_LINE_BYTES);
    BufReader::new(file).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// A place for the result, tried before anything is measured, so that a bad path fails at once.
/// What was there before is replaced only when the result is complete, and nothing is left beside
/// it however the program ends: the trial of the place is deleted again at once.
///
/// Only what this program has written is replaced. A flag that says "replace anything" was rejected:
/// a slip of the shell's completion would then cost a file, and another name costs nothing.
#[derive(Debug)]
pub(crate) struct OutputFile {
    kind: Kind,
    path: PathBuf,
    /// A device or a pipe, which is written and not replaced.
    open: Option<File>,
}

impl OutputFile {
    /// Makes sure that the file can be made and that nothing is lost by it.
    pub(crate) fn create(kind: Kind, path: &Path, in_use: &[InUse]) -> anyhow::Result<Self> {
        let flag = kind.flag();
        path.file_name().ok_or_else(|| anyhow!("{flag} {path:?} names no file"))?;
        let cannot = || format!("cannot make the file of {flag} {path:?}; check its folder");
        let facts = std::fs::metadata(path).ok();
        // A link stays one: what it points to is replaced.
        let place = real_place(path);
        refuse_in_use(flag, path, in_use)?;
        if let Some(facts) = facts {
            if facts.is_dir() {
                return Err(anyhow!("{flag} {path:?} is a directory; name a file in it"));
            }
            if facts.file_type().is_block_device() {
                let why = "it is a block device, whose content would be lost";
                return Err(refusal(flag, path, why));
            }
            if !facts.is_file() {
                let file = File::options().write(true).open(path).with_context(cannot)?;
                return Ok(Self { kind, path: path.to_owned(), open: Some(file) });
            }
            if facts.len() > 0 && !kind.is_in(path) {
                let name = kind.name();
                let why = format!("it exists and is no {name}; its content would be lost");
                return Err(refusal(flag, path, &why));
            }
        }
        let output = Self { kind, path: place, open: None };
        let partial = output.partial();
        File::create(&partial).and_then(|_| std::fs::remove_file(&partial)).with_context(cannot)?;
        Ok(output)
    }

    /// Writes the result and puts it in its place.
    pub(crate) fn finish(self, text: &str) -> anyhow::Result<()> {
        let flag = self.kind.flag();
        let cannot = || format!("cannot write the file of {flag} {:?}", self.path);
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

/// Refuses a place that the command uses for something else.
pub(crate) fn refuse_in_use(flag: &str, path: &Path, in_use: &[InUse]) -> anyhow::Result<()> {
    let (facts, place) = (std::fs::metadata(path).ok(), real_place(path));
    let other = in_use.iter().find(|other| same_file(&place, facts.as_ref(), &other.path));
    other.map_or(Ok(()), |other| {
        let why = format!("it is {}, which the result would destroy", other.role);
        Err(refusal(flag, path, &why))
    })
}

/// A refusal to write a result to a place, and the way out.
pub(crate) fn refusal(flag: &str, path: &Path, why: &str) -> anyhow::Error {
    Refusal(format!("{flag} {path:?} is refused: {why}; name another file")).into()
}

/// The path behind all links; of a file that is not there yet, in its real folder.
fn real_place(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new(".")));
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    })
}

/// Whether the place of an output, already real, and a path are one file, by whatever name. A log
/// of the database may not be there yet, so that names count too.
fn same_file(place: &Path, facts: Option<&Metadata>, other: &Path) -> bool {
    let identity = |facts: &Metadata| (facts.dev(), facts.ino());
    let other_facts = std::fs::metadata(other).ok();
    let same = facts.is_some() && facts.map(identity) == other_facts.as_ref().map(identity);
    same || place == real_place(other)
}

/// Whether a file holds a JSON document of this program, whole.
fn is_document(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Document {
        schema: String,
    }
    let read = |file| serde_json::from_reader::<_, Document>(BufReader::new(file)).ok();
    let document = File::open(path).ok().and_then(read);
    document.is_some_and(|document| document.schema.starts_with("halfpower/"))
}

/// Prints a document: as JSON where that was asked for, as the page of `text` otherwise.
pub(crate) fn document(
    as_json: bool,
    document: &impl serde::Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    print(&if as_json { json(document)? } else { text() })
}

/// A document as JSON, with a line end.
pub(crate) fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write JSON")?;
    text.push('\n');
    Ok(text)
}

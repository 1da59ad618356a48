//! Results to standard output, how they look, and by what files of results are known.

use crate::failure::usage;
use anyhow::Context;
use record::Trial;
use report::Style;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufReader, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;
use target::{InUse, LineFile, OutputKind};

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
    print_on(text).map(drop)
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

/// The document of `--output`.
pub(crate) const DOCUMENT: OutputKind =
    OutputKind { flag: "--output", name: "halfpower document", is_in: is_document };
/// The intervals of a trial.
pub(crate) const INTERVALS: OutputKind = OutputKind {
    flag: "--csv",
    name: "CSV of intervals of this program",
    is_in: |path| begins(path, report::intervals_header()),
};
/// The intervals of a diagnosis.
pub(crate) const MOMENTS: OutputKind = OutputKind {
    flag: "--csv",
    name: "CSV of a diagnosis of this program",
    is_in: |path| begins(path, report::DIAGNOSIS_CSV_HEADER),
};
/// The values of plots.
pub(crate) const VALUES: OutputKind = OutputKind {
    flag: "--csv",
    name: "CSV of plots of this program",
    is_in: |path| begins(path, report::CSV_HEADER),
};
/// A page of `papers`.
pub(crate) const PAGE: OutputKind = OutputKind {
    flag: "--html",
    name: "HTML page of this program",
    is_in: |path| begins(path, report::HTML_HEAD),
};
/// A page of `report`.
pub(crate) const REPORT: OutputKind = OutputKind { flag: "--output", ..PAGE };

/// A plot, for any flag. A PNG can bear no mark: it stands beside its SVG and is replaced with it.
pub(crate) const PLOT: OutputKind = OutputKind {
    flag: "--svg",
    name: "plot of this program",
    is_in: |path| begins(&path.with_extension("svg"), report::PLOT_MARK),
};

/// The file of `--sqlio-csv`, if lines with this comment can be added to it.
pub(crate) fn trace(
    path: &Path,
    comment: Option<&str>,
    in_use: &[InUse],
) -> anyhow::Result<LineFile> {
    report::check_trace_comment(comment.unwrap_or_default())
        .map_err(|error| usage(error.to_string()))?;
    let wrong = |line: &str| Some(report::check_trace_line(line).err()?.to_string());
    Ok(LineFile::open("--sqlio-csv", path, in_use, wrong)?)
}

/// Adds the line of a trial to it.
pub(crate) fn append(file: &LineFile, trial: &Trial, comment: &str) -> anyhow::Result<()> {
    Ok(file.append(report::TRACE_HEADER, &report::trace_line(trial, comment)?)?)
}

/// Whether a file begins with this line.
fn begins(path: &Path, line: impl AsRef<str>) -> bool {
    target::first_line(path).is_ok_and(|first| first.trim_end() == line.as_ref())
}

/// Whether a file holds a JSON document of this program, whole.
fn is_document(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Document {
        schema: String,
    }
    // Whatever is no JSON may be too large to be read.
    let bytes = |file| BufReader::new(file).bytes().map_while(Result::ok);
    let first = |file| bytes(file).find(|byte| !byte.is_ascii_whitespace());
    if File::open(path).ok().and_then(first) != Some(b'{') {
        return false;
    }
    let text = std::fs::read_to_string(path).ok();
    let document = text.and_then(|text| serde_json::from_str::<Document>(&text).ok());
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

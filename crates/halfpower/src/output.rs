//! Writes results to standard output, sets their style, and recognises halfpower's own output files.

use crate::failure::usage;
use anyhow::{Context, ensure};
use engine::input;
use host::kernel;
use host::target::{InUse, LineFile, OutputKind};
use record::{COST_FIT_SCHEMA, OBSERVATION_SCHEMA, TRIAL_SCHEMA, Trial, quoted};
use report::{Extent, Story, Style};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::Path;
use std::sync::OnceLock;

/// How much is printed. Global, like the terminal; the command line sets it once.
static EXTENT: OnceLock<Extent> = OnceLock::new();

/// The `--db` flag to repeat in printed commands, if the user gave it. Global, like `EXTENT`.
static DATABASE: OnceLock<String> = OnceLock::new();

/// Columns if the terminal's width is unknown.
const DEFAULT_WIDTH: usize = 80;

/// Whether a document reports its results as clean. If not, the exit code is 1.
pub(crate) enum Verdict {
    Clean,
    NotClean,
}

impl Verdict {
    /// From the document's own flag.
    pub(crate) fn of(clean: bool) -> Self {
        if clean { Self::Clean } else { Self::NotClean }
    }
}

/// Colour and width of the output. Colour is used on a terminal unless `NO_COLOR` is set to a non-empty value
/// (no-color.org). The width is the terminal's, or else that of `COLUMNS`. If neither is known, the output is
/// a file or another program, which needs whole rows.
pub(crate) fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let columns = kernel::terminal_columns().map(usize::from);
    let said = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let known = columns.or_else(said);
    Style {
        color: wanted && terminal && !dumb,
        width: known.unwrap_or(DEFAULT_WIDTH),
        whole_rows: known.is_none() && !terminal,
        extent: extent(),
        database: database(),
    }
}

/// Sets the database that printed commands name with `--db`.
pub(crate) fn set_database(file: &Path) {
    let _ = DATABASE.set(format!("--db {}", record::shell_word(&file.to_string_lossy())));
}

fn database() -> &'static str {
    DATABASE.get().map_or("", String::as_str)
}

/// A command that looks up a saved document, with `--db` if needed.
pub(crate) fn saved_by(command: &str) -> String {
    format!("{command} {}", database()).trim_end().to_owned()
}

/// Sets how much is printed; called before any output.
pub(crate) fn set_extent(extent: Extent) {
    let _ = EXTENT.set(extent);
}

fn extent() -> Extent {
    EXTENT.get().copied().unwrap_or(Extent::Short)
}

/// Whether the user wants the complete output.
pub(crate) fn is_verbose() -> bool {
    extent() == Extent::Whole
}

/// Whether the user wants the answer only.
pub(crate) fn is_quiet() -> bool {
    extent() == Extent::Line
}

/// Formats a story as a page for standard output, a terminal or a file.
pub(crate) fn page(story: &Story) -> String {
    report::terminal(story, &style())
}

/// Writes a clean result. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<Verdict> {
    print_on(text).map(|_| Verdict::Clean)
}

/// Writes a part of a result; returns `false` if the reader has closed the pipe.
pub(crate) fn print_on(text: &str) -> anyhow::Result<bool> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context("cannot write to standard output"),
    }
}

/// Writes a line to standard error. A closed pipe is ignored; `eprintln!` would panic.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes a remark of this program to standard error.
pub(crate) fn remark(text: &str) {
    say(&format!("halfpower: {}", report::escape(&::record::bounded_message(text))));
}

/// The parser's error message. For a bad number, it says which values are allowed.
pub(crate) fn usage_text(error: &clap::Error) -> String {
    let text = error.to_string();
    let Some(cause) = std::error::Error::source(error) else { return text };
    let allowed = match cause.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "use a smaller number",
        Some(_) => "use a whole number, for example 16",
        None if cause.is::<ParseFloatError>() => "use a number, for example 1.5",
        None => return text,
    };
    text.replacen(&cause.to_string(), allowed, 1)
}

/// Exits because the command line cannot be parsed or asks for help.
pub(crate) fn end_at_usage(error: &clap::Error) -> ! {
    let text = usage_text(error);
    let bounded = ::record::bounded_message(&text);
    // Requested output is printed completely, and in colour on a terminal.
    if !error.use_stderr() || (bounded.len() == text.len() && text == error.to_string()) {
        error.exit();
    }
    say(bounded.trim_end());
    std::process::exit(error.exit_code())
}

pub(crate) const DOCUMENT: OutputKind = OutputKind {
    flag: "--output",
    name: "halfpower run document",
    is_in: |path| is_document(path, &[TRIAL_SCHEMA, COST_FIT_SCHEMA]),
};
pub(crate) const OBSERVATION: OutputKind = OutputKind {
    flag: "--output",
    name: "halfpower recording document",
    is_in: |path| is_document(path, &[OBSERVATION_SCHEMA]),
};
pub(crate) const FIO_JSON: OutputKind =
    OutputKind { flag: "--output", name: "JSON of fio", is_in: is_fio_json };
pub(crate) const FIO_LOG: OutputKind = OutputKind {
    flag: "a fio log",
    name: "log in fio's format",
    is_in: |path| {
        input::first_line(path, input::DOCUMENT).is_ok_and(|first| report::is_fio_log_line(&first))
    },
};
pub(crate) const REQUESTS: OutputKind = OutputKind {
    flag: "--trace-io",
    // fio writes the same format, so the file does not show which program wrote it.
    name: "empty file",
    is_in: |_| false,
};
pub(crate) const INTERVALS: OutputKind = OutputKind {
    flag: "--csv",
    name: "halfpower CSV file of intervals",
    is_in: |path| begins(path, report::intervals_header()),
};
pub(crate) const MOMENTS: OutputKind = OutputKind {
    flag: "--csv",
    name: "halfpower CSV file of a diagnosis",
    is_in: |path| begins(path, report::diagnosis_header()),
};
pub(crate) const VALUES: OutputKind = OutputKind {
    flag: "--csv",
    name: "halfpower CSV file of plots",
    is_in: |path| begins(path, report::CSV_HEADER),
};
pub(crate) const PAGE: OutputKind = OutputKind {
    flag: "--html",
    name: "halfpower HTML page",
    is_in: |path| begins(path, report::HTML_HEAD),
};
pub(crate) const TABLE: OutputKind = OutputKind {
    flag: "--csv",
    name: "halfpower CSV table of trials",
    is_in: |path| report::table_headers().iter().any(|header| begins(path, header)),
};
pub(crate) const REPORT: OutputKind = OutputKind { flag: "--output", ..PAGE };

pub(crate) const PLOT: OutputKind = OutputKind {
    flag: "--svg",
    name: "halfpower plot",
    is_in: |path| begins(path, report::PLOT_MARK),
};

/// Creates the folder of a flag for several files, if it is missing.
pub(crate) fn create_folder(flag: &str, folder: &Path) -> anyhow::Result<()> {
    let name = quoted(folder);
    ensure!(!folder.exists() || folder.is_dir(), "{flag} {name} is not a folder; name a folder");
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {name} ({flag})"))
}

/// The file of `--sqlio-csv`, if lines with this comment can be appended to it.
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

/// Appends a trial's line to the file.
pub(crate) fn append(file: &LineFile, trial: &Trial, comment: &str) -> anyhow::Result<()> {
    Ok(file.append(report::TRACE_HEADER, &report::trace_line(trial, comment)?)?)
}

fn begins(path: &Path, line: impl AsRef<str>) -> bool {
    input::first_line(path, input::DOCUMENT).is_ok_and(|first| first.trim_end() == line.as_ref())
}

/// Whether a file holds a complete JSON document with one of these schemas, in any version.
fn is_document(path: &Path, schemas: &[&str]) -> bool {
    let kind = |schema: &str| schema.rsplit_once('/').map(|(kind, _)| kind.to_owned());
    let document = json_in(path).unwrap_or_default();
    let found = document["schema"].as_str().and_then(kind);
    found.is_some() && schemas.iter().any(|schema| kind(schema) == found)
}

/// Whether a file holds fio's JSON output.
fn is_fio_json(path: &Path) -> bool {
    json_in(path).is_some_and(|document| document["fio version"].is_string())
}

/// The JSON value in a file.
fn json_in(path: &Path) -> Option<serde_json::Value> {
    // A file that is not JSON may be too large to read.
    let begins = |head: &[u8]| input::may_start_with(head, b"{");
    serde_json::from_slice(&input::bytes_if_known(path, input::DOCUMENT, begins).ok()?).ok()
}

/// Prints a document as JSON if requested, otherwise as the page of `text`.
pub(crate) fn document(
    as_json: bool,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<Verdict> {
    print(&if as_json { json(document)? } else { text() })
}

/// Formats several documents as JSON, or as pages separated by an empty line.
pub(crate) fn documents<T: Serialize>(
    as_json: bool,
    documents: &[T],
    story: impl Fn(&T) -> Story,
) -> anyhow::Result<String> {
    let text = |one| if as_json { json(one) } else { Ok(page(&story(one))) };
    let texts: Vec<String> = documents.iter().map(text).collect::<Result<_, _>>()?;
    Ok(texts.join(if as_json || is_quiet() { "" } else { "\n" }))
}

/// A document as JSON, with a final line feed.
pub(crate) fn json(document: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write JSON")?;
    text.push('\n');
    Ok(text)
}

//! Finds out what a file is, by its content, for all commands that take files.
//!
//! File names are unreliable: people save `out.txt` and `fio.conf`. Each crate that reads a format knows its
//! marks. This module checks them in one order; the first bytes of a long file decide. If a file does not fit
//! a command, the error says what the file is and which command takes it. Rejected: a recogniser in each
//! command, because they disagreed about the same file.

use crate::failure::usage;
use engine::input;
use host::target::{self, Access};
use import::Format;
use plan::session::TargetSet;
use record::quoted;
use std::path::Path;
use workload::fio;
use workload::replay;

/// Start of the schema of all halfpower documents.
const OWN_SCHEMA: &str = "\"halfpower/";

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileForm {
    /// A fio job file.
    JobFile,
    /// fio's JSON, possibly among other lines.
    FioResult,
    /// fio's normal or terse output.
    FioText,
    /// Disk counters recorded by a tool.
    Counters(Format),
    /// A trace of single requests.
    Requests,
    /// A CSV of trials (`--sqlio-csv`).
    TrialLines,
    /// A halfpower document, as JSON.
    Document,
    /// A database of results.
    Database,
    /// Any other file, for example test data.
    Other,
}

impl FileForm {
    /// Recognises a file by its first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if target::is_database(bytes) {
            return Self::Database;
        }
        if fio::looks_like_job_file(bytes) {
            return Self::JobFile;
        }
        if !import::is_text(bytes) {
            return Self::Other;
        }
        let text = String::from_utf8_lossy(bytes);
        if fio::result_at(&text).is_some() {
            return Self::FioResult;
        }
        match import::detect(bytes) {
            Ok(format) => return Self::Counters(format),
            Err(_) if text.contains(OWN_SCHEMA) => return Self::Document,
            Err(_) if fio::looks_like_text_result(&text) => return Self::FioText,
            Err(_) => {}
        }
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        match report::read_trace(first) {
            _ if replay::is_known(bytes) => Self::Requests,
            Ok(_) if !first.is_empty() => Self::TrialLines,
            _ => Self::Other,
        }
    }

    /// The form of a file; `None` if it does not exist or cannot be read.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        if !path.is_file() {
            return None;
        }
        let head = input::bytes_if_known(path, input::RECORDING, |_| false);
        // A file larger than any recording is test data.
        Some(head.map_or(Self::Other, |head| Self::of(&head)))
    }

    /// A description of the form, and the `halfpower` commands that take such a file.
    fn facts(self) -> Option<(String, &'static [&'static str])> {
        let (what, takes): (&str, &'static [&'static str]) = match self {
            Self::FioText => ("fio's normal or terse output", &[]),
            Self::JobFile => ("a fio job file", &["run FILE"]),
            Self::FioResult => {
                ("a fio result", &["report FILE", "compare FILE OTHER", "record FILE"])
            }
            Self::Counters(Format::Observation) => {
                ("a halfpower observation", &["diagnose FILE", "report FILE"])
            }
            Self::Counters(format) => {
                let what = format!("a recording of disk counters ({})", format.name());
                return Some((what, &["diagnose FILE", "record FILE"]));
            }
            Self::Requests => ("a recording of requests", &["run TARGET --replay FILE"]),
            Self::TrialLines => ("a CSV of trials", &["compare FILE OTHER"]),
            Self::Document => ("a halfpower document", &["report FILE", "compare FILE OTHER"]),
            Self::Database => ("a halfpower database", &["show list --db FILE"]),
            Self::Other => return None,
        };
        Some((what.to_owned(), takes))
    }

    /// The error for a file that a command does not take, with the commands that do.
    pub(crate) fn refusal(self, name: &str) -> Option<String> {
        let (what, takes) = self.facts()?;
        let file = ::record::shell_word(name);
        let takes = takes.iter().map(|words| format!("halfpower {}", words.replace("FILE", &file)));
        let takes = takes.collect::<Vec<_>>().join(", or ");
        if self == Self::FioText {
            let text = "only fio's JSON can be read; run fio with --output-format=json";
            return Some(format!("{} is {what}, but {text}", quoted(name)));
        }
        Some(format!("{} is {what}; use: {takes}", quoted(name)))
    }
}

/// Rejects a file of a known form that the command does not take.
///
/// # Errors
/// Says what the file is and which command takes it.
pub(crate) fn expect(name: &str, fits: fn(FileForm) -> bool) -> anyhow::Result<()> {
    let form = FileForm::of_file(Path::new(name)).filter(|form| !fits(*form));
    form.and_then(|form| form.refusal(name)).map_or(Ok(()), |why| Err(usage(why)))
}

/// Whether documents can be read from a file of this form.
pub(crate) fn has_documents(form: FileForm) -> bool {
    let observation = FileForm::Counters(Format::Observation);
    [FileForm::Document, FileForm::FioResult, observation].contains(&form)
}

/// Rejects read targets that are input files of this program: their figures would not describe a disk.
/// `target` decides which files may be written.
///
/// # Errors
/// As [`expect`].
pub(crate) fn refuse_as_targets(sets: &[TargetSet]) -> anyhow::Result<()> {
    let read = sets.iter().filter(|(_, access)| *access == Access::ReadOnly);
    let mut targets = read.flat_map(|(targets, _)| targets);
    targets.try_for_each(|target| expect(target, |form| form == FileForm::Other))
}

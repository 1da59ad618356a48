//! What a file is, by its content: one answer for all commands that take files.
//!
//! Names say nothing: people save `out.txt` and `fio.conf`. Each crate that reads a form knows its marks; this module asks
//! them in one order, and says of a file that does not fit a command what it is and which command takes it. Of a long
//! file the first bytes decide. Rejected: a recogniser in each command, which disagreed about the same file.

use crate::failure::usage;
use engine::input;
use host::target::{self, Access};
use import::Format;
use plan::session::TargetSet;
use record::quoted;
use std::path::Path;
use workload::fio;
use workload::replay;

/// Begin of the schema of every document of this program.
const OWN_SCHEMA: &str = "\"halfpower/";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileForm {
    /// Jobs in fio's language.
    JobFile,
    /// fio's JSON, perhaps among other lines.
    FioResult,
    /// Counters of disks that some tool kept.
    Counters(Format),
    /// Requests, one by one.
    Requests,
    /// A CSV of trials (`--sqlio-csv`).
    TrialLines,
    /// A document of this program, as JSON.
    Document,
    /// A database of results.
    Database,
    /// None of these: test data, for example.
    Other,
}

impl FileForm {
    /// The form of these first bytes, or all, of a file.
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
            Err(_) => {}
        }
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        match report::read_trace(first) {
            _ if replay::is_known(bytes) => Self::Requests,
            Ok(_) if !first.is_empty() => Self::TrialLines,
            _ => Self::Other,
        }
    }

    /// The form of a file; `None` where there is none, or it cannot be read.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        if !path.is_file() {
            return None;
        }
        let head = input::bytes_if_known(path, input::RECORDING, |_| false);
        // What is larger than any recording is test data.
        Some(head.map_or(Self::Other, |head| Self::of(&head)))
    }

    /// What such a file is, and the words behind `halfpower` of the commands that take one.
    fn facts(self) -> Option<(String, &'static [&'static str])> {
        let (what, takes): (&str, &'static [&'static str]) = match self {
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

    /// Why a command does not take such a file, and what does.
    pub(crate) fn refusal(self, name: &str) -> Option<String> {
        let (what, takes) = self.facts()?;
        let file = ::record::shell_word(name);
        let takes = takes.iter().map(|words| format!("halfpower {}", words.replace("FILE", &file)));
        let takes = takes.collect::<Vec<_>>().join(", or ");
        Some(format!("{} is {what}; use: {takes}", quoted(name)))
    }
}

/// Refuses a file of a known form that is none of those that fit.
///
/// # Errors
/// With what it is and the command that takes it.
pub(crate) fn expect(name: &str, fits: fn(FileForm) -> bool) -> anyhow::Result<()> {
    let form = FileForm::of_file(Path::new(name)).filter(|form| !fits(*form));
    form.and_then(|form| form.refusal(name)).map_or(Ok(()), |why| Err(usage(why)))
}

/// Whether documents are read from such a file.
pub(crate) fn has_documents(form: FileForm) -> bool {
    let observation = FileForm::Counters(Format::Observation);
    [FileForm::Document, FileForm::FioResult, observation].contains(&form)
}

/// Refuses to read from a file that is an input of this program: the figures would be of that and of no disk. What may be
/// written to is for `target` to say.
///
/// # Errors
/// As [`expect`].
pub(crate) fn refuse_as_targets(sets: &[TargetSet]) -> anyhow::Result<()> {
    let read = sets.iter().filter(|(_, access)| *access == Access::ReadOnly);
    let mut targets = read.flat_map(|(targets, _)| targets);
    targets.try_for_each(|target| expect(target, |form| form == FileForm::Other))
}

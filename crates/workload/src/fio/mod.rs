//! Converts fio's job files and command lines into runs in the flags of `halfpower run`.
//!
//! Each option has one of three results. It becomes a flag; or it has no effect on the measurement or is
//! always in effect, and a note says so; or it is refused by name, with its place in the file, and nothing
//! runs. One pass finds all errors of a job, so that a user corrects a file only once. The module is pure:
//! the caller says what a file name refers to. The meaning of fio's options comes from its HOWTO, its source,
//! and test runs. Rejected: a second parser of values in addition to that of `run`, which checks the
//! resulting flags.
#![forbid(unsafe_code)]

mod area;
mod data;
mod device;
mod file;
mod job;
mod keywords;
mod load;
mod logs;
mod options;
mod pace;
mod parts;
mod recognise;
mod replayed;
mod settings;
mod sizes;
mod values;
mod words;

pub use file::{Section, Setting, read_file};
pub use job::{Run, Wait, run_of};
pub use logs::{Log, LogKind};
pub use options::{OptionKind, option_kind, without_load};
pub use parts::{FileKind, FileNames};
pub use recognise::{JOB_FILE_BYTES_MAX, looks_like_job_file, looks_like_text_result, result_at};
pub use words::read_words;

/// An error in a job file or command line, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct FioError {
    /// File, line and column, or the word on the command line.
    pub place: String,
    /// What is wrong, and what to do instead.
    pub what: String,
}

impl FioError {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

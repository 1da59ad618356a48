//! fio's language: a job file or command line as runs in the words of `halfpower run`.
//!
//! Every option is one of three: it becomes a flag; it changes nothing that is measured here or is done
//! anyway, and a note says so; or it is refused by its name, with its place in the file, and nothing runs.
//! All errors of a job are found in one pass, so that a user corrects a file once. Pure: the caller says what a
//! file name stands for. What fio means by an option is from its HOWTO, its source, and from what runs of it show.
//! Rejected: a second reader of values beside the flags of `run`, which check the words that come of this.
#![forbid(unsafe_code)]

mod area;
mod data;
mod device;
mod file;
mod job;
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
pub use recognise::{JOB_FILE_BYTES_MAX, looks_like_job_file, result_at};
pub use words::read_words;

/// What is wrong with a job file or command line, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct FioError {
    /// File, line and column, or the word of the command line.
    pub place: String,
    /// What is wrong, and what to do instead.
    pub what: String,
}

impl FioError {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

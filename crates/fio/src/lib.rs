//! fio's language: a job file or command line as runs in the words of `halfpower run`.
//!
//! Every option is one of three: it becomes a flag; it changes nothing that is measured here or is done
//! anyway, and a note says so; or it is refused by its name, with its place in the file, and nothing runs.
//! None is left out silently. Pure: what a file name stands for is asked of the caller. What fio means by
//! an option is from its HOWTO and from what `fio --showcmd` and runs of it show. Rejected: a second
//! reader of values beside the flags of `run`, which check the words that come of this.
#![forbid(unsafe_code)]

mod file;
mod job;
mod notes;
mod values;

pub use file::{Section, Setting, read_file, read_words};
pub use job::{FileKind, Run, run_of};

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
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

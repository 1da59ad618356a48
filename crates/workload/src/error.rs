//! What can be wrong with a workload. Every text names the flag to change and what it takes.

use std::fmt::Display;

/// What is wrong with a workload. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A flag is out of its range, contradicts another one, or means nothing without one.
    #[error("--{flag} {problem}")]
    Flag {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The area does not fit the target, or not a request for every job.
    #[error("{0}")]
    Area(String),
    /// The same of a job beside the first.
    #[error("{job}: {error}")]
    Beside {
        /// Its name.
        job: String,
        /// What is wrong.
        error: Box<Self>,
    },
}

impl BuildError {
    /// A value that is not in the range of its flag.
    pub(crate) fn range(flag: &'static str, value: &dyn Display, range: &str) -> Self {
        Self::Flag { flag, problem: format!("{value} is out of range; use {range}") }
    }
}

/// An error unless `low <= value <= high`.
pub(crate) fn in_range(
    flag: &'static str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), BuildError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(BuildError::range(flag, &value, &format!("{low} to {high}")))
}

/// An error where `wrong` holds.
pub(crate) fn refuse(wrong: bool, flag: &'static str, problem: &str) -> Result<(), BuildError> {
    if wrong { Err(BuildError::Flag { flag, problem: problem.to_owned() }) } else { Ok(()) }
}

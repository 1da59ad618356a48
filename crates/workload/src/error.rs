//! Errors of a workload. Every text names the flag to change and the valid values.

use std::fmt::Display;

/// An error of a workload. All of these are usage errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A flag is out of range, contradicts another one, or has no effect without another one.
    #[error("--{flag} {problem}")]
    Flag {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The area does not fit into the target, or has no room for a request of every job.
    #[error("{0}")]
    Area(String),
    /// An error of a job next to the first.
    #[error("{job}: {error}")]
    Beside {
        /// Its name.
        job: String,
        /// The error.
        error: Box<Self>,
    },
}

impl BuildError {
    /// A value outside the range of its flag.
    pub(crate) fn range(flag: &'static str, value: &dyn Display, range: &str) -> Self {
        Self::Flag { flag, problem: format!("{value} is out of range; use {range}") }
    }
}

/// Returns an error unless `low <= value <= high`.
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

pub(crate) fn refuse(wrong: bool, flag: &'static str, problem: &str) -> Result<(), BuildError> {
    if wrong { Err(BuildError::Flag { flag, problem: problem.to_owned() }) } else { Ok(()) }
}

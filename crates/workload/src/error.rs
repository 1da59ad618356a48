//! What can be wrong with a workload. Every text names the flag to change and what it takes.

/// What is wrong with a workload. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A number that must be positive is zero, or one is beyond its range.
    #[error("--{flag} {value} is out of range; use {range}")]
    Range {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: String,
        /// What it takes.
        range: String,
    },
    /// A flag that does not go with another one, or means nothing without one.
    #[error("--{flag} {why}")]
    Contradiction {
        /// The flag.
        flag: &'static str,
        /// What it contradicts, and what to do.
        why: String,
    },
    /// The area does not hold a request for every job.
    #[error(
        "the area of {area} is smaller than one request of {request} for each of {jobs} job(s); \
         use a smaller --bs, fewer --numjobs or a larger --size or target"
    )]
    AreaTooSmall {
        /// Length of the area.
        area: String,
        /// Largest request.
        request: String,
        /// Jobs.
        jobs: u32,
    },
    /// The area reaches beyond the target.
    #[error(
        "--offset {offset} and --size {size} reach beyond the target, which has {target} \
         ({target_bytes} bytes); use less"
    )]
    BeyondTarget {
        /// Start.
        offset: String,
        /// Length.
        size: String,
        /// Size of the target.
        target: String,
        /// The same, exactly.
        target_bytes: u64,
    },
    /// A size or an offset that O_DIRECT cannot carry.
    #[error(
        "--{flag} {value} is not a multiple of {alignment} bytes, which requests past the page \
         cache need on this target; use a multiple, or --cache all"
    )]
    Alignment {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: u64,
        /// The unit.
        alignment: u64,
    },
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
    Err(BuildError::Range { flag, value: value.to_string(), range: format!("{low} to {high}") })
}

/// An error where `wrong` holds.
pub(crate) fn refuse(wrong: bool, flag: &'static str, why: &str) -> Result<(), BuildError> {
    if wrong { Err(BuildError::Contradiction { flag, why: why.to_owned() }) } else { Ok(()) }
}

//! What the kernel denies, or says in a form that nobody can read.
//!
//! Each message says what was tried, on what, what the system said, and what to try. Rejected:
//! passing `io::Error` through, whose text ("No such file or directory") names neither path nor
//! remedy. Paths are printed in their escaped form: a file name can hold terminal control
//! sequences.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

use record::quoted;
use std::path::{Path, PathBuf};

/// Why something on this machine could not be opened, read, or done.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The system refused a call or the call failed.
    #[error("cannot {action} {}: {}; {remedy}", quoted(.path), system_words(.cause))]
    System {
        /// What was tried, after "cannot".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
        /// What to try.
        remedy: &'static str,
    },
    /// More files would have to be open at once than the system allows.
    #[error(
        "the run needs {needed} open files at the same time, but the limit is {limit}; raise the \
         limit (ulimit -n {needed}), or use fewer targets or a smaller --numjobs"
    )]
    Descriptors {
        /// How many are needed.
        needed: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A kernel file does not look as documented.
    #[error("cannot read line {line} of {file}: {problem}; the line is {text:?}")]
    Format {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
        /// The line itself.
        text: String,
    },
    /// A kernel file lacks something, as a whole.
    #[error("cannot read {file}: {problem}")]
    Lacks {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// No device of this name has counters.
    #[error(
        "{} is neither a device with counters nor a path on one; known devices: {known}; name one \
         of these, or no device to include all",
        quoted(.named)
    )]
    NotObserved {
        /// What was named.
        named: String,
        /// Some that there are.
        known: String,
    },
}

impl KernelError {
    /// A failed call, with the remedy that its error number suggests.
    pub fn system(action: &'static str, path: &Path, cause: impl Into<std::io::Error>) -> Self {
        let cause = cause.into();
        Self::System { action, path: path.to_owned(), remedy: system::remedy(&cause), cause }
    }

    /// As [`KernelError::system`], for calls through the standard library.
    pub fn io(action: &'static str, path: &Path, cause: &std::io::Error) -> Self {
        let number = cause.raw_os_error().map(std::io::Error::from_raw_os_error);
        Self::system(action, path, number.unwrap_or_else(|| cause.kind().into()))
    }
}

/// The system's own words, without the number that the standard library appends.
#[must_use]
pub fn system_words(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    let words = text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words);
    // Those of Windows are sentences.
    words.trim_end_matches(['.', ' ', '\r', '\n']).to_owned()
}

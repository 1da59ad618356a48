//! Errors from the kernel: denied access, or unreadable data.
//!
//! Each message contains the action, its object, the system's message, and a remedy. Rejected: passing
//! `io::Error` through, whose text ("No such file or directory") names neither path nor remedy. Paths are
//! printed in escaped form, because a file name can contain terminal control sequences.

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
        /// The attempted action, as it follows "cannot".
        action: &'static str,
        /// The file or device.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
        /// What to try.
        remedy: &'static str,
    },
    /// The run needs more open files at once than the system allows.
    #[error(
        "the run needs {needed} open files at the same time, but the limit is {limit}; raise the \
         limit (ulimit -n {needed}), or use fewer targets or a smaller --numjobs"
    )]
    Descriptors {
        /// Number of files needed.
        needed: u64,
        /// Number of files allowed.
        limit: u64,
    },
    /// A kernel file does not look as documented.
    #[error("cannot read line {line} of {file}: {problem}; the line is {text:?}")]
    Format {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: String,
        /// The line itself.
        text: String,
    },
    /// A kernel file as a whole lacks something.
    #[error("cannot read {file}: {problem}")]
    Lacks {
        /// The file.
        file: &'static str,
        /// The problem.
        problem: String,
    },
    /// No device of this name has counters.
    #[error(
        "{} is neither a device with counters nor a path on one; known devices: {known}; name one \
         of these, or no device to include all",
        quoted(.named)
    )]
    NotObserved {
        /// The name given.
        named: String,
        /// Some of the existing names.
        known: String,
    },
}

impl KernelError {
    /// A failed call, with the remedy for its error number.
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

/// The system's message, without the number that the standard library appends.
#[must_use]
pub fn system_words(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    let words = text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words);
    // Windows messages are sentences.
    words.trim_end_matches(['.', ' ', '\r', '\n']).to_owned()
}

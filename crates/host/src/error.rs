//! One error type for everything that the kernel or safety can deny.
//!
//! Each message says what was tried, on what, what the system said, and what to try. The exit code
//! belongs to the variant, so that no caller maps errors by their text. Rejected: passing
//! `io::Error` through, whose text ("No such file or directory") names neither path nor remedy.
//! Paths are printed in their escaped form: a file name can hold terminal control sequences.

use record::{Bytes, format_bytes};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Why something on this machine could not be opened, read, or done.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The system refused a call or the call failed.
    #[error("cannot {action} {path:?}: {}; {remedy}", said(.cause))]
    System {
        /// What was tried, after "cannot".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: Errno,
        /// What to try.
        remedy: &'static str,
    },
    /// It could be done, but it might destroy or crowd out something.
    #[error("{what} is refused: {why}; {remedy}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The danger.
        why: String,
        /// What to do instead.
        remedy: String,
    },
    /// The file system takes no O_DIRECT.
    #[error(
        "cannot open {path:?} without the page cache: its file system ({filesystem}) refuses \
         O_DIRECT; use --cache all, and read the result as one of memory and disk together"
    )]
    DirectRefused {
        /// The target.
        path: PathBuf,
        /// Type of its file system.
        filesystem: String,
    },
    /// The kernel took open flags and then did not keep them.
    #[error(
        "{path:?} was opened with {missing}, but the descriptor does not carry it: its file \
         system ignores the flag; use --cache all"
    )]
    FlagsIgnored {
        /// The target.
        path: PathBuf,
        /// The flags that are missing.
        missing: String,
    },
    /// The target is shorter than what is to be read or written.
    #[error(
        "{path:?} holds {} bytes, but {} are needed; name a larger target, or a smaller --size \
         or --bs", .size.0, .needed.0
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The least that would do.
        needed: Bytes,
    },
    /// The path is nothing that can be measured.
    #[error("{path:?} is a {kind}; name a directory, a regular file or a block device")]
    NotATarget {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The file system filled up while the test file was written.
    #[error(
        "no space for the test file in {path:?}: {} after {} of {}; free some space, raise the \
         quota, or ask for a smaller --size",
        said(.cause), format_bytes(.written.0), format_bytes(.size.0)
    )]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes that had been written.
        written: Bytes,
        /// Bytes that were to be written.
        size: Bytes,
        /// What the system said.
        cause: Errno,
    },
    /// More files would have to be open at once than the system allows.
    #[error(
        "the run needs {needed} open files at once, and the limit is {limit}; raise it \
         (ulimit -n {needed}), or name fewer targets or --numjobs"
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
        /// The line, from 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong with it.
        problem: String,
        /// The line itself.
        text: String,
    },
    /// No device of this name has counters.
    #[error(
        "{named:?} is no device with counters, nor a path on one; there are {known}; name one of \
         these, or none for all"
    )]
    NotObserved {
        /// What was named.
        named: String,
        /// Some that there are.
        known: String,
    },
    /// The caller's `cancel` said so.
    #[error("writing the test file was interrupted; nothing of it is left")]
    Cancelled,
}

impl HostError {
    /// The exit code of a program that ends with this error: 2 usage, 3 refused for safety,
    /// 4 no result, 130 interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::TooSmall { .. } | Self::NotATarget { .. } => 2,
            Self::Refused { .. } => 3,
            Self::System { .. }
            | Self::DirectRefused { .. }
            | Self::FlagsIgnored { .. }
            | Self::NoSpace { .. }
            | Self::Descriptors { .. }
            | Self::NotObserved { .. }
            | Self::Format { .. } => 4,
            Self::Cancelled => 130,
        }
    }

    /// A failed call, with the remedy that its error number suggests.
    pub(crate) fn system(action: &'static str, path: &Path, cause: Errno) -> Self {
        Self::System { action, path: path.to_owned(), cause, remedy: remedy(cause) }
    }

    /// The same for calls through the standard library.
    pub(crate) fn io(action: &'static str, path: &Path, cause: &std::io::Error) -> Self {
        Self::system(action, path, Errno::from_io_error(cause).unwrap_or(Errno::IO))
    }
}

/// The system's own words, without the number that the standard library appends.
fn said(cause: &Errno) -> String {
    let text = cause.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// What to try after an error number.
fn remedy(cause: Errno) -> &'static str {
    match cause {
        Errno::NOENT | Errno::NOTDIR => "check the path",
        Errno::ACCESS => "run as a user with the permission, or name a target that you own",
        // What even root is told: a container's device rules, an immutable file, a lockdown.
        Errno::PERM => {
            "a policy of this system or container forbids it, also to root perhaps; name another \
             target"
        }
        Errno::ROFS => "name a directory on a file system that is mounted read-write",
        Errno::NOSPC | Errno::DQUOT => "free some space, or ask for a smaller --size",
        Errno::TXTBSY => "it is in use as a program or as swap; name another target",
        Errno::BUSY => "something holds it; name another target, or release this one",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
        Errno::LOOP => "the symbolic links go in a circle; name the target itself",
        Errno::IO | Errno::NXIO | Errno::NODEV | Errno::NOMEDIUM => {
            "the device failed or is gone; look at the kernel log (dmesg)"
        }
        _ => "look at the kernel log (dmesg), or name another target",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_path_escaped_the_cause_and_a_remedy() {
        let error = HostError::system("open", Path::new("/a\x1b[31m"), Errno::NOENT);
        let text = error.to_string();
        assert!(text.contains("\\u{1b}") && !text.contains('\x1b'), "{text}");
        assert!(text.ends_with("No such file or directory; check the path"), "{text}");
        assert_eq!(error.exit_code(), 4);
    }
}

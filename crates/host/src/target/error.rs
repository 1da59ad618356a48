//! Why a path cannot be measured or written.
//!
//! Each message says what was tried, on what, what the system said, and what to try. The exit code
//! belongs to the variant, so that no caller maps errors by their text. Paths are printed in their
//! escaped form: a file name can hold terminal control sequences.

use crate::kernel::{self, KernelError};
use record::{Bytes, format_bytes, quoted};
use std::io::Error;
use std::path::{Path, PathBuf};

/// Why a target could not be opened, prepared or written.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The system refused a call or the call failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
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
    /// A directory that is a view of the kernel.
    #[error(
        "cannot create a test file in {} ({cause}): this is a kernel virtual file system ({kind}), \
         not a disk; name a directory on a disk, such as /var/tmp, or the disk itself, such as \
         /dev/sdb",
        quoted(.path)
    )]
    NoDisk {
        /// The directory.
        path: PathBuf,
        /// Type of its file system.
        kind: &'static str,
        /// What the system said.
        cause: Error,
    },
    /// The file system takes no O_DIRECT.
    #[error(
        "cannot open {} for direct I/O: its file system ({filesystem}) refuses O_DIRECT; use \
         --cache all, whose results measure memory and disk together",
        quoted(.path)
    )]
    DirectRefused {
        /// The target.
        path: PathBuf,
        /// Type of its file system.
        filesystem: String,
    },
    /// The kernel took open flags and then did not keep them.
    #[error(
        "{} was opened with {missing}, but the file system ignores this flag; use --cache all",
        quoted(.path)
    )]
    FlagsIgnored {
        /// The target.
        path: PathBuf,
        /// The flags that are missing.
        missing: String,
    },
    /// The target is shorter than what is to be read or written.
    #[error(
        "{} has {} bytes, but {} are needed; name a larger target, or use a smaller --size or --bs", quoted(.path), .size.0, .needed.0
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
    #[error("{} is a {kind}; name a directory, a regular file or a block device", quoted(.path))]
    NotATarget {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The file system filled up while the test file was written.
    #[error(
        "no space for the test file in {}: {} after {} of {}{}; free some space, raise the quota, \
         or use a smaller --size",
        quoted(.path), kernel::system_words(.cause), format_bytes(.written.0), format_bytes(.size.0),
        .free.map(|free| format!(", although {} are free", format_bytes(free.0))).unwrap_or_default()
    )]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes that had been written.
        written: Bytes,
        /// Bytes that were to be written.
        size: Bytes,
        /// Bytes that the file system still has, where it says so: a quota may leave less.
        free: Option<Bytes>,
        /// What the system said.
        cause: Error,
    },
    /// A result cannot be written where the user wants it.
    #[error("{0}")]
    Output(String),
    /// The caller's `cancel` said so.
    #[error("writing the test file was interrupted; the file was removed")]
    Cancelled,
}

impl TargetError {
    /// The exit code of a program that ends with this error: 2 usage, 3 refused for safety,
    /// 4 no result, 130 interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::TooSmall { .. } | Self::NotATarget { .. } | Self::NoDisk { .. } => 2,
            Self::Refused { .. } => 3,
            Self::Kernel(_)
            | Self::DirectRefused { .. }
            | Self::FlagsIgnored { .. }
            | Self::NoSpace { .. }
            | Self::Output(_) => 4,
            Self::Cancelled => 130,
        }
    }

    pub(crate) fn refused(what: String, why: &str, remedy: &str) -> Self {
        Self::Refused { what, why: why.to_owned(), remedy: remedy.to_owned() }
    }

    pub(crate) fn system(action: &'static str, path: &Path, cause: impl Into<Error>) -> Self {
        KernelError::system(action, path, cause).into()
    }

    /// What becomes of the cause where this action on a path fails.
    pub(crate) fn failing<E: Into<Error>>(action: &'static str, path: &Path) -> impl Fn(E) -> Self {
        move |cause| Self::system(action, path, cause)
    }
}

//! Errors when a path cannot be measured or written.
//!
//! Each message contains the action, its object, the system's message, and a remedy. Each variant has its
//! own exit code, so that no caller maps errors by their text. Paths are printed in escaped form, because a
//! file name can contain terminal control sequences.

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
    /// Refused because it might destroy data or use up needed space.
    #[error("{what} is refused: {why}; {remedy}")]
    Refused {
        /// The requested action.
        what: String,
        /// The danger.
        why: String,
        /// What to do instead.
        remedy: String,
    },
    /// A directory in a virtual file system of the kernel.
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
        /// The system's error.
        cause: Error,
    },
    /// The file system does not support O_DIRECT.
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
    /// The kernel accepted open flags and then ignored them.
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
    /// The target is shorter than the area to read or write.
    #[error(
        "{} has {} bytes, but {} are needed; name a larger target, or use a smaller --size, or with `run` a \
         smaller --bs", quoted(.path), .size.0, .needed.0
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The minimum size.
        needed: Bytes,
    },
    /// The path cannot be measured.
    #[error("{} is a {kind}; name a directory, a regular file or a block device", quoted(.path))]
    NotATarget {
        /// The path.
        path: PathBuf,
        /// Its file type.
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
        /// Directory of the test file.
        path: PathBuf,
        /// Bytes written.
        written: Bytes,
        /// Bytes requested.
        size: Bytes,
        /// Free bytes of the file system, if known; a quota may leave less.
        free: Option<Bytes>,
        /// The system's error.
        cause: Error,
    },
    /// A result cannot be written to the place that the user named.
    #[error("{0}")]
    Output(String),
    /// The caller's `cancel` returned true.
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

    /// Makes an error of a cause, for this action on a path.
    pub(crate) fn failing<E: Into<Error>>(action: &'static str, path: &Path) -> impl Fn(E) -> Self {
        move |cause| Self::system(action, path, cause)
    }
}

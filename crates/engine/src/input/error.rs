//! Why an input was not read, as a complete sentence.

use crate::input::kinds::{Kind, STANDARD_INPUT};
use record::{format_bytes, quoted};
use std::path::{Path, PathBuf};

/// Why an input was not read. Its text is `cannot read NAME: REASON`.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {reason}", named(path))]
pub struct InputError {
    /// Path of the input; `-` is standard input.
    pub path: PathBuf,
    /// The reason.
    pub reason: Reason,
}

fn named(path: &Path) -> String {
    if path.as_os_str() == STANDARD_INPUT { "standard input".to_owned() } else { quoted(path) }
}

/// Why reading failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The system reported an error.
    #[error("{0}")]
    System(std::io::Error),
    /// The path is a directory, a device or a socket.
    #[error("it is {_0}; {} must be a file or a pipe", _1.name)]
    NotAFile(&'static str, Kind),
    /// The input is larger than this kind allows.
    #[error("it is larger than {}, the maximum size of {}; check that it is the right file",
        format_bytes(_0.bytes_max), _0.name)]
    TooLarge(Kind),
    /// The input is not text, which every input here must be.
    #[error("it contains NUL bytes, but {} is text; check that it is the right file", _0.name)]
    Zeros(Kind),
    /// The input is text in another encoding.
    #[error("it is not valid UTF-8, beginning at byte {0}; convert it with iconv")]
    NotUtf8(usize),
    /// A signal arrived during reading.
    #[error("reading was interrupted, so the file was not used")]
    Interrupted,
}

//! Why an input was not read, as a sentence that stands alone.

use crate::input::kinds::{Kind, STANDARD_INPUT};
use record::{format_bytes, quoted};
use std::path::{Path, PathBuf};

/// Why an input was not read. Its text is `cannot read NAME: REASON`.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {reason}", named(path))]
pub struct InputError {
    /// What was to be read; `-` is standard input.
    pub path: PathBuf,
    /// What stood in the way.
    pub reason: Reason,
}

fn named(path: &Path) -> String {
    if path.as_os_str() == STANDARD_INPUT { "standard input".to_owned() } else { quoted(path) }
}

/// What stood in the way of reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The system refused.
    #[error("{0}")]
    System(std::io::Error),
    /// A folder, a device, a socket.
    #[error("it is {_0}; {} must be a file or a pipe", _1.name)]
    NotAFile(&'static str, Kind),
    /// More bytes than this kind of input has.
    #[error("it is larger than {}, the maximum size of {}; check that it is the right file",
        format_bytes(_0.bytes_max), _0.name)]
    TooLarge(Kind),
    /// No text, which all that is read here is.
    #[error("it contains NUL bytes, but {} is text; check that it is the right file", _0.name)]
    Zeros(Kind),
    /// Text in another encoding.
    #[error("it is not valid UTF-8, beginning at byte {0}; convert it with iconv")]
    NotUtf8(usize),
    /// A signal came while it was read.
    #[error("reading was interrupted, so the file was not used")]
    Interrupted,
}

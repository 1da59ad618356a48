//! Reads with a limit: whole files, first bytes, and parts of streams that belong to the caller.

use crate::input::error::Reason;
use crate::input::source::Source;
use crate::input::{InputError, Kind};
use std::io::{BufRead, Read};
use std::path::Path;

/// Bytes per read.
const CHUNK_BYTES: usize = 256 << 10;
/// Number of first bytes that decide whether the rest is read. Every format is recognisable from fewer.
const HEAD_BYTES: usize = 64 << 10;
/// This many zero bytes in a row do not occur in text, not even in UTF-16.
const ZEROS: usize = 16;
/// Maximum length of a first line.
const FIRST_LINE_BYTES: u64 = 4 << 10;

/// Reads all bytes of a file, a pipe or, for `-`, standard input.
///
/// # Errors
/// If it cannot be read, is not a file or pipe, or is larger than its kind allows; or at a signal.
pub fn bytes(path: &Path, kind: Kind) -> Result<Vec<u8>, InputError> {
    bytes_if_known(path, kind, |_| true)
}

/// Reads it as text.
///
/// # Errors
/// Those of [`bytes`], or that it is not UTF-8.
pub fn text(path: &Path, kind: Kind) -> Result<String, InputError> {
    text_if_known(path, kind, |_| true)
}

/// Reads all bytes if `is_known` recognises the first ones (64 KiB, or all if there are fewer). Otherwise
/// returns only those first bytes, which are enough for an error message. An endless pipe of wrong data
/// therefore costs nothing.
///
/// # Errors
/// Those of [`bytes`].
pub fn bytes_if_known(
    path: &Path,
    kind: Kind,
    is_known: impl FnOnce(&[u8]) -> bool,
) -> Result<Vec<u8>, InputError> {
    let failed = |reason| InputError { path: path.to_owned(), reason };
    let mut source = Source::open(path, kind).map_err(failed)?;
    if source.size_bytes() > kind.bytes_max {
        return Err(failed(Reason::TooLarge(kind)));
    }
    let mut bytes = Vec::new();
    let is_whole = fill(&mut source, kind, HEAD_BYTES, &mut bytes).map_err(failed)?;
    if !is_whole && is_known(&bytes) {
        // If the file states its size, allocate exactly that, not twice as much.
        let _ = bytes.try_reserve_exact(source.size_bytes() as usize);
        fill(&mut source, kind, usize::MAX, &mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

/// The same as text. A character that the end of the first bytes cuts off is dropped.
///
/// # Errors
/// Those of [`text`].
pub fn text_if_known(
    path: &Path,
    kind: Kind,
    is_known: impl FnOnce(&[u8]) -> bool,
) -> Result<String, InputError> {
    let mut left_early = false;
    let bytes = bytes_if_known(path, kind, |head| {
        let known = is_known(head);
        left_early = !known;
        known
    })?;
    String::from_utf8(bytes).or_else(|error| {
        let (wrong, mut bytes) = (error.utf8_error(), error.into_bytes());
        bytes.truncate(wrong.valid_up_to());
        let is_cut = left_early && wrong.error_len().is_none();
        String::from_utf8(bytes).ok().filter(|_| is_cut).ok_or(InputError {
            path: path.to_owned(),
            reason: Reason::NotUtf8(wrong.valid_up_to()),
        })
    })
}

/// Whether the first non-blank byte is one of these, or has not been read yet.
pub fn may_start_with(head: &[u8], letters: &[u8]) -> bool {
    head.trim_ascii_start().first().is_none_or(|first| letters.contains(first))
}

/// Reads until there are `length` bytes or the input ends. Returns whether it ended.
fn fill(
    source: &mut Source,
    kind: Kind,
    length: usize,
    bytes: &mut Vec<u8>,
) -> Result<bool, Reason> {
    let mut chunk = vec![0; CHUNK_BYTES.min(length)];
    while bytes.len() < length {
        let wanted = chunk.len().min(length - bytes.len());
        let read = source.read(&mut chunk[..wanted])?;
        let read = &chunk[..read];
        if read.is_empty() {
            return Ok(true);
        }
        if read.len() >= ZEROS && read[..ZEROS].iter().all(|byte| *byte == 0) {
            return Err(Reason::Zeros(kind));
        }
        if (bytes.len() + read.len()) as u64 > kind.bytes_max {
            return Err(Reason::TooLarge(kind));
        }
        bytes.extend_from_slice(read);
    }
    Ok(false)
}

/// The first line of a file, up to 4 KiB; empty for an empty file.
///
/// # Errors
/// If it cannot be read, or is not a file.
pub fn first_line(path: &Path, kind: Kind) -> Result<String, InputError> {
    let failed = |reason| InputError { path: path.to_owned(), reason };
    let mut source = Source::open(path, kind).map_err(failed)?;
    let mut bytes = Vec::new();
    fill(&mut source, kind, FIRST_LINE_BYTES as usize, &mut bytes).map_err(failed)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Appends the rest of a stream to a buffer, up to `room` bytes. Returns the number of bytes.
///
/// # Errors
/// The stream's error.
pub fn at_most(from: impl Read, room: u64, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    from.take(room).read_to_end(buffer)
}

/// Appends the next line of a stream with its line end to a buffer, up to `room` bytes. Returns the number of
/// bytes.
///
/// # Errors
/// The stream's error.
pub fn line_at_most(from: impl BufRead, room: u64, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    from.take(room).read_until(b'\n', buffer)
}

//! Reads and writes complete ranges of a file by plain calls, for I/O outside the engines.

use crate::platform::{IO_ERROR, NO_DATA, read_at, write_at};
use crate::{AsRawFile, SystemError};

/// Fills the memory as far as the file reaches. Returns the number of bytes.
///
/// # Errors
/// The system's error.
pub fn read_up_to_end(
    file: &impl AsRawFile,
    memory: &mut [u8],
    offset: u64,
) -> Result<usize, SystemError> {
    let mut done = 0;
    while done < memory.len() {
        match read_at(file.as_raw_file(), &mut memory[done..], offset + done as u64)? {
            0 => break,
            bytes => done += bytes,
        }
    }
    Ok(done)
}

/// Fills the memory.
///
/// # Errors
/// The system's error, or an error for missing data if the file ends too early.
pub fn read_all(file: &impl AsRawFile, memory: &mut [u8], offset: u64) -> Result<(), SystemError> {
    let whole = read_up_to_end(file, memory, offset)? == memory.len();
    if whole { Ok(()) } else { Err(NO_DATA) }
}

/// Writes all of the memory.
///
/// # Errors
/// The system's error, or an I/O error if the device accepts no more bytes.
pub fn write_all(file: &impl AsRawFile, memory: &[u8], offset: u64) -> Result<(), SystemError> {
    let mut done = 0;
    while done < memory.len() {
        match write_at(file.as_raw_file(), &memory[done..], offset + done as u64)? {
            0 => return Err(IO_ERROR),
            bytes => done += bytes,
        }
    }
    Ok(())
}

//! Bytes of a file at an offset, whole, by plain calls: for what is read and written beside the engines.

use crate::platform::{IO_ERROR, NO_DATA, read_at, write_at};
use crate::{AsRawFile, SystemError};

/// Fills the memory as far as the file reaches; returns how many bytes.
///
/// # Errors
/// As the system says.
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
/// As the system says, and that there is no data where the file ends before.
pub fn read_all(file: &impl AsRawFile, memory: &mut [u8], offset: u64) -> Result<(), SystemError> {
    let whole = read_up_to_end(file, memory, offset)? == memory.len();
    if whole { Ok(()) } else { Err(NO_DATA) }
}

/// Writes all of the memory.
///
/// # Errors
/// As the system says, and an error of the device where it takes nothing more.
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

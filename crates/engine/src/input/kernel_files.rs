//! Files of procfs and sysfs, which are short whatever their size says.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The longest is the kernel's description of its types, of some 6 MB.
const BYTES_MAX: u64 = 16 << 20;

/// What a file of the kernel holds.
///
/// # Errors
/// Those of the system, or if it has more than 16 MiB.
pub fn kernel_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    kernel_bytes_into(path, &mut bytes).map(|()| bytes)
}

/// The same as text.
///
/// # Errors
/// As [`kernel_bytes`], or if it is not UTF-8.
pub fn kernel_text(path: &Path) -> Result<String> {
    String::from_utf8(kernel_bytes(path)?)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// The same into a buffer that is used again and again. The file is opened anew each time: a descriptor would stay
/// with what the path meant at the start.
///
/// # Errors
/// As [`kernel_bytes`].
pub fn kernel_bytes_into(path: &Path, buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    // One byte more, by which a file that is too long is known.
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(buffer)?;
    if buffer.len() as u64 > BYTES_MAX {
        buffer.clear();
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
    }
    Ok(())
}

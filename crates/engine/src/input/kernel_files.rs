//! Reads files of procfs and sysfs, which are short whatever their stated size.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Maximum length. The longest is the kernel's type information, about 6 MB.
const BYTES_MAX: u64 = 16 << 20;

/// The content of a kernel file.
///
/// # Errors
/// The system's error, or that the file is longer than 16 MiB.
pub fn kernel_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    kernel_bytes_into(path, &mut bytes).map(|()| bytes)
}

/// The content as text.
///
/// # Errors
/// Those of [`kernel_bytes`], or that the content is not UTF-8.
pub fn kernel_text(path: &Path) -> Result<String> {
    String::from_utf8(kernel_bytes(path)?)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a kernel file into a reusable buffer. The file is opened anew each time, because an open descriptor
/// would keep the file that the path meant at first.
///
/// # Errors
/// Those of [`kernel_bytes`].
pub fn kernel_bytes_into(path: &Path, buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    // One byte more reveals a file that is too long.
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(buffer)?;
    if buffer.len() as u64 > BYTES_MAX {
        buffer.clear();
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
    }
    Ok(())
}

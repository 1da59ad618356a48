//! Computes the space that files lose because they occupy whole allocation units.
//!
//! The 1997 paper advises clusters of 64 KB for speed, "at the price of space lost by rounding". That loss
//! depends only on the files, so the files below a folder are examined. Rejected: the blocks that the
//! system counts for each file (`st_blocks`). They include reserved extents, packed tails and compressed
//! data, which another unit size would not change.

use crate::kernel::KernelError;
use crate::target::platform::files::file_system_number;
use std::path::Path;

/// Bytes that files of these sizes occupy beyond their own size, in whole units of `unit` bytes.
///
/// # Panics
/// If the unit is 0.
#[must_use]
pub fn rounding_loss(sizes: &[u64], unit: u64) -> u64 {
    assert!(unit > 0, "the allocation unit is 0 bytes");
    sizes.iter().map(|size| size.div_ceil(unit) * unit - size).sum()
}

/// Sizes of the files below a folder, in bytes, at most `most` of them; a file with several names counts
/// once for each. Links are not followed, other file systems are not entered, and unreadable folders are
/// skipped.
///
/// # Errors
/// If the folder itself cannot be read.
pub fn file_sizes(folder: &Path, most: usize) -> Result<Vec<u64>, KernelError> {
    let failed = |error: std::io::Error| KernelError::io("list the files of", folder, &error);
    let device = file_system_number(&std::fs::metadata(folder).map_err(failed)?);
    let mut sizes = Vec::new();
    let mut open = vec![std::fs::read_dir(folder).map_err(failed)?];
    while let Some(entries) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else { continue };
        // Metadata of the entry itself, not of a link's target.
        let Ok(facts) = entry.metadata() else { continue };
        if facts.is_file() {
            sizes.push(facts.len());
            if sizes.len() >= most {
                break;
            }
        } else if facts.is_dir() && file_system_number(&facts) == device {
            open.extend(std::fs::read_dir(entry.path()));
        }
    }
    Ok(sizes)
}

//! What files lose because they take whole allocation units.
//!
//! The 1997 paper advises clusters of 64 KB for speed, "at the price of space lost by rounding".
//! What that price is depends on the files alone, so the files below a folder are asked. Rejected:
//! the blocks that the system counts for each file (`st_blocks`): they hold extents that were
//! reserved, tails that are packed and data that is compressed, none of which another unit would
//! change.

use crate::kernel::KernelError;
use crate::target::platform::files::file_system_number;
use std::path::Path;

/// Bytes that files of these sizes take beyond their own, in whole units of `unit` bytes.
///
/// # Panics
/// If the unit is 0.
#[must_use]
pub fn rounding_loss(sizes: &[u64], unit: u64) -> u64 {
    assert!(unit > 0, "the allocation unit is 0 bytes");
    sizes.iter().map(|size| size.div_ceil(unit) * unit - size).sum()
}

/// Sizes of the files below a folder, in bytes, at most so many; a file with several names counts
/// once for each. Links are not followed, other file systems not entered, and what may not be read
/// is passed over.
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
        // Its own facts, not those of what a link points to.
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

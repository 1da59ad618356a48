//! What files lose because they take whole allocation units.
//!
//! The 1997 paper advises clusters of 64 KB for speed, "at the price of space lost by rounding". What
//! that price is depends on the files alone, so the files below a folder are asked. Rejected: the
//! blocks that the system counts for each file (`st_blocks`): they hold extents that were reserved,
//! tails that are packed and data that is compressed, none of which another unit would change.

use kernel::KernelError;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that files of these sizes take beyond their own, in whole units of `unit` bytes.
///
/// # Panics
/// If the unit is 0.
#[must_use]
pub fn rounding_loss(sizes: &[u64], unit: u64) -> u64 {
    assert!(unit > 0, "a unit of no bytes");
    sizes.iter().map(|size| size.div_ceil(unit) * unit - size).sum()
}

/// Sizes of the files below a folder, in bytes, at most so many; a file with several names counts
/// once for each. Links are not followed, other file systems not entered, and what may not be read is
/// passed over.
///
/// # Errors
/// If the folder itself cannot be read.
pub fn file_sizes(folder: &Path, most: usize) -> Result<Vec<u64>, KernelError> {
    let failed = |error: std::io::Error| KernelError::io("list the files of", folder, &error);
    let device = std::fs::metadata(folder).map_err(failed)?.dev();
    let mut sizes = Vec::new();
    let mut open = vec![std::fs::read_dir(folder).map_err(failed)?];
    while let Some(entries) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        // Its own facts, not those of what a link points to.
        let Some((entry, facts)) = entry.ok().and_then(|entry| {
            let facts = entry.metadata().ok()?;
            Some((entry, facts))
        }) else {
            continue;
        };
        if facts.is_file() {
            sizes.push(facts.len());
            if sizes.len() >= most {
                break;
            }
        } else if facts.is_dir() && facts.dev() == device {
            open.extend(std::fs::read_dir(entry.path()));
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_takes_whole_units() {
        assert_eq!(rounding_loss(&[1, 4096, 5000], 4096), 4095 + 3192);
        assert_eq!(rounding_loss(&[0, 65_536, 131_072], 65_536), 0);
        assert_eq!(rounding_loss(&[1], 65_536), 65_535);
        assert_eq!(rounding_loss(&[], 512), 0);
    }

    #[test]
    fn files_below_a_folder_are_found_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        for (name, bytes) in [("a", 1_usize), ("sub/b", 5000), ("sub/c", 0)] {
            std::fs::write(folder.path().join(name), vec![0; bytes]).unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), folder.path().join("sub/again")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        let mut sizes = file_sizes(folder.path(), 100).unwrap();
        sizes.sort_unstable();
        assert_eq!(sizes, [0, 1, 5000]);
        assert_eq!(file_sizes(folder.path(), 2).unwrap().len(), 2);
        assert!(file_sizes(&folder.path().join("nothing"), 2).is_err());
    }
}

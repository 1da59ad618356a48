//! The bytes that must not change, read from the lowest files, and the names in the folder.

use anyhow::{Context, Result};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const BLOCK: usize = 4096;
/// Maximum size of a file whose content is compared together with its name; larger ones are bases.
const SMALL_BYTES: u64 = 256 << 10;

/// The blocks that are not all zeros, by number. A hole and zeros are the same data.
pub(super) type Content = BTreeMap<u64, Vec<u8>>;

/// Reads a file or device without its holes.
pub(super) fn content(path: &Path) -> Result<Content> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut blocks = Content::new();
    let mut chunk = vec![0; 64 * BLOCK];
    let mut at = 0;
    while let Some(start) = next_data(&file, at)? {
        // Start at a block boundary.
        let start = start / BLOCK as u64 * BLOCK as u64;
        let length = file.read_at(&mut chunk, start)?;
        if length == 0 {
            break;
        }
        for (index, block) in chunk[..length].chunks(BLOCK).enumerate() {
            if block != &[0; BLOCK][..block.len()] {
                blocks.insert(start / BLOCK as u64 + index as u64, block.to_vec());
            }
        }
        at = start + length as u64;
    }
    Ok(blocks)
}

/// Start of the next data; `None` at the end.
fn next_data(file: &File, at: u64) -> Result<Option<u64>> {
    if file.metadata()?.file_type().is_block_device() {
        return Ok(Some(at));
    }
    match seek(file, SeekFrom::Data(at)) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The first and last byte that changed outside the range where changes are allowed.
pub(super) fn changed(before: &Content, after: &Content, may: (u64, u64)) -> Option<(u64, u64)> {
    let zeros = vec![0; BLOCK];
    let numbers = before.keys().chain(after.keys().filter(|number| !before.contains_key(number)));
    let mut places: Option<(u64, u64)> = None;
    for number in numbers {
        let one = before.get(number).unwrap_or(&zeros);
        let other = after.get(number).unwrap_or(&zeros);
        if one == other {
            continue;
        }
        for index in 0..BLOCK {
            let at = number * BLOCK as u64 + index as u64;
            let differs = one.get(index).unwrap_or(&0) != other.get(index).unwrap_or(&0);
            if differs && !(may.0..may.1).contains(&at) {
                let (first, last) = places.unwrap_or((at, at));
                places = Some((first.min(at), last.max(at)));
            }
        }
    }
    places
}

/// Facts about a name: a link must remain a link, and a file the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    device: u64,
    inode: u64,
    mode: u32,
    bytes: u64,
    link: Option<PathBuf>,
    /// Only for a small file.
    content: Option<Vec<u8>>,
}

/// Every name below a folder, without file systems that are mounted in it.
pub(super) fn names(folder: &Path) -> Result<BTreeMap<PathBuf, Entry>> {
    let device = fs::metadata(folder)?.dev();
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let meta = fs::symlink_metadata(&path)?;
            if meta.is_dir() {
                if meta.dev() == device {
                    folders.push(path.clone());
                }
                continue;
            }
            let small = meta.is_file() && meta.len() <= SMALL_BYTES;
            found.insert(
                path.clone(),
                Entry {
                    device: meta.dev(),
                    inode: meta.ino(),
                    mode: meta.mode(),
                    bytes: meta.len(),
                    link: fs::read_link(&path).ok(),
                    content: if small { fs::read(&path).ok() } else { None },
                },
            );
        }
    }
    Ok(found)
}

impl Entry {
    /// Whether the name still refers to the same file, whatever its content. A database's auxiliary files may
    /// disappear.
    pub(super) fn same_file(&self, now: Option<&Self>) -> bool {
        now.is_none_or(|now| (self.device, self.inode) == (now.device, now.inode))
    }

    /// Whether it is a regular file, not a link.
    pub(super) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// How it has changed.
    pub(super) fn difference(&self, now: Option<&Self>) -> Option<&'static str> {
        let Some(now) = now else { return Some("is gone") };
        let same_file = (self.device, self.inode, self.mode, &self.link);
        if same_file != (now.device, now.inode, now.mode, &now.link) {
            Some("was replaced")
        } else if self.bytes != now.bytes {
            Some("has another length")
        } else if self.content != now.content {
            Some("has another content")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_found_outside_the_span_that_may_change_and_holes_are_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 3 * BLOCK]).unwrap();
        let before = content(&path).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_at(b"x", 5000).unwrap();
        let after = content(&path).unwrap();
        assert_eq!(changed(&before, &after, (0, 0)), Some((5000, 5000)));
        assert_eq!(changed(&before, &after, (4096, 8192)), None);
        let (sparse, full) = (folder.path().join("sparse"), folder.path().join("full"));
        File::create(&sparse).unwrap().set_len(1 << 20).unwrap();
        fs::write(&full, vec![0; 1 << 20]).unwrap();
        assert_eq!(changed(&content(&sparse).unwrap(), &content(&full).unwrap(), (0, 0)), None);
    }

    #[test]
    fn a_link_that_became_a_file_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let before = names(folder.path()).unwrap();
        fs::remove_file(&link).unwrap();
        fs::write(&link, "new").unwrap();
        let after = names(folder.path()).unwrap();
        assert_eq!(before[&link].difference(after.get(&link)), Some("was replaced"));
    }
}

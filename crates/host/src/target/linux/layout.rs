//! Examines how the largest files below a path are placed on their device, for a diagnosis.
//!
//! It is unknown which files a program will read, but large files get most of the requests. If they are
//! compressed or fragmented, that explains otherwise unclear device counters. The check reads names and
//! maps but no data, stays on one file system, and ends after a few thousand names. Rejected: all files
//! (hours on a full volume), open files of processes (they change, and only root sees them).

use super::extents::mapped;
use record::{Bytes, FileLayout};
use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum number of names to read, and maximum depth below the path.
const NAMES_MAX: usize = 4_096;
const DEPTH_MAX: usize = 4;
/// Files whose maps are read: the largest ones, of at least this size.
const FILES_MAX: usize = 8;
const LEAST: u64 = 1 << 20;
/// Maximum bytes per file, from its beginning: longer maps take long to read.
const AREA_MAX: u64 = 8 << 30;

/// The layout of a file, or of the largest files in and below a directory; `None` if there are none, or the
/// file system has no maps.
#[must_use]
pub fn layout(path: &Path) -> Option<FileLayout> {
    let found = std::fs::metadata(path).ok()?;
    let files = if found.is_file() { vec![path.to_owned()] } else { largest(path, &found) };
    let layouts = files.iter().filter_map(|file| of_file(file));
    layouts.reduce(|sum, one| FileLayout {
        files: sum.files + one.files,
        bytes: Bytes(sum.bytes.0 + one.bytes.0),
        extents: sum.extents + one.extents,
        compressed_bytes: Bytes(sum.compressed_bytes.0 + one.compressed_bytes.0),
        absent_bytes: Bytes(sum.absent_bytes.0 + one.absent_bytes.0),
    })
}

/// The largest files in and below a directory, on its file system.
fn largest(directory: &Path, top: &Metadata) -> Vec<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = Vec::new();
    let mut to_read = VecDeque::from([(directory.to_owned(), 1)]);
    let mut names = 0;
    while let Some((directory, depth)) = to_read.pop_front() {
        // Skip what cannot be read.
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            names += 1;
            if names > NAMES_MAX {
                break;
            }
            let Ok(found) = entry.metadata() else { continue };
            if found.dev() != top.dev() {
                continue;
            }
            if found.is_dir() && depth < DEPTH_MAX {
                to_read.push_back((entry.path(), depth + 1));
            } else if found.is_file() && found.len() >= LEAST {
                files.push((found.len(), entry.path()));
            }
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.into_iter().take(FILES_MAX).map(|(_, file)| file).collect()
}

fn of_file(file: &Path) -> Option<FileLayout> {
    let open = |flags| OpenOptions::new().read(true).custom_flags(flags).open(file);
    // Reading must leave no trace; only the owner may use O_NOATIME.
    let opened: File = open(libc::O_NOATIME).or_else(|_| open(0)).ok()?;
    let length = Bytes(opened.metadata().ok()?.len().min(AREA_MAX));
    let map = mapped(&opened, (Bytes(0), length), false).ok()??;
    Some(FileLayout {
        files: 1,
        bytes: length,
        extents: map.count,
        compressed_bytes: map.compressed_bytes,
        absent_bytes: Bytes(map.hole_bytes.0 + map.unwritten_bytes.0),
    })
}

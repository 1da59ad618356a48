//! How the files below a path lie on their device: a quick look at the largest ones, for a diagnosis.
//!
//! Nobody tells which files a program will read, but what is large is what disks are asked for, and
//! compression or fragments of these explain what device counters show otherwise. The look reads
//! names and maps, no data, stays on one file system, and ends after a few thousand names.
//! Rejected: all files (hours on a full volume), open files of processes (they change, and only root sees
//! them).

use super::extents::mapped;
use record::{Bytes, FileLayout};
use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Most names that are looked at, and how deep below the path.
const NAMES_MAX: usize = 4_096;
const DEPTH_MAX: usize = 4;
/// Files whose maps are read: the largest, and none below this size.
const FILES_MAX: usize = 8;
const LEAST: u64 = 1 << 20;
/// Of each as much as this, from its beginning: maps of more take long to read.
const AREA_MAX: u64 = 8 << 30;

/// The layout of a file, or of the largest files in and below a directory; `None` where there are none, or
/// the file system tells none.
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
        // What may not be read says nothing of the rest.
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
    // A look leaves no trace; only its owner may ask for that.
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

//! What is read and written: a file in memory, a RAM block device, a file on this disk.
//!
//! Each is written full with data that does not compress before anything is compared, so that
//! neither side reads holes, and both find the same placement. zram would keep a page of zeros as
//! a flag. All go away with the value. A device is written by halfpower only with the flag that
//! repeats its name, which the target therefore knows.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use testkit::{Capability, Folder, LoopDevice, Zram};

/// The targets, in the order in which they are run.
pub(crate) const NAMES: [&str; 4] = ["null", "tmpfs", "zram", "disk"];

/// Large enough that processor caches do not hold it, small enough for memory.
const BYTES: u64 = 512 << 20;
/// Size of the file that the null engine pretends to read.
const PRETENDED_BYTES: u64 = 16 << 20;
const SMOKE_BYTES: u64 = 32 << 20;
/// A file system in memory that every Linux has for POSIX shared memory.
const MEMORY: &str = "/dev/shm";

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
    /// Whether the page cache is bypassed.
    pub(crate) direct: bool,
    /// The name that `--destroy-data-on` repeats; `None` for a file.
    pub(crate) device_name: Option<String>,
    /// Whether no disk is below, so that a decision can be expected.
    pub(crate) ram_backed: bool,
    _owner: Owner,
}

/// What must live as long as the target.
#[allow(dead_code, reason = "kept until the target goes")]
enum Owner {
    Folder(Folder),
    Zram(Zram),
    Loop(LoopDevice),
}

impl Target {
    /// Makes the target, or says why this machine has none.
    pub(crate) fn prepare(name: &str, smoke: bool) -> Result<Result<Self, String>> {
        let bytes = if smoke { SMOKE_BYTES } else { BYTES };
        let memory = Path::new(MEMORY);
        let needed = match name {
            "zram" => Some(Capability::Zram),
            "loop" => Some(Capability::Loop),
            _ => None,
        };
        if let Some((needed, why)) = needed.and_then(|it| Some((it, it.missing()?))) {
            return Ok(Err(format!("needs {}: {why}", needed.name())));
        }
        if matches!(name, "tmpfs" | "loop") && !is_memory(memory) {
            return Ok(Err(format!("{MEMORY} is no tmpfs")));
        }
        let target = match name {
            "tmpfs" => {
                let description = "a file in memory, read and written through the page cache";
                Self::file("tmpfs", description, memory, bytes)?
            }
            "zram" => {
                let device = Zram::new(bytes).context("cannot make a zram device")?;
                let description = "a RAM block device, O_DIRECT; it has no path that does not \
                                   block, so io_uring hands its requests to kernel workers";
                let path = device.path().to_owned();
                Self::device("zram", description, path, bytes, Owner::Zram(device))
            }
            "loop" => {
                let device = LoopDevice::within(memory, bytes, 512)?;
                let description = "a loop device over a file in memory, O_DIRECT";
                let path = device.path().to_owned();
                Self::device("loop", description, path, bytes, Owner::Loop(device))
            }
            "null" => {
                let description = "no I/O at all: the load generators themselves";
                Self::file("null", description, &std::env::temp_dir(), PRETENDED_BYTES)?
            }
            _ => {
                let folder = crate::place::target_folder();
                std::fs::create_dir_all(&folder)?;
                let description = "a file on the disk of the build folder, O_DIRECT";
                let file = Self::file("disk", description, &folder, bytes)?;
                Self { direct: true, ram_backed: is_memory(&folder), ..file }
            }
        };
        fill(&target.path, target.size_bytes)?;
        Ok(Ok(target))
    }

    fn file(
        name: &'static str,
        description: &'static str,
        parent: &Path,
        size_bytes: u64,
    ) -> Result<Self> {
        let folder = Folder::within(parent, "halfpower-contest-")?;
        let path = folder.path().join("file");
        let owner = Owner::Folder(folder);
        let device = Self::device(name, description, path, size_bytes, owner);
        Ok(Self { direct: false, device_name: None, ..device })
    }

    fn device(
        name: &'static str,
        description: &'static str,
        path: PathBuf,
        size_bytes: u64,
        owner: Owner,
    ) -> Self {
        let device_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            name,
            description,
            path,
            size_bytes,
            direct: true,
            device_name,
            ram_backed: true,
            _owner: owner,
        }
    }
}

/// Whether the folder is on a tmpfs: the last mount above it, by mountinfo (proc(5)).
fn is_memory(folder: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    mounts
        .lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let point = before.split(' ').nth(4)?;
            folder.starts_with(point).then_some((point.len(), after.starts_with("tmpfs ")))
        })
        // Of equal lengths the later mount covers the earlier one, and max_by_key takes the last.
        .max_by_key(|(length, _)| *length)
        .is_some_and(|(_, tmpfs)| tmpfs)
}

/// Writes the file or device full with data that does not compress.
fn fill(path: &Path, size_bytes: u64) -> Result<()> {
    const CHUNK: usize = 1 << 20;
    ensure!(size_bytes.is_multiple_of(CHUNK as u64), "the size is not a multiple of 1 MiB");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let mut random = stats::SplitMix64::new(1);
    let mut chunk = vec![0; CHUNK];
    for _ in 0..size_bytes / CHUNK as u64 {
        for word in chunk.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        file.write_all(&chunk).with_context(|| format!("cannot write {}", path.display()))?;
    }
    file.sync_all().with_context(|| format!("cannot flush {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_written_full_with_data_that_no_two_blocks_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fill(&path, 2 << 20).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 2 << 20);
        let blocks: std::collections::BTreeSet<&[u8]> = bytes.chunks(64).collect();
        assert_eq!(blocks.len(), bytes.len() / 64);
    }

    #[test]
    fn only_memory_counts_as_memory() {
        assert!(!is_memory(Path::new("/proc")));
        assert!(!is_memory(Path::new("/nowhere")) || is_memory(Path::new("/")));
    }
}

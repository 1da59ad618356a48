//! The targets: a file in memory, read and written through the page cache, and a RAM block device with
//! O_DIRECT. zram has no path that does not block, so io_uring hands its requests to kernel workers.
//!
//! Each is filled with incompressible data before the comparison. Neither side then reads holes, and both
//! find the same placement; zram would store a page of zeros as a flag. All targets are removed on drop.
//! halfpower writes to a device only with the flag that repeats its name, so the target knows the name.

use crate::place;
use anyhow::{Context, Result, ensure};
use host::kernel::Roots;
use host::kernel::mounts::{mount_of, read_mounts};
use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use testkit::{Capability, Folder, Zram};

/// Larger than CPU caches, small enough for memory.
const BYTES: u64 = 512 << 20;
/// Size of the file that the null engine pretends to read.
const PRETENDED_BYTES: u64 = 16 << 20;
/// File size of a smoke run, and the bytes that it transfers: 8,192 requests of 4 KiB. The null engine needs
/// no time for them and transfers 32 times as many.
const SMOKE_BYTES: u64 = 32 << 20;
/// A file system in memory that every Linux has for POSIX shared memory.
const MEMORY: &str = "/dev/shm";

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
    /// Whether direct I/O is used.
    pub(crate) direct: bool,
    /// The name for `--destroy-data-on`; `None` for a file.
    pub(crate) device_name: Option<String>,
    /// Bytes after which a run ends, instead of a time. Used by smoke runs, which then have a result even on
    /// a busy machine.
    pub(crate) ends_after: Option<u64>,
    /// What must live as long as the target.
    _owner: Box<dyn Any>,
}

impl Target {
    /// Makes the target.
    pub(crate) fn prepare(name: &'static str, smoke: bool) -> Result<Self> {
        let memory = Path::new(MEMORY);
        let is_device = name == "zram";
        place::needs(match name {
            "zram" => Capability::Zram.lack(),
            "tmpfs" if !is_memory(memory) => Some(format!("{MEMORY} is no tmpfs")),
            _ => None,
        })?;
        let (size_bytes, smoke_bytes) = match name {
            "null" => (PRETENDED_BYTES, 32 * SMOKE_BYTES),
            _ if smoke => (SMOKE_BYTES, SMOKE_BYTES),
            _ => (BYTES, SMOKE_BYTES),
        };
        let (path, _owner): (PathBuf, Box<dyn Any>) = if is_device {
            let device = Zram::new(size_bytes).context("cannot make a zram device")?;
            (device.path().to_owned(), Box::new(device))
        } else {
            let parent = if name == "tmpfs" { memory.to_owned() } else { std::env::temp_dir() };
            let folder = Folder::within(&parent, "halfpower-contest-")?;
            (folder.path().join("file"), Box::new(folder))
        };
        fill(&path, size_bytes)?;
        let device_name = path.file_name().filter(|_| is_device);
        let device_name = device_name.map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            name,
            path,
            size_bytes,
            direct: is_device,
            device_name,
            ends_after: smoke.then_some(smoke_bytes),
            _owner,
        })
    }
}

/// Whether the folder is on a tmpfs.
fn is_memory(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mounts = read_mounts(&Roots::default());
    mount_of(&mounts, &folder, None).is_some_and(|mount| mount.kind == "tmpfs")
}

/// Fills the file or device with incompressible data.
pub(crate) fn fill(path: &Path, size_bytes: u64) -> Result<()> {
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

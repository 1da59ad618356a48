//! Mounts file systems for tests, and provides a folder on the disk that the tests run from.
//!
//! The temporary directory of a system is often in memory. A test that needs a disk gets a folder next to
//! its own program, which cargo built on a disk.

use crate::undo::{Folder, Undo, run};
use std::ffi::OsStr;
use std::io::Result;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A mounted file system, unmounted when it is dropped.
#[derive(Debug)]
pub struct Mounted {
    _undo: Undo,
    folder: Folder,
}

impl Mounted {
    /// Mounts `source` (a device, or any word for a file system that has none) as `kind`.
    ///
    /// # Errors
    /// If mounting is not allowed, or the kernel does not know the kind.
    pub fn new(kind: &str, source: impl AsRef<OsStr>) -> Result<Self> {
        Self::with_options(kind, source, "defaults")
    }

    /// As [`Mounted::new`], with comma-separated mount options.
    ///
    /// # Errors
    /// As for [`Mounted::new`].
    pub fn with_options(kind: &str, source: impl AsRef<OsStr>, options: &str) -> Result<Self> {
        let folder = Folder::within(&std::env::temp_dir(), "halfpower-mount-")?;
        run(Command::new("mount")
            .args(["-t", kind, "-o", options])
            .arg(source)
            .arg(folder.path()))?;
        let path = folder.path().to_string_lossy();
        let what = format!("mount {path}");
        // Unmount lazily only if no device below must be free afterwards: a failed test may still have a
        // file open on it.
        let undo = match kind {
            "tmpfs" => Undo::by(what, &["umount", "--lazy", &path]),
            _ => Undo::by(what, &["umount", &path]),
        };
        Ok(Self { _undo: undo, folder })
    }

    /// Mounts a RAM file system of this size.
    ///
    /// # Errors
    /// If mounting is not allowed.
    pub fn tmpfs(bytes: u64) -> Result<Self> {
        Self::with_options("tmpfs", "halfpower-test", &format!("size={bytes}"))
    }

    /// Remounts it read-only.
    ///
    /// # Errors
    /// If the kernel refuses, for example because a file on it is open for writing.
    pub fn make_read_only(&self) -> Result<()> {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.path())).map(drop)
    }

    /// Creates a btrfs on a device and mounts it with these options.
    ///
    /// # Errors
    /// If it cannot be created or mounted.
    pub fn btrfs(device: &Path, options: &str) -> Result<Self> {
        run(Command::new("mkfs.btrfs").args(["-q", "-f", "-m", "single"]).arg(device))?;
        Self::with_options("btrfs", device, options)
    }

    /// Creates a btrfs over several devices, with striped data and duplicated metadata, and mounts it.
    ///
    /// # Errors
    /// If it cannot be created or mounted.
    pub fn btrfs_striped(devices: &[&Path]) -> Result<Self> {
        run(Command::new("mkfs.btrfs")
            .args(["-q", "-f", "-d", "raid0", "-m", "raid1"])
            .args(devices))?;
        Self::new("btrfs", devices[0])
    }

    /// Creates an ext4 on a device and mounts it. It has no journal, and optional initialization is off, so
    /// that an empty one writes little, now and later.
    ///
    /// # Errors
    /// If it cannot be created or mounted.
    pub fn ext4(device: &Path) -> Result<Self> {
        run(Command::new("mkfs.ext4")
            .args(["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=1"])
            .arg(device))?;
        Self::with_options("ext4", device, "noinit_itable")
    }

    /// As [`Mounted::ext4`], with a journal, internal or on a separate device.
    ///
    /// # Errors
    /// As for [`Mounted::ext4`].
    pub fn ext4_with_journal(device: &Path, journal: Option<&Path>) -> Result<Self> {
        let mut words = vec!["-q".to_owned(), "-F".to_owned(), "-b".to_owned(), "4096".to_owned()];
        if let Some(journal) = journal {
            run(Command::new("mke2fs")
                .args(["-q", "-F", "-b", "4096", "-O", "journal_dev"])
                .arg(journal))?;
            words.extend(["-J".to_owned(), format!("device={}", journal.display())]);
        }
        words.extend(["-E".to_owned(), "lazy_itable_init=1".to_owned()]);
        run(Command::new("mkfs.ext4").args(words).arg(device))?;
        Self::with_options("ext4", device, "noinit_itable")
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A temporary folder next to the running program, which is on a disk.
///
/// # Errors
/// If it cannot be created.
pub fn disk_folder() -> Result<TempDir> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix("halfpower-disk-").tempdir_in(folder)
}

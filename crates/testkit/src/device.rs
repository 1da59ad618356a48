//! Creates block devices by the system's own programs, and removes them when the value is dropped.

use crate::undo::{Folder, Undo, run};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the backing file in its folder.
const BACKING: &str = "disk";

/// A loop device over a sparse temporary file, or over a file or device of the test.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    file: PathBuf,
    _undo: Undo,
    /// Folder of the temporary file; dropped after the device.
    _folder: Option<Folder>,
}

impl LoopDevice {
    /// Creates one of this size with a logical block of 512 bytes.
    ///
    /// # Errors
    /// If the file or the device cannot be created.
    pub fn new(bytes: u64) -> Result<Self> {
        Self::within(&std::env::temp_dir(), bytes, 512)
    }

    /// Creates one whose backing file is in `folder` (on a small file system: a disk with less space than
    /// it reports). Its logical block is a power of two from 512 to 4096.
    ///
    /// # Errors
    /// If the file or the device cannot be created.
    pub fn within(folder: &Path, bytes: u64, logical_block_bytes: u32) -> Result<Self> {
        let folder = Folder::within(folder, "halfpower-loop-")?;
        let file = folder.path().join(BACKING);
        std::fs::File::create(&file)?.set_len(bytes)?;
        let sector = format!("--sector-size={logical_block_bytes}");
        let mut device = Self::over(&file, &[&sector])?;
        device._folder = Some(folder);
        Ok(device)
    }

    /// Creates one over an existing file or device, with options of losetup.
    ///
    /// # Errors
    /// If the device cannot be created.
    pub fn over(file: &Path, options: &[&str]) -> Result<Self> {
        let name = run(Command::new("losetup").args(["--find", "--show"]).args(options).arg(file))?;
        let name = name.trim();
        let path = PathBuf::from(name);
        let undo = Undo::by(format!("loop device {name}"), &["losetup", "--detach", name]);
        // A loop device keeps the settings of a test that was killed: restore the kernel's defaults.
        let queue = format!("/sys/class/block/{}/queue", name.trim_start_matches("/dev/"));
        for (setting, value) in [("read_ahead_kb", "128"), ("scheduler", "none")] {
            std::fs::write(format!("{queue}/{setting}"), value)?;
        }
        Ok(Self { path, file: file.to_owned(), _undo: undo, _folder: None })
    }

    /// The backing file. If it is truncated, reads beyond its end fail on the device.
    #[must_use]
    pub fn backing_file(&self) -> PathBuf {
        self.file.clone()
    }

    /// The device (`/dev/loopN`).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A RAM block device.
#[derive(Debug)]
pub struct Zram {
    path: PathBuf,
    _undo: Undo,
}

impl Zram {
    /// Creates one of this size. It is empty: reads return zeros at almost no cost until it is filled with
    /// data that does not compress.
    ///
    /// # Errors
    /// If the kernel cannot create one.
    pub fn new(bytes: u64) -> Result<Self> {
        let number: u32 = std::fs::read_to_string("/sys/class/zram-control/hot_add")?
            .trim()
            .parse()
            .map_err(Error::other)?;
        let remove = format!(
            "echo 1 > /sys/block/zram{number}/reset && echo {number} > \
             /sys/class/zram-control/hot_remove"
        );
        // Created before the size is set, so that the device is removed if that fails.
        let path = PathBuf::from(format!("/dev/zram{number}"));
        let undo = Undo::by(format!("zram device {}", path.display()), &["sh", "-c", &remove]);
        std::fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string())?;
        Ok(Self { path, _undo: undo })
    }

    /// The device (`/dev/zramN`).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

//! Block devices and file systems that a test makes, and that go away with the value.
//!
//! All are driven through the system's own programs and sysfs files, so that this crate needs no
//! unsafe code. A test that is killed leaves its device behind; one that fails does not.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Name of a loop device's file in its folder.
const BACKING: &str = "disk";

/// A loop device over a sparse temporary file, or over what a test has made.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    file: PathBuf,
    /// Of the temporary file; goes after the device.
    _folder: Option<TempDir>,
}

impl LoopDevice {
    /// Makes one of so many bytes with a logical block of 512 bytes.
    ///
    /// # Errors
    /// If the file or the device cannot be made.
    pub fn new(bytes: u64) -> Result<Self> {
        Self::with_logical_block(bytes, 512)
    }

    /// Makes one with another logical block: a power of two from 512 to 4096.
    ///
    /// # Errors
    /// If the file or the device cannot be made.
    pub fn with_logical_block(bytes: u64, logical_block_bytes: u32) -> Result<Self> {
        Self::within(&std::env::temp_dir(), bytes, logical_block_bytes)
    }

    /// Makes one whose backing file lies in `folder`. On a small file system, that is a disk that
    /// promises more than it has.
    ///
    /// # Errors
    /// If the file or the device cannot be made.
    pub fn within(folder: &Path, bytes: u64, logical_block_bytes: u32) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("halfpower-loop-").tempdir_in(folder)?;
        let file = folder.path().join(BACKING);
        std::fs::File::create(&file)?.set_len(bytes)?;
        let sector = format!("--sector-size={logical_block_bytes}");
        let mut device = Self::over(&file, &[&sector])?;
        device._folder = Some(folder);
        Ok(device)
    }

    /// Makes one over an existing file or device, with options of losetup.
    ///
    /// # Errors
    /// If the device cannot be made.
    pub fn over(file: &Path, options: &[&str]) -> Result<Self> {
        let name = run(Command::new("losetup").args(["--find", "--show"]).args(options).arg(file))?;
        Ok(Self { path: PathBuf::from(name.trim()), file: file.to_owned(), _folder: None })
    }

    /// The file below it. What is cut off it is gone from the device: reads fail there.
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

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let detached = run(Command::new("losetup").arg("--detach").arg(&self.path));
        report_left_over("loop device", &self.path, detached);
    }
}

/// A RAM block device.
#[derive(Debug)]
pub struct Zram {
    number: u32,
    path: PathBuf,
}

impl Zram {
    /// Makes one of so many bytes. It is empty: reads of it are zeros that cost almost nothing
    /// until it is written full with data that does not compress.
    ///
    /// # Errors
    /// If the kernel makes none.
    pub fn new(bytes: u64) -> Result<Self> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add")?
            .trim()
            .parse()
            .map_err(Error::other)?;
        // Made before the size is set, so that it is removed if that fails.
        let device = Self { number, path: PathBuf::from(format!("/dev/zram{number}")) };
        device.set("disksize", bytes)?;
        Ok(device)
    }

    /// The device (`/dev/zramN`).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn set(&self, attribute: &str, value: u64) -> Result<()> {
        let file = format!("/sys/block/zram{}/{attribute}", self.number);
        std::fs::write(file, value.to_string())
    }

    /// Frees the memory and removes the device.
    fn remove(&self) -> Result<()> {
        patiently(|| self.set("reset", 1))?;
        std::fs::write("/sys/class/zram-control/hot_remove", self.number.to_string())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        report_left_over("zram device", &self.path, self.remove());
    }
}

/// A mounted RAM file system.
#[derive(Debug)]
pub struct Tmpfs {
    folder: TempDir,
}

impl Tmpfs {
    /// Mounts one of so many bytes.
    ///
    /// # Errors
    /// If mounting is not allowed.
    pub fn new(bytes: u64) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("halfpower-tmpfs-").tempdir()?;
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={bytes}"))
            .arg("halfpower-test")
            .arg(folder.path()))?;
        Ok(Self { folder })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes it read-only.
    ///
    /// # Errors
    /// If the kernel refuses, as where a file on it is open for writing.
    pub fn make_read_only(&self) -> Result<()> {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.path())).map(drop)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily, because a test that failed may still hold a file on it.
        let unmounted = run(Command::new("umount").arg("--lazy").arg(self.path()));
        report_left_over("mount", self.path(), unmounted);
    }
}

/// Runs a command; its standard output, or an error with its words.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Error::other(format!("{command:?}: {}", words.trim())))
}

/// Tries again for a second: what a process used is busy for a moment after its end, because the
/// kernel gives up the files of a ring, for one, in its own time.
pub(crate) fn patiently<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        if let Ok(done) = attempt() {
            return Ok(done);
        }
        std::thread::sleep(PAUSE);
    }
    attempt()
}

/// A drop cannot fail, and must not panic in a test that is failing already.
pub(crate) fn report_left_over<T>(what: &str, path: &Path, outcome: Result<T>) {
    if let Err(error) = outcome {
        eprintln!("the {what} {} was left behind: {error}", path.display());
    }
}

//! States of a device or file system that a test sets, and that end with the value.

use crate::undo::{Undo, run};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets a state of a path with one command; another one undoes it.
fn set(what: &str, begin: &[&str], end: &[&str], path: &Path) -> Result<Undo> {
    run(Command::new(begin[0]).args(&begin[1..]).arg(path))?;
    let path = path.to_string_lossy();
    Ok(Undo::by(format!("{what} {path}"), &[end, &[&path]].concat()))
}

/// A device or file in use as swap.
#[derive(Debug)]
pub struct Swap {
    _undo: Undo,
}

impl Swap {
    /// Makes swap space of it and uses it after all other swap.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn on(path: &Path) -> Result<Self> {
        run(Command::new("mkswap").arg("--quiet").arg(path))?;
        set("swap", &["swapon", "--priority", "0"], &["swapoff"], path)
            .map(|undo| Self { _undo: undo })
    }
}

/// A file system that takes no writes until this is dropped: who writes waits.
#[derive(Debug)]
pub struct Frozen {
    _undo: Undo,
}

impl Frozen {
    /// Freezes the file system that is mounted there.
    ///
    /// # Errors
    /// If the file system does not support it.
    pub fn at(mount_point: &Path) -> Result<Self> {
        let (begin, end) = (["fsfreeze", "--freeze"], &["fsfreeze", "--unfreeze"]);
        set("frozen file system", &begin, end, mount_point).map(|undo| Self { _undo: undo })
    }
}

/// A block device that takes no writes.
#[derive(Debug)]
pub struct ReadOnly {
    _undo: Undo,
}

impl ReadOnly {
    /// Makes it read-only.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn on(device: &Path) -> Result<Self> {
        let (begin, end) = (["blockdev", "--setro"], &["blockdev", "--setrw"]);
        set("read-only device", &begin, end, device).map(|undo| Self { _undo: undo })
    }
}

/// A partition that the kernel is told of without a table on the disk.
#[derive(Debug)]
pub struct Partition {
    disk: PathBuf,
    number: u32,
    _undo: Undo,
}

impl Partition {
    /// Adds one of so many sectors of 512 bytes from a first one on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(disk: &Path, number: u32, start: u64, sectors: u64) -> Result<Self> {
        let numbers = [u64::from(number), start, sectors].map(|number| number.to_string());
        run(Command::new("addpart").arg(disk).args(numbers))?;
        let (what, number_text) =
            (format!("partition {number} of {}", disk.display()), number.to_string());
        let undo = Undo::by(what, &["delpart", &disk.to_string_lossy(), &number_text]);
        Ok(Self { disk: disk.to_owned(), number, _undo: undo })
    }

    /// The device of the partition, for a disk whose name ends in a number.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("{}p{}", self.disk.display(), self.number))
    }
}

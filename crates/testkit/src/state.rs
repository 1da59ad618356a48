//! States of a device or file system that a test sets, and that end with the value.

use crate::device::{patiently, report_left_over, run};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A state that a command ends.
#[derive(Debug)]
struct State {
    what: &'static str,
    path: PathBuf,
    end: &'static [&'static str],
}

impl State {
    /// Sets it with a command to which the path is given, which `end` then undoes.
    fn set(
        what: &'static str,
        begin: &[&str],
        end: &'static [&'static str],
        path: &Path,
    ) -> Result<Self> {
        call(begin, path)?;
        Ok(Self { what, path: path.to_owned(), end })
    }
}

fn call(words: &[&str], path: &Path) -> Result<()> {
    run(Command::new(words[0]).args(&words[1..]).arg(path)).map(drop)
}

impl Drop for State {
    fn drop(&mut self) {
        let ended = patiently(|| call(self.end, &self.path));
        report_left_over(self.what, &self.path, ended);
    }
}

/// A device or file in use as swap.
#[derive(Debug)]
pub struct Swap {
    _state: State,
}

impl Swap {
    /// Makes swap space of it and uses it after all other swap.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn on(path: &Path) -> Result<Self> {
        call(&["mkswap", "--quiet"], path)?;
        State::set("swap", &["swapon", "--priority", "0"], &["swapoff"], path)
            .map(|state| Self { _state: state })
    }
}

/// A file system that takes no writes until this is dropped: who writes waits.
#[derive(Debug)]
pub struct Frozen {
    _state: State,
}

impl Frozen {
    /// Freezes the file system that is mounted there.
    ///
    /// # Errors
    /// If the file system does not support it.
    pub fn at(mount_point: &Path) -> Result<Self> {
        let (begin, end) = (["fsfreeze", "--freeze"], &["fsfreeze", "--unfreeze"]);
        State::set("frozen file system", &begin, end, mount_point)
            .map(|state| Self { _state: state })
    }
}

/// A block device that takes no writes.
#[derive(Debug)]
pub struct ReadOnly {
    _state: State,
}

impl ReadOnly {
    /// Makes it read-only.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn on(device: &Path) -> Result<Self> {
        let (begin, end) = (["blockdev", "--setro"], &["blockdev", "--setrw"]);
        State::set("read-only device", &begin, end, device).map(|state| Self { _state: state })
    }
}

/// A partition that the kernel is told of without a table on the disk.
#[derive(Debug)]
pub struct Partition {
    disk: PathBuf,
    number: u32,
}

impl Partition {
    /// Adds one of so many sectors of 512 bytes from a first one on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(disk: &Path, number: u32, start: u64, sectors: u64) -> Result<Self> {
        let numbers = [u64::from(number), start, sectors].map(|number| number.to_string());
        run(Command::new("addpart").arg(disk).args(numbers))?;
        Ok(Self { disk: disk.to_owned(), number })
    }

    /// The device of the partition, for a disk whose name ends in a number.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("{}p{}", self.disk.display(), self.number))
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let number = self.number.to_string();
        let deleted = patiently(|| run(Command::new("delpart").arg(&self.disk).arg(&number)));
        report_left_over("partition", &self.path(), deleted);
    }
}

//! Creates control groups whose I/O or memory is limited, as in a container.
//!
//! Version 1, because such a group can be created wherever its controller is mounted, without control over
//! the parent groups. Rejected: version 2, whose I/O controller cannot be used while version 1 has it.

use crate::undo::Undo;
use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Usual mount point of the controller.
const MOUNT: &str = "/sys/fs/cgroup/blkio";
const MEMORY_MOUNT: &str = "/sys/fs/cgroup/memory";

/// What a group can be limited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
}

impl Throttle {
    /// The group's file that sets the limit.
    fn file(self) -> &'static str {
        match self {
            Self::ReadIops => "blkio.throttle.read_iops_device",
            Self::WriteIops => "blkio.throttle.write_iops_device",
            Self::ReadBytes => "blkio.throttle.read_bps_device",
            Self::WriteBytes => "blkio.throttle.write_bps_device",
        }
    }
}

/// A group that throttles, removed when it is dropped.
#[derive(Debug)]
pub struct ThrottledGroup {
    folder: PathBuf,
    _undo: Undo,
}

impl ThrottledGroup {
    /// Creates a group without a limit.
    ///
    /// # Errors
    /// If the controller is not mounted, or groups cannot be created in it.
    pub fn new() -> Result<Self> {
        let (folder, undo) = made(MOUNT)?;
        let group = Self { folder, _undo: undo };
        if group.folder.join(Throttle::ReadIops.file()).exists() {
            return Ok(group);
        }
        Err(Error::other(format!("{MOUNT} does not throttle")))
    }

    /// Limits requests or bytes per second to a device; 0 removes the limit.
    ///
    /// # Errors
    /// If the device is unknown or the kernel refuses.
    pub fn limit(&self, device: &Path, what: Throttle, per_s: u64) -> Result<()> {
        fs::write(self.folder.join(what.file()), format!("{} {per_s}", numbers(device)?))
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// A command that enters the group and executes the program that its arguments name.
    #[must_use]
    pub fn entered(&self) -> Command {
        entered(&self.folder)
    }
}

fn entered(folder: &Path) -> Command {
    let mut command = Command::new("sh");
    let tasks = folder.join("tasks");
    let script = format!("echo $$ > {} && exec \"$@\"", tasks.display());
    command.args(["-c", &script, "sh"]);
    command
}

/// Creates a group in the tree of a controller; returns it with the undo that removes it.
fn made(mount: &str) -> Result<(PathBuf, Undo)> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(mount).join(format!("halfpower-test-{}-{number}", std::process::id()));
    // Without a mounted controller, this would create a plain folder.
    if !Path::new(mount).join("tasks").exists() {
        return Err(Error::other(format!("no control groups of version 1 at {mount}")));
    }
    fs::create_dir(&folder)?;
    let path = folder.to_string_lossy();
    let undo = Undo::by(format!("control group {path}"), &["rmdir", &path]);
    Ok((folder, undo))
}

/// A group whose memory is limited, removed when it is dropped.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    _undo: Undo,
}

impl MemoryGroup {
    /// Creates a group limited to this many bytes.
    ///
    /// # Errors
    /// If the controller is not mounted, or groups cannot be created in it.
    pub fn new(bytes: u64) -> Result<Self> {
        let (folder, undo) = made(MEMORY_MOUNT)?;
        fs::write(folder.join("memory.limit_in_bytes"), bytes.to_string())?;
        Ok(Self { folder, _undo: undo })
    }

    /// A command that enters the group and executes the program that its arguments name.
    #[must_use]
    pub fn entered(&self) -> Command {
        entered(&self.folder)
    }
}

/// The numbers of a device as the kernel prints them, such as `7:3`.
fn numbers(device: &Path) -> Result<String> {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    Ok(fs::read_to_string(format!("/sys/block/{name}/dev"))?.trim().to_owned())
}

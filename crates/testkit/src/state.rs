//! Sets states of a device or file system that end when the value is dropped.

use crate::undo::{Undo, run};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets a state of a path with one command; another command undoes it.
fn set(what: &str, begin: &[&str], end: &[&str], path: &Path) -> Result<Undo> {
    run(Command::new(begin[0]).args(&begin[1..]).arg(path))?;
    let path = path.to_string_lossy();
    Ok(Undo::by(format!("{what} {path}"), &[end, &[&path]].concat()))
}

/// Creates swap space on a device or file and uses it after all other swap.
///
/// # Errors
/// If the kernel refuses.
pub fn swap_on(path: &Path) -> Result<Undo> {
    run(Command::new("mkswap").arg("--quiet").arg(path))?;
    set("swap", &["swapon", "--priority", "0"], &["swapoff"], path)
}

/// Freezes a mounted file system: programs that write to it wait.
///
/// # Errors
/// If the file system does not support it.
pub fn frozen(mount_point: &Path) -> Result<Undo> {
    let (begin, end) = (["fsfreeze", "--freeze"], &["fsfreeze", "--unfreeze"]);
    set("frozen file system", &begin, end, mount_point)
}

/// Makes a block device read-only.
///
/// # Errors
/// If the kernel refuses.
pub fn read_only(device: &Path) -> Result<Undo> {
    set("read-only device", &["blockdev", "--setro"], &["blockdev", "--setrw"], device)
}

/// Gives a block device another I/O scheduler.
///
/// # Errors
/// If the device has no queue of its own, or the kernel does not have the scheduler.
pub fn scheduler(device: &Path, name: &str) -> Result<Undo> {
    let file = device.file_name().unwrap_or_default().to_string_lossy();
    let setting = format!("/sys/block/{file}/queue/scheduler");
    let known = std::fs::read_to_string(&setting)?;
    let now = known.split(['[', ']']).nth(1).unwrap_or("none").to_owned();
    std::fs::write(&setting, name)?;
    let back = format!("echo {now} > {setting}");
    Ok(Undo::by(format!("scheduler of {file}"), &["sh", "-c", &back]))
}

/// Changes a kernel file that holds one value.
///
/// # Errors
/// If there is no such file, or the kernel refuses.
pub fn setting(file: &Path, value: &str) -> Result<Undo> {
    let now = std::fs::read_to_string(file)?.trim().to_owned();
    std::fs::write(file, value)?;
    let name = file.display().to_string();
    Ok(Undo::by(&name, &["sh", "-c", &format!("echo {now} > {name}")]))
}

/// Sets the dirty bytes at which programs that write are blocked, for the whole machine.
///
/// # Errors
/// If the kernel refuses.
pub fn dirty_bytes(bytes: u64) -> Result<Undo> {
    // Setting one of the two resets the other.
    const BYTES: &str = "/proc/sys/vm/dirty_bytes";
    const RATIO: &str = "/proc/sys/vm/dirty_ratio";
    let read = |file: &str| std::fs::read_to_string(file).map(|text| text.trim().to_owned());
    let (now, ratio) = (read(BYTES)?, read(RATIO)?);
    std::fs::write(BYTES, bytes.to_string())?;
    let back = match now.as_str() {
        "0" => format!("echo {ratio} > {RATIO}"),
        now => format!("echo {now} > {BYTES}"),
    };
    Ok(Undo::by(BYTES, &["sh", "-c", &back]))
}

/// Tells the kernel about a partition of this many sectors of 512 bytes, without a partition table on the
/// disk; returns its device. For a disk whose name ends in a number.
///
/// # Errors
/// If the kernel refuses.
pub fn partition(disk: &Path, number: u32, start: u64, sectors: u64) -> Result<(PathBuf, Undo)> {
    let numbers = [u64::from(number), start, sectors].map(|number| number.to_string());
    run(Command::new("addpart").arg(disk).args(&numbers))?;
    let disk = disk.to_string_lossy();
    let undo = Undo::by(format!("partition {number} of {disk}"), &["delpart", &disk, &numbers[0]]);
    Ok((PathBuf::from(format!("{disk}p{number}")), undo))
}

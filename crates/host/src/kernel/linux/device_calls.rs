//! Reads by system calls what sysfs does not contain: the health of an NVMe drive and its power feature,
//! the targets of a device-mapper volume, and the kernel's log.
//!
//! All calls only read, and need privileges. Apart from what the driver does, none wakes a sleeping drive:
//! the callers ask only drives that have just served requests. An error is a sentence with the reason and a
//! remedy.

use crate::kernel::device_lines::{BlockDevice, DmTarget, LogLine};
use crate::kernel::linux::device::device_of;
use crate::kernel::linux::link::upward_path;
use crate::kernel::linux::mounts::{read_mounts, unescape};
use crate::kernel::linux::unsafe_calls::{dm_targets, nvme_feature, nvme_log_page};
use crate::kernel::read::{Roots, device_numbers, names};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// The log "SMART / Health Information" and its length (NVM Express base specification 2.0, figure 207).
const HEALTH: u8 = 0x02;
const HEALTH_BYTES: usize = 512;
/// All namespaces: the log belongs to the controller.
const ALL_NAMESPACES: u32 = 0xFFFF_FFFF;
/// The feature "Autonomous Power State Transition" and the length of its table.
const AUTONOMOUS_POWER: u8 = 0x0C;
const AUTONOMOUS_BYTES: usize = 256;
/// Maximum number of kernel log records that are read, and the bytes of one (`CONSOLE_EXT_LOG_MAX`).
const RECORDS_MAX: usize = 65_536;
const RECORD_BYTES: usize = 8192;
const DEVICES_MAX: usize = 1024;

/// All block devices, in the order of their names; at most 1024.
#[must_use]
pub fn block_devices(roots: &Roots) -> Vec<BlockDevice> {
    let list = roots.sys.join("class/block");
    let of = |name: String| {
        let directory = std::fs::canonicalize(list.join(&name)).ok()?;
        let facts = device_of(roots, device_numbers(&directory)?)?;
        let above = upward_path(roots, &directory);
        Some(BlockDevice { name, directory, above, facts })
    };
    names(&list).into_iter().take(DEVICES_MAX).filter_map(of).collect()
}

/// Source and options of each mount.
#[must_use]
pub fn mounted(roots: &Roots) -> Vec<(String, String)> {
    read_mounts(roots).into_iter().map(|mount| (mount.source, mount.options)).collect()
}

/// A word of a mounts file, with the kernel's escapes removed.
#[must_use]
pub fn mount_word(word: &str) -> String {
    unescape(word.as_bytes()).to_string_lossy().into_owned()
}

fn refused(errno: Errno, what: &str) -> String {
    match errno {
        Errno::PERM | Errno::ACCESS => format!("{what} needs root"),
        Errno::NOENT | Errno::NODEV | Errno::NXIO => format!("{what} is not available here"),
        _ => format!("{what} cannot be read: {errno}"),
    }
}

fn open(path: &Path, what: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| refused(errno, what))
}

/// The health log of an NVMe drive, by the name of its namespace or controller.
///
/// # Errors
/// The reason if it cannot be read.
pub fn nvme_health(roots: &Roots, name: &str) -> Result<Vec<u8>, String> {
    let what = "the drive's health log";
    let device = open(&roots.dev.join(name), what)?;
    let log = nvme_log_page(&device, (HEALTH, ALL_NAMESPACES), HEALTH_BYTES);
    log.map(|log| log[..HEALTH_BYTES].to_vec()).map_err(|errno| refused(errno, what))
}

/// Whether an NVMe drive enters lower-power states by itself.
///
/// # Errors
/// The reason if that is unknown.
pub fn nvme_saves_power(roots: &Roots, name: &str) -> Result<bool, String> {
    let what = "the drive's power setting";
    let device = open(&roots.dev.join(name), what)?;
    let feature = nvme_feature(&device, AUTONOMOUS_POWER, AUTONOMOUS_BYTES);
    feature.map(|word| word & 1 == 1).map_err(|errno| refused(errno, what))
}

/// The targets of the device-mapper volume with this sysfs directory: its table, or its status.
///
/// # Errors
/// The reason if they are unknown.
pub fn dm_lines(roots: &Roots, directory: &Path, table: bool) -> Result<Vec<DmTarget>, String> {
    let what = "the volume's mapping table";
    let numbers = device_numbers(directory).ok_or("sysfs does not have its device numbers")?;
    let control = open(&roots.dev.join("mapper/control"), what)?;
    let found = dm_targets(&control, numbers, table).map_err(|errno| refused(errno, what))?;
    Ok(found.into_iter().map(|(kind, line)| without_key(kind, line)).collect())
}

/// A target without the key of an encrypted volume, the second word of its line in the table.
fn without_key(kind: String, line: String) -> DmTarget {
    if kind != "crypt" {
        return DmTarget { kind, line };
    }
    let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
    if let Some(key) = words.get_mut(1) {
        *key = "-";
    }
    DmTarget { kind, line: words.join(" ") }
}

/// The kernel's log, the oldest line first.
///
/// # Errors
/// The reason if it cannot be read.
pub fn kernel_log(roots: &Roots) -> Result<Vec<LogLine>, String> {
    let what = "the kernel's log";
    let log = open(&roots.dev.join("kmsg"), what)?;
    let (mut text, mut record) = (Vec::new(), [0; RECORD_BYTES]);
    for _ in 0..RECORDS_MAX {
        match rustix::io::read(&log, &mut record) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(bytes) => text.extend_from_slice(&record[..bytes]),
            // Records were overwritten meanwhile.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(errno) => return Err(refused(errno, what)),
        }
    }
    Ok(String::from_utf8_lossy(&text).lines().filter_map(log_line).collect())
}

/// `6,339,5140900,-;sd 0:0:0:0: [sda] ...` (Documentation/ABI/testing/dev-kmsg); lines that begin with a
/// space belong to the previous record.
fn log_line(line: &str) -> Option<LogLine> {
    let (head, text) = line.split_once(';')?;
    let since_boot_us = head.split(',').nth(2)?.parse().ok()?;
    Some(LogLine { since_boot_us, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_log_have_a_time_and_a_text_and_further_lines_are_left_out() {
        let fake = testkit::Fake::new();
        let text = "3,1214,90000123,-;ata1.00: failed command: READ FPDMA QUEUED\n SUBSYSTEM=scsi\n \
                    DEVICE=+scsi:0:0:0:0\n6,1215,91000000,-;ata1: hard resetting link\n";
        std::fs::write(fake.root().join("dev/kmsg"), text).unwrap();
        let lines = kernel_log(&Roots::below(fake.root())).unwrap();
        let told: Vec<(u64, &str)> =
            lines.iter().map(|line| (line.since_boot_us, line.text.as_str())).collect();
        let expected = [
            (90_000_123, "ata1.00: failed command: READ FPDMA QUEUED"),
            (91_000_000, "ata1: hard resetting link"),
        ];
        assert_eq!(told, expected);
        let none = testkit::Fake::new();
        assert!(kernel_log(&Roots::below(none.root())).unwrap_err().contains("is not available"));
    }

    #[test]
    fn the_key_of_an_encrypted_volume_is_dropped() {
        let line = "aes-xts-plain64 00ffee 0 8:16 32768 2 no_read_workqueue no_write_workqueue";
        let told = without_key("crypt".to_owned(), line.to_owned()).line;
        let expected = "aes-xts-plain64 - 0 8:16 32768 2 no_read_workqueue no_write_workqueue";
        assert_eq!(told, expected);
        assert_eq!(without_key("linear".to_owned(), "8:16 384".to_owned()).line, "8:16 384");
    }

    #[test]
    fn a_node_that_is_no_drive_and_no_volume_says_so() {
        let fake = testkit::Fake::new();
        std::fs::create_dir_all(fake.root().join("dev/mapper")).unwrap();
        for node in ["nvme0n1", "mapper/control"] {
            std::fs::write(fake.root().join("dev").join(node), "no device").unwrap();
        }
        fake.block("virtual/block/dm-0", "253:0", 8);
        let roots = Roots::below(fake.root());
        assert!(nvme_health(&roots, "nvme0n1").is_err());
        assert!(nvme_saves_power(&roots, "nvme0n1").is_err());
        assert!(dm_lines(&roots, &roots.sys.join("class/block/dm-0"), true).is_err());
    }
}

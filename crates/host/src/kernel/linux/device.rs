//! Finds the disk below a device number, as sysfs describes it.
//!
//! The walk goes from the named device through partitions and `slaves` down to the whole disks (the
//! leaves), and records a sentence for each layer on the way. Counters and queue settings come from the
//! first leaf, because stacked devices measure time only in jiffies and mostly have no queue. A loop device
//! is a leaf; the device of its file is named but not followed. Rejected: only naming the top device, and
//! summing settings over the leaves (settings have no sum).

use crate::kernel::linux::diskstats::SECTOR_BYTES;
use crate::kernel::linux::link::describe_attachment;
use crate::kernel::linux::mounts::{Mount, mount_of, read_mounts};
use crate::kernel::linux::unsafe_calls::{ATA_WORDS, ata_identity};
use crate::kernel::read::{Roots, base_name, device_numbers, names, number, text};
use engine::input;
use record::{ArrayState, Bytes, DeviceFacts, LoopFile, format_bytes};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// The word with the size, in units of a sector of 512 bytes (ATA-3, table 9).
const BUFFER_WORD: usize = 21;
/// Maximum number of layers to follow, in case sysfs ever shows a cycle.
const MAX_LAYERS: u32 = 16;

/// Describes the block device with these numbers: partition, stacked device or disk.
///
/// `None` if sysfs has no such device (an anonymous number of a file system, a removed device). A fact that
/// sysfs does not give is `None` in the result.
#[must_use]
pub fn device_of(roots: &Roots, (major, minor): (u32, u32)) -> Option<DeviceFacts> {
    described(roots, &[directory(roots, (major, minor))?], Vec::new())
}

/// The directory in sysfs, with links resolved, of the block device with these numbers; `None` if there is
/// none. Containers may hide the list by number (podman masks `/sys/dev/block`), but not the list by name.
#[must_use]
pub fn directory(roots: &Roots, (major, minor): (u32, u32)) -> Option<PathBuf> {
    let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
    if let Ok(directory) = fs::canonicalize(link) {
        return Some(directory);
    }
    let list = roots.sys.join("class/block");
    let named = names(&list).into_iter().map(|name| list.join(name));
    let mut found = named.filter(|device| device_numbers(device) == Some((major, minor)));
    fs::canonicalize(found.next()?).ok()
}

/// Describes the devices of these sysfs directories together, named by the first; `layers` are sentences
/// about what is above them.
fn described(roots: &Roots, named: &[PathBuf], layers: Vec<String>) -> Option<DeviceFacts> {
    let mut walk = Walk { roots, leaves: Vec::new(), layers, loop_file: None };
    named.iter().for_each(|named| walk.descend(named, 0));
    let (named, first) = (named.first()?, walk.leaves.first().cloned()?);
    let mut leaves: Vec<String> = walk.leaves.iter().map(|leaf| base_name(leaf)).collect();
    if leaves == [base_name(&whole_disk(named))] {
        leaves.clear();
    }
    let mut facts = DeviceFacts {
        name: base_name(named),
        disk: base_name(&first),
        leaves,
        layers: walk.layers,
        array: array_state(&whole_disk(named)),
        loop_file: walk.loop_file,
        ..DeviceFacts::default()
    };
    describe_disk(roots, &first, &mut facts);
    Some(facts)
}

/// The state of a software array; `None` for other devices, and for an array without redundancy.
fn array_state(directory: &Path) -> Option<ArrayState> {
    let array = directory.join("md");
    let missing = number(&array.join("degraded"))? as u32;
    let work = text(&array.join("sync_action"));
    Some(ArrayState { missing, work: work.filter(|it| !matches!(it.as_str(), "idle" | "frozen")) })
}

/// The mounted device, by device number or otherwise by the name of the source: some file systems (btrfs)
/// give their files numbers that belong to no device. A btrfs on several devices has all of them as leaves.
pub fn device_of_mount(
    roots: &Roots,
    device: (u32, u32),
    mount: Option<&Mount>,
) -> Option<DeviceFacts> {
    let facts = device_of(roots, device).or_else(|| {
        let source = Path::new(&mount?.source);
        if !source.starts_with("/dev") {
            return None;
        }
        // /dev/mapper/name is a symbolic link to the node with the kernel's name.
        let node = roots.locate(source);
        let node = fs::canonicalize(&node).unwrap_or(node);
        device_of(roots, device_numbers(&roots.sys.join("class/block").join(base_name(&node)))?)
    })?;
    let members = btrfs_of(roots, &facts.name).map(|id| btrfs_members(roots, &id));
    let Some(mut members) = members.filter(|members| members.len() > 1) else {
        return Some(facts);
    };
    let layer = format!("a btrfs file system on {}", members.join(", "));
    // The source of the mount gives the name.
    members.sort_by_cached_key(|member| *member != facts.name);
    let directory = |member: &String| fs::canonicalize(roots.sys.join("class/block").join(member));
    let directories: Vec<PathBuf> = members.iter().flat_map(directory).collect();
    described(roots, &directories, vec![layer]).or(Some(facts))
}

/// The UUID of the mounted btrfs that contains a device of this sysfs name.
#[must_use]
pub fn btrfs_of(roots: &Roots, name: &str) -> Option<String> {
    let has = |id: &String| btrfs_devices(roots, id).join(name).exists();
    names(&roots.sys.join("fs/btrfs")).into_iter().find(has)
}

/// The devices of a mounted btrfs, by their names in sysfs.
pub(crate) fn btrfs_members(roots: &Roots, id: &str) -> Vec<String> {
    names(&btrfs_devices(roots, id))
}

fn btrfs_devices(roots: &Roots, id: &str) -> PathBuf {
    roots.sys.join("fs/btrfs").join(id).join("devices")
}

/// Major and minor number from the combined number that calls return (`st_dev`, `st_rdev`).
#[must_use]
pub fn numbers(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// The whole disk that a directory in sysfs belongs to: itself, or the parent of a partition.
pub fn whole_disk(directory: &Path) -> PathBuf {
    if directory.join("partition").exists() {
        directory.parent().unwrap_or(directory).to_owned()
    } else {
        directory.to_owned()
    }
}

/// The directories of the partitions of a whole disk.
pub fn partitions(disk: &Path) -> impl Iterator<Item = PathBuf> {
    let parts = names(disk).into_iter().map(|name| disk.join(name));
    parts.filter(|part| part.join("partition").exists())
}

/// Collects leaves and layer sentences on the way down.
struct Walk<'a> {
    roots: &'a Roots,
    leaves: Vec<PathBuf>,
    layers: Vec<String>,
    /// The file of the first leaf, if that is a loop device.
    loop_file: Option<LoopFile>,
}

impl Walk<'_> {
    fn descend(&mut self, directory: &Path, depth: u32) {
        if depth > MAX_LAYERS {
            return;
        }
        let disk = whole_disk(directory);
        if disk != directory {
            self.layers.push(partition_layer(directory, &disk));
        }
        let slaves = names(&disk.join("slaves"));
        if !slaves.is_empty() {
            self.layers.push(stacked_layer(&disk, &slaves));
            for slave in slaves {
                if let Ok(below) = fs::canonicalize(disk.join("slaves").join(&slave)) {
                    self.descend(&below, depth + 1);
                }
            }
            return;
        }
        if self.leaves.contains(&disk) {
            return;
        }
        self.leaves.push(disk.clone());
        if let Some(algorithm) = text(&disk.join("comp_algorithm")) {
            let chosen = chosen(&algorithm);
            let name = base_name(&disk);
            self.layers.push(format!("{name} keeps its data compressed in memory ({chosen})"));
        }
        if let Some(file) = loop_file(self.roots, &disk) {
            self.layers.push(loop_layer(&base_name(&disk), &file));
            if self.leaves.len() == 1 {
                self.loop_file = Some(file);
            }
        }
    }
}

/// The file of a loop device, and the device that it is on.
fn loop_file(roots: &Roots, disk: &Path) -> Option<LoopFile> {
    let path = text(&disk.join("loop/backing_file"))?;
    let mounts = read_mounts(roots);
    let on = mount_of(&mounts, Path::new(&path), None)
        .map(|mount| format!("{} on {}", mount.kind, mount.source));
    Some(LoopFile { path, on, direct: number(&disk.join("loop/dio")) == Some(1) })
}

fn loop_layer(name: &str, file: &LoopFile) -> String {
    let cached = if file.direct {
        "with direct I/O"
    } else {
        "through the page cache, which can serve reads without the disk"
    };
    let on = file.on.as_ref().map(|on| format!(" ({on})")).unwrap_or_default();
    format!("{name} is a loop device on {:?}{on}, {cached}", file.path)
}

fn partition_layer(partition: &Path, disk: &Path) -> String {
    let start = number(&partition.join("start")).unwrap_or(0) * SECTOR_BYTES;
    let physical = number(&disk.join("queue/physical_block_size")).unwrap_or(SECTOR_BYTES);
    let aligned = if start.is_multiple_of(physical.max(1)) {
        String::new()
    } else {
        format!(
            ", which is not aligned to the disk's physical blocks of {}: each small write touches \
             two blocks",
            format_bytes(physical)
        )
    };
    format!(
        "{} is a partition of {} that starts at {}{aligned}",
        base_name(partition),
        base_name(disk),
        format_bytes(start)
    )
}

/// The sentence for a device built of others: device mapper, md, bcache and similar.
fn stacked_layer(disk: &Path, slaves: &[String]) -> String {
    let name = base_name(disk);
    let on = slaves.join(", ");
    if let Some(mapped) = text(&disk.join("dm/name")) {
        let uuid = text(&disk.join("dm/uuid")).unwrap_or_default();
        let kind = match uuid.split_once('-').map(|(kind, _)| kind) {
            Some("LVM") => "logical volume",
            Some("CRYPT") => "encrypted volume",
            Some("mpath") => "multipath disk",
            _ => "device-mapper volume",
        };
        return format!("{name} is the {kind} {mapped} on {on}");
    }
    if let Some(level) = text(&disk.join("md/level")) {
        let chunk = number(&disk.join("md/chunk_size"))
            .filter(|bytes| *bytes > 0)
            .map(|bytes| format!(" with chunks of {}", format_bytes(bytes)))
            .unwrap_or_default();
        return format!("{name} is a {level} array{chunk} on {on}");
    }
    format!("{name} is stacked on {on}")
}

/// Sets the facts that sysfs gives about a whole disk.
fn describe_disk(roots: &Roots, disk: &Path, facts: &mut DeviceFacts) {
    let queue = |name: &str| disk.join("queue").join(name);
    let device = |name: &str| text(&disk.join("device").join(name));
    facts.major_minor = text(&disk.join("dev")).unwrap_or_default();
    facts.size_bytes = Bytes(number(&disk.join("size")).unwrap_or(0) * SECTOR_BYTES);
    facts.model = device("model").or_else(|| device("name"));
    // virtio and PCI put a number where SCSI has the vendor's name.
    facts.vendor = device("vendor").filter(|vendor| !vendor.starts_with("0x"));
    facts.firmware = device("firmware_rev").or_else(|| device("rev"));
    facts.serial = serial(disk);
    facts.rotational = number(&queue("rotational")).map(|flag| flag != 0);
    facts.scheduler = text(&queue("scheduler")).map(|text| chosen(&text));
    facts.write_cache = text(&queue("write_cache"));
    facts.logical_block_bytes = number(&queue("logical_block_size"));
    facts.physical_block_bytes = number(&queue("physical_block_size"));
    facts.nomerges = number(&queue("nomerges"));
    facts.nr_requests = number(&queue("nr_requests"));
    facts.max_segments = number(&queue("max_segments"));
    facts.max_request_bytes = number(&queue("max_sectors_kb")).map(|kib| kib * 1024);
    facts.read_ahead_bytes = number(&queue("read_ahead_kb")).map(|kib| kib * 1024);
    facts.iostats = keeps_counters(disk);
    facts.cache_bytes = cache_bytes(roots, disk);
    describe_attachment(roots, disk, facts);
}

/// The serial number of a whole disk, if its driver provides it.
pub fn serial(disk: &Path) -> Option<String> {
    text(&disk.join("serial"))
        .or_else(|| text(&disk.join("device/serial")))
        .or_else(|| scsi_serial(disk))
}

/// Whether the kernel keeps counters for a disk. The flag applies to the request queues of blk-mq. A driver
/// without them (zram, brd) counts by itself, or not at all, whatever the flag says.
pub(crate) fn keeps_counters(disk: &Path) -> Option<bool> {
    let flag = number(&disk.join("queue/iostats"))? != 0;
    let counted = || {
        let stat = text(&disk.join("stat")).unwrap_or_default();
        stat.split_ascii_whitespace().any(|count| count != "0")
    };
    Some(flag || !disk.join("mq").exists() && counted())
}

/// The choice in a list such as `none [mq-deadline] kyber`; a text without brackets is unchanged.
fn chosen(list: &str) -> String {
    list.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or(list)
        .to_owned()
}

/// The serial number of a SCSI disk: page 0x80, after a header of four bytes (SPC-4, 7.8.18).
fn scsi_serial(disk: &Path) -> Option<String> {
    let page = input::kernel_bytes(&disk.join("device/vpd_pg80")).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
    (!serial.is_empty() && !serial.contains(char::is_control)).then_some(serial)
}

/// The cache of a whole disk, if the drive reports it. ATA drives do, in a word of IDENTIFY DEVICE that
/// newer standards retired and drives still set (hdparm prints it as BuffSize). It cannot exceed 32 MiB, so
/// it is a lower bound. NVMe and SCSI have no such word; tables of models are never complete.
fn cache_bytes(roots: &Roots, disk: &Path) -> Option<Bytes> {
    let name = base_name(disk);
    // The kernel implements this only for disks of its SCSI layer.
    if !name.starts_with("sd") {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(roots.dev.join(name), flags, Mode::empty()).ok()?;
    cache_told(&ata_identity(&device).ok()?)
}

fn cache_told(identity: &[u16; ATA_WORDS]) -> Option<Bytes> {
    let sectors = identity[BUFFER_WORD];
    (!matches!(sectors, 0 | u16::MAX)).then(|| Bytes(u64::from(sectors) * SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_that_fills_in_the_word_tells_its_cache_and_others_do_not() {
        let mut identity = [0; ATA_WORDS];
        assert_eq!(cache_told(&identity), None);
        identity[BUFFER_WORD] = u16::MAX;
        assert_eq!(cache_told(&identity), None);
        identity[BUFFER_WORD] = 16_384;
        assert_eq!(cache_told(&identity), Some(Bytes(8 << 20)));
    }
}

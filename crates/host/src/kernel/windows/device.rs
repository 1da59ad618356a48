//! Reads facts about disks and volumes: storage properties, geometry, and the disks of a volume.
//!
//! All calls use handles that were opened for no access, which needs no privilege. Responses are parsed
//! from bytes, because no test has a real Windows machine. Source: winioctl.h and ntddstor.h.

use crate::kernel::windows::unsafe_calls::{
    device_control, drive_letters, is_device, mounts_of, open_device, volume_at, volume_names,
};
use record::{Bytes, DeviceFacts};
use std::ffi::OsString;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use windows_sys::Win32::System::Ioctl::{
    IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, IOCTL_STORAGE_QUERY_PROPERTY,
};

/// `IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS` of ntddvol.h.
const VOLUME_DISK_EXTENTS: u32 = 0x0056_0000;
/// Values of STORAGE_PROPERTY_ID.
const DEVICE: u32 = 0;
const ADAPTER: u32 = 1;
const WRITE_CACHE: u32 = 4;
const ALIGNMENT: u32 = 6;
const SEEK_PENALTY: u32 = 7;
/// Buffer for a response: descriptors take some hundred bytes, extents 24 each.
const ROOM: usize = 4_096;
/// Maximum number of disk numbers to try.
const MOST_DISKS: u32 = 64;
const LETTER_AND_COLON: usize = 2;
/// Prefix of volume names without a letter.
const VOLUME: &str = "Volume{";
pub(crate) const DISK: &str = "PhysicalDrive";

/// A part of a disk that a volume uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of the disk.
    pub disk: u32,
    /// First byte of the part on the disk.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
}

/// The name for opening a disk or volume (`\\.\C:`).
#[must_use]
pub fn opened_as(name: &str) -> OsString {
    format!(r"\\.\{name}").into()
}

pub(crate) fn disks() -> Vec<String> {
    (0..MOST_DISKS).map(|number| format!("{DISK}{number}")).filter(|name| is_device(name)).collect()
}

/// A volume, and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedVolume {
    /// Its letter (`C:`), or `Volume{GUID}` if it has none.
    pub name: String,
    /// Letters and folders, each with a trailing backslash; empty if it is not mounted.
    pub mounts: Vec<PathBuf>,
}

/// All volumes: those with a letter, even if the system lists no others, and those that are mounted only at
/// folders or not at all.
#[must_use]
pub fn volumes() -> Vec<MountedVolume> {
    let listed = volume_names().into_iter().map(|name| (mounts_of(&name), name));
    with_letters(drive_letters(), &listed.collect::<Vec<_>>())
}

/// Volumes by their letters, then the others by their names.
fn with_letters(letters: Vec<String>, listed: &[(Vec<PathBuf>, String)]) -> Vec<MountedVolume> {
    let root = |letter: &str| PathBuf::from(format!("{letter}\\"));
    let of_letter = |letter: String| {
        let root = root(&letter);
        let found = listed.iter().find(|(mounts, _)| mounts.contains(&root));
        let mounts = found.map_or_else(|| vec![root], |(mounts, _)| mounts.clone());
        MountedVolume { name: letter, mounts }
    };
    let roots: Vec<PathBuf> = letters.iter().map(|letter| root(letter)).collect();
    let others = listed.iter().filter(|(mounts, _)| !mounts.iter().any(|it| roots.contains(it)));
    let others = others.map(|(mounts, name)| MountedVolume {
        name: bare(name).to_owned(),
        mounts: mounts.clone(),
    });
    letters.into_iter().map(of_letter).chain(others).collect()
}

/// The name of a volume without prefix and suffix: `Volume{GUID}` of `\\?\Volume{GUID}\`, `C:` of `C:\`.
fn bare(name: &str) -> &str {
    let name = name.trim_end_matches('\\');
    name.strip_prefix(r"\\?\").unwrap_or(name)
}

/// The disk or volume with a name, as Windows calls it: `C:`, `PhysicalDrive0`, `Volume{GUID}`, with or
/// without `\\.\` or `\\?\` in front, in upper or lower case.
#[must_use]
pub fn device_named(named: &str) -> Option<String> {
    let without = named.strip_prefix(r"\\.\").or_else(|| named.strip_prefix("//./"));
    let bare = bare(without.unwrap_or(named));
    let volumes = volumes().into_iter().map(|volume| volume.name);
    disks().into_iter().chain(volumes).find(|name| name.eq_ignore_ascii_case(bare))
}

/// The parts of disks that a volume uses.
#[must_use]
pub fn volume_extents(volume: impl AsHandle) -> Option<Vec<Extent>> {
    let mut answer = [0; ROOM];
    let length = device_control(volume, VOLUME_DISK_EXTENTS, &[], &mut answer).ok()?;
    parse_extents(&answer[..length])
}

/// The facts of a volume (`C:`) or a disk (`PhysicalDrive0`); `None` if no disk is known.
#[must_use]
pub fn device_facts(name: &str) -> Option<DeviceFacts> {
    if name.starts_with(DISK) {
        return disk_facts(name);
    }
    let extents = volume_extents(&open_device(&opened_as(name), 0, 0).ok()?)?;
    let mut leaves: Vec<String> = Vec::new();
    for extent in &extents {
        let disk = format!("{DISK}{}", extent.disk);
        if !leaves.contains(&disk) {
            leaves.push(disk);
        }
    }
    let mut facts = disk_facts(leaves.first()?)?;
    let parts = leaves.join(", ");
    let layer = match leaves.as_slice() {
        [_] => format!("{name} is a part of {parts}"),
        _ => format!("{name} is a volume on {parts}"),
    };
    facts.name = name.to_owned();
    facts.layers.insert(0, layer);
    facts.leaves = leaves;
    Some(facts)
}

/// The volume mounted at a path: its letter, or its Windows name if it is mounted at a folder.
pub(crate) fn device_of_mount(mount: &Path) -> String {
    let text = mount.to_string_lossy();
    let name = bare(&text);
    match name.len() > LETTER_AND_COLON && !name.starts_with(VOLUME) {
        true => volume_at(mount).map_or_else(|_| name.to_owned(), |name| bare(&name).to_owned()),
        false => name.to_owned(),
    }
}

fn disk_facts(name: &str) -> Option<DeviceFacts> {
    let disk = open_device(&opened_as(name), 0, 0).ok()?;
    let property = |kind| property(&disk, kind).unwrap_or_default();
    let mut facts = DeviceFacts {
        name: name.to_owned(),
        disk: name.to_owned(),
        leaves: vec![name.to_owned()],
        // The type of the device (a disk is 7) and its number.
        major_minor: format!("7:{}", name.trim_start_matches(DISK)),
        iostats: Some(true),
        ..DeviceFacts::default()
    };
    describe(&mut facts, &property(DEVICE), &property(SEEK_PENALTY));
    let alignment = property(ALIGNMENT);
    let positive = |number: &u32| *number > 0;
    facts.logical_block_bytes = short(&alignment, 16).filter(positive).map(u64::from);
    facts.physical_block_bytes = short(&alignment, 20).filter(positive).map(u64::from);
    let adapter = property(ADAPTER);
    facts.max_request_bytes = short(&adapter, 8).filter(positive).map(u64::from);
    facts.max_segments = short(&adapter, 12).filter(positive).map(u64::from);
    facts.write_cache = write_cache(&property(WRITE_CACHE));
    let mut geometry = [0; ROOM];
    if device_control(&disk, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, &[], &mut geometry).is_ok() {
        // The geometry comes first: cylinders, a type, and three numbers.
        facts.size_bytes = Bytes(long(&geometry, 24).unwrap_or(0));
        facts.logical_block_bytes =
            facts.logical_block_bytes.or_else(|| short(&geometry, 20).map(u64::from));
    }
    Some(facts)
}

/// The response to STORAGE_PROPERTY_QUERY for a property.
fn property(disk: &OwnedHandle, kind: u32) -> Option<Vec<u8>> {
    let mut question = [0; 12];
    question[..4].copy_from_slice(&kind.to_le_bytes());
    let mut answer = vec![0; ROOM];
    let length = device_control(disk, IOCTL_STORAGE_QUERY_PROPERTY, &question, &mut answer).ok()?;
    answer.truncate(length);
    Some(answer)
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// VOLUME_DISK_EXTENTS: a count, then the extents.
fn parse_extents(bytes: &[u8]) -> Option<Vec<Extent>> {
    let count = short(bytes, 0)? as usize;
    let part = |index: usize| {
        let at = 8 + 24 * index;
        Some(Extent {
            disk: short(bytes, at)?,
            start: long(bytes, at + 8)?,
            length: long(bytes, at + 16)?,
        })
    };
    (0..count).map(part).collect()
}

/// A text in a device descriptor, whose offset is stored at `at`; `None` if it has none.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let place = short(bytes, at).filter(|&place| place > 0)? as usize;
    let text = bytes.get(place..)?;
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let text = String::from_utf8_lossy(&text[..end]).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// STORAGE_BUS_TYPE: name of the bus, whether a disk on it responds directly, and whether it is virtual.
fn bus(number: u32) -> Option<(&'static str, bool, bool)> {
    Some(match number {
        1 => ("scsi", false, false),
        2 | 3 => ("ata", true, false),
        6 => ("fibre channel", false, false),
        7 => ("usb", false, false),
        8 => ("raid", false, false),
        9 => ("iscsi", false, false),
        0xA => ("sas", true, false),
        0xB => ("sata", true, false),
        0xC | 0xD => ("mmc", true, false),
        0xE => ("virtual", false, true),
        0xF => ("file", false, true),
        0x10 => ("storage spaces", false, true),
        0x11 => ("nvme", true, false),
        0x12 => ("persistent memory", true, false),
        0x13 => ("ufs", true, false),
        _ => return None,
    })
}

/// Prefixes of the models or vendors of virtual disks.
const VIRTUAL: [&str; 8] =
    ["QEMU", "VMware", "VBOX", "Virtual", "Msft", "Amazon Elastic", "Google", "Red Hat"];

/// Sets the facts in STORAGE_DEVICE_DESCRIPTOR and DEVICE_SEEK_PENALTY_DESCRIPTOR.
fn describe(facts: &mut DeviceFacts, device: &[u8], seek_penalty: &[u8]) {
    (facts.vendor, facts.model) = (text(device, 12), text(device, 16));
    (facts.firmware, facts.serial) = (text(device, 20), text(device, 24));
    let bus = short(device, 28).and_then(bus);
    facts.link = bus.map(|(name, ..)| name.to_owned());
    let claims = [&facts.model, &facts.vendor].into_iter().flatten();
    let claimed = claims.into_iter().any(|claim| VIRTUAL.iter().any(|it| claim.starts_with(it)));
    facts.virtual_disk = claimed || bus.is_some_and(|(_, _, virtual_bus)| virtual_bus);
    facts.rotational = seek_penalty.get(8).map(|penalty| *penalty != 0);
    let direct = bus.is_some_and(|(_, direct, _)| direct);
    facts.rotational_trusted = direct && !facts.virtual_disk && facts.rotational.is_some();
}

/// STORAGE_WRITE_CACHE_PROPERTY, in the words of Linux.
fn write_cache(bytes: &[u8]) -> Option<String> {
    let words = match (short(bytes, 8)?, short(bytes, 12)?) {
        // A write-back cache that is enabled.
        (2, 2) => "write back",
        (1 | 3, _) | (_, 1) => "write through",
        _ => return None,
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longs(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn a_volume_on_two_disks_has_two_parts_and_a_short_answer_has_none() {
        let mut bytes = longs(&[2, 0]);
        for (disk, start, length) in [(1_u32, 1_048_576_u64, 500_u64), (3, 7, 9)] {
            bytes.extend(longs(&[disk, 0]));
            bytes.extend([start.to_le_bytes(), length.to_le_bytes()].concat());
        }
        let parts = parse_extents(&bytes).unwrap();
        assert_eq!(parts[0], Extent { disk: 1, start: 1_048_576, length: 500 });
        assert_eq!(parts[1], Extent { disk: 3, start: 7, length: 9 });
        assert_eq!(parse_extents(&bytes[..55]), None);
    }

    fn descriptor(bus: u32, vendor: &str, model: &str, serial: &str) -> Vec<u8> {
        let mut texts = Vec::new();
        let mut place = |text: &str| {
            let at = if text.is_empty() { 0 } else { 36 + texts.len() as u32 };
            texts.extend(text.bytes().chain([0]));
            at
        };
        let places = [place(vendor), place(model), place(""), place(serial)];
        let mut bytes = longs(&[36, 36, 0]);
        bytes.extend(longs(&places));
        bytes.extend(longs(&[bus, 0]));
        bytes.extend(texts);
        bytes
    }

    #[test]
    fn volumes_have_their_letters_and_those_at_folders_alone_their_own_names() {
        let listed = |name: &str, mounts: &[&str]| {
            let mounts = mounts.iter().map(PathBuf::from).collect();
            (mounts, format!(r"\\?\Volume{{{name}}}\"))
        };
        let letters = vec!["C:".to_owned(), "Z:".to_owned()];
        let found = with_letters(
            letters,
            &[
                listed("1", &[]),
                listed("2", &["C:\\", r"C:\also\"]),
                listed("3", &[r"C:\mnt\data\"]),
            ],
        );
        let told: Vec<(&str, usize)> =
            found.iter().map(|it| (it.name.as_str(), it.mounts.len())).collect();
        assert_eq!(told, [("C:", 2), ("Z:", 1), ("Volume{1}", 0), ("Volume{3}", 1)]);
        assert_eq!(found[1].mounts, [PathBuf::from("Z:\\")], "the system lists no such volume");
    }

    #[test]
    fn the_volume_of_windows_is_listed_at_its_root_and_named_with_a_prefix_or_without() {
        let all = volumes();
        let system = all.iter().find(|volume| volume.name == "C:").unwrap();
        assert!(system.mounts.contains(&PathBuf::from("C:\\")), "{all:?}");
        assert_eq!(device_of_mount(Path::new("C:\\")), "C:");
        // A volume that the system lists is the same as the one at its letter, not a second one.
        for name in volume_names() {
            let mounts = mounts_of(&name);
            let at: Vec<&MountedVolume> = all.iter().filter(|it| it.mounts == mounts).collect();
            assert!(mounts.is_empty() || at.len() == 1, "{name} at {mounts:?} in {all:?}");
        }
        for named in [r"\\.\c:", "//./C:", "C:"] {
            assert_eq!(device_named(named).as_deref(), Some("C:"));
        }
    }

    #[test]
    fn a_disk_on_sata_answers_itself_and_one_of_a_hypervisor_does_not() {
        let mut facts = DeviceFacts::default();
        let penalty = [longs(&[12, 12]), vec![1, 0, 0, 0]].concat();
        describe(&mut facts, &descriptor(0xB, "", "ST4000DM004-2CV104 ", " ZFN1"), &penalty);
        assert_eq!(facts.model.as_deref(), Some("ST4000DM004-2CV104"));
        assert_eq!((facts.vendor.as_deref(), facts.serial.as_deref()), (None, Some("ZFN1")));
        assert_eq!(facts.link.as_deref(), Some("sata"));
        assert_eq!((facts.rotational, facts.rotational_trusted), (Some(true), true));

        let mut facts = DeviceFacts::default();
        describe(&mut facts, &descriptor(0xA, "Msft", "Virtual Disk", ""), &penalty);
        assert!(facts.virtual_disk && !facts.rotational_trusted);
        let mut facts = DeviceFacts::default();
        describe(&mut facts, &[], &[]);
        assert_eq!(facts, DeviceFacts::default());
    }

    #[test]
    fn a_write_cache_is_told_in_the_words_of_linux_or_not_at_all() {
        let told = |kind, enabled| write_cache(&longs(&[28, 28, kind, enabled]));
        assert_eq!(told(2, 2).as_deref(), Some("write back"));
        assert_eq!(told(2, 1).as_deref(), Some("write through"));
        assert_eq!(told(3, 2).as_deref(), Some("write through"));
        assert_eq!(told(0, 0), None);
        assert_eq!(write_cache(&[]), None);
    }
}

//! Obtains the right to write to a disk or volume: it must be named by its own name, not in use, and blank.
//!
//! Some volumes and disks are refused, whatever the flags: the Windows volume and every disk with a part of
//! it, and a volume with a file system. A disk is also refused if it contains a volume with a letter or a
//! volume mounted at a folder, or has a signature in its first or last sectors. Then the volume is locked
//! (FSCTL_LOCK_VOLUME), which fails while a program has a file open on it; it stays locked as long as its
//! handle exists. Rejected: FSCTL_DISMOUNT_VOLUME without the lock, which takes files away from programs.

use crate::kernel::device::{MountedVolume, device_facts, opened_as, volume_extents, volumes};
use crate::kernel::unsafe_calls::{device_control, open_device, windows_folder};
use crate::target::error::TargetError;
use crate::target::signature::{Looked, find};
use record::quoted;
use std::fs::File;
use std::os::windows::fs::FileExt;
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::System::Ioctl::FSCTL_LOCK_VOLUME;

const DISK: &str = "PhysicalDrive";
/// Reads of a device cover whole sectors, of at most 4096 bytes.
const SECTOR: usize = 4_096;

/// A volume, with the facts that show whether it is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Volume {
    /// `C:`, or `Volume{GUID}` if it has no letter.
    name: String,
    /// The folder where it is mounted, if it has no letter.
    folder: Option<PathBuf>,
    /// Numbers of its disks.
    disks: Vec<u32>,
    system: bool,
}

/// Why a disk or a volume must not be written, and what to do; `None` if no use is found.
fn in_use(name: &str, volumes: &[Volume]) -> Option<(String, String)> {
    let number = name.strip_prefix(DISK).and_then(|number| number.parse::<u32>().ok());
    let is_it = |volume: &&Volume| match number {
        Some(number) => volume.disks.contains(&number),
        None => volume.name.eq_ignore_ascii_case(name),
    };
    let found: Vec<&Volume> = volumes.iter().filter(is_it).collect();
    let remedy = |text: &str| text.to_owned();
    if let Some(volume) = found.iter().find(|volume| volume.system) {
        let why = match number {
            Some(_) => format!("Windows is installed on it ({})", volume.name),
            None => "Windows is installed on it".to_owned(),
        };
        return Some((why, remedy("name another disk")));
    }
    if number.is_some() {
        let volume = found.first()?;
        let at = volume
            .folder
            .as_ref()
            .map_or(String::new(), |folder| format!(", mounted at {},", quoted(folder)));
        return Some((
            format!("the volume {}{at} is on it", volume.name),
            remedy("if its data is no longer needed, delete the volume first (diskpart, clean)"),
        ));
    }
    None
}

fn mounted() -> Vec<Volume> {
    let system = windows_folder().and_then(|folder| folder.to_str().map(str::to_owned));
    let of = |MountedVolume { name, mounts }: MountedVolume| {
        let mount = mounts.into_iter().next()?;
        let open = open_device(&opened_as(&name), 0, 0).ok();
        let extents = open.and_then(volume_extents).unwrap_or_default();
        let disks = extents.iter().map(|extent| extent.disk).collect();
        let begins =
            |folder: &String| folder.get(..2).is_some_and(|it| it.eq_ignore_ascii_case(&name));
        let system = system.as_ref().is_some_and(begins);
        let folder = (!name.ends_with(':')).then_some(mount);
        Some(Volume { name, folder, disks, system })
    };
    volumes().into_iter().filter_map(of).collect()
}

/// Opens a disk or a volume for writing, if one of `typed` names it and no data on it can be needed.
pub(crate) fn claim(
    path: &Path,
    name: &str,
    size: u64,
    typed: &[String],
) -> Result<OwnedHandle, TargetError> {
    let refused = |why: String, remedy: String| {
        TargetError::refused(format!("writing to the block device {}", quoted(path)), &why, &remedy)
    };
    if let Some((why, remedy)) = in_use(name, &mounted()) {
        return Err(refused(why, remedy));
    }
    // The partition table that defines the volume does no harm.
    let below = device_facts(name).filter(|facts| facts.name != facts.disk);
    let below = below.map(|facts| (facts.disk, facts.size_bytes.0, Looked::NoTables));
    for (name, size, looked) in [(name.to_owned(), size, Looked::All)].into_iter().chain(below) {
        let device = open_device(&opened_as(&name), GENERIC_READ, 0);
        let device = File::from(device.map_err(TargetError::failing("open", path))?);
        let found = find(size, looked, &mut |at, buffer| read_sectors(&device, at, buffer, size));
        let found = found.map_err(TargetError::failing("look for signatures on", path))?;
        if let Some(signature) = found {
            return Err(refused(
                format!("{name} contains {} (at byte {})", signature.name, signature.at),
                "if this data is no longer needed, erase it yourself (diskpart: select the disk, \
                 clean), then run again"
                    .to_owned(),
            ));
        }
    }
    if !typed.iter().any(|typed| same_name(typed, name)) {
        let why = match typed {
            [] => "all data on it would be lost".to_owned(),
            typed => {
                format!("--destroy-data-on names {}, which is another device", typed.join(" and "))
            }
        };
        let remedy = format!(
            "if the data on it is no longer needed, add --destroy-data-on {name}, or name a \
             directory on a file system of this device"
        );
        return Err(refused(why, remedy));
    }
    let device = open_device(&opened_as(name), GENERIC_READ | GENERIC_WRITE, 0)
        .map_err(TargetError::failing("open", path))?;
    if !name.starts_with(DISK) {
        device_control(&device, FSCTL_LOCK_VOLUME, &[], &mut []).map_err(|cause| {
            refused(
                format!("it cannot be locked ({cause}): a program has a file open on it"),
                "end that program first".to_owned(),
            )
        })?;
    }
    Ok(device)
}

/// Whether the user typed this name, with or without a device prefix.
fn same_name(typed: &str, name: &str) -> bool {
    let prefixes = [r"\\.\", "//./", r"\\?\"];
    let bare = prefixes.iter().find_map(|prefix| typed.strip_prefix(prefix)).unwrap_or(typed);
    bare.trim_end_matches('\\').eq_ignore_ascii_case(name)
}

/// Fills the buffer from any byte of a device, by reading whole sectors.
fn read_sectors(device: &File, at: u64, buffer: &mut [u8], size: u64) -> std::io::Result<()> {
    let sector = SECTOR as u64;
    let begin = at - at % sector;
    let end = (at + buffer.len() as u64).next_multiple_of(sector).min(size);
    let mut sectors = vec![0; (end - begin) as usize];
    let mut done = 0;
    while done < sectors.len() {
        match device.seek_read(&mut sectors[done..], begin + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            bytes => done += bytes,
        }
    }
    let from = (at - begin) as usize;
    let wanted = sectors.get(from..from + buffer.len());
    buffer.copy_from_slice(wanted.ok_or(std::io::ErrorKind::UnexpectedEof)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str, disks: &[u32], system: bool) -> Volume {
        Volume { name: name.to_owned(), folder: None, disks: disks.to_vec(), system }
    }

    #[test]
    fn the_system_s_volume_and_every_disk_with_a_part_of_it_are_refused() {
        let all = [volume("C:", &[0, 2], true), volume("D:", &[1], false)];
        let why = |name| in_use(name, &all).map(|(why, _)| why);
        assert_eq!(why("C:").unwrap(), "Windows is installed on it");
        assert_eq!(why("c:").unwrap(), "Windows is installed on it");
        for disk in ["PhysicalDrive0", "PhysicalDrive2"] {
            assert_eq!(why(disk).unwrap(), "Windows is installed on it (C:)");
        }
        assert_eq!(why("PhysicalDrive1").unwrap(), "the volume D: is on it");
        assert_eq!(why("PhysicalDrive3"), None);
        // The contents of a volume are detected by its signature.
        assert_eq!(why("D:"), None);
    }

    #[test]
    fn a_disk_with_a_volume_at_a_folder_alone_is_refused_and_the_folder_is_told() {
        let folder = Some(PathBuf::from(r"C:\mnt\data\"));
        let all = [Volume { folder, ..volume("Volume{7}", &[3], false) }];
        let (why, _) = in_use("PhysicalDrive3", &all).unwrap();
        assert_eq!(why, r#"the volume Volume{7}, mounted at "C:\mnt\data\", is on it"#);
        assert_eq!(in_use("PhysicalDrive2", &all), None);
    }

    #[test]
    fn a_device_is_named_with_its_prefix_or_without_in_any_case_and_not_by_a_part() {
        assert!(same_name(r"\\.\physicaldrive1", "PhysicalDrive1"));
        assert!(same_name("//./PhysicalDrive1", "PhysicalDrive1"));
        assert!(!same_name("PhysicalDrive", "PhysicalDrive1"));
        assert!(!same_name("PhysicalDrive11", "PhysicalDrive1"));
    }
}

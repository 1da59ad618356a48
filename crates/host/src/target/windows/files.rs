//! Operations on open files other than reading and writing.

use crate::kernel::device::device_named;
use crate::kernel::system_words;
use crate::kernel::unsafe_calls::space;
use crate::target::windows::unsafe_calls::{
    create_file, file_number, reserve_clusters, tell_valid_data,
};
use engine::{OwnedFile, Privilege};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Result};
use std::os::windows::io::AsHandle;
use std::path::Path;
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, OPEN_EXISTING};

/// The number of the file system that contains a file: a constant, because everything below a folder of a
/// volume is on that volume, and links to other volumes are not followed.
pub(crate) fn file_system_number(_facts: &Metadata) -> u64 {
    0
}

/// Free space for this user, on the volume of a folder.
pub(crate) fn free_bytes(_file: &OwnedFile, directory: &Path) -> Result<u64> {
    space(directory).map(|space| space.free)
}

/// Sets the final length of a file and reserves its clusters. Unwritten parts read as zeros. Skipping that
/// ([`set_valid_data`]) would expose old data on the disk, and is unnecessary because the whole file is
/// written anyway.
pub(crate) fn allocate(file: &OwnedFile, length: u64) -> Result<()> {
    duplicate(file)?.set_len(length)?;
    match reserve_clusters(file, length) {
        // On a file system without this call, the file grows as it is written.
        Err(cause) if cause.kind() != ErrorKind::StorageFull => Ok(()),
        outcome => outcome,
    }
}

/// Flushes the data of a file to the device.
pub(crate) fn sync_data(file: &OwnedFile) -> Result<()> {
    duplicate(file)?.sync_data()
}

/// Constants of the FNV-1a hash with 64 bits.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// What identifies a file or a device, under any name; `None` if it cannot be examined.
#[must_use]
pub fn identity(path: &Path) -> Option<(u64, u64, u64)> {
    if let Some(name) = is_device_path(path) {
        let number = name
            .bytes()
            .fold(FNV_START, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        return Some((0, 0, number));
    }
    // Opened for no access, which needs no permission; the flag is required for folders.
    let file = create_file(path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS).ok()?;
    file_number(&file).ok().map(|(volume, number)| (volume, number, 0))
}

/// Whether a path is a disk or a volume.
pub(crate) fn is_block_device(path: &Path) -> bool {
    is_device_path(path).is_some()
}

/// Prefix of the volume names that Windows assigns.
const VOLUME: &str = r"\\?\Volume{";

/// The disk or volume of a path of the form `\\.\NAME`. A bare `C:` is the current folder of a drive.
pub(crate) fn is_device_path(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let is_device =
        text.starts_with(r"\\.\") || text.starts_with("//./") || text.starts_with(VOLUME);
    is_device.then(|| device_named(text.trim_end_matches(['\\', '/']))).flatten()
}

/// Whether a special file can receive a result without losing any data: always, for what Windows opens by a
/// bare name (`CON`, `NUL`).
pub(crate) fn is_stream(_facts: &Metadata) -> bool {
    true
}

/// Opens such a stream for writing.
pub(crate) fn open_stream(path: &Path) -> Result<File> {
    File::options().write(true).open(path)
}

/// Whether a file is a named pipe; on Windows these have a separate namespace.
#[must_use]
pub fn is_pipe(_facts: &Metadata) -> bool {
    false
}

/// The same open file, for calls of the standard library.
///
/// # Errors
/// The system's error.
pub fn duplicate(file: &OwnedFile) -> Result<File> {
    Ok(File::from(file.as_handle().try_clone_to_owned()?))
}

/// Extends a file by clusters without contents.
///
/// # Errors
/// The system's error.
pub fn reserve(file: &File, start: u64, length: u64) -> Result<()> {
    file.set_len(start + length)?;
    file.sync_all()
}

/// Reserves the clusters of the beginning of a file without writing them (SetEndOfFile).
///
/// # Errors
/// The system's error.
pub fn preallocate(file: &File, length: u64) -> Result<()> {
    file.set_len(length)
}

/// Checks that unwritten clusters of a file can be marked as valid (SetFileValidData).
///
/// # Errors
/// Why this account may not, and what to do, as a clause.
pub fn allow_valid_data() -> std::result::Result<(), String> {
    Privilege::ManageVolume.switch_on().map_err(|cause| {
        let cause = system_words(&cause.into());
        format!(
            "SetFileValidData needs the right to manage volumes (SeManageVolumePrivilege: \
             {cause}); run as an administrator, or grant the right (secpol.msc: Perform volume \
             maintenance tasks)"
        )
    })
}

/// Sets the final length of a file, and marks all of it as valid. Its clusters are then not filled with
/// zeros when later ones are written, and read as old data on the disk.
///
/// # Errors
/// The system's error.
pub fn set_valid_data(file: &File, length: u64) -> Result<()> {
    file.set_len(length)?;
    tell_valid_data(file, length)
}

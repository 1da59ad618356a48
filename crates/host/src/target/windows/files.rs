//! What is asked of open files beside their bytes.

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

/// The number of the file system that something is on: one for all, because what is below a folder of a
/// volume is on that volume, and links to others are not followed.
pub(crate) fn file_system_number(_facts: &Metadata) -> u64 {
    0
}

/// Free space for this user, of the volume that a folder is on.
pub(crate) fn free_bytes(_file: &OwnedFile, directory: &Path) -> Result<u64> {
    space(directory).map(|space| space.free)
}

/// Makes a file as long as it will be and reserves its clusters. What was not written reads as zeros: to skip
/// that ([`set_valid_data`]) would show what others left on the disk, and is not needed where all is written
/// anyway.
pub(crate) fn allocate(file: &OwnedFile, length: u64) -> Result<()> {
    duplicate(file)?.set_len(length)?;
    match reserve_clusters(file, length) {
        // A file system without such a request grows as it is written.
        Err(cause) if cause.kind() != ErrorKind::StorageFull => Ok(()),
        outcome => outcome,
    }
}

/// Has the device get the data of a file.
pub(crate) fn sync_data(file: &OwnedFile) -> Result<()> {
    duplicate(file)?.sync_data()
}

/// Of the hash FNV-1a with 64 bits.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// What makes a file or a device one, by whatever name; `None` of what cannot be examined.
#[must_use]
pub fn identity(path: &Path) -> Option<(u64, u64, u64)> {
    if let Some(name) = is_device_path(path) {
        let number = name
            .bytes()
            .fold(FNV_START, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        return Some((0, 0, number));
    }
    // For no access, which everybody may; the flag is what folders take.
    let file = create_file(path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS).ok()?;
    file_number(&file).ok().map(|(volume, number)| (volume, number, 0))
}

/// Whether a path is that of a disk or a volume.
pub(crate) fn is_block_device(path: &Path) -> bool {
    is_device_path(path).is_some()
}

/// How the names of volumes begin that Windows gives them.
const VOLUME: &str = r"\\?\Volume{";

/// The disk or volume that a path of the form `\\.\NAME` means. A bare `C:` is the current folder of a drive.
pub(crate) fn is_device_path(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let is_device =
        text.starts_with(r"\\.\") || text.starts_with("//./") || text.starts_with(VOLUME);
    is_device.then(|| device_named(text.trim_end_matches(['\\', '/']))).flatten()
}

/// Whether what is no regular file takes a result and loses nothing by it: what Windows opens by a bare name
/// (`CON`, `NUL`) does.
pub(crate) fn is_stream(_facts: &Metadata) -> bool {
    true
}

/// Opens such a stream for writing.
pub(crate) fn open_stream(path: &Path) -> Result<File> {
    File::options().write(true).open(path)
}

/// Whether something is a pipe with a name, which Windows keeps elsewhere.
#[must_use]
pub fn is_pipe(_facts: &Metadata) -> bool {
    false
}

/// The same open file, for calls of the standard library.
///
/// # Errors
/// What the system said.
pub fn duplicate(file: &OwnedFile) -> Result<File> {
    Ok(File::from(file.as_handle().try_clone_to_owned()?))
}

/// Makes a file longer by clusters that hold nothing.
///
/// # Errors
/// What the system said.
pub fn reserve(file: &File, start: u64, length: u64) -> Result<()> {
    file.set_len(start + length)?;
    file.sync_all()
}

/// Reserves the clusters of the beginning of a file without writing them (SetEndOfFile).
///
/// # Errors
/// What the system said.
pub fn preallocate(file: &File, length: u64) -> Result<()> {
    file.set_len(length)
}

/// Makes sure that a file can be told that clusters are valid which were never written (SetFileValidData).
///
/// # Errors
/// Why this account may not and what to do, as a clause.
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

/// Makes a file as long as it will be, and tells it that all of it is valid: its clusters are not filled with
/// zeros when something behind them is written, and read as what others left on the disk.
///
/// # Errors
/// What the system said.
pub fn set_valid_data(file: &File, length: u64) -> Result<()> {
    file.set_len(length)?;
    tell_valid_data(file, length)
}

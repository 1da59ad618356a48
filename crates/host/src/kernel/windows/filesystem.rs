//! Describes the file system under a path: its volume, its size, and two properties that distort numbers.

use crate::kernel::error::KernelError;
use crate::kernel::read::Roots;
use crate::kernel::windows::device::{device_facts, device_of_mount};
use crate::kernel::windows::unsafe_calls::{space, volume_information, volume_path};
use record::{Bytes, DeviceFacts, FilesystemFacts};
use std::os::windows::fs::MetadataExt;
use std::os::windows::io::AsHandle;
use std::path::Path;
use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_COMPRESSED;

/// Reported flags of GetVolumeInformationW: the volume itself is compressed, it is read-only, it supports
/// direct access (DAX).
const OPTIONS: [(u32, &str); 3] =
    [(0x0000_8000, "compressed"), (0x0008_0000, "ro"), (0x2000_0000, "dax")];
const COMPRESSED_VOLUME: u32 = 0x0000_8000;

/// Describes the file system of a path, and the device below it; `file` is open on it.
///
/// # Errors
/// If the system reports no volume or no size.
pub fn locate_filesystem(
    _roots: &Roots,
    path: &Path,
    _file: impl AsHandle,
) -> Result<(FilesystemFacts, Option<DeviceFacts>), KernelError> {
    filesystem_of(path)
}

/// As [`locate_filesystem`], for a path without an open file.
pub(crate) fn filesystem_of(
    path: &Path,
) -> Result<(FilesystemFacts, Option<DeviceFacts>), KernelError> {
    let failed = |action| move |error: std::io::Error| KernelError::io(action, path, &error);
    let absolute = std::path::absolute(path).map_err(failed("find the full path of"))?;
    let mount = volume_path(&absolute).map_err(failed("query the file system of"))?;
    let size = space(&mount).map_err(failed("query the free space of"))?;
    let volume = volume_information(&mount).map_err(failed("query the file system of"))?;
    let told = OPTIONS.iter().filter(|(bit, _)| volume.flags & bit != 0);
    let marked = std::fs::metadata(&absolute)
        .is_ok_and(|facts| facts.file_attributes() & FILE_ATTRIBUTE_COMPRESSED != 0);
    let name = device_of_mount(&mount);
    let facts = FilesystemFacts {
        kind: volume.kind,
        mount_point: mount.to_string_lossy().into_owned(),
        options: told.map(|(_, name)| *name).collect::<Vec<_>>().join(","),
        source: format!("{name} {:08X}", volume.serial),
        size_bytes: Bytes(size.total),
        free_bytes: Bytes(size.free),
        block_bytes: Bytes(size.cluster),
        in_memory: false,
        compresses: volume.flags & COMPRESSED_VOLUME != 0 || marked,
        direct_alignment_bytes: Some(size.sector),
    };
    Ok((facts, device_facts(&name)))
}

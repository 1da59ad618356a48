//! Opens a path as a target, and creates the handles of a run.
//!
//! A directory stands for a temporary file that is deleted with its last handle, however the program ends.
//! Anything that could destroy data is refused here, before anything is written: existing files without the
//! user's permission, and disks and volumes that are not named, in use or not blank (`claim`).

use crate::kernel::Roots;
use crate::kernel::device::{device_facts, opened_as};
use crate::kernel::filesystem::locate_filesystem;
use crate::kernel::unsafe_calls::{device_control, open_device};
use crate::target::error::TargetError;
use crate::target::handle::{Access, TargetHandle};
use crate::target::in_use::refuse_kept;
use crate::target::opening::Opening;
use crate::target::windows::claim::claim;
use crate::target::windows::descriptor::{create_nameless, direct_alignment};
use crate::target::windows::files::{identity, is_device_path};
use crate::target::windows::unsafe_calls::create_file;
use record::{Bytes, TargetKind};
use std::path::Path;
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Storage::FileSystem::OPEN_EXISTING;
use windows_sys::Win32::System::Ioctl::IOCTL_DISK_GET_LENGTH_INFO;

/// Opens a path: a directory (with a temporary test file, not yet written), a regular file, or a disk or
/// volume (`\\.\PhysicalDrive1`, `\\.\E:`).
///
/// `requested_size` is the size of the test file, or the minimum size of an existing target; `min_request`
/// is the size of the largest request.
///
/// # Errors
/// [`TargetError::Refused`] for writing to a file or a device without the user's permission, or to one that
/// is in use or has a signature; [`TargetError::TooSmall`], or the system's error.
pub fn open_target(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, TargetError> {
    let opening = Opening {
        roots,
        path,
        access,
        requested_size,
        min_request,
        alignment: |file, device| direct_alignment(file, device),
    };
    if let Some(name) = is_device_path(path) {
        return opening.device(&name);
    }
    let facts = std::fs::metadata(path).map_err(TargetError::failing("open", path))?;
    if facts.is_dir() {
        opening.directory(create_nameless(path)?)
    } else {
        opening.file(facts.len())
    }
}

impl Opening<'_> {
    fn file(&self, length: u64) -> Result<TargetHandle, TargetError> {
        let path = self.path;
        let writable = matches!(self.access, Access::ReadWrite { overwrite: true, .. });
        if let Access::ReadWrite { keep, .. } = self.access {
            refuse_kept(identity, path, keep)?;
            let read = create_file(path, GENERIC_READ, OPEN_EXISTING, 0)
                .map_err(TargetError::failing("open", path))?;
            self.refuse_own_files(read.into())?;
        }
        self.check_overwrite()?;
        let access = if writable { GENERIC_READ | GENERIC_WRITE } else { GENERIC_READ };
        let file = create_file(path, access, OPEN_EXISTING, 0)
            .map_err(TargetError::failing("open", path))?;
        let (filesystem, device) = locate_filesystem(self.roots, path, &file)?;
        let size = Bytes(length);
        self.handle(TargetKind::File, file, size, device, Some(filesystem), writable)
    }

    fn device(&self, name: &str) -> Result<TargetHandle, TargetError> {
        let path = self.path;
        let looked = open_device(&opened_as(name), GENERIC_READ, 0)
            .map_err(TargetError::failing("open", path))?;
        let mut length = [0; 8];
        device_control(&looked, IOCTL_DISK_GET_LENGTH_INFO, &[], &mut length)
            .map_err(TargetError::failing("find the size of", path))?;
        let size = u64::from_le_bytes(length);
        let file = match self.access {
            Access::ReadOnly => looked,
            Access::ReadWrite { destroy, .. } => claim(path, name, size, destroy)?,
        };
        let writable = *self.access != Access::ReadOnly;
        let device = device_facts(name);
        self.handle(TargetKind::BlockDevice, file, Bytes(size), device, None, writable)
    }
}

//! Settings of block devices that a run changes: on Windows, none.

use crate::kernel::error::KernelError;
use crate::kernel::read::Roots;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why no setting can be changed here, as text.
pub const NONE_HERE: Option<&str> = Some("Windows has no read-ahead setting per device");

/// The folder of the records; none are written.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    None
}

/// A changed setting; cannot exist here.
#[derive(Debug)]
pub enum ChangedSetting {}

impl ChangedSetting {
    /// Changes nothing.
    ///
    /// # Errors
    /// Always: Windows has no such device setting.
    pub fn change(
        _roots: &Roots,
        _folder: &Path,
        device: &str,
        _name: &str,
        _value: &str,
    ) -> Result<Self, KernelError> {
        let cause = std::io::Error::from(ErrorKind::Unsupported);
        Err(KernelError::io("change a setting of", Path::new(device), &cause))
    }

    /// Restores the setting.
    ///
    /// # Errors
    /// None, because nothing was changed.
    pub fn put_back(self) -> Result<(), KernelError> {
        match self {}
    }
}

/// Restores settings that dead processes left changed: there are none.
pub fn undo_left(_roots: &Roots, _folder: &Path) -> Vec<(PathBuf, String)> {
    Vec::new()
}

//! Settings of block devices that a run changes for a while: Windows has none that are changed here.

use crate::kernel::error::KernelError;
use crate::kernel::read::Roots;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why no setting can be changed here, for a reader.
pub const NONE_HERE: Option<&str> = Some("Windows has no read-ahead setting per device");

/// The folder where changes would be written down; none is made.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    None
}

/// A changed setting, of which there can be none.
#[derive(Debug)]
pub enum ChangedSetting {}

impl ChangedSetting {
    /// Changes nothing.
    ///
    /// # Errors
    /// Always: Windows has no such setting of a device.
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

    /// Puts the setting back.
    ///
    /// # Errors
    /// None, because nothing was changed.
    pub fn put_back(self) -> Result<(), KernelError> {
        match self {}
    }
}

/// Puts back what dead processes left changed, which is nothing.
pub fn undo_left(_roots: &Roots, _folder: &Path) -> Vec<(PathBuf, String)> {
    Vec::new()
}

//! How the files below a path are placed on their device: not read on Windows.

use record::FileLayout;
use std::path::Path;

/// The layout of files: always unknown.
#[must_use]
pub fn layout(_path: &Path) -> Option<FileLayout> {
    None
}

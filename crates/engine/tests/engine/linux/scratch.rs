//! Unnamed files for tests.

use std::fs::File;

/// A file that is deleted with its handle.
pub(crate) fn scratch_file() -> File {
    tempfile::tempfile().unwrap()
}

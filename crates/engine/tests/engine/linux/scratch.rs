//! Files of tests, without a name.

use std::fs::File;

/// A file that goes away with its handle.
pub(crate) fn scratch_file() -> File {
    tempfile::tempfile().unwrap()
}

//! Lists what a directory supports for a measurement.

use crate::target::windows::descriptor::create_nameless;
use crate::target::windows::unsafe_calls::reopen_file;
use record::{Capability, quoted};
use std::path::Path;
use windows_sys::Win32::Foundation::GENERIC_READ;
use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_NO_BUFFERING;

/// Capabilities of a temporary file in the directory.
#[must_use]
pub fn capabilities(dir: &Path) -> Vec<Capability> {
    let made = create_nameless(dir);
    let detail = match &made {
        Ok(_) => format!("works in {}", quoted(dir)),
        Err(error) => error.to_string(),
    };
    let remedy = "no test file can be created: name a directory in which you can write";
    let temporary = Capability::of("FILE_FLAG_DELETE_ON_CLOSE", made.is_ok(), detail, remedy);
    let direct = made.map_err(|error| error.to_string()).and_then(|file| {
        let opened = reopen_file(&file, GENERIC_READ, FILE_FLAG_NO_BUFFERING);
        opened.map_err(|error| format!("{}: {error}", quoted(dir)))
    });
    let detail = match &direct {
        Ok(_) => format!("works in {}", quoted(dir)),
        Err(why) => why.clone(),
    };
    let remedy = "reads come from the file cache: name a directory on a disk, or use --cache all";
    let direct = Capability::of("FILE_FLAG_NO_BUFFERING", direct.is_ok(), detail, remedy);
    let map = Capability::of(
        "map of files",
        false,
        "not queried on Windows",
        "holes and the placement of files are unknown",
    );
    vec![temporary, direct, map]
}

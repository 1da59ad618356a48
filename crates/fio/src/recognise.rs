//! Whether a file is a job file, by what is in it.
//!
//! The name tells nothing: `fio.job`, `fio.conf` and `test.ini` are as common as `x.fio`. A job file is text whose first
//! line that is no comment is a `[section]`, and most of whose options are fio's. It is an input, so
//! whoever may write to files asks here first.

use crate::options::{OptionKind, option_kind};

/// The longest job file. Test data is longer.
pub const JOB_FILE_BYTES_MAX: usize = 1 << 20;
/// Options of which any job file has one.
const USUAL: [&str; 12] = [
    "rw",
    "readwrite",
    "ioengine",
    "bs",
    "blocksize",
    "filename",
    "directory",
    "iodepth",
    "size",
    "filesize",
    "read_iolog",
    "runtime",
];

/// Whether these bytes are the text of a job file of fio.
#[must_use]
pub fn looks_like_job_file(bytes: &[u8]) -> bool {
    if bytes.len() > JOB_FILE_BYTES_MAX || bytes.contains(&0) {
        return false;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The first bytes of a longer file may end within a letter.
        Err(cut) if cut.error_len().is_none() => {
            std::str::from_utf8(&bytes[..cut.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(|line| line.split([';', '#']).next().unwrap_or_default().trim());
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let is_section = |line: &str| line.starts_with('[') && line.ends_with(']') && line.len() > 2;
    if !lines.peek().is_some_and(|line| is_section(line)) {
        return false;
    }
    let (mut known, mut unknown, mut usual) = (0, 0, false);
    for line in lines.filter(|line| !is_section(line) && !line.starts_with("include ")) {
        let name = line.split('=').next().unwrap_or_default().trim();
        match option_kind(name) {
            OptionKind::Unknown => unknown += 1,
            OptionKind::WithValue | OptionKind::Switch => known += 1,
        }
        usual |= USUAL.contains(&name);
    }
    usual && known > unknown
}

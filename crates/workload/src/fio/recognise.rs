//! Recognises job files and results of fio by their content.
//!
//! File names are not reliable: `fio.job`, `fio.conf` and `test.ini` are as common as `x.fio`. A job file is
//! text whose first line, apart from comments, is a `[section]`, and most of whose options are fio's.
//! Programs that write to files call this first, so that they do not overwrite such an input.

use crate::fio::options::{OptionKind, option_kind};

/// Maximum length of a job file. Test data is longer.
pub const JOB_FILE_BYTES_MAX: usize = 1 << 20;
/// Options of which every job file has at least one.
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

/// Whether these bytes are the text of a fio job file.
#[must_use]
pub fn looks_like_job_file(bytes: &[u8]) -> bool {
    if bytes.len() > JOB_FILE_BYTES_MAX || bytes.contains(&0) {
        return false;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The first bytes of a longer file may end within a character.
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

/// Minimum number of fields in a line of fio's terse output.
const TERSE_FIELDS_MIN: usize = 40;

/// Whether a text is fio's normal or terse output.
#[must_use]
pub fn looks_like_text_result(text: &str) -> bool {
    let normal = |line: &str| line.contains(": (groupid=") && line.contains(": err=");
    // Version, perhaps fio's version, job, group, error; later percentiles as `1.000000%=46`.
    let terse = |line: &str| {
        let version = line.split(';').next().and_then(|first| first.parse::<u8>().ok());
        version.is_some_and(|version| (2..=5).contains(&version))
            && line.contains("%=")
            && line.split(';').count() >= TERSE_FIELDS_MIN
    };
    text.lines().any(|line| normal(line) || terse(line))
}

/// Number of first bytes of a document that identify its program.
const HEAD_BYTES: usize = 400;

/// Where fio's first result starts in a text: its JSON, which may be between other lines of fio.
#[must_use]
pub fn result_at(text: &str) -> Option<usize> {
    let own_line =
        |at: &usize| text[..*at].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    let mut starts = text.match_indices('{').map(|(at, _)| at).filter(own_line);
    starts.find(|at| {
        let mut end = text.len().min(at + HEAD_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[*at..end].contains("\"fio version\"")
    })
}

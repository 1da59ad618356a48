//! Logs of Windows performance counters, which only Windows can read.

use record::quoted;
use std::path::Path;

/// Always fails to read a log (`.blg`).
///
/// # Errors
/// Always; the message names an alternative.
pub fn counter_log(path: &Path) -> Result<String, String> {
    Err(format!(
        "{} is a Windows counter log, which only Windows can read (PDH): convert it there with \
         relog FILE.blg -f CSV -o FILE.csv, then import the CSV file",
        quoted(path)
    ))
}

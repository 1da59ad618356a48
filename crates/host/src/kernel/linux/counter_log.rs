//! Logs of Windows' performance counters, which only Windows reads.

use record::quoted;
use std::path::Path;

/// Refuses to read a log (`.blg`).
///
/// # Errors
/// Always, with the way that there is.
pub fn counter_log(path: &Path) -> Result<String, String> {
    Err(format!(
        "{} is a Windows counter log, which only Windows can read (PDH): convert it there with \
         relog FILE.blg -f CSV -o FILE.csv, then import the CSV file",
        quoted(path)
    ))
}

//! Logs of Windows' performance counters, which only Windows reads.

use record::quoted;
use std::path::Path;

/// Refuses to read a log (`.blg`).
///
/// # Errors
/// Always, with the way that there is.
pub fn counter_log(path: &Path) -> Result<String, String> {
    Err(format!(
        "{} is a counter log of Windows, which Windows alone can read (PDH): convert it there by \
         relog FILE.blg -f CSV -o FILE.csv, and import that",
        quoted(path)
    ))
}

//! Reads logs of performance counters (`.blg`) by PDH, into the text that relog would write. Only `import`
//! interprets its columns.
//!
//! Rejected: parsing the format directly, which Microsoft does not publish.

use crate::kernel::error::system_words;
use crate::kernel::windows::unsafe_calls::pdh::{PdhError, Query, expand};
use record::quoted;
use std::path::Path;

/// The two layers of disks.
const WILDCARDS: [&str; 2] = [r"\PhysicalDisk(*)\*", r"\LogicalDisk(*)\*"];
/// Units of 100 ns in a second, and seconds in a day.
const UNITS_PER_S: u64 = 10_000_000;
const DAY_S: u64 = 86_400;
/// Days from 1 March of year 0 to 1 January 1601.
const MARCH_0_TO_1601_DAYS: u64 = 584_694;

/// The counters of disks in a log, as lines of CSV.
///
/// # Errors
/// Why it cannot be read and what to do, as text.
pub fn counter_log(path: &Path) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| {
        format!(
            "cannot read the counter log {}: {why}; convert it with relog FILE.blg -f CSV -o \
             FILE.csv, then import the CSV file",
            quoted(path)
        )
    };
    let there =
        std::path::absolute(path).and_then(|whole| std::fs::metadata(&whole).map(|_| whole));
    let whole = there.map_err(|cause| refused(&system_words(&cause)))?;
    read(&whole).map_err(|cause| refused(&cause))?.ok_or_else(|| {
        refused(&"the log has no counters of PhysicalDisk or LogicalDisk under their English names")
    })
}

/// The text; `None` if the log has no disk counters.
fn read(path: &Path) -> Result<Option<String>, PdhError> {
    let mut paths = Vec::new();
    for wildcards in WILDCARDS {
        paths.extend(expand(path.as_os_str(), wildcards)?);
    }
    if paths.is_empty() {
        return Ok(None);
    }
    let query = Query::open(Some(path.as_os_str()))?;
    let counters: Vec<_> =
        paths.iter().map(|path| query.add(path, false)).collect::<Result<_, _>>()?;
    let mut text = header(&paths);
    while let Some(at) = query.collect()? {
        let values = counters.iter().map(|counter| query.value(*counter));
        row(&mut text, at, values);
    }
    Ok(Some(text))
}

/// The header line, without a time zone: a log does not record one.
fn header(paths: &[String]) -> String {
    let columns = paths.iter().map(|path| format!(",\"{path}\""));
    format!("\"(PDH-CSV 4.0)\"{}\n", columns.collect::<String>())
}

/// Appends a line; missing values are blank.
fn row(text: &mut String, at: u64, values: impl Iterator<Item = Option<f64>>) {
    text.push_str(&format!("\"{}\"", stamp(at)));
    for value in values {
        let value = value.map_or(" ".to_owned(), |value| value.to_string());
        text.push_str(&format!(",\"{value}\""));
    }
    text.push('\n');
}

/// A time in 100 ns since 1601 in relog's format: `11/27/2026 03:15:00.123`. Source: days to dates by eras
/// of 400 years, Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn stamp(at: u64) -> String {
    let (seconds, part) = (at / UNITS_PER_S, at % UNITS_PER_S);
    let days = seconds / DAY_S + MARCH_0_TO_1601_DAYS;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let milliseconds = part / 10_000;
    format!("{month:02}/{day:02}/{year:04} {hour:02}:{minute:02}:{second:02}.{milliseconds:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_american_dates_across_leap_days_and_the_turn_of_a_century() {
        let days = |days: u64| days * DAY_S * UNITS_PER_S;
        assert_eq!(stamp(0), "01/01/1601 00:00:00.000");
        assert_eq!(stamp(days(58)), "02/28/1601 00:00:00.000");
        assert_eq!(stamp(days(59)), "03/01/1601 00:00:00.000");
        // 1970 is 134,774 days later (the difference between the epochs of Windows and Unix).
        assert_eq!(stamp(days(134_774)), "01/01/1970 00:00:00.000");
        assert_eq!(stamp(days(134_774 + 11_016)), "02/29/2000 00:00:00.000");
        let afternoon =
            days(134_774 + 20_784) + (15 * 3_600 + 4 * 60 + 5) * UNITS_PER_S + 1_230_000;
        assert_eq!(stamp(afternoon), "11/27/2026 15:04:05.123");
    }

    #[test]
    fn a_log_becomes_lines_with_a_blank_for_what_has_no_value() {
        let paths = [r"\\HOST\PhysicalDisk(0 C:)\Disk Reads/sec".to_owned(), "x".to_owned()];
        let mut text = header(&paths);
        row(&mut text, 0, [Some(20.5), None].into_iter());
        let expected = "\"(PDH-CSV 4.0)\",\"\\\\HOST\\PhysicalDisk(0 C:)\\Disk Reads/sec\",\"x\"\n\
                        \"01/01/1601 00:00:00.000\",\"20.5\",\" \"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_no_log_is_refused_with_the_way_by_relog() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.blg");
        std::fs::write(&path, b"no log").unwrap();
        let refusal = counter_log(&path).unwrap_err();
        assert!(refusal.contains("x.blg") && refusal.contains("relog"), "{refusal}");
    }
}

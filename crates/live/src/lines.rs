//! Prints the rows of a sample as lines: a table for people, or all columns or JSON for programs.

use crate::{Judge, LiveError};
use record::{Calibrated, Interval, UtilizationLaw};
use report::{WatchRow, WatchVerdict, WatchView, watch_header, watch_line, watch_table};
use serde::Serialize;

/// The `schema` value of a line of JSON.
const WATCH_SCHEMA: &str = "halfpower/watch/1";
/// Number of lines after which the header is repeated.
const HEADER_EVERY: usize = 40;

/// A line of JSON.
#[derive(Debug, Serialize)]
struct WatchDocument<'a> {
    schema: &'static str,
    /// End of the interval, RFC 3339 in UTC.
    time: &'a str,
    device: &'a str,
    interval: &'a Interval,
    utilization_law: Option<UtilizationLaw>,
    calibrated: Option<Calibrated>,
    profile_id: Option<&'a str>,
    verdict: Option<&'a WatchVerdict>,
}

/// Output format of the lines.
#[derive(Clone, Debug)]
pub enum LineForm {
    /// A table for people, with the columns that fit this width. Idle devices share one line.
    Table(WatchView, usize),
    /// All columns, with the header repeated periodically.
    Columns,
    /// One JSON document per line.
    Json,
}

/// Formats rows as lines.
#[derive(Debug)]
pub struct Lines {
    form: LineForm,
    printed: usize,
}

impl Lines {
    /// Creates a formatter for this format.
    #[must_use]
    pub fn new(form: LineForm) -> Self {
        Self { form, printed: 0 }
    }

    /// The lines of the last sample.
    ///
    /// # Errors
    /// If a value cannot be written as JSON.
    pub fn of(&mut self, judge: &Judge) -> Result<String, LiveError> {
        let rows = judge.rows(0).into_iter().filter(|row| row.interval.is_some());
        let rows: Vec<WatchRow> = rows.collect();
        if let LineForm::Table(view, width) = &self.form {
            let end = rows.first().and_then(|row| row.interval.as_ref()).map(end_of);
            let table = |end: jiff::Timestamp| {
                watch_table(&rows, view, &end.strftime("%H:%M:%SZ").to_string(), *width)
            };
            return Ok(end.map_or_else(String::new, table));
        }
        let mut text = String::new();
        for row in &rows {
            let Some(interval) = &row.interval else { continue };
            let time = end_of(interval).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let line = if matches!(self.form, LineForm::Json) {
                serde_json::to_string(&WatchDocument {
                    schema: WATCH_SCHEMA,
                    time: &time,
                    device: &row.device.name,
                    interval,
                    utilization_law: row.utilization_law,
                    calibrated: row.calibrated,
                    profile_id: judge.profile(&row.device.name).map(|profile| profile.id.as_str()),
                    verdict: row.verdict.as_ref(),
                })?
            } else {
                if self.printed.is_multiple_of(HEADER_EVERY) {
                    text.push_str(&(watch_header() + "\n"));
                }
                self.printed += 1;
                watch_line(row, &time)
            };
            text.push_str(&(line + "\n"));
        }
        Ok(text)
    }
}

/// The end of an interval.
fn end_of(interval: &Interval) -> jiff::Timestamp {
    let end_ns = i128::from(interval.begin_ns) + i128::from(interval.duration_ns);
    jiff::Timestamp::from_nanosecond(end_ns).unwrap_or_default()
}

//! The rows of a sample as lines: a table for people, JSON for programs.

use crate::{Judge, LiveError};
use record::{Calibrated, Interval, UtilizationLaw};
use report::{WatchVerdict, watch_header, watch_line};
use serde::Serialize;

/// The `schema` value of a line of JSON.
const WATCH_SCHEMA: &str = "halfpower/watch/1";
/// Lines after which the header is repeated.
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

/// Rows as lines, with a header now and then.
#[derive(Debug)]
pub struct Lines {
    /// Whether each line is a JSON document.
    json: bool,
    printed: usize,
}

impl Lines {
    /// For people, or in JSON.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json, printed: 0 }
    }

    /// The lines of the last sample.
    ///
    /// # Errors
    /// If a figure cannot be written as JSON.
    pub fn of(&mut self, judge: &Judge) -> Result<String, LiveError> {
        let mut text = String::new();
        for row in judge.rows(0) {
            let Some(interval) = &row.interval else { continue };
            let time = end_of(interval);
            let line = if self.json {
                let document = WatchDocument {
                    schema: WATCH_SCHEMA,
                    time: &time,
                    device: &row.device.name,
                    interval,
                    utilization_law: row.utilization_law,
                    calibrated: row.calibrated,
                    profile_id: judge.profile(&row.device.name).map(|profile| profile.id.as_str()),
                    verdict: row.verdict.as_ref(),
                };
                serde_json::to_string(&document)?
            } else {
                if self.printed.is_multiple_of(HEADER_EVERY) {
                    text.push_str(&(watch_header() + "\n"));
                }
                self.printed += 1;
                watch_line(&row, &time)
            };
            text.push_str(&(line + "\n"));
        }
        Ok(text)
    }
}

/// The end of an interval as text, to the second.
fn end_of(interval: &Interval) -> String {
    let end_ns = i128::from(interval.begin_ns) + i128::from(interval.duration_ns);
    let time = jiff::Timestamp::from_nanosecond(end_ns).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

//! The intervals of a run as CSV: a row each, the same columns in every file.
//!
//! Columns are named as in the JSON, with the direction in front and the unit at the end. Both
//! directions are always there; what has no value is an empty field. Numbers are printed in the
//! shortest form that reads back the same. Text is quoted where it needs it (RFC 4180), with LF as the line
//! end, which everything that reads CSV takes. Rejected: a row for each direction, since a reader
//! then has to join what belongs to one moment.

use record::{IntervalDirection, IntervalResult, TimeSummary, Trial};
use std::fmt::Write;

/// What a row begins with.
const LEADING: &str = "trial_id,target,begin_ns,length_ns,concurrency";
/// Columns of a direction.
const DIRECTION: [&str; 15] = [
    "ios",
    "bytes",
    "iops",
    "bytes_per_s",
    "latency_mean_ns",
    "latency_stddev_ns",
    "latency_min_ns",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p95_ns",
    "latency_p99_ns",
    "latency_p99_9_ns",
    "latency_p99_99_ns",
    "latency_max_ns",
    "response_mean_ci95_rel",
];

/// The names of the columns, without a line end.
#[must_use]
pub fn intervals_header() -> String {
    let mut text = LEADING.to_owned();
    for direction in ["read", "write"] {
        for column in DIRECTION {
            // Writing to a String cannot fail.
            let _ = write!(text, ",{direction}_{column}");
        }
    }
    text
}

/// The intervals of a trial below their head line; only that where it has none.
#[must_use]
pub fn intervals_csv(trial: &Trial) -> String {
    let mut text = intervals_header() + "\n";
    let target: Vec<&str> = trial.targets.iter().map(|target| target.path.as_str()).collect();
    let head = format!("{},{}", quoted(&trial.id), quoted(&target.join(" ")));
    for interval in trial.result.intervals.iter().flatten() {
        row(&mut text, &head, interval);
    }
    text
}

fn row(text: &mut String, head: &str, interval: &IntervalResult) {
    let IntervalResult { begin_ns, length_ns, read, write, concurrency } = interval;
    let _ = write!(text, "{head},{},{},{concurrency}", begin_ns.0, length_ns.0);
    for direction in [read, write] {
        for value in values(direction.as_ref()) {
            let _ = write!(text, ",{}", value.unwrap_or_default());
        }
    }
    text.push('\n');
}

/// The columns of a direction in the order of [`DIRECTION`].
fn values(direction: Option<&IntervalDirection>) -> [Option<String>; DIRECTION.len()] {
    let count = |value: fn(&IntervalDirection) -> u64| direction.map(|it| value(it).to_string());
    let rate = |value: fn(&IntervalDirection) -> f64| direction.map(|it| value(it).to_string());
    let times = direction.and_then(|direction| direction.latency_ns.as_ref());
    let time =
        |value: fn(&TimeSummary) -> Option<f64>| times.and_then(value).map(|it| it.to_string());
    [
        count(|it| it.ios),
        count(|it| it.bytes),
        rate(|it| it.iops),
        rate(|it| it.bytes_per_s),
        time(|it| Some(it.mean)),
        time(|it| Some(it.stddev)),
        times.map(|it| it.min.to_string()),
        time(|it| it.p50),
        time(|it| it.p90),
        time(|it| it.p95),
        time(|it| it.p99),
        time(|it| it.p99_9),
        time(|it| it.p99_99),
        times.map(|it| it.max.to_string()),
        time(|it| it.mean_ci95_rel),
    ]
}

/// A text as a field.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_where_it_needs_it() {
        assert_eq!(quoted("/data"), "/data");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
    }
}

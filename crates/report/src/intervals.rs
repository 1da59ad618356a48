//! The intervals of a run as CSV: a row each, the same columns in every file.
//!
//! Columns are named as in the JSON, with the direction in front and the unit at the end. Both
//! directions are always there; what has no value is an empty field. Numbers are printed in the
//! shortest form that reads back the same. Rejected: a row for each direction, since a reader then
//! has to join what belongs to one moment.

use crate::page::csv_field;
use crate::story::joined;
use record::{IntervalDirection, TimeSummary, Trial};

const LEADING: &str = "trial_id,target,begin_ns,length_ns,concurrency";

type ValueOf = fn(&IntervalDirection) -> Option<String>;

const DIRECTION: [(&str, ValueOf); 15] = [
    ("ios", |it| text(it.ios)),
    ("bytes", |it| text(it.bytes)),
    ("iops", |it| text(it.iops)),
    ("bytes_per_s", |it| text(it.bytes_per_s)),
    ("latency_mean_ns", |it| text(times(it)?.mean)),
    ("latency_stddev_ns", |it| text(times(it)?.stddev)),
    ("latency_min_ns", |it| text(times(it)?.min)),
    ("latency_p50_ns", |it| text(times(it)?.p50?)),
    ("latency_p90_ns", |it| text(times(it)?.p90?)),
    ("latency_p95_ns", |it| text(times(it)?.p95?)),
    ("latency_p99_ns", |it| text(times(it)?.p99?)),
    ("latency_p99_9_ns", |it| text(times(it)?.p99_9?)),
    ("latency_p99_99_ns", |it| text(times(it)?.p99_99?)),
    ("latency_max_ns", |it| text(times(it)?.max)),
    ("response_mean_ci95_rel", |it| text(times(it)?.mean_ci95_rel?)),
];

fn text(value: impl ToString + Copy) -> Option<String> {
    Some(value.to_string())
}

fn times(direction: &IntervalDirection) -> Option<&TimeSummary> {
    direction.latency_ns.as_ref()
}

/// The names of the columns, without a line end.
#[must_use]
pub fn intervals_header() -> String {
    let names = ["read", "write"].into_iter().flat_map(|direction| {
        DIRECTION.iter().map(move |(name, _)| format!(",{direction}_{name}"))
    });
    LEADING.to_owned() + &names.collect::<String>()
}

/// The intervals of a trial below their head line; only that where it has none.
#[must_use]
pub fn intervals_csv(trial: &Trial) -> String {
    let mut csv = intervals_header() + "\n";
    let target = joined(&trial.targets, " ", |target| target.path.clone());
    let head = format!("{},{}", csv_field(&trial.id), csv_field(&target));
    for interval in trial.result.intervals.iter().flatten() {
        let (begin, length) = (interval.begin_ns.0, interval.length_ns.0);
        csv.push_str(&format!("{head},{begin},{length},{}", interval.concurrency));
        for direction in [&interval.read, &interval.write] {
            for (_, value) in DIRECTION {
                csv.push(',');
                csv.push_str(&direction.as_ref().and_then(value).unwrap_or_default());
            }
        }
        csv.push('\n');
    }
    csv
}

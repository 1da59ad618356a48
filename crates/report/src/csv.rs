//! Tables for other programs: the plots of stories, the intervals of a run, the series of a diagnosis.
//!
//! The columns of each are the same in every file; what has no value is an empty field. Numbers are
//! printed in the shortest form that reads back the same.

use crate::chart::CSV_HEADER;
use crate::page::csv_field;
use crate::story::{Story, joined};
use record::{Diagnosis, IntervalDirection, Moment, TimeSummary, Trial};

/// Every value of every plot, with a head line.
#[must_use]
pub fn csv(stories: &[Story]) -> String {
    let mut csv = format!("{CSV_HEADER}\n");
    for story in stories {
        let document = format!("{} {}", story.kind, story.id);
        for chart in &story.charts {
            csv.push_str(&chart.csv(document.trim()));
        }
    }
    csv
}

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

/// The names of the columns of [`intervals_csv`], without a line end.
#[must_use]
pub fn intervals_header() -> String {
    let names = ["read", "write", "trim", "flush"].into_iter().flat_map(|direction| {
        DIRECTION.iter().map(move |(name, _)| format!(",{direction}_{name}"))
    });
    LEADING.to_owned() + &names.collect::<String>()
}

/// The intervals of a trial below their head line; only that where it has none. Columns are named as in
/// the JSON, with the direction in front and the unit at the end. All kinds are always there.
/// Rejected: a row for each direction, since a reader then has to join what belongs to one moment.
#[must_use]
pub fn intervals_csv(trial: &Trial) -> String {
    let mut csv = intervals_header() + "\n";
    let target = joined(&trial.targets, " ", |target| target.path.clone());
    let head = format!("{},{}", csv_field(&trial.id), csv_field(&target));
    for interval in trial.result.intervals.iter().flatten() {
        let (begin, length) = (interval.begin_ns.0, interval.length_ns.0);
        csv.push_str(&format!("{head},{begin},{length},{}", interval.concurrency));
        for direction in [&interval.read, &interval.write, &interval.trim, &interval.flush] {
            for (_, value) in DIRECTION {
                csv.push(',');
                csv.push_str(&direction.as_ref().and_then(value).unwrap_or_default());
            }
        }
        csv.push('\n');
    }
    csv
}

/// The names of the columns of [`diagnosis_csv`].
pub const DIAGNOSIS_CSV_HEADER: &str = "device,begin_ns,duration_ns,episode,verdict,iops,read_share,\
request_bytes,bytes_per_s,latency_ns,read_latency_ns,write_latency_ns,concurrency,\
friedman_utilization,friedman_service_ns,friedman_queue_ns,unloaded_ns,expected_ns,expected_low_ns,\
expected_high_ns,expected_at_rate_ns,calibrated_queue_ns,latency_ratio,saturation,sequential_share,\
disk_time_percent,queue_length,svctm_ns,iostat_busy_percent";

/// Both splits of the latency over time, a row per device and interval, below their head line.
///
/// Friedman's columns are those of his figures 9 and 10: utilization, service time and queue time. The
/// calibrated ones stand beside them, then what other tools would print. All are explained in
/// `docs/diagnosis.md`.
#[must_use]
pub fn diagnosis_csv(diagnosis: &Diagnosis) -> String {
    let mut csv = format!("{DIAGNOSIS_CSV_HEADER}\n");
    for device in &diagnosis.devices {
        let name = csv_field(&device.device);
        for moment in &device.series {
            let Moment { begin_ns, duration_ns, episode, .. } = moment;
            let verdict = device.episodes.get(*episode as usize).map(|it| it.verdict.name());
            let (episode, verdict) = (episode + 1, verdict.unwrap_or_default());
            csv.push_str(&format!("{name},{begin_ns},{duration_ns},{episode},{verdict}"));
            for field in numbers(moment) {
                let known = field.filter(|value| value.is_finite());
                csv.push_str(&known.map_or(",".to_owned(), |value| format!(",{value}")));
            }
            csv.push('\n');
        }
    }
    csv
}

fn numbers(moment: &Moment) -> [Option<f64>; 24] {
    let (numbers, law, misleading) = (&moment.numbers, moment.utilization_law, &moment.misleading);
    let calibrated = moment.calibrated.as_ref();
    [
        Some(numbers.iops),
        numbers.read_share,
        numbers.request_bytes,
        numbers.bytes_per_s,
        numbers.latency_ns,
        numbers.read_latency_ns,
        numbers.write_latency_ns,
        numbers.concurrency,
        law.map(|split| split.utilization),
        law.map(|split| split.service_ns),
        law.map(|split| split.queue_ns),
        calibrated.map(|split| split.unloaded_ns),
        calibrated.map(|split| split.expected_ns.value),
        calibrated.map(|split| split.expected_ns.low),
        calibrated.map(|split| split.expected_ns.high),
        calibrated.and_then(|split| split.expected_at_rate_ns).map(|it| it.value),
        calibrated.map(|split| split.queue_ns),
        calibrated.map(|split| split.latency_ratio),
        calibrated.map(|split| split.saturation),
        calibrated.map(|split| split.sequential_share),
        misleading.disk_time_percent,
        misleading.queue_length,
        misleading.svctm_ns,
        misleading.iostat_busy_percent,
    ]
}

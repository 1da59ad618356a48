//! Writes tables for other programs: the plots of stories, the intervals of a run, the series of a diagnosis.
//!
//! Each table has the same columns in every file. Missing values are empty fields. Numbers are printed in the
//! shortest form that reads back the same.

use crate::chart::CSV_HEADER;
use crate::page::csv_field;
use crate::story::{Story, joined};
use crate::tables::{interval_columns, interval_fields, target_names};
use record::{Diagnosis, Moment, Trial};

/// Every value of every plot, with a header line.
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

/// The column names of [`intervals_csv`], without a line end.
#[must_use]
pub fn intervals_header() -> String {
    format!("trial_id,target,{}", interval_columns().join(","))
}

/// The intervals of a trial's first job below a header line, with the columns of the table of
/// intervals ([`crate::TrialTables`]). Without intervals, only the header.
#[must_use]
pub fn intervals_csv(trial: &Trial) -> String {
    let mut csv = intervals_header() + "\n";
    let head = format!("{},{}", csv_field(&trial.id), csv_field(&target_names(trial)));
    for interval in trial.result.intervals.iter().flatten() {
        let fields = joined(interval_fields(interval), ",", |field| field.as_str().to_owned());
        csv.push_str(&format!("{head},{fields}\n"));
    }
    csv
}

/// A number of a moment: its column, and how to get it.
type MomentNumber = (&'static str, fn(&Moment) -> Option<f64>);

const MOMENT: [MomentNumber; 24] = [
    ("iops", |it| it.numbers.iops),
    ("read_share", |it| it.numbers.read_share),
    ("request_bytes", |it| it.numbers.request_bytes),
    ("bytes_per_s", |it| it.numbers.bytes_per_s),
    ("latency_ns", |it| it.numbers.latency_ns),
    ("read_latency_ns", |it| it.numbers.read_latency_ns),
    ("write_latency_ns", |it| it.numbers.write_latency_ns),
    ("concurrency", |it| it.numbers.concurrency),
    ("friedman_utilization", |it| Some(it.utilization_law?.utilization)),
    ("friedman_service_ns", |it| Some(it.utilization_law?.service_ns)),
    ("friedman_queue_ns", |it| Some(it.utilization_law?.queue_ns)),
    ("unloaded_ns", |it| Some(it.calibrated.as_ref()?.unloaded_ns)),
    ("expected_ns", |it| Some(it.calibrated.as_ref()?.expected_ns.value)),
    ("expected_low_ns", |it| Some(it.calibrated.as_ref()?.expected_ns.low)),
    ("expected_high_ns", |it| Some(it.calibrated.as_ref()?.expected_ns.high)),
    ("expected_at_rate_ns", |it| Some(it.calibrated.as_ref()?.expected_at_rate_ns?.value)),
    ("calibrated_queue_ns", |it| Some(it.calibrated.as_ref()?.queue_ns)),
    ("latency_ratio", |it| Some(it.calibrated.as_ref()?.latency_ratio)),
    ("saturation", |it| Some(it.calibrated.as_ref()?.saturation)),
    ("sequential_share", |it| Some(it.calibrated.as_ref()?.sequential_share)),
    ("disk_time_percent", |it| it.misleading.disk_time_percent),
    ("queue_length", |it| it.misleading.queue_length),
    ("svctm_ns", |it| it.misleading.svctm_ns),
    ("iostat_busy_percent", |it| it.misleading.iostat_busy_percent),
];

/// The column names of [`diagnosis_csv`], without a line end.
#[must_use]
pub fn diagnosis_header() -> String {
    let numbers = MOMENT.map(|(name, _)| name).join(",");
    format!("device,begin_ns,duration_ns,episode,verdict,{numbers}")
}

/// Both splits of the latency over time, a row per device and interval, below a header line.
///
/// Friedman's columns are those of his figures 9 and 10: utilization, service time and queue time. The
/// calibrated ones follow, and then what other tools would print. `docs/diagnosis.md` explains all of them.
#[must_use]
pub fn diagnosis_csv(diagnosis: &Diagnosis) -> String {
    let mut csv = diagnosis_header() + "\n";
    for device in &diagnosis.devices {
        let name = csv_field(&device.device);
        for moment in &device.series {
            let Moment { begin_ns, duration_ns, episode, .. } = moment;
            let verdict = device.episodes.get(*episode as usize).map(|it| it.verdict.name());
            let (episode, verdict) = (episode + 1, verdict.unwrap_or_default());
            csv.push_str(&format!("{name},{begin_ns},{duration_ns},{episode},{verdict}"));
            for (_, number) in MOMENT {
                let known = number(moment).filter(|value| value.is_finite());
                csv.push_str(&known.map_or(",".to_owned(), |value| format!(",{value}")));
            }
            csv.push('\n');
        }
    }
    csv
}

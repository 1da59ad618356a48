//! Writes tables for other programs: the plots of stories, the intervals of a run, the series of a diagnosis.
//!
//! Each table has the same columns in every file. Missing values are empty fields. Numbers are printed in the
//! shortest form that reads back the same.

use crate::chart::CSV_HEADER;
use crate::page::csv_field;
use crate::story::Story;
use crate::tables::{
    INTERVAL, interval_operation_columns, interval_operation_fields, target_names,
};
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
    let own = INTERVAL.iter().map(|(name, ..)| (*name).to_owned());
    let operations = interval_operation_columns();
    let names: Vec<String> = own.chain(operations).collect();
    format!("trial_id,target,{}", names.join(","))
}

/// The intervals of a trial's first job below a header line, with the columns of the table of
/// intervals ([`crate::TrialTables`]). Without intervals, only the header.
#[must_use]
pub fn intervals_csv(trial: &Trial) -> String {
    let mut csv = intervals_header() + "\n";
    let head = format!("{},{}", csv_field(&trial.id), csv_field(&target_names(trial)));
    for interval in trial.result.intervals.iter().flatten() {
        csv.push_str(&head);
        let own = INTERVAL.iter().map(|(_, value)| value(interval));
        for field in own.chain(interval_operation_fields(interval)) {
            csv.push(',');
            csv.push_str(field.as_str());
        }
        csv.push('\n');
    }
    csv
}

/// The column names of [`diagnosis_csv`].
pub const DIAGNOSIS_CSV_HEADER: &str = "device,begin_ns,duration_ns,episode,verdict,iops,read_share,\
request_bytes,bytes_per_s,latency_ns,read_latency_ns,write_latency_ns,concurrency,\
friedman_utilization,friedman_service_ns,friedman_queue_ns,unloaded_ns,expected_ns,expected_low_ns,\
expected_high_ns,expected_at_rate_ns,calibrated_queue_ns,latency_ratio,saturation,sequential_share,\
disk_time_percent,queue_length,svctm_ns,iostat_busy_percent";

/// Both splits of the latency over time, a row per device and interval, below a header line.
///
/// Friedman's columns are those of his figures 9 and 10: utilization, service time and queue time. The
/// calibrated ones follow, and then what other tools would print. `docs/diagnosis.md` explains all of them.
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
        numbers.iops,
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

//! Both splits of the latency over time, as CSV: a row per device and interval.
//!
//! Friedman's columns are those of his figures 9 and 10: utilization, service time and queue time. The
//! calibrated ones stand beside them, then what other tools would print. The columns are always the
//! same and are explained in `docs/diagnosis.md`; what is not known is an empty field. Numbers are in
//! the shortest form that reads back the same.

use crate::page::csv_field;
use record::{Diagnosis, Moment};

/// The names of the columns.
pub const DIAGNOSIS_CSV_HEADER: &str = "device,begin_ns,duration_ns,episode,verdict,iops,read_share,\
request_bytes,bytes_per_s,latency_ns,read_latency_ns,write_latency_ns,concurrency,\
friedman_utilization,friedman_service_ns,friedman_queue_ns,unloaded_ns,expected_ns,expected_low_ns,\
expected_high_ns,expected_at_rate_ns,calibrated_queue_ns,latency_ratio,saturation,sequential_share,\
disk_time_percent,queue_length,svctm_ns,iostat_busy_percent";

/// All intervals of all devices below their head line.
#[must_use]
pub fn diagnosis_csv(diagnosis: &Diagnosis) -> String {
    let mut csv = format!("{DIAGNOSIS_CSV_HEADER}\n");
    for device in &diagnosis.devices {
        for moment in &device.series {
            let verdict = device.episodes.get(moment.episode as usize).map(|it| it.verdict.name());
            csv.push_str(&format!(
                "{},{},{},{},{}",
                csv_field(&device.device),
                moment.begin_ns,
                moment.duration_ns,
                moment.episode + 1,
                verdict.unwrap_or_default()
            ));
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

//! `iostat -x -t -o JSON`: a first report since boot, then one for each step, two places behind the point.

use super::{Recording, Step, date};
use std::fmt::Write;

/// Seconds that the machine was up before the recording, over which the first report averages.
const UP_S: f64 = 7_919.37;

pub(super) fn text(recording: &Recording<'_>) -> String {
    let mut text = String::from(
        r#"{"sysstat": {"hosts": [{"nodename": "sim", "sysname": "Linux", "release": "6.18.0", "machine": "x86_64", "number-of-cpus": 4, "date": "01/05/26", "statistics": ["#,
    );
    for step in 0..=recording.steps() {
        let (day, time) = date(recording.end_s(step));
        let between = if step == 0 { "" } else { "," };
        let _ = write!(text, "{between}\n{{\"timestamp\": \"01/{day:02}/26 {time}\", \"disk\": [");
        let disks = recording.devices.iter().map(|(device, steps)| match step.checked_sub(1) {
            None => disk(device, &steps.first().copied().unwrap_or_default(), UP_S),
            Some(at) => {
                disk(device, &steps.get(at).copied().unwrap_or_default(), recording.step_s as f64)
            }
        });
        text.push_str(&disks.collect::<Vec<_>>().join(", "));
        text.push_str("]}");
    }
    text.push_str("]}]}}\n");
    text
}

fn disk(device: &str, step: &Step, seconds: f64) -> String {
    let mut fields = format!("{{\"disk_device\": \"{device}\"");
    for (letter, sums) in [("r", step.read), ("w", step.write)] {
        let per_s = |sum: f64| sum / seconds;
        let _ = write!(
            fields,
            ", \"{letter}/s\": {:.2}, \"{letter}kB/s\": {:.2}, \"{letter}rqm/s\": 0.00, \
             \"{letter}_await\": {:.2}, \"{letter}areq-sz\": {:.2}",
            per_s(sums.requests),
            per_s(sums.bytes / 1024.0),
            sums.each(sums.time_ns) / 1e6,
            sums.each(sums.bytes) / 1024.0,
        );
    }
    let _ = write!(
        fields,
        ", \"d/s\": 0.00, \"f/s\": 0.00, \"aqu-sz\": {:.2}, \"util\": {:.2}}}",
        step.all().time_ns / 1e9 / seconds,
        (step.busy_s / seconds).min(1.0) * 100.0
    );
    fields
}

//! `iostat -x -t -o JSON`: a first report since boot, then one per step, with two decimals.

use super::{Recording, Step, date, sysstat};
use std::fmt::Write;

/// Uptime of the machine before the recording, over which the first report averages.
const UP_S: f64 = 7_919.37;

pub(super) fn text(recording: &Recording<'_>) -> String {
    let time = |number| {
        let (day, time) = date(recording.end_s(number));
        format!("\"01/{day:02}/26 {time}\"")
    };
    sysstat(recording, "\"date\": \"01/05/26\"", 0, time, |device, steps, number| {
        let step = steps.get(number.saturating_sub(1)).copied().unwrap_or_default();
        let seconds = if number == 0 { UP_S } else { recording.step_s as f64 };
        disk(device, &step, seconds)
    })
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

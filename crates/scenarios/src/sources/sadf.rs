//! `sadf -j -- -d`: one rate, size and latency for all requests of a step.

use super::{Recording, Step, date};
use std::fmt::Write;

pub(super) fn text(recording: &Recording<'_>) -> String {
    let mut text = String::from(
        r#"{"sysstat": {"hosts": [{"nodename": "sim", "sysname": "Linux", "release": "6.18.0", "machine": "x86_64", "number-of-cpus": 4, "file-date": "2026-01-05", "file-utc-time": "00:00:00", "timezone": "UTC", "statistics": ["#,
    );
    for at in 0..recording.steps() {
        let (day, time) = date(recording.end_s(at + 1));
        let between = if at == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{between}\n{{\"timestamp\": {{\"date\": \"2026-01-{day:02}\", \"time\": \"{time}\", \
             \"tz\": \"UTC\", \"interval\": {}}}, \"disk\": [",
            recording.step_s
        );
        let disks = recording.devices.iter().map(|(device, steps)| {
            disk(device, &steps.get(at).copied().unwrap_or_default(), recording.step_s as f64)
        });
        text.push_str(&disks.collect::<Vec<_>>().join(", "));
        text.push_str("]}");
    }
    text.push_str("]}]}}\n");
    text
}

fn disk(device: &str, step: &Step, seconds: f64) -> String {
    let all = step.all();
    let kib_per_s = |bytes: f64| bytes / 1024.0 / seconds;
    format!(
        "{{\"disk-device\": \"{device}\", \"tps\": {:.2}, \"rkB\": {:.2}, \"wkB\": {:.2}, \
         \"dkB\": 0.00, \"areq-sz\": {:.2}, \"aqu-sz\": {:.2}, \"await\": {:.2}, \
         \"util-percent\": {:.2}}}",
        all.requests / seconds,
        kib_per_s(step.read.bytes),
        kib_per_s(step.write.bytes),
        all.each(all.bytes) / 1024.0,
        all.time_ns / 1e9 / seconds,
        all.each(all.time_ns) / 1e6,
        (step.busy_s / seconds).min(1.0) * 100.0
    )
}

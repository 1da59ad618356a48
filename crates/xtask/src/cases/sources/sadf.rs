//! `sadf -j -- -d`: one rate, size and latency for all requests of a step.

use super::{Recording, Step, date, sysstat};

pub(super) fn text(recording: &Recording<'_>) -> String {
    let time = |number| {
        let (day, time) = date(recording.end_s(number));
        format!(
            "{{\"date\": \"2026-01-{day:02}\", \"time\": \"{time}\", \"tz\": \"UTC\", \"interval\": {}}}",
            recording.step_s
        )
    };
    let day =
        "\"file-date\": \"2026-01-05\", \"file-utc-time\": \"00:00:00\", \"timezone\": \"UTC\"";
    sysstat(recording, day, 1, time, |device, steps, number| {
        let step = steps.get(number - 1).copied().unwrap_or_default();
        disk(device, &step, recording.step_s as f64)
    })
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

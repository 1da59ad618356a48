//! Scrapes of node_exporter with their times: cumulative counters, whole milliseconds where the kernel
//! counts these, and the pressure of the system.

use super::{BEGIN_S, Recording, SECOND, Step, Sums};
use model::fleet::COUNTERS;
use std::fmt::Write;

pub(super) fn text(recording: &Recording<'_>) -> String {
    let mut text = String::new();
    let mut counters = vec![Step::default(); recording.devices.len()];
    for scrape in 0..=recording.steps() {
        let at_s = recording.end_s(scrape);
        let _ = writeln!(text, "node_time_seconds {}", BEGIN_S + at_s);
        for ((device, steps), counter) in recording.devices.iter().zip(&mut counters) {
            if let Some(step) = scrape.checked_sub(1).and_then(|at| steps.get(at)) {
                grow(counter, step);
            }
            for (name, value) in values(counter) {
                let _ = writeln!(text, "{name}{{device=\"{device}\"}} {value}");
            }
        }
        let (waited_s, stolen_s) = waits(recording, at_s);
        let _ = writeln!(text, "node_pressure_io_waiting_seconds_total {waited_s:.6}");
        let idle_s = at_s as f64 - stolen_s;
        for (mode, seconds) in [("idle", idle_s), ("steal", stolen_s)] {
            let _ = writeln!(text, "node_cpu_seconds_total{{mode=\"{mode}\"}} {seconds:.2}");
        }
    }
    text
}

fn grow(counter: &mut Step, step: &Step) {
    counter.read = counter.read.and(step.read);
    counter.write = counter.write.and(step.write);
    counter.busy_s += step.busy_s;
    counter.in_flight = step.in_flight;
}

/// The values of [`COUNTERS`], and additional counters.
fn values(counter: &Step) -> impl Iterator<Item = (&'static str, f64)> {
    let to_ms = |seconds: f64| (seconds * 1e3).floor() / 1e3;
    let time_s = |sums: Sums| to_ms(sums.time_ns / 1e9);
    let Step { read, write, busy_s, in_flight } = *counter;
    let of = |sums: Sums| [sums.requests, sums.bytes, time_s(sums)];
    let counters = [of(read), of(write)].into_iter().flatten().chain([to_ms(busy_s)]);
    let beside = [
        ("node_disk_io_time_weighted_seconds_total", time_s(read.and(write))),
        ("node_disk_io_now", in_flight),
    ];
    COUNTERS.into_iter().zip(counters).chain(beside)
}

/// Seconds of I/O pressure and of steal until `at_s`.
fn waits(recording: &Recording<'_>, at_s: u64) -> (f64, f64) {
    let before = recording.contexts.iter().filter(|one| one.begin_ns < at_s * SECOND);
    before.fold((0.0, 0.0), |(waited, stolen), one| {
        let seconds = one.duration_ns as f64 / SECOND as f64;
        let of = |share: Option<f64>| share.unwrap_or(0.0) * seconds;
        (waited + of(one.io_some_share), stolen + of(one.steal_share))
    })
}

//! The counters of a simulated fleet in node_exporter's format, as text for Prometheus' own `promtool tsdb
//! create-blocks-from openmetrics`.

use super::member::Simulated;
use super::{FleetPlan, FleetTruth, drawn};
use model::fleet::{COUNTERS, Traffic};
use record::FleetLabels;
use std::io::{self, Write};

/// The scrapes of a simulated fleet.
pub(crate) struct FleetReadings {
    plan: FleetPlan,
    labels: Vec<FleetLabels>,
    devices: Vec<Simulated>,
    counters: Vec<[f64; 7]>,
    truth: FleetTruth,
}

impl FleetReadings {
    /// The state of a fleet before its first window.
    pub(crate) fn of(plan: &FleetPlan) -> Self {
        let (labels, devices, truth) = drawn(plan);
        let counters = vec![[0.0; 7]; devices.len()];
        Self { plan: *plan, labels, devices, counters, truth }
    }

    /// Labels of the devices.
    pub(crate) fn labels(&self) -> &[FleetLabels] {
        &self.labels
    }

    /// The scrapes of a device in its next window: seconds since the start of the fleet, and the counters in
    /// the order of [`COUNTERS`]. The first window also has a scrape for the boot.
    pub(crate) fn window(&mut self, device: usize, window: usize) -> Vec<(u64, [f64; 7])> {
        let counters = &mut self.counters[device];
        let mut at_s = window as u64 * self.plan.window_s;
        let mut scrapes = Vec::new();
        if window == 0 {
            scrapes.push((at_s, *counters));
        }
        self.devices[device].window(window, &self.plan, |traffic| {
            add(counters, traffic);
            at_s += self.plan.interval_s;
            scrapes.push((at_s, counters.map(f64::round_ties_even)));
            let last = scrapes.len() - 1;
            for time in TIMES {
                scrapes[last].1[time] = (counters[time] * 1e3).round() / 1e3;
            }
        });
        scrapes
    }
}

/// Indices of the counters that are times, which the kernel rounds to milliseconds. All others are integers.
const TIMES: [usize; 3] = [2, 5, 6];

/// Writes every scrape of a fleet from `begin_s` (seconds since 1970), and returns its truth. As in
/// node_exporter, only `node_disk_info` has model and firmware.
pub(crate) fn write_fleet(
    plan: &FleetPlan,
    begin_s: u64,
    to: &mut impl Write,
) -> io::Result<FleetTruth> {
    let mut readings = FleetReadings::of(plan);
    let of = |labels: &FleetLabels, names: &[&str]| -> String {
        let all = names.iter().map(|&name| (name, labels[name].as_str()));
        let pairs: Vec<String> = all.map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        pairs.join(",")
    };
    for window in 0..plan.windows {
        for device in 0..plan.devices {
            let labels = &readings.labels[device];
            let place = of(labels, &["instance", "device", "rack"]);
            let at_s = begin_s + window as u64 * plan.window_s;
            let (model, firmware) = (&labels["model"], &labels["firmware"]);
            writeln!(
                to,
                "node_disk_info{{{place},model=\"{model}\",revision=\"{firmware}\"}} 1 {at_s}"
            )?;
            for (after_s, scrape) in readings.window(device, window) {
                for (name, value) in COUNTERS.iter().zip(scrape) {
                    writeln!(to, "{name}{{{place}}} {value} {}", begin_s + after_s)?;
                }
            }
        }
    }
    writeln!(to, "# EOF")?;
    Ok(readings.truth)
}

fn add(counters: &mut [f64; 7], traffic: &Traffic) {
    let Traffic { reads, writes, busy_seconds } = traffic;
    let more = [
        reads.requests,
        reads.bytes,
        reads.seconds,
        writes.requests,
        writes.bytes,
        writes.seconds,
        *busy_seconds,
    ];
    for (counter, more) in counters.iter_mut().zip(more) {
        *counter += more;
    }
}

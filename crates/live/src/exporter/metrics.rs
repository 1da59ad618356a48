//! Defines the metrics in one table. The text of a scrape, its help, and the list in the documentation are
//! generated from it.
//!
//! Names follow Prometheus: base units (seconds, bytes, ratios from 0 to 1), with the unit last. Values of a
//! device are those of its last interval. An unknown value has no sample; it is never zero. A verdict is
//! exported in two forms. One gives the current verdict, for people and for state over time. The other gives
//! the probability of each verdict, for alerts: probabilities of verdicts that require the same action can be
//! added. Rejected: OpenMetrics' state set, whose label repeats the metric's name.

use crate::exporter::labelled::{SECONDS, device_info, findings, limits, over_limit, verdicts};
use crate::exporter::samples::{Kind, PREFIX, Samples, Unit};
use crate::exporter::snapshot::{OwnFigures, Reading};
use record::{Figure, LimitedIo};
use report::WatchRow;
use std::fmt;

/// One metric.
pub struct Metric {
    /// Name without the prefix `halfpower_`, the unit and `_total`.
    pub(crate) base: &'static str,
    pub(crate) unit: Unit,
    /// Gauge or counter.
    pub kind: Kind,
    /// Its labels, in order; each sample has all of them.
    pub labels: &'static [&'static str],
    /// Its meaning, in one sentence.
    pub help: &'static str,
    values: Values,
}

/// Where the values of a metric come from.
enum Values {
    /// Of each device, if known: in the metric's unit, times in nanoseconds.
    Devices(fn(&WatchRow) -> Option<f64>),
    /// Of the exporter itself.
    Own(fn(&OwnFigures) -> f64),
    /// With labels of its own.
    Any(fn(&Reading, &mut Samples<'_, '_>) -> fmt::Result),
}

impl Metric {
    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// Writes its samples.
    pub(crate) fn write(&self, reading: &Reading, out: &mut Samples<'_, '_>) -> fmt::Result {
        let factor = if self.unit == Unit::Seconds { SECONDS } else { 1.0 };
        match self.values {
            Values::Devices(of) => reading.rows().try_for_each(|row| {
                out.known(&[&row.device.name], of(row).map(|value| value * factor))
            }),
            Values::Own(of) => out.add(&[], of(&reading.own)),
            Values::Any(write) => write(reading, out),
        }
    }

    /// The name as Prometheus stores it.
    #[must_use]
    pub fn name(&self) -> String {
        let unit = match self.unit {
            Unit::None => "",
            Unit::Seconds => "_seconds",
            Unit::Bytes => "_bytes",
            Unit::Ratio => "_ratio",
        };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{}_{}{unit}{total}", PREFIX, self.base)
    }
}

const DEVICE: &[&str] = &["device"];
const DEVICE_OP: &[&str] = &["device", "op"];
const DEVICE_BY: &[&str] = &["device", "by"];
const DEVICE_VERDICT: &[&str] = &["device", "verdict"];
const DEVICE_GROUP: &[&str] = &["device", "cgroup", "op"];

const fn device(base: &'static str, unit: Unit, of: fn(&WatchRow) -> Option<f64>) -> Metric {
    let values = Values::Devices(of);
    Metric { base, unit, kind: Kind::Gauge, labels: DEVICE, help: "", values }
}

const fn gauge(
    base: &'static str,
    unit: Unit,
    labels: &'static [&'static str],
    write: fn(&Reading, &mut Samples<'_, '_>) -> fmt::Result,
) -> Metric {
    Metric { base, unit, kind: Kind::Gauge, labels, help: "", values: Values::Any(write) }
}

const fn counter(base: &'static str, unit: Unit, of: fn(&OwnFigures) -> f64) -> Metric {
    Metric { base, unit, kind: Kind::Counter, labels: &[], help: "", values: Values::Own(of) }
}

/// All metrics, in the order of a scrape.
pub const METRICS: &[Metric] = &[
    gauge(
        "device_info",
        Unit::None,
        &["device", "model", "vendor", "serial", "firmware", "driver", "profile"],
        device_info,
    )
    .help(
        "Always 1; the labels describe the device and hold the id of its profile; unknown \
         labels are empty.",
    ),
    device("device_size", Unit::Bytes, |row| Some(row.device.facts.as_ref()?.size_bytes.0 as f64))
        .help("Size of the device."),
    gauge("device_requests_per_second", Unit::None, DEVICE_OP, |reading, out| {
        reading.ops(out, |op| op.per_s)
    })
    .help(
        "Reads and writes that the device completed per second in the last interval, \
         after merging.",
    ),
    gauge("device_bytes_per_second", Unit::None, DEVICE_OP, |reading, out| {
        reading.ops(out, |op| op.bytes_per_s)
    })
    .help("Bytes that the device read and wrote per second in the last interval."),
    device("device_discards_per_second", Unit::None, |row| row.figure(|it| it.discards_per_s))
        .help("Discards that the device completed per second in the last interval."),
    device("device_flushes_per_second", Unit::None, |row| row.figure(|it| it.flushes_per_s))
        .help("Cache flushes that the device completed per second in the last interval."),
    device("device_flush_latency", Unit::Seconds, |row| row.figure(|it| it.flush_latency_ns))
        .help("Mean time of a cache flush in the last interval; no sample without flushes."),
    device("device_latency", Unit::Seconds, |row| row.figure(|it| it.all.latency_ns)).help(
        "Mean latency of reads and writes in the block layer, in the last interval; no \
         sample without requests.",
    ),
    gauge("device_operation_latency", Unit::Seconds, DEVICE_OP, |reading, out| {
        reading.ops(out, |op| {
            let scaled = |it: Figure| Figure { value: it.value * SECONDS, ..it };
            op.latency_ns.map(scaled)
        })
    })
    .help("Mean latency of reads or writes in the last interval; no sample without requests."),
    gauge("device_service", Unit::Seconds, DEVICE_BY, |reading, out| {
        reading.split(out, |(service_ns, _)| service_ns)
    })
    .help(
        "Service part of the latency: with by=\"profile\", the latency of this mix at \
         queue depth 1; with by=\"utilization_law\", busy time divided by requests.",
    ),
    gauge("device_queue", Unit::Seconds, DEVICE_BY, |reading, out| {
        reading.split(out, |(_, queue_ns)| queue_ns)
    })
    .help("Queue part of the latency: latency minus service."),
    device("device_queue_depth", Unit::None, |row| row.figure(|it| it.concurrency))
        .help("Mean reads and writes in flight in the last interval."),
    device("device_busy", Unit::Ratio, |row| row.figure(|it| it.busy_share)).help(
        "Share of the last interval with a request in flight, 0 to 1 (iostat's %util). A \
         parallel device at 1 may still serve more.",
    ),
    device("device_busy_doubtful", Unit::None, |row| {
        Some(f64::from(row.device.busy_doubt.is_some()))
    })
    .help("1 if this kernel's busy time of this device is unreliable, else 0."),
    device("device_profiled", Unit::None, |row| Some(f64::from(row.profile.is_some()))).help(
        "1 if a saved profile fits this device, else 0. Without a profile, a device has \
         no expected latency and no verdict.",
    ),
    device("device_expected_latency", Unit::Seconds, |row| {
        row.calibrated.map(|split| split.expected_ns.value)
    })
    .help("Latency that the profile predicts for this mix at this queue depth."),
    device("device_expected_latency_low", Unit::Seconds, |row| {
        row.calibrated.map(|split| split.expected_ns.low)
    })
    .help("Lower end of the 95 % interval of the predicted latency."),
    device("device_expected_latency_high", Unit::Seconds, |row| {
        row.calibrated.map(|split| split.expected_ns.high)
    })
    .help("Upper end of the 95 % interval of the predicted latency."),
    device("device_max_requests_per_second", Unit::None, |row| {
        row.calibrated.map(|split| split.max_iops)
    })
    .help("Highest rate that the profile measured or predicts for this mix of requests."),
    device("device_saturation", Unit::Ratio, |row| row.calibrated.map(|split| split.saturation))
        .help("Requests per second divided by the highest rate for this mix of requests."),
    gauge("device_verdict", Unit::None, DEVICE_VERDICT, |reading, out| {
        verdicts(reading, out, |found, verdict| f64::from(found.verdict == verdict))
    })
    .help(
        "1 for the verdict on the last 30 seconds, 0 for all other verdicts; no samples \
         without a profile.",
    ),
    gauge("device_verdict_probability", Unit::None, DEVICE_VERDICT, |reading, out| {
        verdicts(reading, out, |found, verdict| {
            let one = found.probabilities.iter().find(|one| one.verdict == verdict);
            one.map_or(0.0, |one| one.probability)
        })
    })
    .help(
        "Probability of each verdict on the last 30 seconds, 0 to 1; the sum over all \
         verdicts is 1.",
    ),
    gauge("device_cgroup_limit_requests_per_second", Unit::None, DEVICE_GROUP, |reading, out| {
        limits(reading, out, |limited| [LimitedIo::Riops, LimitedIo::Wiops].contains(&limited))
    })
    .help(
        "Limit that a control group sets on requests to the device (io.max, \
         blkio.throttle); only groups whose processes do I/O.",
    ),
    gauge("device_cgroup_limit_bytes_per_second", Unit::None, DEVICE_GROUP, |reading, out| {
        limits(reading, out, |limited| [LimitedIo::Rbps, LimitedIo::Wbps].contains(&limited))
    })
    .help(
        "Limit that a control group sets on bytes to and from the device; only groups \
         whose processes do I/O.",
    ),
    gauge("device_over_limit", Unit::Ratio, &["device", "limit"], over_limit).help(
        "Share of the last interval in which the load exceeded the provider's limit, from \
         the volume's own log; no samples for volumes without a log.",
    ),
    gauge("io_pressure", Unit::Ratio, &["kind"], |reading, out| {
        let context = reading.snapshot().map(|it| &it.context);
        let shares = context.map(|it| [("some", it.io_some_share), ("full", it.io_full_share)]);
        shares.into_iter().flatten().try_for_each(|(kind, share)| out.known(&[kind], share))
    })
    .help(
        "Share of the last interval in which at least one task (kind=\"some\") or all \
         non-idle tasks (kind=\"full\") waited for I/O.",
    ),
    gauge("processor_steal", Unit::Ratio, &[], |reading, out| {
        out.known(&[], reading.snapshot().and_then(|it| it.context.steal_share))
    })
    .help("Share of CPU time that the hypervisor took from this machine in the last interval."),
    gauge("findings", Unit::None, &["code", "severity"], findings).help(
        "Warnings and notes about the figures since the exporter started, by code; \
         `halfpower explain CODE` explains each.",
    ),
    gauge("devices", Unit::None, &["shown"], |reading, out| {
        let Some(snapshot) = reading.snapshot() else { return Ok(()) };
        out.add(&["yes"], snapshot.rows.len() as f64)?;
        out.add(&["no"], snapshot.hidden as f64)
    })
    .help(
        "Number of devices with series (shown=\"yes\"), and of devices without: \
         partitions and devices that were never used (shown=\"no\").",
    ),
    gauge("interval", Unit::Seconds, &[], |reading, out| out.add(&[], reading.own.interval_s))
        .help("Requested time between two samples."),
    gauge("last_sample_timestamp", Unit::Seconds, &[], |reading, out| {
        out.known(&[], reading.own.last_sample_unix_s)
    })
    .help(
        "Time of the last sample, in seconds since 1970. A device's series end when this \
         sample is older than three intervals and older than ten seconds.",
    ),
    counter("samples", Unit::None, |own| own.samples as f64).help("Samples taken."),
    counter("samples_missed", Unit::None, |own| own.missed as f64)
        .help("Samples that were skipped because the previous one was still being taken."),
    counter("scrapes", Unit::None, |own| own.scrapes as f64)
        .help("Responses with metrics, including this one."),
    counter("requests_refused", Unit::None, |own| own.refused as f64)
        .help("Requests for a host name that is not this machine's."),
    counter("processor", Unit::Seconds, |own| own.cpu_s).help("CPU time of the exporter."),
    gauge("build_info", Unit::None, &["version"], |reading, out| {
        out.add(&[&reading.own.version], 1.0)
    })
    .help("Always 1; the label holds the version of halfpower."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exporter.md");
    const HEAD: &str = "| metric | labels | is |\n|---|---|---|\n";

    fn table() -> String {
        let row = |metric: &Metric| {
            let labels: Vec<String> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
            let counts = if metric.kind == Kind::Counter { "Counter. " } else { "" };
            let (name, help) = (metric.name(), metric.help);
            format!("| `{name}` | {} | {counts}{help} |\n", labels.join(", "))
        };
        HEAD.to_owned() + &METRICS.iter().map(row).collect::<String>()
    }

    /// `HALFPOWER_BLESS=1` rewrites the table in the page.
    #[test]
    fn the_page_lists_the_metrics_that_there_are() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once(HEAD).expect("the page has the table");
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        let blessed = format!("{before}{}\n{after}", table());
        if std::env::var_os("HALFPOWER_BLESS").is_some() {
            std::fs::write(PAGE, &blessed).unwrap();
        } else {
            assert!(
                page == blessed,
                "{PAGE} is stale: HALFPOWER_BLESS=1 cargo test -p halfpower-live"
            );
        }
    }

    #[test]
    fn names_are_those_of_prometheus_and_each_is_there_once() {
        let names: Vec<String> = METRICS.iter().map(Metric::name).collect();
        let once: BTreeSet<&String> = names.iter().collect();
        assert_eq!(once.len(), names.len());
        for (metric, name) in METRICS.iter().zip(&names) {
            let plain = |text: &str| text.chars().all(|it| it.is_ascii_lowercase() || it == '_');
            assert!(name.starts_with("halfpower_") && plain(name), "{name}");
            assert!(metric.labels.iter().all(|it| plain(it)), "{name}: {:?}", metric.labels);
            assert!(metric.help.ends_with('.') && !metric.help.contains('|'), "{name}");
        }
    }
}

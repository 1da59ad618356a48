//! Converts node_exporter's running counters at two or more moments into intervals.
//!
//! A counter that decreases was reset (the machine restarted, or the device was re-added). The activity in
//! between is unknown, so that interval is left out. Monitoring systems assume a start from 0. That is
//! right for a total, but wrong for a rate, because the time since the restart is unknown. If a device is
//! missing in between, the interval starts where it was last seen.

use crate::moment::SECOND_NS;
use crate::observation_builder::{ObservationBuilder, SECTOR_BYTES};
use record::{Context, DeviceFacts, Figure, Interval, OpInterval};
use std::collections::BTreeMap;

/// Counters of a device, and the requests in flight (a gauge), without the prefix `node_disk_`.
const NAMES: [&str; 14] = [
    "reads_completed_total",
    "read_bytes_total",
    "reads_merged_total",
    "read_time_seconds_total",
    "writes_completed_total",
    "written_bytes_total",
    "writes_merged_total",
    "write_time_seconds_total",
    "io_time_seconds_total",
    "io_time_weighted_seconds_total",
    "discards_completed_total",
    "flush_requests_total",
    "flush_requests_time_seconds_total",
    "io_now",
];
/// Indexes of the first counter of each operation, and of other counters.
const READ: usize = 0;
const WRITE: usize = 4;
const BUSY: usize = 8;
const WEIGHTED: usize = 9;
const DISCARDS: usize = 10;
const FLUSHES: usize = 11;
const IN_FLIGHT: usize = 13;
/// Maximum credible number of requests in flight after a counter wrapped.
const MOST_IN_FLIGHT: f64 = 1_024.0;
/// The kernel's times are whole milliseconds.
const TIME_STEP_S: f64 = 1e-3;

/// Values of a device at one moment, in the order of [`NAMES`].
pub(crate) type Values = [Option<f64>; NAMES.len()];

/// The values of a source, by their names.
pub(crate) fn values(of: impl Fn(&str) -> Option<f64>) -> Values {
    NAMES.map(of)
}

/// Number of values of a 32-bit counter.
const WRAP: f64 = 4_294_967_296.0;

/// Amount to add to a counter that wrapped at 32 bits: requests, bytes in sectors, seconds in milliseconds.
fn wrap(place: usize) -> f64 {
    match NAMES[place] {
        name if name.contains("bytes") => WRAP * SECTOR_BYTES,
        name if name.contains("seconds") => WRAP * TIME_STEP_S,
        _ => WRAP,
    }
}

/// Maximum growth of a counter per second, generously.
fn most_per_s(place: usize) -> f64 {
    match NAMES[place] {
        name if name.contains("bytes") => record::MOST_BYTES_PER_S,
        "io_time_seconds_total" => 1.5,
        name if name.contains("seconds") => MOST_IN_FLIGHT,
        _ => record::MOST_PER_S,
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct System {
    /// Seconds in which some task waited for I/O.
    some_s: Option<f64>,
    /// Seconds in which all tasks waited.
    full_s: Option<f64>,
    /// Seconds of all processors, by mode.
    processors_s: BTreeMap<String, f64>,
    available_bytes: Option<f64>,
    cached_bytes: Option<f64>,
    dirty_bytes: Option<f64>,
    writeback_bytes: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrape {
    pub(crate) devices: BTreeMap<String, Values>,
    pub(crate) system: System,
}

pub(crate) type Labels = BTreeMap<String, String>;

pub(crate) fn is_wanted(name: &str) -> bool {
    name.starts_with("node_disk_")
        || name.starts_with("node_pressure_io_")
        || name.starts_with("node_memory_")
        || ["node_cpu_seconds_total", "node_uname_info", "node_time_seconds"].contains(&name)
}

impl Scrape {
    /// Stores a sample; returns whether it is a known one.
    pub(crate) fn take(&mut self, name: &str, labels: &Labels, value: f64) -> bool {
        let system = &mut self.system;
        let place = match name {
            "node_pressure_io_waiting_seconds_total" => &mut system.some_s,
            "node_pressure_io_stalled_seconds_total" => &mut system.full_s,
            "node_memory_MemAvailable_bytes" => &mut system.available_bytes,
            "node_memory_Cached_bytes" => &mut system.cached_bytes,
            "node_memory_Dirty_bytes" => &mut system.dirty_bytes,
            "node_memory_Writeback_bytes" => &mut system.writeback_bytes,
            "node_cpu_seconds_total" => {
                if let Some(mode) = labels.get("mode") {
                    *system.processors_s.entry(mode.clone()).or_default() += value;
                }
                return true;
            }
            _ => {
                let name = name.strip_prefix("node_disk_");
                let at = NAMES.iter().position(|known| Some(*known) == name);
                let (Some(at), Some(device)) = (at, labels.get("device")) else { return false };
                &mut self.devices.entry(device.clone()).or_default()[at]
            }
        };
        *place = Some(value);
        true
    }
}

/// Stores the facts of the machine or of a device in a sample; returns whether it has any.
pub(crate) fn take_facts(builder: &mut ObservationBuilder, name: &str, labels: &Labels) -> bool {
    match name {
        "node_uname_info" => {
            builder.host = builder.host.take().or_else(|| labels.get("nodename").cloned());
            builder.release = labels.get("release").cloned().or(builder.release.take());
        }
        "node_disk_info" => builder.facts.extend(facts(labels)),
        _ => return false,
    }
    true
}

/// Facts of a device in `node_disk_info`.
fn facts(labels: &Labels) -> Option<(String, DeviceFacts)> {
    let of = |key: &str| labels.get(key).filter(|text| !text.is_empty()).cloned();
    let name = of("device")?;
    let virtual_disk = ["vd", "xvd", "loop", "zram", "ram", "rbd", "nbd"];
    let facts = DeviceFacts {
        name: name.clone(),
        disk: name.clone(),
        major_minor: of("major")
            .zip(of("minor"))
            .map_or(String::new(), |(a, b)| format!("{a}:{b}")),
        model: of("model").map(|model| model.trim().to_owned()),
        serial: of("serial"),
        firmware: of("revision").map(|revision| revision.trim().to_owned()),
        rotational: of("rotational").map(|flag| flag == "1"),
        virtual_disk: virtual_disk.iter().any(|prefix| name.starts_with(prefix)),
        ..DeviceFacts::default()
    };
    Some((name, facts))
}

/// Adds the intervals between scrapes, which are in order of time.
pub(crate) fn add_intervals(builder: &mut ObservationBuilder, scrapes: &BTreeMap<i128, Scrape>) {
    let mut last: BTreeMap<&str, (i128, &Values)> = BTreeMap::new();
    let mut before: Option<(i128, &System)> = None;
    for (time, scrape) in scrapes {
        for (device, values) in &scrape.devices {
            let previous = last.insert(device, (*time, values));
            let Some((begin, previous)) = previous else { continue };
            match interval(device, previous, values, *time - begin) {
                Some(interval) => builder.add(interval, begin, *time - begin),
                None => builder.counts.resets += 1,
            }
        }
        if let Some((begin, previous)) = before.replace((*time, &scrape.system)) {
            let context = context(previous, &scrape.system, *time - begin);
            builder.add_context(context, begin, *time - begin);
        }
    }
}

/// By how much each counter grew; `None` if one decreased and a wrap does not explain it.
///
/// The kernel keeps times in 32 bits of milliseconds, and on 32-bit machines everything else in 32 bits. A
/// restart resets all counters. A wrap resets only counters near their maximum, by an amount that leaves a
/// possible growth, while other counters continue.
fn growth(before: &Values, after: &Values, seconds: f64) -> Option<Values> {
    let mut growth = [None; NAMES.len()];
    let (mut wrapped, mut went_on) = (false, false);
    for (at, growth) in growth.iter_mut().enumerate() {
        let Some((after, before)) = after[at].zip(before[at]) else { continue };
        let mut grown = after - before;
        if at != IN_FLIGHT && grown < 0.0 {
            grown += wrap(at);
            let explained = before < wrap(at) && (0.0..=most_per_s(at) * seconds).contains(&grown);
            if !explained || before < wrap(at) / 2.0 {
                return None;
            }
            wrapped = true;
        } else {
            went_on |= at != IN_FLIGHT && before > 0.0;
        }
        *growth = Some(grown);
    }
    (went_on || !wrapped).then_some(growth)
}

/// The activity between two moments; `None` if the counters were reset.
fn interval(device: &str, before: &Values, after: &Values, length: i128) -> Option<Interval> {
    let seconds = length as f64 / SECOND_NS as f64;
    let growth = growth(before, after, seconds)?;
    let rate = |at: usize, step: f64| {
        growth[at].map(|growth| Figure::measured(growth / seconds, step / seconds))
    };
    // Times are truncated to whole milliseconds, so their difference is off by at most one.
    let latency = |count: usize, time: usize| {
        let requests = growth[count].filter(|requests| *requests > 0.0)?;
        growth[time]
            .map(|time| Figure::measured(time * 1e9 / requests, TIME_STEP_S * 1e9 / requests))
    };
    let operation = |first: usize| OpInterval {
        per_s: rate(first, 1.0),
        bytes_per_s: rate(first + 1, SECTOR_BYTES),
        request_bytes: None,
        merged_per_s: rate(first + 2, 1.0),
        latency_ns: latency(first, first + 3),
    };
    Some(Interval {
        device: device.to_owned(),
        read: operation(READ),
        write: operation(WRITE),
        discards_per_s: rate(DISCARDS, 1.0),
        flushes_per_s: rate(FLUSHES, 1.0),
        flush_latency_ns: latency(FLUSHES, FLUSHES + 1),
        busy_share: rate(BUSY, TIME_STEP_S),
        concurrency: rate(WEIGHTED, TIME_STEP_S),
        in_flight: after[IN_FLIGHT].map(|value| Figure::measured(value, 1.0)),
        ..Interval::default()
    })
}

fn context(before: &System, after: &System, length: i128) -> Context {
    let seconds = length as f64 / SECOND_NS as f64;
    let share = |before: Option<f64>, after: Option<f64>| {
        let growth = after? - before?;
        (growth >= 0.0 && seconds > 0.0).then(|| (growth / seconds).min(1.0))
    };
    let modes = |names: &[&str]| -> Option<f64> {
        let of = |system: &System, name: &str| system.processors_s.get(name).copied();
        names.iter().map(|name| Some(of(after, name)? - of(before, name)?)).sum()
    };
    let total: f64 = after
        .processors_s
        .iter()
        .filter_map(|(mode, after)| Some(after - before.processors_s.get(mode)?))
        .sum();
    let of_total = |time: Option<f64>| {
        time.filter(|time| total > 0.0 && (0.0..=total).contains(time)).map(|time| time / total)
    };
    let bytes = |value: Option<f64>| {
        value.filter(|value| (0.0..1e18).contains(value)).map(|value| value as u64)
    };
    Context {
        io_some_share: share(before.some_s, after.some_s),
        io_full_share: share(before.full_s, after.full_s),
        steal_share: of_total(modes(&["steal"])),
        idle_share: of_total(modes(&["idle", "iowait"])),
        memory_available_bytes: bytes(after.available_bytes),
        memory_cached_bytes: bytes(after.cached_bytes),
        dirty_bytes: bytes(after.dirty_bytes),
        writeback_bytes: bytes(after.writeback_bytes),
        ..Context::default()
    }
}

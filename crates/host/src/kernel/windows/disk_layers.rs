//! Reads the counters of PhysicalDisk and LogicalDisk by PDH: the two layers of perfmon.
//!
//! They are used only for devices whose driver does not respond itself (IOCTL_DISK_PERFORMANCE). Windows
//! derives them from the same data, so asking the driver loses nothing. Moreover, the driver's own response
//! includes its time, which these counters have only for the idle time. Raw values are read, not rates, so
//! that both sources produce the same structure and sums. Source: the types of these counters in winperf.h
//! (PERF_COUNTER_COUNTER, PERF_COUNTER_BULK_COUNT, PERF_AVERAGE_TIMER, PERF_PRECISION_100NS_TIMER).

use crate::kernel::windows::device::DISK;
use crate::kernel::windows::disk_performance::DiskPerformance;
use crate::kernel::windows::unsafe_calls::pdh::{Counter, PdhError, Query, Raw};
use std::collections::BTreeMap;

/// The counters that are read, in the order of [`performance_of`].
const COUNTERS: [&str; 9] = [
    "Disk Reads/sec",
    "Disk Writes/sec",
    "Disk Read Bytes/sec",
    "Disk Write Bytes/sec",
    "Avg. Disk sec/Read",
    "Avg. Disk sec/Write",
    "% Idle Time",
    "Current Disk Queue Length",
    "Split IO/Sec",
];
/// Index of the first of the two counters with times.
const TIMES_AT: usize = 4;
/// Units per second of the times in [`DiskPerformance`].
const UNITS_PER_S: u128 = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Physical,
    Logical,
}

/// Both layers, opened.
#[derive(Debug)]
pub(crate) struct DiskLayers {
    query: Query,
    counters: Vec<(Layer, [Counter; COUNTERS.len()])>,
    /// Units per second of the times.
    time_base: u64,
}

impl DiskLayers {
    pub(crate) fn open() -> Result<Self, PdhError> {
        let query = Query::open(None)?;
        let mut counters = Vec::new();
        for (layer, object) in [(Layer::Physical, "PhysicalDisk"), (Layer::Logical, "LogicalDisk")]
        {
            let mut of_layer = Vec::new();
            for name in COUNTERS {
                of_layer.push(query.add(&format!(r"\{object}(*)\{name}"), true)?);
            }
            // There are as many counters as names.
            let Ok(of_layer): Result<[Counter; COUNTERS.len()], _> = of_layer.try_into() else {
                continue;
            };
            counters.push((layer, of_layer));
        }
        let time_base = query.time_base(counters[0].1[TIMES_AT])?;
        Ok(Self { query, counters, time_base })
    }

    /// The counters so far of disks and volumes, by name.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, DiskPerformance>, PdhError> {
        self.query.collect()?;
        let mut found = BTreeMap::new();
        for (layer, counters) in &self.counters {
            let mut instances: BTreeMap<String, Vec<Raw>> = BTreeMap::new();
            for counter in counters {
                for (instance, raw) in self.query.instances(*counter)? {
                    instances.entry(instance).or_default().push(raw);
                }
            }
            // An instance that lacks a counter is left out: its values would be at the wrong positions.
            for (instance, values) in instances {
                let values: Option<[Raw; COUNTERS.len()]> = values.try_into().ok();
                let Some((name, values)) = device_of(*layer, &instance).zip(values) else {
                    continue;
                };
                found.insert(name, performance_of(&values, self.time_base));
            }
        }
        Ok(found)
    }
}

/// The disk or volume of an instance: `0 C: D:` is disk 0, `C:` and `HarddiskVolume3` are volumes; the
/// total is neither.
fn device_of(layer: Layer, instance: &str) -> Option<String> {
    let first = instance.split(' ').next()?;
    match layer {
        Layer::Physical => first.parse::<u32>().ok().map(|number| format!("{DISK}{number}")),
        Layer::Logical => (first != "_Total").then(|| instance.to_owned()),
    }
}

/// The driver's structure, from raw values in the order of [`COUNTERS`].
fn performance_of(values: &[Raw; COUNTERS.len()], time_base: u64) -> DiskPerformance {
    let long = |at: usize| u64::try_from(values[at].first).unwrap_or(0);
    // Counts have 32 bits and wrap, whatever the width of the value.
    let short = |at: usize| values[at].first as u32;
    let time = |at: usize| {
        let units = u128::from(long(at)) * UNITS_PER_S / u128::from(time_base);
        u64::try_from(units).unwrap_or(u64::MAX)
    };
    DiskPerformance {
        bytes: [long(2), long(3)],
        times: [time(TIMES_AT), time(TIMES_AT + 1)],
        idle: long(6),
        counts: [short(0), short(1)],
        depth: short(7),
        splits: short(8),
        // The time of the idle counter.
        asked: u64::try_from(values[6].second).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_disks_by_their_number_and_volumes_by_their_name() {
        let physical = |instance| device_of(Layer::Physical, instance);
        assert_eq!(physical("0 C: D:").as_deref(), Some("PhysicalDrive0"));
        assert_eq!(physical("12").as_deref(), Some("PhysicalDrive12"));
        assert_eq!(physical("_Total"), None);
        let logical = |instance| device_of(Layer::Logical, instance);
        assert_eq!(logical("C:").as_deref(), Some("C:"));
        assert_eq!(logical("HarddiskVolume3").as_deref(), Some("HarddiskVolume3"));
        assert_eq!(logical("_Total"), None);
    }

    #[test]
    fn raw_values_are_the_driver_s_structure_and_times_come_in_its_unit() {
        let raw = |first, second| Raw { first, second };
        // Times in ticks of 3 MHz: 5 ms of reads are 15,000.
        let values = [
            raw(20, 1),
            raw(i64::from(u32::MAX) + 8, 1),
            raw(81_920, 1),
            raw(1 << 40, 1),
            raw(15_000, 20),
            raw(3_000_000, 7),
            raw(900_000_000, 132_000_000_000_000_000),
            raw(2, 0),
            raw(1, 1),
        ];
        let told = performance_of(&values, 3_000_000);
        let expected = DiskPerformance {
            bytes: [81_920, 1 << 40],
            times: [50_000, 10_000_000],
            idle: 900_000_000,
            counts: [20, 7],
            depth: 2,
            splits: 1,
            asked: 132_000_000_000_000_000,
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn where_the_system_has_no_such_object_the_refusal_names_the_call() {
        // Wine has none; on Windows both layers open and contain the system disk.
        match DiskLayers::open() {
            Ok(layers) => assert!(!layers.read().unwrap().is_empty()),
            Err(refusal) => assert!(refusal.to_string().contains("PdhAddEnglishCounterW")),
        }
    }
}

//! Reads dumps of /proc/diskstats, each with its time: a line `TS seconds` (as pt-diskstats stores them),
//! the output of `date`, or the name of the file.
//!
//! The kernel's counters are exact: requests, sectors of 512 bytes, milliseconds in 32 bits. Lines have 14
//! columns or more (2.6.25; with discards 18, with flushes 20). Partitions of old kernels have 7 and no
//! times, and are skipped.

use crate::counters::{self, Scrape};
use crate::moment::Stamp;
use crate::observation_builder::{ObservationBuilder, SECTOR_BYTES};
use crate::printed::{stamp_line, stamp_of_name};
use crate::{ImportError, Options};
use record::Observation;
use std::collections::BTreeMap;

/// Minimum number of counters in a line, without discards and flushes.
const COUNTERS_MIN: usize = 11;
/// Number of columns before the counters: major, minor, name.
const BEFORE: usize = 3;
const REMEDY: &str = "record at least two dumps, each with its time: while :; do echo TS $(date \
                      +%s.%N); cat /proc/diskstats; sleep 1; done";

/// Counter of node_exporter, its index in a line, and the factor to its unit.
const PLACES: [(&str, usize, f64); 14] = [
    ("reads_completed_total", 0, 1.0),
    ("reads_merged_total", 1, 1.0),
    ("read_bytes_total", 2, SECTOR_BYTES),
    ("read_time_seconds_total", 3, 1e-3),
    ("writes_completed_total", 4, 1.0),
    ("writes_merged_total", 5, 1.0),
    ("written_bytes_total", 6, SECTOR_BYTES),
    ("write_time_seconds_total", 7, 1e-3),
    ("io_now", 8, 1.0),
    ("io_time_seconds_total", 9, 1e-3),
    ("io_time_weighted_seconds_total", 10, 1e-3),
    ("discards_completed_total", 11, 1.0),
    ("flush_requests_total", 15, 1.0),
    ("flush_requests_time_seconds_total", 16, 1e-3),
];

/// The name and the counters of a line.
fn parse(line: &str) -> Option<(&str, Vec<u64>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (head, counters) = words.split_at_checked(BEFORE)?;
    let numbers: Option<Vec<u64>> = counters.iter().map(|word| word.parse().ok()).collect();
    let numbered = head[..2].iter().all(|word| word.parse::<u32>().is_ok());
    let numbers = numbers.filter(|numbers| numbers.len() >= COUNTERS_MIN)?;
    (numbered && head[2].parse::<f64>().is_err()).then_some((head[2], numbers))
}

pub(crate) fn is_line(line: &str) -> bool {
    parse(line).is_some()
}

/// Reads files, each with its name.
pub(crate) fn read(texts: &[(&str, &str)], options: &Options) -> Result<Observation, ImportError> {
    let mut builder = ObservationBuilder::new("/proc/diskstats");
    let mut dumps: Vec<(Option<Stamp>, Scrape)> = Vec::new();
    for (name, text) in texts {
        take(name, text, &mut dumps, &mut builder);
    }
    let counted = |dump: &Scrape| dump.devices.values().flatten().flatten().any(|it| *it > 0.0);
    if !dumps.is_empty() && !dumps.iter().any(|(_, dump)| counted(dump)) {
        let why = "all counters are 0: a container hides them, or queue/iostats is 0";
        return Err(ImportError::nothing(why, "record on the host, or echo 1 to queue/iostats"));
    }
    let stamps: Vec<Option<Stamp>> = dumps.iter().map(|(stamp, _)| stamp.clone()).collect();
    let mut times = builder.times(&stamps, options.clock(), false);
    if let Some(length) = options.interval_ns.map(i128::from)
        && times.iter().all(Option::is_none)
    {
        times = (0..).take(times.len()).map(|at: i128| Some(at * length)).collect();
        (builder.lengths_given, builder.begin_assumed) = (true, true);
    }
    let mut by_time = BTreeMap::new();
    let mut last = None;
    for ((_, dump), time) in dumps.into_iter().zip(times) {
        let Some(time) = time.filter(|time| *time >= 0) else {
            builder.counts.no_length += 1;
            continue;
        };
        builder.counts.backwards += u64::from(last.is_some_and(|last| time < last));
        last = Some(time);
        builder.counts.twice += u64::from(by_time.insert(time, dump).is_some());
    }
    counters::add_intervals(&mut builder, &by_time);
    let why = match by_time.len() {
        0 => "no dump has a time (if the dumps are evenly spaced, use --interval)",
        1 => "only one dump has a time, and its counters run since boot",
        _ if builder.counts.resets > 0 => "all counters restarted between the dumps",
        _ => "no device appears in two dumps",
    };
    builder.finish(why, REMEDY)
}

fn take(
    name: &str,
    text: &str,
    dumps: &mut Vec<(Option<Stamp>, Scrape)>,
    builder: &mut ObservationBuilder,
) {
    let mut now = Scrape::default();
    let mut stamp = stamp_of_name(name);
    for raw in text.split_inclusive('\n') {
        let line = raw.trim();
        let counters = parse(line).filter(|_| raw.ends_with('\n'));
        if let Some((device, counters)) = counters {
            if now.devices.contains_key(device) {
                dumps.push((stamp.take(), std::mem::take(&mut now)));
            }
            now.devices.insert(
                device.to_owned(),
                counters::values(|name| {
                    let (_, place, factor) = PLACES.iter().find(|(known, ..)| *known == name)?;
                    counters.get(*place).map(|count| *count as f64 * factor)
                }),
            );
            continue;
        }
        // `TS 1297205887.156653000 2011-02-08 22:58:07`: the count is exact.
        let time = line.strip_prefix("TS ").and_then(|rest| rest.split_whitespace().next());
        if let Some(found) = time.map_or_else(|| stamp_line(line, None), Stamp::parse) {
            if !now.devices.is_empty() {
                dumps.push((stamp.take(), std::mem::take(&mut now)));
            }
            stamp = Some(found);
        } else {
            let counts = line.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).count();
            // Partitions of old kernels have four counters.
            builder.counts.faults += u64::from(counts >= COUNTERS_MIN || !raw.ends_with('\n'));
        }
    }
    if !now.devices.is_empty() {
        dumps.push((stamp, now));
    }
}

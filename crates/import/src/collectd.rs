//! Reads the CSV of collectd's disk plugin: a file for each figure of a disk, named by the path
//! (`HOST/disk-sda/disk_ops-2026-11-28`), with a time and a value for reads and for writes in each row.
//!
//! Values are running counters, or rates if the csv plugin stores rates. `disk_time` grows by the mean time
//! of a request in each interval, in milliseconds. Multiplied by the requests of the interval, this gives
//! the time that the kernel counted. Facts: the plugins csv and disk in collectd's sources, and
//! <https://www.github.com/collectd/collectd/wiki/Plugin-Disk>.

use crate::ImportError;
use crate::counters::{self, Scrape};
use crate::moment::{SECOND_NS, Stamp};
use crate::observation_builder::ObservationBuilder;
use record::Observation;
use std::collections::BTreeMap;

const REMEDY: &str = "name all files of a disk together: halfpower diagnose HOST/disk-sda/*";
const HEADERS: [&str; 3] = ["epoch,read,write", "epoch,io_time,weighted_io_time", "epoch,value"];
const MS: f64 = 1e-3;

/// The name of a file, and for each of its values the counter and the factor to its unit.
const FIGURES: [(&str, &[(&str, f64)]); 5] = [
    ("disk_ops", &[("reads_completed_total", 1.0), ("writes_completed_total", 1.0)]),
    ("disk_octets", &[("read_bytes_total", 1.0), ("written_bytes_total", 1.0)]),
    ("disk_merged", &[("reads_merged_total", 1.0), ("writes_merged_total", 1.0)]),
    ("disk_io_time", &[("io_time_seconds_total", MS), ("io_time_weighted_seconds_total", MS)]),
    ("pending_operations", &[("io_now", 1.0)]),
];
/// Mean times of requests, and the time counters computed from them and the request counters.
const MEAN_TIMES: &str = "disk_time";
const TIMES: [(&str, &str); 2] = [
    ("read_time_seconds_total", "reads_completed_total"),
    ("write_time_seconds_total", "writes_completed_total"),
];

/// Whether a line is the header of such a file.
pub(crate) fn is_header(line: &str) -> bool {
    HEADERS.contains(&line.trim())
}

/// Parts of a file's path: host, disk and figure.
fn parts(name: &str) -> (Option<&str>, &str, &str) {
    let mut folders = name.rsplit(['/', '\\']);
    let file = folders.next().unwrap_or_default();
    let figure = file.split_once('-').map_or(file, |(figure, _)| figure);
    let disk = folders.next().and_then(|folder| folder.strip_prefix("disk-"));
    let host = disk.and_then(|_| folders.next()).filter(|host| !host.is_empty());
    (host, disk.unwrap_or("disk"), figure)
}

/// The rows of a file: times in nanoseconds, and counters. Rates are summed up to counters.
fn rows(text: &str, running: bool, faults: &mut u64) -> Vec<(i128, Vec<f64>)> {
    let mut rows: Vec<(i128, Vec<f64>)> = Vec::new();
    let by_rate = running && text.lines().any(|line| line.split(',').skip(1).any(is_rate));
    for line in text.split_inclusive('\n').filter(|line| !is_header(line)) {
        let mut fields = line.trim().split(',');
        let time = fields.next().and_then(Stamp::parse).and_then(|stamp| match stamp {
            Stamp::Counted(ns) => Some(ns),
            Stamp::Printed { .. } => None,
        });
        let values: Option<Vec<f64>> =
            fields.map(|field| field.parse().ok().filter(|it: &f64| it.is_finite())).collect();
        let Some((time, mut values)) = time.zip(values).filter(|_| line.ends_with('\n')) else {
            *faults += u64::from(!line.trim().is_empty());
            continue;
        };
        if let Some((before, sums)) = rows.last().filter(|_| by_rate) {
            let seconds = (time - before) as f64 / SECOND_NS as f64;
            values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum + *value * seconds);
        }
        rows.push((time, values));
    }
    rows
}

/// Counters are whole numbers; a rate has a decimal point.
fn is_rate(field: &str) -> bool {
    field.trim().contains('.')
}

/// Counters and mean times of disks, by time.
#[derive(Default)]
struct Host {
    counters: BTreeMap<(String, i128), BTreeMap<&'static str, f64>>,
    mean_times: BTreeMap<(String, i128), Vec<f64>>,
}

/// One observation for each host.
pub(crate) fn read(named: &[(&str, &str)]) -> Result<Vec<Observation>, ImportError> {
    let mut hosts: BTreeMap<Option<&str>, Host> = BTreeMap::new();
    let mut faults = 0;
    for (name, text) in named {
        let (host, disk, figure) = parts(name);
        let host = hosts.entry(host).or_default();
        if figure == MEAN_TIMES {
            let rows = rows(text, true, &mut faults);
            host.mean_times.extend(rows.into_iter().map(|(at, row)| ((disk.to_owned(), at), row)));
        }
        let Some((_, counters)) = FIGURES.iter().find(|(known, _)| *known == figure) else {
            continue;
        };
        for (at, row) in rows(text, figure != "pending_operations", &mut faults) {
            let values = counters.iter().zip(row).map(|((name, factor), it)| (*name, it * factor));
            host.counters.entry((disk.to_owned(), at)).or_default().extend(values);
        }
    }
    let with_counters = hosts.into_iter().filter(|(_, host)| !host.counters.is_empty());
    let read: Vec<Observation> =
        with_counters.map(|(name, host)| of_host(name, host, faults)).collect::<Result<_, _>>()?;
    if read.is_empty() {
        return Err(ImportError::nothing(
            "no file is named after a disk metric (such as disk_ops-2026-11-28)",
            REMEDY,
        ));
    }
    Ok(read)
}

fn of_host(name: Option<&str>, mut host: Host, faults: u64) -> Result<Observation, ImportError> {
    let mut builder = ObservationBuilder::new("collectd");
    builder.host = name.map(str::to_owned);
    builder.counts.faults = faults;
    add_times(&mut host);
    let mut by_time: BTreeMap<i128, Scrape> = BTreeMap::new();
    // With stored rates, the first moment has only the requests in flight.
    let with_requests =
        host.counters.into_iter().filter(|(_, known)| known.contains_key(TIMES[0].1));
    for ((disk, at), known) in with_requests {
        let values = counters::values(|name| known.get(name).copied());
        by_time.entry(at).or_default().devices.insert(disk, values);
    }
    counters::add_intervals(&mut builder, &by_time);
    let why = match by_time.len() {
        1 => "all rows have the same time, and the counters run since boot",
        _ => "no disk has two rows",
    };
    builder.finish(why, REMEDY)
}

/// Converts mean times of requests into the kernel's time counters.
fn add_times(host: &mut Host) {
    /// The previous row: its time, the times so far, the requests and the sums of means.
    struct Before<'a> {
        disk: &'a str,
        at: i128,
        times: [f64; 2],
        requests: [f64; 2],
        means: [f64; 2],
    }
    let mut last: Option<Before<'_>> = None;
    for ((disk, at), row) in &host.mean_times {
        let Some(known) = host.counters.get_mut(&(disk.clone(), *at)) else { continue };
        let requests = TIMES.map(|(_, requests)| known.get(requests).copied().unwrap_or(0.0));
        let means = [0, 1].map(|at| row.get(at).copied().unwrap_or(0.0));
        let mut times = [0.0; 2];
        if let Some(before) = last.as_ref().filter(|before| before.disk == disk) {
            let seconds = (at - before.at) as f64 / SECOND_NS as f64;
            for op in 0..2 {
                let mean_s = (means[op] - before.means[op]).max(0.0) / seconds * MS;
                let more = (requests[op] - before.requests[op]).max(0.0);
                times[op] = before.times[op] + mean_s * more;
            }
        }
        known.extend(TIMES.iter().zip(times).map(|((name, _), time)| (*name, time)));
        last = Some(Before { disk, at: *at, times, requests, means });
    }
}

//! `sadf -j`: what sar kept, as JSON. One time for reads and writes together, discards included.

use crate::json::{self, Json};
use crate::moment::{self, SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::{KIB, MS, ObservationBuilder, SECTOR_BYTES};
use crate::{ImportError, Options};
use record::{Context, Interval, Observation, OpInterval};

/// Per cent.
const PERCENT: f64 = 0.01;

/// Reads a file: one observation per machine in it.
pub(crate) fn read(text: &str, options: &Options) -> Result<Vec<Observation>, ImportError> {
    let parsed = json::values(text, "timestamp");
    let mut hosts: Vec<Host> = Vec::new();
    for value in &parsed.values {
        if let Some(sysstat) = value.get("sysstat") {
            for host in sysstat.get("hosts").map_or(&[][..], Json::elements) {
                take_host(host, &mut hosts);
            }
        } else if value.get("timestamp").is_some() {
            // A report behind a fault belongs to the machine before it.
            if hosts.is_empty() {
                hosts.push(Host::default());
            }
            hosts.iter_mut().last().into_iter().for_each(|host| host.reports.push(value));
        }
    }
    let mut observations = Vec::new();
    let mut last_error = Err(nothing("there is no report"));
    for host in &hosts {
        match host.observation(parsed.faults, options) {
            Ok(observation) => observations.push(observation),
            Err(error) => last_error = Err(error),
        }
    }
    if observations.is_empty() { last_error } else { Ok(observations) }
}

fn nothing(why: &str) -> ImportError {
    ImportError::nothing(why, "make it with: sadf -j FILE -- -d")
}

/// A machine.
#[derive(Default)]
struct Host<'a> {
    name: Option<&'a str>,
    release: Option<&'a str>,
    restarts: u64,
    reports: Vec<&'a Json<'a>>,
}

fn take_host<'a>(host: &'a Json<'a>, hosts: &mut Vec<Host<'a>>) {
    let word = |key: &str| host.get(key).and_then(Json::text);
    let list = |key: &str| host.get(key).map_or(&[][..], Json::elements);
    let (name, restarts) = (word("nodename"), list("restarts").len() as u64);
    let reports = list("statistics").iter();
    match hosts.iter_mut().find(|host| host.name == name) {
        Some(host) => {
            host.reports.extend(reports);
            host.restarts += restarts;
        }
        None => {
            let reports = reports.collect();
            hosts.push(Host { name, release: word("release"), restarts, reports });
        }
    }
}

impl Host<'_> {
    fn observation(&self, faults: u64, options: &Options) -> Result<Observation, ImportError> {
        let mut sheet = ObservationBuilder::new("sadf -j");
        sheet.host = self.name.map(str::to_owned);
        sheet.release = self.release.map(str::to_owned);
        sheet.counts.faults = faults;
        sheet.counts.restarts = self.restarts;
        let stamps: Vec<Option<Stamp>> = self.reports.iter().map(|report| stamp(report)).collect();
        let (times, assumed) = moment::moments(&stamps, options.utc_offset_s);
        sheet.assumed = assumed;
        let mut last = None;
        for (report, time) in self.reports.iter().zip(times) {
            let timestamp = report.get("timestamp");
            let length = timestamp.and_then(|stamp| number(stamp, "interval"));
            let length = length.map(|seconds| (seconds.value * SECOND_NS as f64) as i128);
            let (Some(time), Some(length)) = (time, length.filter(|length| *length > 0)) else {
                sheet.counts.no_length += u64::from(report.get("disk").is_some());
                continue;
            };
            sheet.counts.backwards += u64::from(last.is_some_and(|last| time < last));
            last = Some(time);
            add(&mut sheet, report, time - length, length);
        }
        sheet.finish("no report has a disk", "make it with: sadf -j FILE -- -d")
    }
}

/// When a report was made: its end.
fn stamp(report: &Json<'_>) -> Option<Stamp> {
    let timestamp = report.get("timestamp")?;
    let word = |key: &str| timestamp.get(key).and_then(Json::text);
    let (Some(date), Some(time)) = (word("date"), word("time")) else {
        // Seconds since 1970, as `-U` prints them.
        return ["sec", "time", "epoch"].into_iter().find_map(|key| Stamp::parse(word(key)?));
    };
    let utc = word("tz") == Some("UTC") || word("utc") == Some("1");
    Stamp::parse(&format!("{date} {time}{}", if utc { " UTC" } else { "" }))
}

fn number(object: &Json<'_>, key: &str) -> Option<Reading> {
    match object.get(key)? {
        Json::Number(text) => Reading::parse(text),
        _ => None,
    }
}

/// The first of these keys, in our unit.
fn find(object: &Json<'_>, keys: &[(&str, f64)]) -> Option<Reading> {
    keys.iter().find_map(|(key, factor)| number(object, key).map(|it| it.times(*factor)))
}

fn add(sheet: &mut ObservationBuilder, report: &Json<'_>, begin: i128, length: i128) {
    let mut seen: Vec<&str> = Vec::new();
    let disks = report.get("disk").map_or(&[][..], Json::elements);
    for disk in disks.iter().filter(|disk| disk.is_whole()) {
        let Some(name) = disk.get("disk-device").and_then(Json::text) else {
            sheet.counts.faults += 1;
            continue;
        };
        if seen.contains(&name) {
            sheet.counts.twice += 1;
            continue;
        }
        seen.push(name);
        let interval = interval(name, disk, sheet);
        sheet.add(interval, begin, length);
    }
    let context = context(report, sheet);
    sheet.add_context(context, begin, length);
}

fn interval(name: &str, disk: &Json<'_>, sheet: &mut ObservationBuilder) -> Interval {
    let mut op = |keys: &[(&str, f64)]| sheet.measured(find(disk, keys));
    let bytes_only = |bytes_per_s| OpInterval { bytes_per_s, ..OpInterval::default() };
    let read = bytes_only(op(&[("rkB", KIB), ("rd_sec", SECTOR_BYTES)]));
    let write = bytes_only(op(&[("wkB", KIB), ("wr_sec", SECTOR_BYTES)]));
    let all = OpInterval {
        per_s: op(&[("tps", 1.0)]),
        request_bytes: op(&[("areq-sz", KIB), ("avgrq-sz", SECTOR_BYTES)]),
        latency_ns: op(&[("await", MS)]),
        ..OpInterval::default()
    };
    let concurrency = op(&[("aqu-sz", 1.0), ("avgqu-sz", 1.0)]);
    let discards = find(disk, &[("dkB", 1.0), ("dc_sec", 1.0)]);
    sheet.counts.discards_mixed += u64::from(discards.is_some_and(|it| it.value > 0.0));
    let busy_share = sheet.share(find(disk, &[("util-percent", PERCENT)]));
    Interval {
        device: name.to_owned(),
        read,
        write,
        all,
        busy_share,
        concurrency,
        ..Interval::default()
    }
}

/// Processors, memory and pressure, where sadf was asked for them (`-- -A`).
fn context(report: &Json<'_>, sheet: &mut ObservationBuilder) -> Context {
    let processors = report.get("cpu-load").map_or(&[][..], Json::elements);
    let all = processors.iter().find(|cpu| cpu.get("cpu").and_then(Json::text) == Some("all"));
    let pressure = report.get("psi").and_then(|psi| psi.get("psi-io"));
    let mut share = |object: Option<&Json<'_>>, key: &str| {
        let reading = object.and_then(|object| number(object, key));
        sheet.share(reading.map(|it| it.times(PERCENT))).map(|figure| figure.value)
    };
    let (idle, waiting) = (share(all, "idle"), share(all, "iowait"));
    let (steal_share, io_some_share) = (share(all, "steal"), share(pressure, "some_avg"));
    let io_full_share = share(pressure, "full_avg");
    let kib = |key: &str| {
        let reading = report.get("memory").and_then(|memory| number(memory, key));
        let bytes = reading.map(|it| it.value * KIB).filter(|it| (0.0..1e18).contains(it));
        bytes.map(|bytes| bytes as u64)
    };
    Context {
        io_some_share,
        io_full_share,
        steal_share,
        idle_share: idle.zip(waiting).map(|(idle, waiting)| (idle + waiting).min(1.0)),
        memory_available_bytes: kib("avail"),
        memory_cached_bytes: kib("cached"),
        dirty_bytes: kib("dirty"),
        ..Context::default()
    }
}

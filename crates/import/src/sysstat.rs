//! What the tools of sysstat share: names of columns, the figures of a disk, the frame of the JSON.
//!
//! iostat and sadf print the same figures under names that depend on tool, version and flags. A key
//! tells its unit, so one table serves all of them. Where reads and writes have rates of their own,
//! the means over all requests are left out: those of sysstat include discards.

use crate::ImportError;
use crate::json::{self, Json};
use crate::number::Reading;
use crate::observation_builder::{KIB, MS, ObservationBuilder, SECTOR_BYTES};
use record::{Figure, Interval, Observation, OpInterval};

/// Binary megabyte, sysstat's `MB`.
const MIB: f64 = 1_048_576.0;
pub(crate) const PERCENT: f64 = 0.01;

/// Keys of one figure, the first one present counts, and the factors to our unit.
pub(crate) type Keys = &'static [(&'static str, f64)];

struct OpKeys {
    per_s: Keys,
    bytes_per_s: Keys,
    request_bytes: Keys,
    merged_per_s: Keys,
    latency_ns: Keys,
}

const READ: OpKeys = OpKeys {
    per_s: &[("r/s", 1.0), ("r", 1.0)],
    bytes_per_s: &[
        ("rkB/s", KIB),
        ("rMB/s", MIB),
        ("rsec/s", SECTOR_BYTES),
        ("rd_sec/s", SECTOR_BYTES),
        ("rkB", KIB),
        ("rMB", MIB),
        ("rsec", SECTOR_BYTES),
        ("rd_sec", SECTOR_BYTES),
        ("kB_read/s", KIB),
        ("MB_read/s", MIB),
        ("Blk_read/s", SECTOR_BYTES),
        ("kB_read_per_sec", KIB),
        ("MB_read_per_sec", MIB),
        ("Blk_read_per_sec", SECTOR_BYTES),
    ],
    request_bytes: &[("rareq-sz", KIB)],
    merged_per_s: &[("rrqm/s", 1.0)],
    latency_ns: &[("r_await", MS)],
};

const WRITE: OpKeys = OpKeys {
    per_s: &[("w/s", 1.0), ("w", 1.0)],
    bytes_per_s: &[
        ("wkB/s", KIB),
        ("wMB/s", MIB),
        ("wsec/s", SECTOR_BYTES),
        ("wr_sec/s", SECTOR_BYTES),
        ("wkB", KIB),
        ("wMB", MIB),
        ("wsec", SECTOR_BYTES),
        ("wr_sec", SECTOR_BYTES),
        ("kB_wrtn/s", KIB),
        ("MB_wrtn/s", MIB),
        ("Blk_wrtn/s", SECTOR_BYTES),
        ("kB_wrtn_per_sec", KIB),
        ("MB_wrtn_per_sec", MIB),
        ("Blk_wrtn_per_sec", SECTOR_BYTES),
    ],
    request_bytes: &[("wareq-sz", KIB)],
    merged_per_s: &[("wrqm/s", 1.0)],
    latency_ns: &[("w_await", MS)],
};

/// Over all operations, discards included.
const ALL: OpKeys = OpKeys {
    per_s: &[("tps", 1.0)],
    bytes_per_s: &[("kB/s", KIB), ("MB/s", MIB), ("sec/s", SECTOR_BYTES)],
    request_bytes: &[("areq-sz", KIB), ("avgrq-sz", SECTOR_BYTES)],
    merged_per_s: &[("rqm/s", 1.0)],
    latency_ns: &[("await", MS)],
};

const DISCARDS: Keys = &[("d/s", 1.0)];
const FLUSHES: Keys = &[("f/s", 1.0)];
const CONCURRENCY: Keys = &[("aqu-sz", 1.0), ("avgqu-sz", 1.0)];
const BUSY: Keys = &[("util", PERCENT), ("%util", PERCENT), ("util-percent", PERCENT)];
/// Discarded data, in any unit.
const DISCARDED: Keys = &[
    ("kB_dscd/s", 1.0),
    ("MB_dscd/s", 1.0),
    ("Blk_dscd/s", 1.0),
    ("dkB/s", 1.0),
    ("dc_sec/s", 1.0),
    ("dkB", 1.0),
    ("dc_sec", 1.0),
];
/// Rates that are counts over an interval, by which a report since boot is known.
pub(crate) const COUNTS: [Keys; 7] =
    [READ.per_s, WRITE.per_s, DISCARDS, FLUSHES, READ.merged_per_s, WRITE.merged_per_s, ALL.per_s];

/// The interval of a disk, from a look-up of keys, and the rate of discarded data where the means
/// over all requests would include it.
pub(crate) fn interval(
    device: &str,
    find: impl Fn(Keys) -> Option<Reading>,
) -> (Interval, Option<f64>) {
    let figure = |keys: Keys| find(keys).map(Figure::from);
    let operation = |keys: &OpKeys| OpInterval {
        per_s: figure(keys.per_s),
        bytes_per_s: figure(keys.bytes_per_s),
        request_bytes: figure(keys.request_bytes),
        merged_per_s: figure(keys.merged_per_s),
        latency_ns: figure(keys.latency_ns),
    };
    let (read, write) = (operation(&READ), operation(&WRITE));
    let apart = read.per_s.is_some() && write.per_s.is_some();
    let interval = Interval {
        device: device.to_owned(),
        read,
        write,
        all: if apart { OpInterval::default() } else { operation(&ALL) },
        discards_per_s: figure(DISCARDS),
        flushes_per_s: figure(FLUSHES),
        busy_share: figure(BUSY),
        concurrency: figure(CONCURRENCY),
        ..Interval::default()
    };
    let discarded = if apart { Some(0.0) } else { find(DISCARDED).map(|it| it.value) };
    (interval, discarded)
}

/// The first of these keys that the object has as a number, in our unit.
pub(crate) fn find(object: &Json<'_>, keys: &[(&str, f64)]) -> Option<Reading> {
    keys.iter().find_map(|(key, factor)| {
        let Json::Number(text) = object.get(key)? else { return None };
        Reading::parse(text).map(|reading| reading.times(*factor))
    })
}

/// A share of the processors' time of an object, in per cent there.
pub(crate) fn share(object: Option<&Json<'_>>, key: &str) -> Option<f64> {
    let share = find(object?, &[(key, PERCENT)])?.value;
    (-0.5..=1.5).contains(&share).then(|| share.clamp(0.0, 1.0))
}

/// Share of the processors' time that was idle or waited for I/O.
pub(crate) fn idle_share(object: Option<&Json<'_>>) -> Option<f64> {
    Some((share(object, "idle")? + share(object, "iowait")?).min(1.0))
}

/// Adds the disks of a report; `name` is the key of their names, `mixed` says whether means over all
/// requests include others than reads and writes, given the rate of discarded data.
pub(crate) fn add_disks(
    builder: &mut ObservationBuilder,
    report: &Json<'_>,
    (begin, length): (i128, i128),
    name: &str,
    mixed: fn(Option<f64>) -> bool,
) {
    let disks = report.get("disk").map_or(&[][..], Json::elements);
    for disk in disks.iter().filter(|disk| disk.is_whole()) {
        let Some(name) = disk.get(name).and_then(Json::text) else {
            builder.counts.faults += 1;
            continue;
        };
        let (interval, discarded) = interval(name, |keys| find(disk, keys));
        builder.counts.discards_mixed += u64::from(mixed(discarded));
        builder.add(interval, begin, length);
    }
}

/// One start of a tool.
#[derive(Default)]
pub(crate) struct Run<'a> {
    pub(crate) date: Option<&'a str>,
    /// Place among the starts in its file; `None` for reports whose start was lost.
    pub(crate) start: Option<(usize, usize)>,
    pub(crate) restarts: u64,
    pub(crate) reports: Vec<&'a Json<'a>>,
}

/// A machine with everything that was recorded of it.
#[derive(Default)]
pub(crate) struct Host<'a> {
    name: Option<&'a str>,
    release: Option<&'a str>,
    pub(crate) runs: Vec<Run<'a>>,
}

/// The observations in these texts, one for each machine, made by `fill` and ended by `finish`.
///
/// `is_report` is the key that tells a report that lost its frame.
pub(crate) fn observations(
    source: &'static str,
    texts: &[String],
    is_report: &str,
    fill: impl Fn(&Host<'_>, &mut ObservationBuilder),
    finish: impl Fn(ObservationBuilder) -> Result<Observation, ImportError>,
) -> Result<Vec<Observation>, ImportError> {
    let (parsed, faults): (Vec<Vec<Json>>, Vec<u64>) =
        texts.iter().map(|text| json::values(text, "timestamp")).unzip();
    let mut hosts: Vec<Host> = Vec::new();
    for (file, values) in parsed.iter().enumerate() {
        let mut start = 0;
        // A report behind a fault belongs to the machine before it in its file.
        let mut current = None;
        for value in values {
            if let Some(sysstat) = value.get("sysstat") {
                for host in sysstat.get("hosts").map_or(&[][..], Json::elements) {
                    current = Some(take_host(host, (file, start), &mut hosts));
                    start += 1;
                }
            } else if value.get(is_report).is_some() {
                let place = *current.get_or_insert_with(|| place_of(None, &mut hosts));
                let runs = &mut hosts[place].runs;
                if runs.is_empty() {
                    runs.push(Run::default());
                }
                runs.last_mut().into_iter().for_each(|run| run.reports.push(value));
            }
        }
    }
    let (mut observations, mut last_error) = (Vec::new(), None);
    if hosts.is_empty() {
        hosts.push(Host::default());
    }
    for host in &hosts {
        let mut builder = ObservationBuilder::new(source);
        builder.host = host.name.map(str::to_owned);
        builder.release = host.release.map(str::to_owned);
        builder.counts.faults = faults.iter().sum();
        builder.counts.restarts = host.runs.iter().map(|run| run.restarts).sum();
        fill(host, &mut builder);
        match finish(builder) {
            Ok(observation) => observations.push(observation),
            Err(error) => last_error = Some(error),
        }
    }
    match last_error {
        Some(error) if observations.is_empty() => Err(error),
        _ => Ok(observations),
    }
}

fn place_of<'a>(name: Option<&'a str>, hosts: &mut Vec<Host<'a>>) -> usize {
    hosts.iter().position(|host| host.name == name).unwrap_or_else(|| {
        hosts.push(Host { name, ..Host::default() });
        hosts.len() - 1
    })
}

fn take_host<'a>(host: &'a Json<'a>, start: (usize, usize), hosts: &mut Vec<Host<'a>>) -> usize {
    let word = |key: &str| host.get(key).and_then(Json::text);
    let list = |key: &str| host.get(key).map_or(&[][..], Json::elements);
    let place = place_of(word("nodename"), hosts);
    let known = &mut hosts[place];
    known.release = known.release.or(word("release"));
    known.runs.push(Run {
        date: word("date"),
        start: Some(start),
        restarts: list("restarts").len() as u64,
        reports: list("statistics").iter().collect(),
    });
    place
}

//! `iostat -o JSON`: figures per device and report, times only with `-t`, lengths never.
//!
//! The length of an interval is that between its time and the time before, which iostat prints to
//! the second. Its intervals are whole seconds, so a difference that is off by one is rounding:
//! the usual length is taken, and only a longer pause (a suspended machine, a stopped iostat) is
//! believed as it stands. Units depend on flags (`-k`, `-m`, `-s`, none) and are told by the keys.

use crate::json::{self, Json};
use crate::moment::{self, SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::{KIB, MS, ObservationBuilder, SECTOR_BYTES};
use crate::since_boot::{First, judge};
use crate::{ImportError, Options};
use record::{Context, Figure, Interval, Observation, OpInterval};

/// Binary megabyte, sysstat's `MB`.
const MIB: f64 = 1_048_576.0;
/// Per cent.
const PERCENT: f64 = 0.01;

/// Keys of one figure and what their values are multiplied with.
type Keys = &'static [(&'static str, f64)];

/// The keys of one operation.
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
        ("rkB", KIB),
        ("rMB", MIB),
        ("rsec", SECTOR_BYTES),
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
        ("wkB", KIB),
        ("wMB", MIB),
        ("wsec", SECTOR_BYTES),
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

/// Of the short form, over all operations, discards included.
const ALL: OpKeys = OpKeys {
    per_s: &[("tps", 1.0)],
    bytes_per_s: &[("kB/s", KIB), ("MB/s", MIB), ("sec/s", SECTOR_BYTES)],
    request_bytes: &[("areq-sz", KIB), ("avgrq-sz", SECTOR_BYTES)],
    merged_per_s: &[("rqm/s", 1.0)],
    latency_ns: &[("await", MS)],
};

const DISCARDS: Keys = &[("d/s", 1.0)];
const DISCARDED_BYTES: Keys = &[("kB_dscd/s", 1.0), ("MB_dscd/s", 1.0), ("Blk_dscd/s", 1.0)];
const FLUSHES: Keys = &[("f/s", 1.0)];
const CONCURRENCY: Keys = &[("aqu-sz", 1.0), ("avgqu-sz", 1.0)];
const BUSY: Keys = &[("util", PERCENT)];
/// Rates that are counts over an interval, by which a report since boot is known.
const COUNTS: [Keys; 7] =
    [READ.per_s, WRITE.per_s, DISCARDS, FLUSHES, READ.merged_per_s, WRITE.merged_per_s, ALL.per_s];

/// Reads a file: one observation per machine in it, which is one unless files were joined.
pub(crate) fn read(text: &str, options: &Options) -> Result<Vec<Observation>, ImportError> {
    let parsed = json::values(text, "timestamp");
    let mut hosts: Vec<Host> = Vec::new();
    let mut without_boot = without_boot(text);
    for value in &parsed.values {
        if let Some(sysstat) = value.get("sysstat") {
            let elements = sysstat.get("hosts").map_or(&[][..], Json::elements);
            for host in elements {
                take_host(host, without_boot.next().unwrap_or(false), &mut hosts);
            }
        } else if value.get("disk").is_some() {
            // A report behind a fault belongs to the machine before it.
            if hosts.is_empty() {
                hosts.push(Host::default());
            }
            if let Some(run) = hosts.last_mut().and_then(|host| host.runs.last_mut()) {
                run.reports.push(value);
            }
        }
    }
    let mut observations = Vec::new();
    let mut last_error = None;
    for host in &hosts {
        match host.observation(parsed.faults, options) {
            Ok(observation) => observations.push(observation),
            Err(error) => last_error = Some(error),
        }
    }
    match last_error.or_else(|| hosts.is_empty().then(nothing)) {
        Some(error) if observations.is_empty() => Err(error),
        _ => Ok(observations),
    }
}

/// Of every start of iostat, whether `-y` was given: iostat 12 then leaves an empty line where the
/// report since boot would be.
fn without_boot(text: &str) -> impl Iterator<Item = bool> {
    text.split("\"statistics\": [").skip(1).map(|behind| {
        let blank = behind.len() - behind.trim_start().len();
        behind[..blank].matches('\n').count() > 1
    })
}

fn nothing() -> ImportError {
    ImportError::nothing("there is no report", "record with: iostat -o JSON -x -t 1")
}

/// One start of iostat.
#[derive(Default)]
struct Run<'a> {
    date: Option<&'a str>,
    without_boot: bool,
    reports: Vec<&'a Json<'a>>,
}

/// A machine with everything that was recorded of it.
struct Host<'a> {
    name: Option<&'a str>,
    release: Option<&'a str>,
    runs: Vec<Run<'a>>,
}

impl Default for Host<'_> {
    fn default() -> Self {
        Self { name: None, release: None, runs: vec![Run::default()] }
    }
}

fn take_host<'a>(host: &'a Json<'a>, without_boot: bool, hosts: &mut Vec<Host<'a>>) {
    let word = |key: &str| host.get(key).and_then(Json::text);
    let name = word("nodename");
    let reports = host.get("statistics").map_or(&[][..], Json::elements).iter().collect();
    let run = Run { date: word("date"), without_boot, reports };
    match hosts.iter_mut().find(|host| host.name == name) {
        Some(host) => host.runs.push(run),
        None => hosts.push(Host { name, release: word("release"), runs: vec![run] }),
    }
}

impl Host<'_> {
    fn observation(&self, faults: u64, options: &Options) -> Result<Observation, ImportError> {
        let mut sheet = ObservationBuilder::new("iostat -o JSON");
        sheet.host = self.name.map(str::to_owned);
        sheet.release = self.release.map(str::to_owned);
        sheet.counts.faults = faults;
        for run in &self.runs {
            run.add_to(&mut sheet, options);
        }
        let (why, remedy) = if sheet.counts.since_boot > 0 && sheet.counts.no_length == 0 {
            (
                "there are only averages since boot",
                "record with an interval: iostat -o JSON -x -t 1",
            )
        } else if sheet.counts.no_length > 0 {
            (
                "the length of the intervals is unknown",
                "record with times (iostat -t), or say --interval",
            )
        } else {
            ("no report has a disk", "record with: iostat -o JSON -x -t 1")
        };
        sheet.finish(why, remedy)
    }
}

impl Run<'_> {
    fn add_to(&self, sheet: &mut ObservationBuilder, options: &Options) {
        let spans = self.spans(sheet, options);
        for (index, (report, span)) in self.reports.iter().zip(&spans).enumerate() {
            let disks = report.get("disk").map_or(&[][..], Json::elements);
            if index == 0 && !self.without_boot {
                match self.first(disks, &spans, options) {
                    First::Interval => {}
                    first => {
                        sheet.counts.since_boot += 1;
                        sheet.counts.since_boot_unsure += u64::from(first == First::Unsure);
                        continue;
                    }
                }
            }
            let Some((begin, length)) = *span else {
                sheet.counts.no_length += 1;
                continue;
            };
            let mut seen: Vec<&str> = Vec::new();
            for disk in disks.iter().filter(|disk| disk.is_whole()) {
                let Some(name) = disk.get("disk_device").and_then(Json::text) else {
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
            if let Some(cpu) = report.get("avg-cpu").filter(|cpu| cpu.is_whole()) {
                let context = context(cpu, sheet);
                sheet.add_context(context, begin, length);
            }
        }
    }

    /// Whether the first report is of an interval. The length that the others have is the one that
    /// the user gives, or the usual distance of times.
    fn first(
        &self,
        disks: &[Json<'_>],
        spans: &[Option<(i128, i128)>],
        options: &Options,
    ) -> First {
        let lengths = || spans.iter().flatten().map(|(_, length)| *length);
        let given = options.interval_ns.map(i128::from);
        let Some(length) = given.or_else(|| lengths().min()) else {
            return First::Unsure;
        };
        let rates: Vec<Reading> = disks
            .iter()
            .flat_map(|disk| COUNTS.iter().filter_map(|keys| find(disk, keys)))
            .collect();
        judge(&rates, length as f64 / SECOND_NS as f64)
    }

    /// Begin and length of every report, where they can be known.
    fn spans(
        &self,
        sheet: &mut ObservationBuilder,
        options: &Options,
    ) -> Vec<Option<(i128, i128)>> {
        let stamp = |report: &&Json<'_>| Stamp::parse(report.get("timestamp")?.text()?);
        let stamps: Vec<Option<Stamp>> = self.reports.iter().map(stamp).collect();
        let given = options.interval_ns.map(i128::from);
        if stamps.iter().all(Option::is_none) {
            return self.counted_spans(sheet, given, options);
        }
        let (times, assumed) = moment::moments(&stamps, options.utc_offset_s);
        sheet.assumed.zone |= assumed.zone;
        sheet.assumed.month_first |= assumed.month_first;
        spans_between(&times, given, &mut sheet.counts.backwards)
    }

    /// Spans of reports without times: one after the other from the date on.
    fn counted_spans(
        &self,
        sheet: &mut ObservationBuilder,
        given: Option<i128>,
        options: &Options,
    ) -> Vec<Option<(i128, i128)>> {
        let Some(length) = given else { return vec![None; self.reports.len()] };
        let midnight = self.date.map(|date| format!("{date} 00:00:00"));
        let stamp = midnight.and_then(|midnight| Stamp::parse(&midnight));
        let (times, assumed) = moment::moments(&[stamp], options.utc_offset_s);
        let Some(begin) = times[0] else { return vec![None; self.reports.len()] };
        sheet.assumed.zone |= assumed.zone;
        sheet.assumed.month_first |= assumed.month_first;
        sheet.lengths_given = true;
        sheet.begin_assumed = true;
        (0i128..).take(self.reports.len()).map(|at| Some((begin + at * length, length))).collect()
    }
}

/// Spans that end at these times. `usual` is the length of all, where the user gives it.
fn spans_between(
    times: &[Option<i128>],
    given: Option<i128>,
    backwards: &mut u64,
) -> Vec<Option<(i128, i128)>> {
    let known: Vec<i128> = times.iter().flatten().copied().collect();
    let mut steps: Vec<i128> =
        known.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    let usual = given.or_else(|| steps.get(steps.len() / 2).copied());
    // Where the last interval ended, and the time that was printed for it.
    let mut last: Option<(i128, i128)> = None;
    let mut span = |time: Option<i128>| {
        let (time, usual) = (time?, usual?);
        let span = match last {
            None => (time - usual, usual),
            Some((end, printed)) => {
                *backwards += u64::from(time < printed);
                let step = time - printed;
                if (step - usual).abs() > SECOND_NS && step > 0 {
                    (end.min(time - 1), time - end.min(time - 1))
                } else if (time - (end + usual)).abs() <= 3 * SECOND_NS / 2 {
                    (end, usual)
                } else {
                    (time - usual, usual)
                }
            }
        };
        last = Some((span.0 + span.1, time));
        Some(span)
    };
    times.iter().map(|time| span(*time)).collect()
}

/// The first of these keys that the object has as a number, in our unit.
fn find(object: &Json<'_>, keys: Keys) -> Option<Reading> {
    keys.iter().find_map(|(key, factor)| {
        let Json::Number(text) = object.get(key)? else { return None };
        Reading::parse(text).map(|reading| reading.times(*factor))
    })
}

fn measured(object: &Json<'_>, keys: Keys, sheet: &mut ObservationBuilder) -> Option<Figure> {
    sheet.measured(find(object, keys))
}

fn operation(disk: &Json<'_>, keys: &OpKeys, sheet: &mut ObservationBuilder) -> OpInterval {
    OpInterval {
        per_s: measured(disk, keys.per_s, sheet),
        bytes_per_s: measured(disk, keys.bytes_per_s, sheet),
        request_bytes: measured(disk, keys.request_bytes, sheet),
        merged_per_s: measured(disk, keys.merged_per_s, sheet),
        latency_ns: measured(disk, keys.latency_ns, sheet),
    }
}

fn interval(name: &str, disk: &Json<'_>, sheet: &mut ObservationBuilder) -> Interval {
    let (read, write) = (operation(disk, &READ, sheet), operation(disk, &WRITE, sheet));
    let apart = read.per_s.is_some() && write.per_s.is_some();
    // The means of the short form include discards; with both directions given ours do not.
    let all = if apart { OpInterval::default() } else { operation(disk, &ALL, sheet) };
    if !apart && find(disk, DISCARDED_BYTES).is_none_or(|bytes| bytes.value > 0.0) {
        sheet.counts.discards_mixed += 1;
    }
    Interval {
        device: name.to_owned(),
        read,
        write,
        all,
        discards_per_s: measured(disk, DISCARDS, sheet),
        flushes_per_s: measured(disk, FLUSHES, sheet),
        busy_share: sheet.share(find(disk, BUSY)),
        concurrency: measured(disk, CONCURRENCY, sheet),
        ..Interval::default()
    }
}

fn context(cpu: &Json<'_>, sheet: &mut ObservationBuilder) -> Context {
    let mut share = |key: &str| {
        let Some(Json::Number(text)) = cpu.get(key) else { return None };
        let reading = Reading::parse(text).map(|reading| reading.times(PERCENT));
        sheet.share(reading).map(|figure| figure.value)
    };
    let (steal_share, idle, waiting) = (share("steal"), share("idle"), share("iowait"));
    let idle_share = idle.zip(waiting).map(|(idle, waiting)| (idle + waiting).min(1.0));
    Context { steal_share, idle_share, ..Context::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = SECOND_NS;

    fn spans(seconds: &[i128]) -> (Vec<(i128, i128)>, u64) {
        let times: Vec<Option<i128>> = seconds.iter().map(|time| Some(time * S)).collect();
        let mut backwards = 0;
        let spans = spans_between(&times, None, &mut backwards);
        (
            spans.into_iter().map(|span| span.unwrap()).map(|(b, l)| (b / S, l / S)).collect(),
            backwards,
        )
    }

    #[test]
    fn times_that_are_rounded_to_seconds_give_intervals_of_one_length() {
        let (found, _) = spans(&[10, 11, 12, 14, 15]);
        assert_eq!(found, [(9, 1), (10, 1), (11, 1), (12, 1), (13, 1)]);
    }

    #[test]
    fn a_long_pause_is_one_long_interval() {
        let (found, _) = spans(&[10, 15, 20, 80, 85]);
        assert_eq!(found, [(5, 5), (10, 5), (15, 5), (20, 60), (80, 5)]);
    }

    #[test]
    fn a_clock_that_goes_back_costs_no_interval() {
        let (found, backwards) = spans(&[100, 105, 110, 50, 55]);
        assert_eq!(found, [(95, 5), (100, 5), (105, 5), (45, 5), (50, 5)]);
        assert_eq!(backwards, 1);
    }
}

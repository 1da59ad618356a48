//! Removes figures that no device can have.
//!
//! Counters can be damaged: a driver's counter wraps around, a tool subtracts readings of different devices,
//! a file loses a byte. One such figure dominates the mean of an hour. An interval with an impossible rate,
//! size or latency is therefore skipped entirely. Any other impossible figure is skipped by itself. The
//! damage costs one interval, not the conclusion. Every source of intervals uses this check.
//!
//! This module also compares a busy counter with the requests in flight over a whole observation. A device is
//! busy only while a request is in progress. Its utilization is therefore at most its mean concurrency, and
//! by Little's law its mean service time is at most its mean latency. This does not hold within one interval,
//! because the kernel counts the time of a request when it completes.

use crate::{Figure, Finding, FindingCode, Interval, Observation, OpInterval, format_share};
use std::collections::HashMap;

/// Maximum requests per second of one device: several times the fastest device today.
pub const MOST_PER_S: f64 = 2e7;
/// Maximum bytes per second of one device.
pub const MOST_BYTES_PER_S: f64 = 5.12e11;
/// Maximum bytes of a request: the kernel counts the bytes of a bio in 32 bits.
const MOST_REQUEST_BYTES: f64 = 4_294_967_296.0;
/// Maximum latency: a day. The kernel gives up on a request after minutes, a network target after hours.
const LONGEST_LATENCY_NS: f64 = 86_400e9;
/// Maximum excess of the requests in flight over rate times latency: the tags of a full NVMe queue.
const MOST_IN_PROGRESS: f64 = 65_536.0;
/// A share up to this is rounding, above it damage. Windows' `% Idle Time` can exceed 1.
const MOST_SHARE: f64 = 1.5;
/// Minimum number of requests for a judgement on a busy counter.
const JUDGED_REQUESTS: f64 = 50.0;
/// Ratio of utilization to concurrency above which the busy counter is wrong. Clock ticks, requests that
/// began before the observation, and rounding in print explain smaller ratios.
const MOST_BUSY: f64 = 1.25;

/// The impossible figures of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpossibleFigures {
    intervals: u64,
    figures: u64,
    first: Option<String>,
}

impl ImpossibleFigures {
    /// Removes impossible figures from an interval; `false` if the whole interval must be skipped.
    pub fn admits(&mut self, interval: &mut Interval) -> bool {
        let mut worthless = None;
        for (name, op) in [
            ("read", &mut interval.read),
            ("write", &mut interval.write),
            ("total", &mut interval.all),
        ] {
            let OpInterval { per_s, bytes_per_s, request_bytes, merged_per_s, latency_ns } = op;
            for (what, figure, most) in [
                ("requests per second", &*per_s, MOST_PER_S),
                ("bytes per second", bytes_per_s, MOST_BYTES_PER_S),
                ("bytes per request", request_bytes, MOST_REQUEST_BYTES),
                ("ns of latency", latency_ns, LONGEST_LATENCY_NS),
            ] {
                if let Some(figure) = figure.filter(|figure| !possible(figure, most)) {
                    worthless.get_or_insert_with(|| format!("{name}: {:e} {what}", figure.value));
                }
            }
            self.keep_possible(merged_per_s, MOST_PER_S);
        }
        if let Some(what) = worthless {
            self.intervals += 1;
            self.first.get_or_insert_with(|| format!("{} {what}", interval.device));
            return false;
        }
        let product = |op: &OpInterval| Some(op.per_s?.value * op.latency_ns?.value / 1e9);
        let explained = [&interval.read, &interval.write, &interval.all].map(product);
        let explained = explained.into_iter().flatten().sum::<f64>();
        self.keep_possible(&mut interval.concurrency, MOST_IN_PROGRESS + 100.0 * explained);
        for figure in
            [&mut interval.discards_per_s, &mut interval.flushes_per_s, &mut interval.splits_per_s]
        {
            self.keep_possible(figure, MOST_PER_S);
        }
        self.keep_possible(&mut interval.flush_latency_ns, LONGEST_LATENCY_NS);
        self.keep_possible(&mut interval.in_flight, MOST_IN_PROGRESS);
        // Kernels before 6.10 count the busy time of a request that began earlier when it ends.
        let rounding = 1.0 - MOST_SHARE..=MOST_SHARE.max(explained);
        if let Some(share) = interval.busy_share.as_mut().filter(|it| rounding.contains(&it.value))
        {
            share.value = share.value.clamp(0.0, 1.0);
        }
        self.keep_possible(&mut interval.busy_share, 1.0);
        true
    }

    fn keep_possible(&mut self, figure: &mut Option<Figure>, most: f64) {
        if figure.is_some_and(|figure| !possible(&figure, most)) {
            self.figures += 1;
            *figure = None;
        }
    }

    /// A finding on what was skipped, if anything was.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        (self.intervals + self.figures > 0).then(|| {
            let first =
                self.first.as_ref().map_or(String::new(), |it| format!(" The first: {it}."));
            let claim = format!(
                "Impossible figures were omitted: {} whole intervals and {} single \
                 figures.{first}",
                self.intervals, self.figures
            );
            let remedy = "The cause is a driver, a tool or a damaged file: compare with another \
                          tool.";
            Finding::warning(FindingCode::ImpossibleFigures, claim, remedy)
                .with("intervals left out", self.intervals as f64, "")
                .with("figures left out", self.figures as f64, "")
        })
    }
}

fn possible(figure: &Figure, most: f64) -> bool {
    (0.0..=most).contains(&figure.value)
        && figure.resolution.is_finite()
        && figure.resolution >= 0.0
}

/// Major and minor version of a kernel.
type Version = (u32, u32);

/// Kernel versions (from, and up to but not including) whose busy times (the tenth counter, iostat's %util)
/// are unreliable, and why. Kernels have counted them in three ways, and only the last is correct at any
/// load. Sources: `part_round_stats` of Linux 4.16 and 4.20, commits 5b18b5a73760 (5.0) and 99dc422335d8
/// (6.10). Rejected: correcting the number, which would need the arrival times that were lost.
const DOUBTS: [(Version, Version, &str); 2] = [
    (
        (4, 17),
        (5, 0),
        "counts requests that are allocated but not yet started, so it is too high when requests \
         wait for a free tag",
    ),
    (
        (5, 0),
        (6, 10),
        "checks once per timer tick whether a request is in flight, so it can show 90 % for a \
         disk that is nearly idle",
    ),
];

/// Why a disk's busy share is unreliable under this kernel release, such as `6.18.44-fc`; `None` if it is
/// reliable.
#[must_use]
pub fn kernel_busy_doubt(release: &str) -> Option<String> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let (.., why) = DOUBTS.iter().find(|(from, to, _)| (*from..*to).contains(&version))?;
    Some(format!("Linux {}.{} {why}", version.0, version.1))
}

/// Marks each device whose busy counter contradicts its concurrency as unreliable.
pub fn doubt_busy_counters(observation: &mut Observation) {
    // For each device: observed seconds, requests, busy seconds, and the sum of concurrency over time in
    // seconds.
    let mut totals: HashMap<&str, [f64; 4]> = HashMap::new();
    for interval in &observation.intervals {
        let seconds = interval.duration_ns as f64 / 1e9;
        let [observed, requests, busy, present] = totals.entry(&interval.device).or_default();
        *observed += seconds;
        // Skip intervals with discards or flushes: they keep a device busy but are not in its concurrency.
        let others = [interval.discards_per_s, interval.flushes_per_s];
        let alone = others.iter().flatten().all(|rate| rate.value == 0.0);
        let rate = interval.all.per_s.filter(|rate| alone && rate.value > 0.0);
        let shares = interval.busy_share.zip(interval.concurrency);
        if let (Some(rate), Some((share, concurrency))) = (rate, shares) {
            *requests += rate.value * seconds;
            *busy += (share.value - share.resolution).max(0.0) * seconds;
            *present += (concurrency.value + concurrency.resolution) * seconds;
        }
    }
    for device in observation.devices.iter_mut().filter(|device| device.busy_doubt.is_none()) {
        let totals = totals.get(device.name.as_str());
        let Some([observed, requests, busy, present]) = totals else { continue };
        if *requests < JUDGED_REQUESTS || *busy <= MOST_BUSY * present {
            continue;
        }
        let [shown, most] = [busy, present].map(|part| format_share(part / observed));
        let doubt = format!(
            "it counts {shown} of the time ({busy:.2} s) as busy, but requests were in flight for at \
             most {most} ({present:.2} s)"
        );
        let claim = format!("The busy counter of {} cannot be trusted: {doubt}.", device.name);
        let remedy = "Use latency and concurrency instead; the utilization law depends on the \
                      busy share.";
        observation.findings.push(
            Finding::note(FindingCode::BusyDoubtful, claim, remedy)
                .with("busy time", *busy, "s")
                .with("time with requests", *present, "s"),
        );
        device.busy_doubt = Some(doubt);
    }
}

//! Figures that no device can have.
//!
//! Counters arrive damaged: a driver wraps one, a tool subtracts readings of different devices, a
//! file loses a byte. One such figure decides the mean of an hour. So an interval with an impossible
//! rate, size or latency is left out as a whole, and any other impossible figure is left out alone:
//! the damage costs one interval and not the conclusion. Every source of intervals asks here.
//!
//! A busy counter is compared with the requests in flight over a whole observation. A device is
//! busy only while a request is in progress, so its utilization is at most its mean concurrency, and
//! by Little's law its mean service time at most its mean latency. Within one interval that does not
//! hold, because the kernel counts the time of a request when it completes.

use crate::{Figure, Finding, FindingCode, Interval, Observation, OpInterval};
use std::collections::HashMap;

/// Requests per second of one device: some times the fastest of today.
pub const MOST_PER_S: f64 = 2e7;
/// Bytes per second of one device.
pub const MOST_BYTES_PER_S: f64 = 5.12e11;
/// Bytes of a request: the kernel counts those of a bio in 32 bits.
const MOST_REQUEST_BYTES: f64 = 4_294_967_296.0;
/// A day. The kernel gives a request up after minutes, a network target after hours.
const LONGEST_LATENCY_NS: f64 = 86_400e9;
/// Requests in progress beyond what rate and latency explain: the tags of a full NVMe queue.
const MOST_IN_PROGRESS: f64 = 65_536.0;
/// Shares up to this are rounding, beyond it they are damage. `% Idle Time` of Windows overshoots.
const MOST_SHARE: f64 = 1.5;
/// Requests without which a busy counter is not judged.
const JUDGED_REQUESTS: f64 = 50.0;
/// Utilization over concurrency beyond which the busy counter is wrong: ticks, requests that began
/// before the observation and printed digits make less.
const MOST_BUSY: f64 = 1.25;

/// The impossible figures of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpossibleFigures {
    intervals: u64,
    figures: u64,
    first: Option<String>,
}

impl ImpossibleFigures {
    /// Removes impossible figures of an interval; `false` if the interval is worth nothing then.
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
        self.keep_possible(&mut interval.in_flight, MOST_IN_PROGRESS);
        let rounding = 1.0 - MOST_SHARE..=MOST_SHARE;
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

    /// What was left out, where anything was.
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

/// From and to which version (the latter not included) the busy times that a kernel keeps (the tenth
/// counter, iostat's %util) are in doubt, and why: they have been kept in three ways, and only the
/// last means what its name says at any load. Sources: `part_round_stats` of Linux 4.16 and 4.20,
/// commits 5b18b5a73760 (5.0) and 99dc422335d8 (6.10). Rejected: correcting the number, which would
/// need the arrival times that were lost.
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

/// Why the busy share of a disk cannot be trusted under a kernel of this release, such as
/// `6.18.44-fc`; `None` where it can.
#[must_use]
pub fn kernel_busy_doubt(release: &str) -> Option<String> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let (.., why) = DOUBTS.iter().find(|(from, to, _)| (*from..*to).contains(&version))?;
    Some(format!("Linux {}.{} {why}", version.0, version.1))
}

/// Says of each device whose busy counter contradicts its concurrency that it cannot be trusted.
pub fn doubt_busy_counters(observation: &mut Observation) {
    // Of each device: requests, and the seconds with and the seconds of requests in flight.
    let mut totals: HashMap<&str, [f64; 3]> = HashMap::new();
    for interval in &observation.intervals {
        // Discards and flushes keep a device busy and are not in its concurrency.
        let others = [interval.discards_per_s, interval.flushes_per_s];
        let alone = others.iter().flatten().all(|rate| rate.value == 0.0);
        let rate = interval.all.per_s.filter(|rate| alone && rate.value > 0.0);
        let shares = interval.busy_share.zip(interval.concurrency);
        if let (Some(rate), Some((share, concurrency))) = (rate, shares) {
            let seconds = interval.duration_ns as f64 / 1e9;
            let [requests, busy, present] = totals.entry(&interval.device).or_default();
            *requests += rate.value * seconds;
            *busy += (share.value - share.resolution).max(0.0) * seconds;
            *present += (concurrency.value + concurrency.resolution) * seconds;
        }
    }
    for device in observation.devices.iter_mut().filter(|device| device.busy_doubt.is_none()) {
        let Some([requests, busy, present]) = totals.get(device.name.as_str()) else { continue };
        if *requests < JUDGED_REQUESTS || *busy <= MOST_BUSY * present {
            continue;
        }
        let doubt =
            format!("it shows {busy:.2} s, but requests were in flight for at most {present:.2} s");
        let claim = format!("The busy share of {} cannot be trusted: {doubt}.", device.name);
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

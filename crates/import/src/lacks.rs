//! Reports which figures a source lacks, and which conclusions are therefore impossible.
//!
//! A missing figure is not a fault of a reader. But the user of a verdict must know which verdicts were
//! impossible. So the figures of the observation itself are checked, not a list of what each format should
//! have: a column that a user left out has the same effect.

use record::{
    Figure, Finding, FindingCode, Interval, Observation, OpInterval, Severity, counted,
    is_of_windows,
};
use std::collections::{BTreeMap, BTreeSet};

/// If the resolution of a mean latency exceeds this share of the latency, a comparison with a profile is
/// coarse: the tolerance of the verdict `slow` has this size.
const COARSE: f64 = 0.1;

/// A figure that conclusions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Rate,
    Latencies,
    Directions,
    LatencyOfEach,
    Bytes,
    BusyShare,
    Concurrency,
    InFlight,
}

/// The names that a tool has for missing figures.
pub(crate) type Names = [(Lack, &'static str)];

/// A figure with the conclusions that need it.
struct Need {
    lack: Lack,
    figure: fn(&Interval) -> Option<Figure>,
    name: &'static str,
    lost: &'static str,
    /// Whether an interval without it is left out if most others have it.
    in_every_interval: bool,
}

/// Whether an operation has a figure, or had no requests to measure.
fn needed(op: &OpInterval, figure: Option<Figure>) -> Option<Figure> {
    figure.or_else(|| op.per_s.filter(|rate| rate.value == 0.0))
}

/// The latency of all requests: from the source, or the mean queue depth divided by the rate (Little's law).
fn latency(interval: &Interval) -> Option<Figure> {
    let all = &interval.all;
    needed(all, all.latency_ns.or_else(|| interval.concurrency.filter(|_| all.per_s.is_some())))
}

const NEEDS: [Need; 8] = [
    Need {
        lack: Lack::Rate,
        in_every_interval: true,
        figure: |it| it.all.per_s,
        name: "the rate of requests",
        lost: "saturation, and every verdict that depends on it",
    },
    Need {
        lack: Lack::Latencies,
        in_every_interval: true,
        figure: latency,
        name: "latencies",
        lost: "the verdicts slow and overloaded (only saturation can be judged)",
    },
    Need {
        lack: Lack::Directions,
        in_every_interval: true,
        figure: |it| it.read.per_s.or(it.write.per_s),
        name: "reads and writes separately",
        lost: "the mix (expected latencies use a mix estimated from the bytes)",
    },
    Need {
        lack: Lack::LatencyOfEach,
        in_every_interval: true,
        figure: |it| {
            needed(&it.read, it.read.latency_ns).and(needed(&it.write, it.write.latency_ns))
        },
        name: "separate latencies of reads and writes",
        lost: "whether reads or writes are slow",
    },
    Need {
        lack: Lack::Bytes,
        in_every_interval: true,
        figure: |it| it.all.bytes_per_s,
        name: "bytes",
        lost: "request sizes, and the verdicts slow and overloaded (the expected latency depends on \
               the size)",
    },
    Need {
        lack: Lack::BusyShare,
        in_every_interval: true,
        figure: |it| it.busy_share,
        name: "the busy share",
        lost: "service and queue latency by the utilization law",
    },
    Need {
        lack: Lack::Concurrency,
        in_every_interval: false,
        figure: |it| it.concurrency,
        name: "requests in flight",
        lost: "the position on the depth curve",
    },
    Need {
        lack: Lack::InFlight,
        in_every_interval: false,
        figure: |it| it.in_flight,
        name: "requests in flight at the end of an interval",
        lost: "hung requests (no value includes them until they end)",
    },
];

/// Removes the intervals without a figure that most intervals of their device have: a collector missed some
/// values of a sample. A sum over all intervals would otherwise lose the figure, and with it the verdict.
pub(crate) fn without_incomplete_intervals(observation: &mut Observation) -> Option<Finding> {
    let lacks = |it: &Interval, need: &Need| (need.figure)(it).is_none();
    // Per device, the number of intervals, and of those without each figure.
    let mut counted_of: BTreeMap<&str, (usize, [usize; NEEDS.len()])> = BTreeMap::new();
    for interval in &observation.intervals {
        let (all, without) = counted_of.entry(&interval.device).or_default();
        *all += 1;
        for (count, need) in without.iter_mut().zip(&NEEDS) {
            *count += usize::from(need.in_every_interval && lacks(interval, need));
        }
    }
    let usual = counted_of.into_iter().filter_map(|(device, (all, without))| {
        let some = |(count, _): &(usize, &Need)| *count > 0 && 2 * count < all;
        let needs: Vec<&Need> =
            without.into_iter().zip(&NEEDS).filter(some).map(|(_, need)| need).collect();
        (!needs.is_empty()).then(|| (device.to_owned(), needs))
    });
    let usual: BTreeMap<String, Vec<&Need>> = usual.collect();
    if usual.is_empty() {
        return None;
    }
    let all = observation.intervals.len();
    observation.intervals.retain(|interval| {
        let needs = usual.get(&interval.device).into_iter().flatten();
        needs.into_iter().all(|need| !lacks(interval, need))
    });
    let left_out = (all - observation.intervals.len()) as f64;
    let names: BTreeSet<&str> = usual.values().flatten().map(|need| need.name).collect();
    let claim = format!(
        "skipped: {} without values that the other intervals have ({})",
        counted(left_out, "interval"),
        names.into_iter().collect::<Vec<_>>().join(", ")
    );
    let finding = Finding::note(FindingCode::IntervalsLeftOut, claim, "");
    Some(finding.with("incomplete", left_out, "").with("intervals", all as f64, ""))
}

/// The findings on missing, mixed or coarse figures. `names` are those of the source's tool.
pub(crate) fn findings(
    observation: &Observation,
    names: &Names,
    discards_mixed: u64,
) -> Vec<Finding> {
    let intervals = &observation.intervals;
    let count = intervals.len() as f64;
    let mut findings = Vec::new();
    let mut wholly = Vec::new();
    for need in &NEEDS {
        let without = intervals.iter().filter(|it| (need.figure)(it).is_none()).count() as f64;
        if without == count {
            wholly.push(need);
        } else if without > 0.0 {
            let claim = format!(
                "some intervals do not report {}; not available for these intervals: {}",
                need.name, need.lost
            );
            let finding = Finding::note(FindingCode::FiguresMissing, claim, "");
            let finding = finding.with("intervals without this value", without, "");
            findings.push(finding.with("intervals", count, ""));
        }
    }
    // Without any latencies their split is missing too; it needs no second line.
    let has = |wholly: &[&Need], lack: Lack| wholly.iter().any(|need| need.lack == lack);
    if has(&wholly, Lack::Latencies) || has(&wholly, Lack::Directions) {
        wholly.retain(|need| need.lack != Lack::LatencyOfEach);
    }
    let computed = intervals.iter().all(|it| it.all.latency_ns.is_none());
    for need in wholly {
        let severity = if need.lack == Lack::InFlight { Severity::Info } else { Severity::Warning };
        let name = names.iter().find(|(lack, _)| *lack == need.lack).map(|(_, name)| *name);
        let mut claim = match name {
            Some(name) => format!("the file lacks {name}: it does not report {}; ", need.name),
            None => format!("the source does not report {}; ", need.name),
        };
        if need.lack == Lack::LatencyOfEach && computed {
            claim += "the latency of all requests is computed, as the mean queue depth divided by \
                      the rate of requests (Little's law); ";
        }
        claim += &format!("not available: {}", need.lost);
        let remedy = name.map_or("", |_| "add these counters and record again");
        let finding = Finding::new(FindingCode::FiguresMissing, severity, claim, remedy);
        findings.push(finding.with("intervals", count, ""));
    }
    if observation.contexts.iter().all(|it| it.io_some_share.is_none()) {
        let windows = observation.devices.first();
        let windows = windows.is_some_and(|it| is_of_windows(&observation.source, &it.name));
        let (lack, remedy) = match windows {
            true => ("Windows does not report how long programs wait for I/O", ""),
            false => (
                "the source reports nothing about the layers above the disk (control groups, \
                 pressure)",
                "record on the machine itself: halfpower record",
            ),
        };
        let claim = format!(
            "{lack}; not available: the verdict capped, which becomes \"capped or paced by the \
             application\""
        );
        let finding = Finding::note(FindingCode::FiguresMissing, claim, remedy);
        findings.push(finding.with("intervals", count, ""));
    }
    findings.extend(stacked(observation));
    findings.extend(mixed(discards_mixed, count));
    findings.extend(coarse(intervals));
    findings
}

/// Probability below which a count that never falls below some number counts as stuck. With a mean of L
/// requests in flight, at least n are in flight at a moment with a probability of at most L/n (Markov).
const STUCK_CHANCE: f64 = 1e-3;

/// Removes the count of requests in flight from devices on which it is stuck: it never falls below some
/// number, although the weighted time shows fewer in flight and requests completed. Some drivers lose the
/// end of a request, and the count stays high until the next start. Without a completed request the count
/// is kept, because the requests may really hang.
pub(crate) fn without_stuck_counts(observation: &mut Observation) -> Vec<Finding> {
    let (mut findings, mut stuck) = (Vec::new(), Vec::new());
    for device in &observation.devices {
        let of_device = || observation.intervals.iter().filter(|it| it.device == device.name);
        let counts: Vec<f64> = of_device().filter_map(|it| Some(it.in_flight?.value)).collect();
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        if counts.is_empty() || least < 1.0 {
            continue;
        }
        let most = of_device().filter_map(|it| Some(it.concurrency?.value)).fold(0.0, f64::max);
        let completed = of_device().any(|it| it.all.per_s.is_some_and(|rate| rate.value > 0.0));
        let known = of_device().all(|it| it.concurrency.is_some());
        if !known || !completed || (most / least).powi(counts.len() as i32) >= STUCK_CHANCE {
            continue;
        }
        let claim = format!(
            "the requests-in-flight counter of {} is stuck and is ignored: it never falls below \
             {least}, although requests completed and the weighted I/O time gives at most \
             {most:.2}",
            device.name
        );
        let remedy = "to find requests that really hang, check the system log (dmesg, or the event \
                      log), or run halfpower watch on the machine";
        stuck.push(device.name.clone());
        findings.push(
            Finding::warning(FindingCode::ImpossibleFigures, claim, remedy)
                .with("requests in flight at least", least, "")
                .with("by the weighted time at most", most, ""),
        );
    }
    let is_stuck = |it: &&mut Interval| stuck.contains(&it.device);
    observation.intervals.iter_mut().filter(is_stuck).for_each(|it| it.in_flight = None);
    findings
}

/// Devices that the kernel builds from others, if the source does not state this.
fn stacked(observation: &Observation) -> Option<Finding> {
    let is_built = |name: &&str| {
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()))
        };
        numbered("dm-") || numbered("md")
    };
    let names = || observation.devices.iter().map(|device| device.name.as_str());
    let built: Vec<&str> = names().filter(is_built).collect();
    let (first, others) = (built.first()?, names().count() - built.len());
    (others > 0).then(|| {
        let more = if built.len() == 1 { "" } else { " and others" };
        let claim = format!(
            "the source does not report which disks are below {first}{more}; those disks count the \
             same requests again; not available: totals over devices"
        );
        let finding = Finding::note(FindingCode::FiguresMissing, claim, "");
        finding.with("stacked devices", built.len() as f64, "")
    })
}

/// Means over reads, writes and discards together.
fn mixed(intervals: u64, count: f64) -> Option<Finding> {
    (intervals > 0).then(|| {
        let claim = "rates and mean latencies of this source include discards, whose latency \
                     differs from that of reads and writes";
        let remedy = "use iostat -x, which reports discards separately, or exclude intervals with \
                      discards";
        Finding::warning(FindingCode::FiguresMixed, claim, remedy)
            .with("intervals that may include discards", intervals as f64, "")
            .with("intervals", count, "")
    })
}

/// Latencies so short that the last printed digit is a large part of them.
fn coarse(intervals: &[Interval]) -> Option<Finding> {
    let responses = || intervals.iter().filter_map(|it| it.all.latency_ns);
    let is_coarse = |it: &Figure| it.value <= 0.0 || it.resolution / it.value > COARSE;
    let (all, bad) = (responses().count(), responses().filter(is_coarse).count());
    let worst = responses().map(|it| it.resolution).fold(0.0, f64::max);
    (2 * bad > all).then(|| {
        let claim = "latencies are coarse: in most intervals, the printed step is more than a \
                     tenth of the latency; not available: the verdict slow, unless the disk is far \
                     slower than expected";
        let remedy = "record on the machine itself with halfpower record (nanoseconds), or over \
                      longer intervals";
        Finding::warning(FindingCode::FiguresCoarse, claim, remedy)
            .with("intervals with coarse times", bad as f64, "")
            .with("coarsest step", worst / 1e3, "µs")
    })
}

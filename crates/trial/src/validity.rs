//! Whether the numbers of a trial mean what they say.
//!
//! Each rule looks at the document alone and yields a typed finding with its evidence and a flag
//! to try, or nothing. A trap that a rule cannot see from here (a cache of the host below a
//! virtual disk, say) is the business of experiments that compare trials.

use record::{
    CacheMode, Confidence, DeviceCounters, EngineName, Finding, FindingCode, Severity, Trial,
    format_bytes, format_count,
};

/// Share of our bytes beyond which device traffic is somebody else's, or less than which ours did
/// not all arrive.
const TRAFFIC_TOLERANCE: f64 = 0.1;
/// Share of the asked depth below which it was not held.
const HELD_SHARE: f64 = 0.75;
/// Rounds of the whole depth without which that cannot be told.
const ROUNDS_MIN: f64 = 20.0;
/// Share of the harness's ceiling above which a job's rate may be the harness's own.
const HARNESS_SHARE: f64 = 0.5;
/// Share of processor time lost to the host above which times are suspect.
const STEAL_SHARE: f64 = 0.05;
/// Requests below which a trial carries no interval worth the name.
const FEW_REQUESTS: u64 = 100;

/// All findings on a trial from its own numbers.
#[must_use]
pub fn findings(trial: &Trial) -> Vec<Finding> {
    let rules = [
        errors,
        short,
        depth,
        few,
        page_cache,
        device_saw_less,
        foreign,
        steady,
        harness,
        steal,
        no_io,
    ];
    rules.iter().filter_map(|rule| rule(trial)).collect()
}

fn directions(trial: &Trial) -> impl Iterator<Item = &record::DirectionResult> {
    trial.result.read.iter().chain(&trial.result.write)
}

fn completed(trial: &Trial) -> u64 {
    directions(trial).map(|direction| direction.ios).sum()
}

/// A device's counters, where they can be held against ours.
struct Traffic<'a> {
    counters: &'a DeviceCounters,
    /// Device bytes over ours.
    ratio: f64,
    /// How far the ratio may lie from one without meaning anything: a tenth, and the requests in
    /// flight at both edges of the window.
    tolerance: f64,
}

fn traffic(trial: &Trial) -> Option<Traffic<'_>> {
    let counters = trial.device_counters.value()?;
    let ratio = counters.ratio_bytes?;
    let ours: u64 = directions(trial).map(|direction| direction.bytes).sum();
    let workload = &trial.workload;
    let edges = 2 * u64::from(workload.depth) * workload.max_bs().0;
    let tolerance = TRAFFIC_TOLERANCE + edges as f64 / ours.max(1) as f64;
    (completed(trial) >= FEW_REQUESTS).then_some(Traffic { counters, ratio, tolerance })
}

fn errors(trial: &Trial) -> Option<Finding> {
    let count: u64 = directions(trial).map(|direction| direction.errors).sum();
    let kinds: Vec<String> = directions(trial)
        .flat_map(|direction| &direction.error_kinds)
        .map(|kind| format!("{} x {}", kind.count, kind.message))
        .collect();
    (count > 0).then(|| {
        Finding::new(
            FindingCode::IoErrors,
            Severity::Invalid,
            format!("{count} requests failed: {}.", kinds.join(", ")),
            "Look at the kernel log (dmesg); the times above are of the others only.",
        )
        .with("failed requests", count as f64, "")
        .with("completed requests", completed(trial) as f64, "")
    })
}

fn short(trial: &Trial) -> Option<Finding> {
    let count: u64 = directions(trial).map(|direction| direction.short).sum();
    (count > 0).then(|| {
        Finding::new(
            FindingCode::ShortTransfers,
            Severity::Invalid,
            format!("{count} requests transferred less than asked; they are not counted."),
            "The file may have been truncated during the run; use a target that keeps its size.",
        )
        .with("short requests", count as f64, "")
    })
}

/// The asked depth that the engine cannot hold, or that the program did not hold in flight.
fn depth(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    if workload.engine != EngineName::Sync || workload.iodepth == 1 {
        return held_up(trial);
    }
    Some({
        Finding::new(
            FindingCode::DepthNotReached,
            Severity::Warning,
            format!(
                "The sync engine has one request in flight per job: the depth was {}, not {}.",
                workload.numjobs, workload.depth
            ),
            format!("Use --numjobs {} or --ioengine io_uring.", workload.depth),
        )
        .with("depth asked for", f64::from(workload.depth), "")
        .with("requests in progress", trial.result.concurrency, "")
    })
}

/// A closed loop holds its depth but for the time between a completion and the next hand-over.
fn held_up(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let (asked, held) = (f64::from(workload.depth), trial.result.concurrency);
    // With few rounds of the depth, requests cut off by the end of the window are missing.
    let rounds = completed(trial) as f64 / asked;
    let idle = workload.engine == EngineName::Null || rounds < ROUNDS_MIN;
    (!idle && held < HELD_SHARE * asked).then(|| {
        Finding::new(
            FindingCode::DepthNotReached,
            Severity::Warning,
            format!("Only {held:.2} of {asked} requests were in progress on average."),
            "This program was held up between requests: look for a busy processor, or use more \
             --numjobs with less --iodepth.",
        )
        .with("requests in progress", held, "")
        .confidence(Confidence::Likely)
    })
}

fn few(trial: &Trial) -> Option<Finding> {
    let count = completed(trial);
    (count < FEW_REQUESTS).then(|| {
        let severity = if count == 0 { Severity::Invalid } else { Severity::Warning };
        Finding::new(
            FindingCode::TooFewRequests,
            severity,
            format!("Only {count} requests completed in the measured time."),
            "Use a longer --runtime.",
        )
        .with("completed requests", count as f64, "")
    })
}

fn page_cache(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let Traffic { counters, ratio, tolerance } = traffic(trial)?;
    (!workload.cache.direct() && workload.read_percent == 100 && ratio < 1.0 - tolerance).then(
        || {
            Finding::new(
                FindingCode::PageCacheServed,
                Severity::Warning,
                format!(
                    "The page cache served {:.0} % of the bytes: this is memory, not {}.",
                    (1.0 - ratio) * 100.0,
                    counters.device
                ),
                "Use --cache device to measure the device, or --scrub dontneed for a cold start.",
            )
            .with("device bytes over ours", ratio, "")
        },
    )
}

fn device_saw_less(trial: &Trial) -> Option<Finding> {
    let Traffic { counters, ratio, tolerance } = traffic(trial)?;
    (trial.workload.cache.direct() && ratio < 1.0 - tolerance).then(|| {
        Finding::new(
            FindingCode::DeviceSawLess,
            Severity::Warning,
            format!(
                "{} counted only {:.0} % of our bytes although the page cache was bypassed.",
                counters.device,
                ratio * 100.0
            ),
            "Something above that device serves requests: a cache layer, holes, or a file system \
             that ignores O_DIRECT.",
        )
        .with("device bytes over ours", ratio, "")
    })
}

fn foreign(trial: &Trial) -> Option<Finding> {
    let Traffic { counters, ratio, tolerance } = traffic(trial)?;
    // Synchronous writes make the file system write its journal, and buffered loads read ahead:
    // there the surplus is our own doing.
    let countable = trial.workload.cache == CacheMode::Device;
    (countable && ratio > 1.0 + tolerance).then(|| {
        let surplus = counters.bytes as f64 * (1.0 - 1.0 / ratio);
        Finding::new(
            FindingCode::ForeignIo,
            Severity::Warning,
            format!(
                "Others moved {} on {} meanwhile: {:.0} % on top of ours.",
                format_bytes(surplus as u64),
                counters.device,
                (ratio - 1.0) * 100.0
            ),
            "Run again when the device is quiet; iotop or pidstat -d show who it is.",
        )
        .with("device bytes over ours", ratio, "")
        .confidence(Confidence::Likely)
    })
}

fn steady(trial: &Trial) -> Option<Finding> {
    let series = &trial.result.series.ios;
    let half = series.len() / 2;
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    (trial.result.steady == Some(false)).then(|| {
        let (first, second) = (mean(&series[..half]), mean(&series[half..]));
        Finding::new(
            FindingCode::NotSteady,
            Severity::Warning,
            format!(
                "The rate moved during the run: the second half was {:+.0} % against the first.",
                (second / first.max(1e-9) - 1.0) * 100.0
            ),
            "Use --ramp-time to leave the start out, or a longer --runtime.",
        )
        .with("first half over second half", first / second.max(1e-9), "")
        .confidence(Confidence::Likely)
    })
}

fn harness(trial: &Trial) -> Option<Finding> {
    let harness = trial.harness.value()?;
    let iops: f64 = directions(trial).map(|direction| direction.iops).sum();
    let per_job = iops / f64::from(trial.workload.numjobs);
    (trial.workload.engine != EngineName::Null && per_job > HARNESS_SHARE * harness.ceiling_iops)
        .then(|| {
            Finding::new(
                FindingCode::HarnessLimit,
                Severity::Warning,
                format!(
                    "A job made {}/s; this program's own limit here is {}/s.",
                    format_count(per_job),
                    format_count(harness.ceiling_iops)
                ),
                "Use more --numjobs.",
            )
            .with("rate per job", per_job, "1/s")
            .with("ceiling", harness.ceiling_iops, "1/s")
        })
}

fn steal(trial: &Trial) -> Option<Finding> {
    let steal_ms = trial.cpu.value()?.steal_ms?;
    let cpus = f64::from(trial.environment.as_ref()?.cpus.max(1));
    let share = steal_ms / (trial.result.duration_ns.as_secs_f64() * 1e3 * cpus).max(1e-9);
    (share > STEAL_SHARE).then(|| {
        Finding::new(
            FindingCode::StealTime,
            Severity::Warning,
            format!("The host took {:.0} % of the processor time.", share * 100.0),
            "Times include waiting for a processor; run again when the host is quiet.",
        )
        .with("steal", steal_ms, "ms")
    })
}

fn no_io(trial: &Trial) -> Option<Finding> {
    (trial.workload.engine == EngineName::Null).then(|| {
        Finding::new(
            FindingCode::NoDevice,
            Severity::Warning,
            "The null engine does no I/O: this is the limit of the program, not of the target.",
            "Use --ioengine io_uring or sync to measure the target.",
        )
    })
}

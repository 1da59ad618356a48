//! Decides whether the numbers of a trial can be trusted.
//!
//! Each rule reads only the document and returns a typed finding with its evidence and a flag to try, or
//! nothing. The same document gives the same findings years later. Facts that a document cannot show (how a
//! file is placed on its device, for example) are collected before the run and stored in it.
//!
//! One cause gives one finding: if another rule explains a symptom better, the rule is silent. Numbers for
//! a load that differs from the requested one are invalid. Numbers that mean something other than they seem
//! to are a warning; everything else is a note. Rejected: rules within the runner (they cannot be run
//! again, and two of them cannot be weighed against each other).

mod area;
mod clients;
mod counters;
mod failures;
mod harness;
mod limits;
mod load;
mod requests;

use record::{DeviceCounters, DeviceFacts, Extents, FilesystemFacts, Finding, FindingCode, Trial};

/// Tolerance between device bytes and ours, as a share of ours: more is traffic of other processes, less
/// means that some of our requests did not reach the device.
const TRAFFIC_TOLERANCE: f64 = 0.1;
/// Minimum number of requests for a useful interval.
const FEW_REQUESTS: u64 = 100;

/// A rule for one kind of problem; rules are in the order of the findings in a document.
type Rule = fn(&Trial) -> Option<Finding>;

/// Rules on the numbers of a single job.
const OF_A_JOB: &[Rule] = &[
    failures::errors,
    failures::short,
    failures::silent,
    failures::interrupted,
    failures::corrupt,
    failures::array,
    load::depth,
    load::fell_behind,
    load::few,
    load::steady,
    load::warm_up,
    load::stop_rule,
    load::not_preconditioned,
    area::unwritten,
    area::cache_sized,
    area::compressed_extents,
    area::drop_cache,
    area::trimmed_again,
];

/// Rules on the counters of devices and processors, which cover all jobs together.
const OF_ALL_JOBS: &[Rule] = &[
    counters::page_cache,
    counters::compressed,
    counters::direct_ignored,
    counters::device_saw_less,
    counters::foreign,
    requests::merged,
    requests::split,
    limits::cgroup,
    harness::processor,
    |trial| record::cpu_taken([trial]),
];

/// Rules on the limits of the program, for each job.
const OF_THE_HARNESS: &[Rule] =
    &[harness::ceiling, harness::clock, harness::locked_memory, harness::no_io];

/// Rules on the clients of a load.
const OF_CLIENTS: &[Rule] =
    &[clients::lost, clients::apart, clients::straggler, clients::unequal, clients::differ];

/// Findings that are made before a run and decided here once its numbers are known.
const JUDGED_AGAIN: [FindingCode; 2] = [FindingCode::CgroupLimit, FindingCode::UnwrittenExtents];

/// All findings on a trial from its own numbers; for jobs after the first, see [`judge`].
#[must_use]
pub fn findings(trial: &Trial) -> Vec<Finding> {
    let found = |rules: &[Rule], trial: &Trial| -> Vec<Finding> {
        rules.iter().filter_map(|rule| rule(trial)).collect()
    };
    let mut all = found(OF_A_JOB, trial);
    if trial.workload.beside.is_empty() {
        all.extend(found(OF_ALL_JOBS, trial));
    } else if let Some(together) = trial.together() {
        all.extend(found(OF_ALL_JOBS, &together));
    }
    all.extend(found(OF_THE_HARNESS, trial));
    all.extend(found(OF_CLIENTS, trial));
    all
}

/// Adds the findings from a trial's numbers, replacing those made before the numbers were known. Also adds
/// findings to each job after the first.
pub fn judge(trial: &mut Trial) {
    trial.findings.retain(|finding| !JUDGED_AGAIN.contains(&finding.code));
    let found = findings(trial);
    trial.findings.extend(found);
    for index in 0..trial.beside.len() {
        let Some(alone) = trial.job(index + 1) else { continue };
        let found = OF_A_JOB.iter().filter_map(|rule| rule(&alone));
        trial.beside[index].findings = found.collect();
    }
}

fn bytes(trial: &Trial) -> u64 {
    trial.directions().map(|direction| direction.bytes).sum()
}

fn filesystems(trial: &Trial) -> impl Iterator<Item = &FilesystemFacts> {
    trial.targets.iter().filter_map(|target| target.filesystem.as_ref())
}

fn devices(trial: &Trial) -> impl Iterator<Item = &DeviceFacts> {
    trial.targets.iter().filter_map(|target| target.device.as_ref())
}

fn extents(trial: &Trial) -> impl Iterator<Item = &Extents> {
    trial.targets.iter().filter_map(|target| target.extents.as_ref())
}

/// Whether all targets are in memory, so that no device cache can distort the result.
fn in_memory(trial: &Trial) -> bool {
    let in_memory = filesystems(trial).filter(|filesystem| filesystem.in_memory).count();
    in_memory > 0 && in_memory == trial.targets.len()
}

fn mean_bytes(trial: &Trial) -> f64 {
    bytes(trial) as f64 / trial.completed().max(1) as f64
}

/// The counters of a device, if they are comparable with ours.
struct Traffic<'a> {
    counters: &'a DeviceCounters,
    /// Device bytes over ours.
    ratio: f64,
    /// How far the ratio may be from one: a tenth, plus the requests in flight at both ends of the window
    /// and the failed ones.
    tolerance: f64,
}

impl Traffic<'_> {
    /// Whether the device saw less than we requested.
    fn less(&self) -> bool {
        self.ratio < 1.0 - self.tolerance
    }

    /// Whether it saw more.
    fn more(&self) -> bool {
        self.ratio > 1.0 + self.tolerance
    }
}

fn traffic(trial: &Trial) -> Option<Traffic<'_>> {
    let counters = trial.device_counters.value()?;
    let ratio = counters.ratio_bytes?;
    let workload = &trial.workload;
    // Copies and parity are the array's own traffic.
    if workload.all().any(|workload| workload.array.is_some()) {
        return None;
    }
    // A device also counts requests that failed.
    let failed = trial.failed();
    let cut_off = (2 * u64::from(workload.depth) + failed).saturating_mul(workload.max_bs().0);
    let tolerance = TRAFFIC_TOLERANCE + cut_off as f64 / bytes(trial).max(1) as f64;
    (trial.completed() >= FEW_REQUESTS).then_some(Traffic { counters, ratio, tolerance })
}

//! Whether the numbers of a trial mean what they say.
//!
//! Each rule looks at the document alone and yields a typed finding with its evidence and a flag to
//! try, or nothing: the same document gives the same findings years later. What a document cannot tell
//! (how a file lies on its device, say) was looked at before the run and stands in it as a fact.
//!
//! One cause gives one finding: a rule whose symptom another rule explains better is silent. Numbers
//! that are not those asked for are invalid; numbers that mean something else than they seem to are a
//! warning; the rest is a note. Rejected: rules within the runner (they cannot be run again, and two of
//! them cannot be weighed against each other).

mod area;
mod clients;
mod counters;
mod failures;
mod harness;
mod limits;
mod load;
mod requests;

use record::{DeviceCounters, DeviceFacts, Extents, FilesystemFacts, Finding, FindingCode, Trial};

/// Share of our bytes beyond which device traffic is somebody else's, or less than which ours did
/// not all arrive.
const TRAFFIC_TOLERANCE: f64 = 0.1;
/// Requests below which a trial carries no interval worth the name.
const FEW_REQUESTS: u64 = 100;

/// Rules of one kind of trouble each; the order is that of the findings in a document.
type Rule = fn(&Trial) -> Option<Finding>;

/// What the numbers of a job alone say.
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

/// What takes the counters of devices and processors, which do not tell jobs apart.
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

/// What the limits of the program say of a job.
const OF_THE_HARNESS: &[Rule] =
    &[harness::ceiling, harness::clock, harness::locked_memory, harness::no_io];

/// What is said of clients as they went together.
const OF_CLIENTS: &[Rule] =
    &[clients::lost, clients::apart, clients::straggler, clients::unequal, clients::differ];

/// Kinds that are stated before a run and judged here once its numbers are known.
const JUDGED_AGAIN: [FindingCode; 2] = [FindingCode::CgroupLimit, FindingCode::UnwrittenExtents];

/// All findings on a trial from its own numbers; on those of jobs beside the first, see [`judge`].
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

/// Adds to a trial what its own numbers say, in place of what was stated before they were known, and to
/// each job beside the first what its numbers say.
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

/// Whether all targets lie in memory, so that there is nothing below to be fooled by.
fn in_memory(trial: &Trial) -> bool {
    let in_memory = filesystems(trial).filter(|filesystem| filesystem.in_memory).count();
    in_memory > 0 && in_memory == trial.targets.len()
}

/// Mean size of our requests.
fn mean_bytes(trial: &Trial) -> f64 {
    bytes(trial) as f64 / trial.completed().max(1) as f64
}

/// A device's counters, where they can be compared with ours.
struct Traffic<'a> {
    counters: &'a DeviceCounters,
    /// Device bytes over ours.
    ratio: f64,
    /// How far the ratio may lie from one without meaning anything: a tenth, the requests in flight
    /// at both ends of the window, and those that failed.
    tolerance: f64,
}

impl Traffic<'_> {
    /// Whether the device saw less than we caused.
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
    // Copies and parity are traffic of the array's.
    if workload.all().any(|workload| workload.array.is_some()) {
        return None;
    }
    // A device counts what it failed to do as well.
    let failed = trial.failed();
    let cut_off = (2 * u64::from(workload.depth) + failed).saturating_mul(workload.max_bs().0);
    let tolerance = TRAFFIC_TOLERANCE + cut_off as f64 / bytes(trial).max(1) as f64;
    (trial.completed() >= FEW_REQUESTS).then_some(Traffic { counters, ratio, tolerance })
}

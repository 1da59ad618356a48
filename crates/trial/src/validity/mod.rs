//! Whether the numbers of a trial mean what they say.
//!
//! Each rule looks at the document alone and yields a typed finding with its evidence and a flag
//! to try, or nothing: the same document gives the same findings years later. What cannot be told
//! from a document (how a file lies on its device, say) was looked at before the run and stands in
//! the document as a fact, so that the rule for it stands here too.
//!
//! One cause gives one finding. A rule whose symptom another rule explains better is silent:
//! bytes that the device did not see are compression where the file system compresses, an ignored
//! O_DIRECT where that is known, and only otherwise bytes that are missing without a reason.
//! Severity follows one question: would a reader conclude something else? Numbers that are not
//! those asked for are invalid; numbers that mean something else than they seem to are a warning;
//! the rest is a note.
//!
//! What the two bounds of the processor cost say of each other is judged with them (`cost`), since
//! the upper one comes from a pass after the trial.
//!
//! Rejected: rules within the runner, at the place where a thing is noticed. They cannot be run
//! again, and two of them cannot be weighed against each other.

mod area;
mod counters;
mod failures;
mod harness;
mod limits;
mod load;
mod requests;

use record::{DeviceCounters, Finding, FindingCode, Trial};

/// Share of our bytes beyond which device traffic is somebody else's, or less than which ours did
/// not all arrive.
const TRAFFIC_TOLERANCE: f64 = 0.1;
/// Requests below which a trial carries no interval worth the name.
const FEW_REQUESTS: u64 = 100;

/// Rules of one kind of trouble each; the order is that of the findings in a document.
type Rule = fn(&Trial) -> Option<Finding>;

const RULES: &[Rule] = &[
    failures::errors,
    failures::short,
    failures::silent,
    failures::interrupted,
    failures::corrupt,
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
    counters::page_cache,
    counters::compressed,
    counters::direct_ignored,
    counters::device_saw_less,
    counters::foreign,
    requests::merged,
    requests::split,
    limits::cgroup,
    harness::ceiling,
    harness::processor,
    harness::clock,
    harness::steal,
    harness::locked_memory,
    harness::no_io,
];

/// Kinds that are stated before a run and judged here once its numbers are known.
const JUDGED_AGAIN: [FindingCode; 2] = [FindingCode::CgroupLimit, FindingCode::UnwrittenExtents];

/// All findings on a trial from its own numbers.
#[must_use]
pub fn findings(trial: &Trial) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(trial)).collect()
}

/// Adds to a trial what its own numbers say, in place of what was stated before they were known.
pub fn judge(trial: &mut Trial) {
    trial.findings.retain(|finding| !JUDGED_AGAIN.contains(&finding.code));
    let found = findings(trial);
    trial.findings.extend(found);
}

/// Whether a rate moved so far that no test of significance is needed; see [`load`].
pub(crate) fn halves_differ(counts: &[f64]) -> bool {
    load::halves_differ(counts)
}

/// Whether a rate wandered so much that its mean is hardly known; see [`load`].
pub(crate) fn wanders(counts: &[f64]) -> bool {
    load::wanders(counts)
}

fn bytes(trial: &Trial) -> u64 {
    trial.directions().map(|direction| direction.bytes).sum()
}

/// Whether all targets lie in memory, so that there is nothing below to be fooled by.
fn in_memory(trial: &Trial) -> bool {
    let target_in_memory = |target: &record::Target| {
        target.filesystem.as_ref().is_some_and(|filesystem| filesystem.in_memory)
    };
    !trial.targets.is_empty() && trial.targets.iter().all(target_in_memory)
}

/// Whether a file system that compresses lies below.
fn compresses(trial: &Trial) -> bool {
    let target_compresses = |target: &record::Target| {
        target.filesystem.as_ref().is_some_and(|filesystem| filesystem.compresses)
    };
    trial.targets.iter().any(target_compresses)
}

/// A device's counters, where they can be held against ours.
struct Traffic<'a> {
    counters: &'a DeviceCounters,
    /// Device bytes over ours.
    ratio: f64,
    /// How far the ratio may lie from one without meaning anything: a tenth, the requests in flight
    /// at both edges of the window, and those that failed.
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
    // A device counts what it failed to do as well.
    let failed = trial.failed();
    let edges = (2 * u64::from(workload.depth) + failed).saturating_mul(workload.max_bs().0);
    let tolerance = TRAFFIC_TOLERANCE + edges as f64 / bytes(trial).max(1) as f64;
    (trial.completed() >= FEW_REQUESTS).then_some(Traffic { counters, ratio, tolerance })
}

/// A share as a reader wants it: `37 %`, with a decimal below ten.
fn percent(share: f64) -> String {
    let hundredths = share * 100.0;
    if hundredths.abs() < 9.95 {
        format!("{hundredths:.1} %")
    } else {
        format!("{hundredths:.0} %")
    }
}

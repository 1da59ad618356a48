//! What the findings of many trials amount to in a profile.
//!
//! A trial reports on itself as if it were the only one; in a profile it is a short visit among
//! hundreds. So each kind is rolled up (failures are added up, of anything else the worst is
//! quoted, and in how many trials) or judged again over all trials: steadiness (some alarms are
//! expected; above 10 % is a note), too few requests per cell, steal. A warning on fewer than one
//! trial in a hundred is a note. Left out are notes that explain one trial alone, and facts of the
//! target or the area that the profile states by itself.

use crate::words::{described, percent};
use record::{Confidence, DirectionResult, Finding, FindingCode, Severity, Trial, Workload};

/// Share of trials that must have moved before it is said.
const UNSTEADY_SHARE: f64 = 0.1;
/// Share of CPU time lost to the host above which times are suspect.
const STEAL_SHARE: f64 = 0.05;
/// Requests in all visits below which a cell is called thin.
const FEW_REQUESTS: u64 = 100;
/// Thin cells that are named.
const CELLS_NAMED: usize = 3;
/// Share of the trials below which what was found in them changes no number of a profile.
const RARE_SHARE: f64 = 0.01;
/// Kinds that explain a trial by itself and say nothing of a profile.
const OF_A_TRIAL: [FindingCode; 3] =
    [FindingCode::RequestsMerged, FindingCode::RequestsSplit, FindingCode::WarmUpCut];

/// Kinds that are judged over all trials.
const JUDGED_AGAIN: [FindingCode; 3] =
    [FindingCode::NotSteady, FindingCode::TooFewRequests, FindingCode::StealTime];

/// Kinds that state a fact of the target, the same in every trial, in whatever words.
const FACTS: [FindingCode; 3] =
    [FindingCode::CgroupLimit, FindingCode::CompressedFilesystem, FindingCode::UnwrittenExtents];

/// What the trials' own findings amount to, gravest first. `already` is what the profile says
/// anyway: findings with the code and claim of one of those are skipped.
#[must_use]
pub fn trial_findings(trials: &[Trial], already: &[Finding]) -> Vec<Finding> {
    let mut findings = rolled_up(trials, already);
    findings.extend([unsteady(trials), thin_cells(trials), steal(trials)].into_iter().flatten());
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// Kinds that state a fact of the area that all trials share: how many of them mention it says
/// nothing.
const OF_THE_AREA: [FindingCode; 1] = [FindingCode::CacheSizedArea];

/// A kind of finding over the trials: the worst of it and where it occurs.
struct Kind<'a> {
    worst: &'a Finding,
    /// Trials that have it, each once.
    trials: Vec<&'a Trial>,
}

/// One finding for each code: what failed in all, else the worst of its kind, and in how many trials.
fn rolled_up(trials: &[Trial], already: &[Finding]) -> Vec<Finding> {
    let known = |finding: &Finding| {
        // A profile says that its area is small in its own words.
        let small = finding.code == FindingCode::CacheSizedArea
            && finding.severity == Severity::Info
            && already.iter().any(|other| other.code == FindingCode::SmallArea);
        small
            || already.iter().any(|other| {
                other.code == finding.code
                    && (other.claim == finding.claim || FACTS.contains(&finding.code))
            })
    };
    let mut kinds: Vec<Kind> = Vec::new();
    for trial in trials {
        for finding in &trial.findings {
            let own = OF_A_TRIAL.contains(&finding.code) && finding.severity == Severity::Info;
            if JUDGED_AGAIN.contains(&finding.code) || own || known(finding) {
                continue;
            }
            match kinds.iter_mut().find(|kind| kind.worst.code == finding.code) {
                Some(kind) => {
                    if !kind.trials.last().is_some_and(|last| std::ptr::eq(*last, trial)) {
                        kind.trials.push(trial);
                    }
                    if worse(finding, kind.worst) {
                        kind.worst = finding;
                    }
                }
                None => kinds.push(Kind { worst: finding, trials: vec![trial] }),
            }
        }
    }
    kinds.iter().map(|kind| summary(kind, trials.len())).collect()
}

/// Graver, or as grave with numbers that are further off. The first number of a finding says how
/// far: traffic of others and rates upwards, the share that reached the device and the requests in
/// progress downwards.
fn worse(one: &Finding, other: &Finding) -> bool {
    let extent = |finding: &Finding| {
        let value = finding.evidence.first().map_or(0.0, |evidence| evidence.value);
        match finding.code {
            FindingCode::PageCacheServed
            | FindingCode::DeviceSawLess
            | FindingCode::DepthNotReached => -value,
            _ => value,
        }
    };
    match one.severity.cmp(&other.severity) {
        std::cmp::Ordering::Equal => extent(one) > extent(other),
        order => order.is_gt(),
    }
}

fn summary(kind: &Kind, all: usize) -> Finding {
    let mut finding = kind.worst.clone();
    let count = kind.trials.len();
    let place = format!("in {count} of {all} trials");
    let requests = match finding.code {
        FindingCode::IoErrors => failures(kind, |direction| direction.errors),
        FindingCode::ShortTransfers => failures(kind, |direction| direction.short),
        _ => 0,
    };
    if requests > 0 {
        // The counts of one trial would read as those of all.
        for evidence in &mut finding.evidence {
            let of_trial = |trial: &&Trial| {
                let same = trial.findings.iter().find(|other| other.code == finding.code)?;
                let number = same.evidence.iter().find(|other| other.what == evidence.what)?;
                Some(number.value)
            };
            evidence.value = kind.trials.iter().filter_map(of_trial).sum();
        }
        finding.claim = if finding.code == FindingCode::IoErrors {
            format!("{} failed {place}{}.", requests_text(requests), error_kinds(kind))
        } else {
            let moved = "transferred less than asked";
            format!("{} {moved} {place}; they are not counted.", requests_text(requests))
        };
    } else if !OF_THE_AREA.contains(&finding.code) {
        let worst = if count > 1 && !finding.evidence.is_empty() { ", at worst" } else { "" };
        finding.claim = format!("In {count} of {all} trials{worst}: {}", finding.claim);
    }
    let rare = (count as f64) < RARE_SHARE * all as f64;
    if rare && finding.severity == Severity::Warning {
        finding.severity = Severity::Info;
    }
    if let Some(remedy) = remedy_in_profile(finding.code) {
        finding.remedy = remedy.to_owned();
    }
    finding
}

/// `1 request`, `138 requests`.
fn requests_text(count: u64) -> String {
    format!("{count} request{}", if count == 1 { "" } else { "s" })
}

fn directions<'a>(kind: &Kind<'a>) -> impl Iterator<Item = &'a DirectionResult> {
    kind.trials.clone().into_iter().flat_map(|trial| {
        let result = &trial.result;
        result.read.iter().chain(&result.write)
    })
}

fn failures(kind: &Kind, count: impl Fn(&DirectionResult) -> u64) -> u64 {
    directions(kind).map(count).sum()
}

/// `: 130 x Input/output error, 8 x No space left on device`, summed over the trials.
fn error_kinds(kind: &Kind) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for error in directions(kind).flat_map(|direction| &direction.error_kinds) {
        match sums.iter_mut().find(|(message, _)| *message == error.message) {
            Some((_, sum)) => *sum += error.count,
            None => sums.push((&error.message, error.count)),
        }
    }
    let texts: Vec<String> =
        sums.iter().map(|(message, sum)| format!("{sum} x {message}")).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}

/// What to do about a finding in a profile, where a trial of its own has flags that `check` has not.
fn remedy_in_profile(code: FindingCode) -> Option<&'static str> {
    match code {
        FindingCode::IoErrors => {
            Some("Look at the kernel log (dmesg); trials with failures are in no number here.")
        }
        FindingCode::PageCacheServed => Some("There --cache all looks faster than it is."),
        FindingCode::HarnessLimit => Some("Rates near that limit may be the program's own."),
        _ => None,
    }
}

fn unsteady(trials: &[Trial]) -> Option<Finding> {
    let judged = trials.iter().filter(|trial| trial.result.steady.is_some()).count();
    let moved = trials.iter().filter(|trial| trial.result.steady == Some(false)).count();
    let share = moved as f64 / judged.max(1) as f64;
    (share > UNSTEADY_SHARE).then(|| {
        Finding::new(
            FindingCode::NotSteady,
            Severity::Info,
            format!(
                "In {moved} of {judged} visits ({}) the rate moved by more than 5 %; chance \
                 explains 1 to 2 %.",
                percent(share)
            ),
            "The intervals include it. A larger --budget makes visits longer.",
        )
        .with("visits that moved", share, "share")
        .confidence(Confidence::Likely)
    })
}

fn thin_cells(trials: &[Trial]) -> Option<Finding> {
    let mut cells: Vec<(&str, &Workload, u64)> = Vec::new();
    for trial in trials {
        let ios = trial.completed();
        match cells.iter_mut().find(|(cell, ..)| *cell == trial.cell) {
            Some((_, _, sum)) => *sum += ios,
            None => cells.push((&trial.cell, &trial.workload, ios)),
        }
    }
    let measured = cells.len();
    cells.retain(|(_, _, ios)| *ios < FEW_REQUESTS);
    cells.sort_by_key(|(_, _, ios)| *ios);
    let (_, _, fewest) = cells.first()?;
    let names = cells.iter().take(CELLS_NAMED);
    let mut names: Vec<String> =
        names.map(|(_, workload, ios)| format!("{} ({ios})", described(workload))).collect();
    if cells.len() > CELLS_NAMED {
        names.push(format!("{} more", cells.len() - CELLS_NAMED));
    }
    // Without a single request there is no number at all.
    let severity = if *fewest == 0 { Severity::Invalid } else { Severity::Warning };
    Some(
        Finding::new(
            FindingCode::TooFewRequests,
            severity,
            format!(
                "{} of {measured} cells saw fewer than {FEW_REQUESTS} requests in all visits: {}.",
                cells.len(),
                names.join(", ")
            ),
            "Allow more time with --budget.",
        )
        .with("fewest requests", *fewest as f64, ""),
    )
}

fn steal(trials: &[Trial]) -> Option<Finding> {
    let of = |trial: &Trial| {
        let stolen_ms = trial.cpu.value()?.steal_ms?;
        let cpus = f64::from(trial.environment.as_ref()?.cpus.max(1));
        Some((stolen_ms, trial.result.duration_ns.as_secs_f64() * 1e3 * cpus))
    };
    let known: Vec<(f64, f64)> = trials.iter().filter_map(of).collect();
    let stolen_ms: f64 = known.iter().map(|(stolen, _)| stolen).sum();
    let all_ms: f64 = known.iter().map(|(_, all)| all).sum();
    let share = stolen_ms / all_ms.max(1e-9);
    (share > STEAL_SHARE).then(|| {
        Finding::new(
            FindingCode::StealTime,
            Severity::Warning,
            format!(
                "The host took {} of the CPU time over all visits; times include the wait.",
                percent(share)
            ),
            "Run again when the host is quiet.",
        )
        .with("share of CPU time", share, "share")
        .with("steal", stolen_ms, "ms")
    })
}

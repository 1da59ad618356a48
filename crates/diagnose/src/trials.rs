//! Combines the findings of many trials into the findings of a profile.
//!
//! A trial reports on itself as if it were the only one; in a profile it is a short visit among
//! hundreds. So each kind is rolled up (failures are added up, of anything else the worst is
//! quoted, and in how many trials) or judged again over all trials: steadiness (some alarms are
//! expected; above 10 % is a note), too few requests per cell, CPU time taken. A warning on fewer than one
//! trial in a hundred is a note. Left out are notes that explain one trial alone, and facts of the
//! target or the area that the profile states by itself.

use crate::words::{described, percent};
use record::{
    Confidence, DirectionResult, ErrorCount, Finding, FindingCode, Severity, Trial, Workload,
};
use stats::grouped;

/// Share of unsteady trials from which this is reported.
const UNSTEADY_SHARE: f64 = 0.1;
/// Requests in all visits below which a cell is called thin.
const FEW_REQUESTS: u64 = 100;
const CELLS_NAMED: usize = 3;
/// Share of cells without a request above which a profile is too incomplete for conclusions.
const EMPTY_SHARE: f64 = 0.2;
/// Share of the trials below which their findings do not affect the numbers of a profile.
const RARE_SHARE: f64 = 0.01;
/// Kinds that explain only a single trial, not a profile.
const OF_A_TRIAL: [FindingCode; 3] =
    [FindingCode::RequestsMerged, FindingCode::RequestsSplit, FindingCode::WarmUpCut];

/// Kinds that are judged again over all trials.
const JUDGED_AGAIN: [FindingCode; 3] =
    [FindingCode::NotSteady, FindingCode::TooFewRequests, FindingCode::CpuTaken];

/// Kinds that state a fact of the target, which is the same in every trial, whatever its wording.
const FACTS: [FindingCode; 3] =
    [FindingCode::CgroupLimit, FindingCode::CompressedFilesystem, FindingCode::UnwrittenExtents];

/// The combined findings of the trials, the most severe first. Findings with the code and claim of
/// one in `already`, which the profile states anyway, are skipped.
#[must_use]
pub fn trial_findings(trials: &[Trial], already: &[Finding]) -> Vec<Finding> {
    let mut findings = rolled_up(trials, already);
    let cells = requests_of_cells(trials);
    let judged =
        [unsteady(trials), empty_cells(&cells), thin_cells(&cells), record::cpu_taken(trials)];
    findings.extend(judged.into_iter().flatten());
    findings.sort_by_cached_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// One finding for each code: the total of failures, or the worst case, with the number of trials.
fn rolled_up(trials: &[Trial], already: &[Finding]) -> Vec<Finding> {
    let known = |finding: &Finding| {
        // A profile reports a small area in its own words.
        let small = finding.code == FindingCode::CacheSizedArea
            && finding.severity == Severity::Info
            && already.iter().any(|other| other.code == FindingCode::SmallArea);
        small
            || already.iter().any(|other| {
                other.code == finding.code
                    && (other.claim == finding.claim || FACTS.contains(&finding.code))
            })
    };
    let counts = |finding: &Finding| {
        let own = OF_A_TRIAL.contains(&finding.code) && finding.severity == Severity::Info;
        !JUDGED_AGAIN.contains(&finding.code) && !own && !known(finding)
    };
    let all = trials.iter().flat_map(|trial| trial.findings.iter().map(move |one| (trial, one)));
    grouped(all.filter(|(_, finding)| counts(finding)).map(|pair| (pair.1.code, pair)))
        .iter()
        .map(|(_, kind)| summary(kind, trials.len()))
        .collect()
}

/// Whether `one` is more severe, or as severe with worse numbers. The first number of a finding
/// measures its extent. Larger is worse for most; smaller is worse for the share that reached the
/// device and for the queue depth.
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

/// Combines all findings of one kind, each given with its trial.
fn summary(kind: &[(&Trial, &Finding)], all: usize) -> Finding {
    let findings = kind.iter().map(|(_, finding)| *finding);
    let first = kind[0].1;
    let worst = findings.fold(first, |worst, one| if worse(one, worst) { one } else { worst });
    let mut finding = worst.clone();
    // Each trial once.
    let mut trials: Vec<&Trial> = kind.iter().map(|(trial, _)| *trial).collect();
    trials.dedup_by(|one, other| std::ptr::eq(*one, *other));
    let count = trials.len();
    let place = format!("in {count} of {all} trials");
    let requests = match finding.code {
        FindingCode::IoErrors => directions(&trials).map(|one| one.errors).sum(),
        FindingCode::ShortTransfers => directions(&trials).map(|one| one.short).sum(),
        _ => 0,
    };
    if requests > 0 {
        let requests = format!("{requests} request{}", if requests == 1 { "" } else { "s" });
        // The counts of one trial would read as totals.
        for evidence in &mut finding.evidence {
            let of_trial = |trial: &&Trial| {
                let same = trial.findings.iter().find(|other| other.code == finding.code)?;
                let number = same.evidence.iter().find(|other| other.what == evidence.what)?;
                Some(number.value)
            };
            evidence.value = trials.iter().filter_map(of_trial).sum();
        }
        finding.claim = if finding.code == FindingCode::IoErrors {
            format!("{requests} failed {place}{}.", error_kinds(&trials))
        } else {
            format!("{requests} transferred less than requested {place}; they are not counted.")
        };
    } else if finding.code != FindingCode::CacheSizedArea {
        // All trials share the area: the number of trials that mention it means nothing.
        let worst =
            if count > 1 && !finding.evidence.is_empty() { " (worst case shown)" } else { "" };
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

fn directions<'a>(trials: &[&'a Trial]) -> impl Iterator<Item = &'a DirectionResult> {
    trials.iter().flat_map(|trial| trial.result.read.iter().chain(&trial.result.write))
}

/// Error messages with counts, summed over the trials: `: 130 x Input/output error, 8 x No space
/// left on device`.
fn error_kinds(trials: &[&Trial]) -> String {
    let errors = directions(trials).flat_map(|direction| &direction.error_kinds);
    let text = |(message, errors): &(&String, Vec<&ErrorCount>)| {
        format!("{} x {message}", errors.iter().map(|error| error.count).sum::<u64>())
    };
    let texts: Vec<String> =
        grouped(errors.map(|error| (&error.message, error))).iter().map(text).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}

/// The remedy for a finding of a profile, if that of a trial names flags that `check` lacks.
fn remedy_in_profile(code: FindingCode) -> Option<&'static str> {
    match code {
        FindingCode::IoErrors => Some(
            "Check the system log (dmesg, or the event log). Trials with failures are excluded \
             from all numbers here.",
        ),
        FindingCode::PageCacheServed => {
            Some("In these trials, --cache all looks faster than it is.")
        }
        FindingCode::HarnessLimit => {
            Some("Rates near that limit may be limited by halfpower itself.")
        }
        _ => None,
    }
}

fn unsteady(trials: &[Trial]) -> Option<Finding> {
    let judged = trials.iter().filter(|trial| trial.result.steady.is_some()).count();
    let moved = trials.iter().filter(|trial| trial.result.steady == Some(false)).count();
    let share = moved as f64 / judged.max(1) as f64;
    (share > UNSTEADY_SHARE).then(|| {
        let claim = format!(
            "In {moved} of {judged} visits ({}) the rate changed by more than 5 %; chance explains \
             1 to 2 % of visits.",
            percent(share)
        );
        let remedy = "The intervals include these changes. A larger --budget makes visits longer.";
        Finding::note(FindingCode::NotSteady, claim, remedy)
            .with("visits that moved", share, "share")
            .confidence(Confidence::Likely)
    })
}

/// Requests of each cell over all visits, fewest first.
fn requests_of_cells(trials: &[Trial]) -> Vec<(u64, &Workload)> {
    // Lone reads are few by design.
    let all = trials.iter().filter(|trial| !model::is_lone(&trial.workload));
    let visits = grouped(all.map(|trial| (&trial.cell, trial)));
    let requests = |trials: &[&Trial]| trials.iter().map(|one| one.completed()).sum();
    let mut cells: Vec<(u64, &Workload)> =
        visits.iter().map(|(_, trials)| (requests(trials), &trials[0].workload)).collect();
    cells.sort_by_key(|(ios, _)| *ios);
    cells
}

/// Cells in which no request completed. The numbers of the other cells are valid, unless more than
/// [`EMPTY_SHARE`] of all cells or every cell of an operation is empty.
fn empty_cells(cells: &[(u64, &Workload)]) -> Option<Finding> {
    let empty: Vec<&Workload> =
        cells.iter().filter(|(ios, _)| *ios == 0).map(|(_, workload)| *workload).collect();
    let first = empty.first()?;
    let share = empty.len() as f64 / cells.len() as f64;
    let lost = empty.iter().find(|lost| {
        let mut alike = cells.iter().filter(|(_, one)| one.only_op() == lost.only_op());
        alike.all(|(ios, _)| *ios == 0)
    });
    let severity = match lost.is_some() || share > EMPTY_SHARE {
        true => Severity::Invalid,
        false => Severity::Warning,
    };
    let claim = match empty.len() {
        1 => format!("Not measured: no request completed in the cell {}.", described(first)),
        count => {
            let names: Vec<String> = empty.iter().map(|workload| described(workload)).collect();
            format!(
                "Not measured: no request completed in {count} of {} cells: {}.",
                cells.len(),
                names.join(", ")
            )
        }
    };
    let remedy =
        "Allow more time with --budget. If requests really take that long, check the system log.";
    let finding = Finding::new(FindingCode::TooFewRequests, severity, claim, remedy);
    Some(finding.with("cells without a request", share, "share"))
}

fn thin_cells(cells: &[(u64, &Workload)]) -> Option<Finding> {
    let thin: Vec<_> = cells.iter().filter(|(ios, _)| (1..FEW_REQUESTS).contains(ios)).collect();
    let (fewest, _) = thin.first()?;
    let names = thin.iter().take(CELLS_NAMED);
    let mut names: Vec<String> =
        names.map(|(ios, workload)| format!("{} ({ios})", described(workload))).collect();
    if thin.len() > CELLS_NAMED {
        names.push(format!("{} more", thin.len() - CELLS_NAMED));
    }
    let claim = format!(
        "{} of {} cells completed fewer than {FEW_REQUESTS} requests over all visits: {}.",
        thin.len(),
        cells.len(),
        names.join(", ")
    );
    let finding =
        Finding::warning(FindingCode::TooFewRequests, claim, "Allow more time with --budget.");
    Some(finding.with("fewest requests", *fewest as f64, ""))
}

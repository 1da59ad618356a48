//! `halfpower check`: the profile of a disk within a minute or so.

use crate::cli::CheckArgs;
use crate::failure::{Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::{NOT_SAVED, open_store};
use anyhow::Context;
use diagnose::Omitted;
use model::Characterise;
use plan::{CheckPlan, CheckSettings, DiagnosisPlan, MIN_BUDGET, Plan};
use record::{
    Bytes, CacheMode, EngineName, Finding, FindingCode, Nanos, Profile, Severity, TargetKind,
    Trial, format_nanos, format_rate,
};
use session::{Driver, End, RealTargets, Session, Targets};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measuring time where none is asked for: of the plain check, and of one for diagnosis.
const QUICK_BUDGET: Nanos = Nanos(60_000_000_000);
const DIAGNOSIS_BUDGET: Nanos = Nanos(600_000_000_000);
/// The same in virtual time, which costs nothing: the plan ends when it has what it needs.
const VIRTUAL_BUDGET: Nanos = Nanos(1_000_000_000_000_000);
/// Earlier profiles of the same disk that are looked at.
const EARLIER_PROFILES: usize = 8;
/// Half-width of the 95 % interval of a cell's rate that counts as precise.
const TARGET_REL: f64 = 0.05;
/// Largest request of the plan: a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(64 << 10);
/// Share of time with others' requests in progress above which that is said.
const BUSY_SHARE: f64 = 0.02;

/// Characterises a target, saves and prints its profile.
pub(crate) fn check(arguments: &CheckArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let simulated = session::simulated(&arguments.target)?;
    let budget = budget(arguments, simulated.is_some());
    if budget < MIN_BUDGET {
        let least = format_nanos(MIN_BUDGET.0 as f64);
        let text = format!("--budget must be at least {least}, else the matrix does not fit");
        return Err(UsageError(text).into());
    }
    let seed = session::seed(arguments.seed, simulated.is_some());
    let mut progress = Progress::new();
    let store = open_store(&arguments.keeping, arguments.no_save)?;
    let (session, write) = match simulated {
        Some(device) => {
            (Session::simulated(&device, arguments.size, seed, stop), !arguments.no_write)
        }
        None => open(arguments, seed, stop, &mut progress)?,
    };
    let whole = session.target().size_bytes;
    let settings = CheckSettings {
        area: arguments.size.unwrap_or(whole).min(whole),
        engine: session.engine,
        alignment: session.alignment(),
        budget,
        write,
        full: arguments.full,
        target_rel: TARGET_REL,
        seed,
    };
    let mut plan = plan(arguments.for_diagnosis, settings).ok_or_else(|| {
        let text = "the target is too small for any request of the matrix; name a larger one, or a \
                    larger --size";
        UsageError(text.to_owned())
    })?;
    let (id, time) = session.identity("profile");
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    let finished = driver.run(plan.as_mut())?;
    let interrupted = finished.end == End::Interrupted;
    if interrupted && finished.trials.is_empty() {
        let text = "no trial had finished, nothing is kept";
        return Err(Interruption(text.to_owned()).into());
    }
    finished.something_completed()?;
    let omitted = Omitted {
        writes: arguments.no_write,
        points: u32::try_from(plan.skipped()).unwrap_or(u32::MAX),
        interrupted: finished.end != End::Completed,
    };
    let profile = profile(&mut driver, id, time, budget, &finished.trials, omitted)?;
    let ids: Vec<String> = finished.trials.iter().map(|trial| trial.id.clone()).collect();
    driver.keep(|store| store.add_profile(&profile, &ids));
    // What was measured is shown in any case, also where it cannot be saved.
    output::document(arguments.json, &profile, || {
        let style = output::style();
        let next = next_steps(arguments, &profile, driver.store().is_some());
        let steps = report::next_steps_text(&next, &style);
        format!("{}\n{steps}", output::page(&report::profile(&profile, &[])))
    })?;
    driver.unsaved().map_or(Ok(()), Err).context(NOT_SAVED)?;
    if interrupted {
        let count = finished.trials.len();
        let kept = match driver.store() {
            Some(_) => format!("saved: `halfpower profile show {}`", profile.id),
            None => "not saved (--no-save)".to_owned(),
        };
        let text = format!("the profile is that of the {count} trials that had finished, {kept}");
        return Err(Interruption(text).into());
    }
    Ok(Verdict::of(profile.findings.iter().all(|finding| finding.severity < Severity::Invalid)))
}

/// What decides which trial comes next; `None` where not one cell fits.
fn plan(for_diagnosis: bool, settings: CheckSettings) -> Option<Box<dyn Plan>> {
    if for_diagnosis {
        return Some(Box::new(DiagnosisPlan::new(settings)?));
    }
    Some(Box::new(CheckPlan::new(settings)?))
}

/// Opens a real target, prints what it is, and writes the test file; whether it may be written.
fn open(
    arguments: &CheckArgs,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<(Session, bool)> {
    let path = Path::new(&arguments.target);
    let access = target::Access::ReadOnly;
    let mut target = RealTargets::open(&[path], &access, arguments.size, LARGEST_REQUEST)?;
    let write = !arguments.no_write && target.writable();
    for cache in [CacheMode::Device, CacheMode::All, CacheMode::None] {
        target.open_mode(cache, write)?;
    }
    let style = report::Style::default();
    let about = report::target_text(target.facts(), Some(target.environment()), &style);
    output::say(about.trim_end());
    let busy = busy_finding(&target);
    if let Some(finding) = &busy {
        let finding = std::slice::from_ref(finding);
        output::say(report::findings_text(finding, &style).trim_end());
    }
    let mut session = target.into_session(EngineName::IoUring, seed, stop, progress)?;
    session.findings.extend(busy);
    Ok((session, write))
}

/// What others do on the disk right now, if it is worth saying.
fn busy_finding(target: &RealTargets) -> Option<Finding> {
    let activity = target.activity()?;
    (activity.busy_share > BUSY_SHARE).then(|| {
        Finding::new(
            FindingCode::ForeignIo,
            Severity::Info,
            format!(
                "Before the measurement others used the disk {:.0} % of the time ({:.0} reads/s, \
                 {:.0} writes/s, {}).",
                activity.busy_share * 100.0,
                activity.reads_per_s,
                activity.writes_per_s,
                format_rate(activity.bytes_per_s)
            ),
            "If that is not usual, run again when the disk is quiet.",
        )
        .with("busy", activity.busy_share, "")
    })
}

/// The measuring time asked for, or the default of the plan.
fn budget(arguments: &CheckArgs, simulated: bool) -> Nanos {
    arguments.budget.unwrap_or(match (arguments.for_diagnosis, simulated) {
        (false, _) => QUICK_BUDGET,
        (true, false) => DIAGNOSIS_BUDGET,
        (true, true) => VIRTUAL_BUDGET,
    })
}

/// The profile of the trials that ended.
fn profile(
    driver: &mut Driver<'_>,
    id: String,
    time: Option<String>,
    budget_ns: Nanos,
    trials: &[Trial],
    omitted: Omitted,
) -> anyhow::Result<Profile> {
    let device = driver.targets.main()?.target().device.clone();
    let earlier = match (driver.store(), device) {
        (Some(store), Some(device)) => store.profiles_of(&device, EARLIER_PROFILES)?,
        _ => Vec::new(),
    };
    let session = driver.targets.main()?;
    let mut profile = model::characterise(Characterise {
        halfpower_version: session::VERSION.to_owned(),
        id,
        time,
        seed: session.seed,
        simulated: session.is_simulated(),
        target: session.target().clone(),
        environment: session.environment.clone(),
        budget_ns,
        target_rel: TARGET_REL,
        trials,
        earlier: &earlier,
    });
    profile.advice = diagnose::advise(&profile);
    let mut findings = session.findings.clone();
    findings.extend(diagnose::profile_findings(&profile, trials, omitted));
    let of_trials = diagnose::trial_findings(trials, &findings);
    findings.extend(of_trials);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    profile.findings = findings;
    Ok(profile)
}

/// Commands that go on from here.
fn next_steps(arguments: &CheckArgs, profile: &Profile, saved: bool) -> Vec<String> {
    let mut steps = Vec::new();
    let target = &arguments.target;
    if let Some(depth) = profile.depth_curves.first().and_then(|curve| curve.knee) {
        let offline = profile.target.kind == TargetKind::Simulated;
        let runtime = if offline { "" } else { " --runtime 30s" };
        steps.push(format!("halfpower run {target} --rw randread --iodepth {depth}{runtime}"));
    }
    if saved {
        steps.push(format!("halfpower profile show {}", profile.id));
    }
    steps
}

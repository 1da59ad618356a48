//! `halfpower check`: the profile of a disk within a minute or so.

use crate::cli::CheckArgs;
use crate::failure::{self, Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::session::{self, RealTargets, Session};
use anyhow::Context;
use diagnose::Omitted;
use experiment::{CheckPlan, CheckSettings, DiagnosisPlan, MIN_BUDGET, Planned};
use model::Characterise;
use record::{
    Bytes, CacheMode, DeviceFacts, EndedBy, EngineName, Finding, FindingCode, Nanos, Profile,
    Severity, TargetKind, Trial, format_nanos, format_rate,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::{Store, StoreError};

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
    let store = session::open_store(&arguments.keeping, arguments.no_save)?;
    let (session, alignment, write) = match simulated {
        Some(device) => {
            (Session::simulated(&device, arguments.size, seed, stop), 1, !arguments.no_write)
        }
        None => open(arguments, seed, stop, &mut progress)?,
    };
    let settings = CheckSettings {
        area: arguments
            .size
            .unwrap_or(session.target().size_bytes)
            .min(session.target().size_bytes),
        engine: session.engine,
        alignment,
        budget,
        write,
        full: arguments.full,
        target_rel: TARGET_REL,
        seed,
    };
    let plan = Plan::new(arguments.for_diagnosis, settings)
        .ok_or_else(|| UsageError("the target is too small for any request of the matrix; name a larger one, or a larger --size".to_owned()))?;
    let trials = Vec::new();
    let check = Check { arguments, budget, session, plan, store, unsaved: None, progress, trials };
    check.finish()
}

/// Opens a real target, says what it is, and writes the test file.
fn open(
    arguments: &CheckArgs,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<(Session, u64, bool)> {
    let path = Path::new(&arguments.target);
    let access = target::Access::ReadOnly;
    let mut target = RealTargets::open(&[path], &access, arguments.size, LARGEST_REQUEST)?;
    let write = !arguments.no_write && target.writable();
    for cache in [CacheMode::Device, CacheMode::All, CacheMode::None] {
        target.open_mode(cache, write)?;
    }
    let about =
        report::target_text(target.facts(), Some(target.environment()), &report::Style::default());
    output::say(about.trim_end());
    let busy = busy_finding(&target);
    if let Some(finding) = &busy {
        let finding = std::slice::from_ref(finding);
        output::say(report::findings_text(finding, &report::Style::default()).trim_end());
    }
    let prepared = target.prepare(seed, stop, &mut |done, total| progress.preparing(done, total));
    if prepared.is_err() {
        progress.clear();
    }
    prepared?;
    let alignment = target.alignment();
    let mut session = target.into_session(EngineName::IoUring, seed, stop);
    session.findings.extend(busy);
    Ok((session, alignment, write))
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

/// What decides which trial comes next.
enum Plan {
    Quick(CheckPlan),
    ForDiagnosis(DiagnosisPlan),
}

impl Plan {
    fn new(for_diagnosis: bool, settings: CheckSettings) -> Option<Self> {
        if for_diagnosis {
            return DiagnosisPlan::new(settings).map(Self::ForDiagnosis);
        }
        CheckPlan::new(settings).map(Self::Quick)
    }

    fn next_trial(&mut self) -> Option<Planned> {
        match self {
            Self::Quick(plan) => plan.next_trial(),
            Self::ForDiagnosis(plan) => plan.next_trial(),
        }
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        match self {
            Self::Quick(plan) => plan.observe(trial, spent),
            Self::ForDiagnosis(plan) => plan.observe(trial, spent),
        }
    }

    fn spent(&self) -> Nanos {
        match self {
            Self::Quick(plan) => plan.spent(),
            Self::ForDiagnosis(plan) => plan.spent(),
        }
    }

    fn skipped(&self) -> usize {
        match self {
            Self::Quick(plan) => plan.skipped(),
            Self::ForDiagnosis(plan) => plan.skipped(),
        }
    }
}

/// A check under way.
struct Check<'a> {
    arguments: &'a CheckArgs,
    budget: Nanos,
    session: Session,
    plan: Plan,
    store: Option<Store>,
    /// Why the store took no more; it is not asked again.
    unsaved: Option<StoreError>,
    progress: Progress,
    trials: Vec<Trial>,
}

impl Check<'_> {
    /// Runs the plan, then writes the profile; what was measured is kept also if it is cut short.
    fn finish(mut self) -> anyhow::Result<Verdict> {
        let (id, time) = self.session.identity("profile");
        let (mut interrupted, mut silent) = (false, false);
        while !silent && let Some(planned) = self.plan.next_trial() {
            match self.step(&planned) {
                // Each further trial would wait as long, for a device that answers none.
                Ok(()) => silent = self.ended_by_silence(),
                Err(error) if failure::is_interrupted(&error) => {
                    interrupted = true;
                    break;
                }
                Err(error) => {
                    self.progress.clear();
                    return Err(error);
                }
            }
        }
        self.progress.clear();
        if interrupted && self.trials.is_empty() {
            let text = "no trial had finished, nothing is kept";
            return Err(Interruption(text.to_owned()).into());
        }
        if let Some(error) = failure::nothing_completed(&self.trials) {
            return Err(error);
        }
        let profile = self.profile(id, time, interrupted || silent);
        self.save(&profile);
        // What was measured is shown in any case, also where it cannot be kept.
        self.print(&profile)?;
        if let Some(error) = self.unsaved {
            return Err(error).context(session::NOT_SAVED);
        }
        if interrupted {
            let count = self.trials.len();
            let kept = match &self.store {
                Some(_) => format!("saved: `halfpower profile show {}`", profile.id),
                None => "not saved (--no-save)".to_owned(),
            };
            let text =
                format!("the profile is that of the {count} trials that had finished, {kept}");
            return Err(Interruption(text).into());
        }
        let clean = profile.findings.iter().all(|finding| finding.severity < Severity::Invalid);
        Ok(Verdict::of(clean))
    }

    /// Whether the device stopped answering in the latest trial.
    fn ended_by_silence(&self) -> bool {
        self.trials.last().is_some_and(|trial| trial.result.ended_by == Some(EndedBy::Silence))
    }

    /// Saves the profile, if the trials were.
    fn save(&mut self, profile: &Profile) {
        let ids: Vec<String> = self.trials.iter().map(|trial| trial.id.clone()).collect();
        self.keep(|store| store.add_profile(profile, &ids));
    }

    /// Has the store keep something, as long as it takes what it is given: a disk that is full
    /// must not cost the measurement.
    fn keep(&mut self, add: impl FnOnce(&mut Store) -> Result<(), StoreError>) {
        if let Some(store) = &mut self.store
            && let Err(error) = add(store)
        {
            self.unsaved = Some(error);
            self.store = None;
        }
    }

    fn step(&mut self, planned: &Planned) -> anyhow::Result<()> {
        let what = session::describe(&planned.workload);
        let (spent, budget) = (self.plan.spent(), self.budget);
        self.progress.measuring(planned.phase.name(), &what, spent, budget);
        let start = Instant::now();
        let trial = self.session.trial(&planned.workload, planned.seed, &mut |_| ())?;
        let spent = if self.session.is_simulated() {
            planned.workload.ramp_ns.plus(planned.workload.runtime_ns)
        } else {
            Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
        };
        self.plan.observe(&trial, spent);
        self.keep(|store| store.add_trial(&trial));
        self.trials.push(trial);
        Ok(())
    }

    /// The latest profiles of the same disk, as far as the database can be read. Where on it they
    /// were measured makes no difference: cells of other sizes have other identities.
    fn earlier(&self) -> Vec<Profile> {
        let (Some(store), Some(device)) = (&self.store, &self.session.target().device) else {
            return Vec::new();
        };
        let same = |other: &DeviceFacts| {
            (&other.disk, &other.model, &other.serial)
                == (&device.disk, &device.model, &device.serial)
        };
        let rows = store.profiles().unwrap_or_default();
        rows.iter()
            .rev()
            .filter(|row| row.device.as_ref() == Some(&device.disk))
            .take(EARLIER_PROFILES)
            .filter_map(|row| store.profile(&row.id).ok())
            .filter(|profile| profile.target.device.as_ref().is_some_and(same))
            .collect()
    }

    fn profile(&self, id: String, time: Option<String>, interrupted: bool) -> Profile {
        let mut profile = model::characterise(Characterise {
            halfpower_version: session::VERSION.to_owned(),
            id,
            time,
            seed: self.session.seed,
            simulated: self.session.is_simulated(),
            target: self.session.target().clone(),
            environment: self.session.environment.clone(),
            budget_ns: self.budget,
            target_rel: TARGET_REL,
            trials: &self.trials,
            earlier: &self.earlier(),
        });
        profile.advice = diagnose::advise(&profile);
        let omitted = Omitted {
            writes: self.arguments.no_write,
            points: u32::try_from(self.plan.skipped()).unwrap_or(u32::MAX),
            interrupted,
        };
        let mut findings = self.session.findings.clone();
        findings.extend(diagnose::profile_findings(&profile, &self.trials, omitted));
        let of_trials = diagnose::trial_findings(&self.trials, &findings);
        findings.extend(of_trials);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        profile.findings = findings;
        profile
    }

    fn print(&self, profile: &Profile) -> anyhow::Result<()> {
        if self.arguments.json {
            return output::print(&output::json(profile)?);
        }
        let style = output::style();
        let mut text = report::profile_text(profile, &style);
        text.push('\n');
        text.push_str(&report::next_steps_text(&self.next_steps(profile), &style));
        output::print(&text)
    }

    /// Commands that go on from here.
    fn next_steps(&self, profile: &Profile) -> Vec<String> {
        let mut steps = Vec::new();
        let knee = profile.depth_curves.first().and_then(|curve| curve.knee);
        let target = &self.arguments.target;
        if let Some(depth) = knee {
            let offline = profile.target.kind == TargetKind::Simulated;
            let runtime = if offline { "" } else { " --runtime 30s" };
            steps.push(format!("halfpower run {target} --rw randread --iodepth {depth}{runtime}"));
        }
        if self.store.is_some() {
            steps.push(format!("halfpower profile show {}", profile.id));
        }
        steps
    }
}

//! Creates the profile from the trials of a check, and measures its target again later.

use crate::session::{
    Display, Driver, End, RealTargets, Result, Session, SessionError, StopFlag, Targets, VERSION,
    simulated_again,
};
use crate::{DriftProbe, ValidatePlan};
use diagnose::Omitted;
use diagnose::causes;
use host::kernel::Roots;
use host::target;
use model::{Characterise, DriftNow, Predictor};
use record::{
    Bytes, CacheMode, Measured, Nanos, Profile, Sustained, SystemFact, TargetKind, Trial,
    VALIDATION_SCHEMA, Validation,
};
use std::path::Path;

/// Maximum number of earlier profiles of the same disk that are read.
const EARLIER_PROFILES: usize = 8;
/// Maximum request of a drawn load; a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(128 << 10);

/// The profile from the finished trials and the sustained loads, with advice and findings. `(id, time)` are
/// those of the profile.
///
/// # Errors
/// If earlier profiles of the disk cannot be read.
pub fn profile(
    driver: &mut Driver<'_>,
    (id, time): (String, Option<String>),
    (budget_ns, target_rel): (Nanos, f64),
    (trials, sustained): (&[Trial], Vec<Sustained>),
    omitted: Omitted,
) -> Result<Profile> {
    let device = driver.targets.main()?.target().device.clone();
    let earlier = match (driver.store(), device) {
        (Some(store), Some(device)) => store.profiles_of(&device, EARLIER_PROFILES)?,
        _ => Vec::new(),
    };
    let session = driver.targets.main()?;
    let mut profile = model::characterise(Characterise {
        halfpower_version: VERSION.to_owned(),
        id,
        time,
        seed: session.seed,
        simulated: session.is_simulated(),
        target: session.target().clone(),
        environment: session.environment.clone(),
        budget_ns,
        target_rel,
        trials,
        earlier: &earlier,
    });
    let clients = trials.iter().find_map(|trial| trial.clients.as_ref());
    let each = clients.iter().flat_map(|clients| &clients.each);
    profile.clients = each.map(|client| client.host.clone()).collect();
    profile.facts = facts_of(&profile);
    profile.sustained = sustained;
    let caps = diagnose::caps(&profile, trials);
    model::add_caps(&mut profile, caps);
    profile.advice = diagnose::advise(&profile);
    let reruns = profile.reruns();
    if let Measured::Value(commits) = &mut profile.commits {
        commits.verdicts = diagnose::commit_verdicts(commits, &reruns);
    }
    let mut findings = session.findings.clone();
    findings.extend(diagnose::profile_findings(&profile, trials, omitted));
    let of_trials = diagnose::trial_findings(trials, &findings);
    findings.extend(of_trials);
    findings.sort_by_cached_key(|finding| std::cmp::Reverse(finding.severity));
    profile.findings = findings;
    Ok(profile)
}

/// Facts of the machine and of the measured disk for the checks of causes; the disk has just served
/// requests. Empty for a disk on other machines and for a simulated one.
fn facts_of(profile: &Profile) -> Vec<SystemFact> {
    let device = profile.target.device.as_ref();
    let Some(device) = device.filter(|_| !profile.simulated && profile.clients.is_empty()) else {
        return Vec::new();
    };
    let roots = Roots::default();
    let host = causes::Host::new(&roots, std::slice::from_ref(device), &|_| true);
    causes::read(&host, causes::Round::Once).facts
}

impl Session {
    /// The result of a plan that validates a profile.
    #[must_use]
    pub fn validation(
        &self,
        profile: Profile,
        predictor: &Predictor,
        plan: &ValidatePlan,
    ) -> Validation {
        let trials = plan.trials();
        let (id, time) = self.identity(&format!("validation {} {}", profile.id, trials.len()));
        Validation {
            schema: VALIDATION_SCHEMA.to_owned(),
            halfpower_version: VERSION.to_owned(),
            id,
            time,
            seed: self.seed,
            simulated: profile.simulated,
            profile_id: profile.id,
            target: profile.target,
            environment: self.environment.clone(),
            measured_ns: plan.spent,
            summary: model::validation_summary(predictor.advised(), &trials, profile.simulated),
            trials,
            since_profile: plan.since(),
            findings: Vec::new(),
        }
    }
}

/// The measured part of a profile's target.
///
/// # Errors If the profile has no cells.
pub fn area_of(profile: &Profile) -> Result<Bytes> {
    let area = profile.cells.first().map(|cell| cell.workload.size_bytes);
    area.ok_or_else(|| SessionError::usage("the profile has no cells"))
}

/// Opens the target of a profile for loads. Without `write`, only halfpower's own test file is written.
///
/// # Errors If the profile has no cells, its target cannot be opened, or it is another disk now.
pub fn open_again(
    profile: &Profile,
    write: bool,
    seed: u64,
    stop: &StopFlag,
    display: &mut dyn Display,
) -> Result<Session> {
    let area = area_of(profile)?;
    if let Some(device) = simulated_again(&profile.target)? {
        return Ok(Session::simulated(&device, Some(area), seed, stop));
    }
    let path = Path::new(&profile.target.path);
    let access = target::Access::ReadOnly;
    let mut target = RealTargets::open(&[path], &access, Some(area), LARGEST_REQUEST)?;
    let disk = |target: &record::Target| target.device.as_ref().map(|device| device.name.clone());
    if disk(target.facts()) != disk(&profile.target) {
        return Err(SessionError::Usage(format!(
            "{} is not on the profiled disk; make a profile of its present disk with `halfpower \
             check`",
            profile.target.path
        )));
    }
    target.open_mode(CacheMode::Device, write)?;
    target.into_session(engine::DEFAULT_ENGINE, seed, stop, display)
}

/// Measures the current level of a profile's device (`predict --now`). Returns the predictor that combines
/// the profile with the new trials.
///
/// # Errors
/// If the profile is of a simulated device or too small, the target fails, no visit is valid, or the user
/// interrupts it.
pub fn drift_now(
    profile: &Profile,
    stop: &StopFlag,
    display: &mut dyn Display,
) -> Result<(Predictor, DriftNow)> {
    if profile.simulated {
        let text = "--now: a simulated device does not change after it was profiled; omit --now";
        return Err(SessionError::usage(text));
    }
    // In a directory, only halfpower's own test file is written.
    let write = profile.target.kind == TargetKind::Directory && profile.has_writes();
    let (seed, cells) = (crate::session::seed(None, false), profile.all_cells());
    let profiled = Predictor::of_cells(&cells);
    let mut probe = DriftProbe::new(&cells, &profiled, write, seed).ok_or_else(|| {
        SessionError::usage(
            "--now: the profile has too few closed loops of random requests to compare with the \
             present speed of the device; make another profile with `check --for-diagnosis`",
        )
    })?;
    let session = open_again(profile, write, seed, stop, display)?;
    let finished = Driver::new(Targets::one(session), None, display).run(&mut probe)?;
    if finished.end == End::Interrupted {
        return Err(SessionError::ended("nothing is predicted"));
    }
    let level = probe.level().ok_or_else(|| {
        let text = "--now: the present speed of the device is unknown, because no measurement of \
                    the profile's loads was valid; run again when the machine is less busy";
        SessionError::NoResult(text.to_owned())
    })?;
    let now = DriftNow { level, ends: probe.ends(), since: probe.since() };
    Ok((Predictor::of_cells(&probe.updated(&cells)), now))
}

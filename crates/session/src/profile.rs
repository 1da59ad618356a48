//! The profile of the trials of a check.

use crate::{Driver, Result, VERSION};
use diagnose::Omitted;
use model::Characterise;
use record::{Nanos, Profile, Trial};

/// Earlier profiles of the same disk that are looked at.
const EARLIER_PROFILES: usize = 8;

/// The profile of the trials that ended, with advice and findings; `identity` is its id and time.
///
/// # Errors
/// If earlier profiles of the disk cannot be read.
pub fn profile(
    driver: &mut Driver<'_>,
    identity: (String, Option<String>),
    (budget_ns, target_rel): (Nanos, f64),
    trials: &[Trial],
    omitted: Omitted,
) -> Result<Profile> {
    let device = driver.targets.main()?.target().device.clone();
    let earlier = match (driver.store(), device) {
        (Some(store), Some(device)) => store.profiles_of(&device, EARLIER_PROFILES)?,
        _ => Vec::new(),
    };
    let session = driver.targets.main()?;
    let (id, time) = identity;
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
    profile.advice = diagnose::advise(&profile);
    let mut findings = session.findings.clone();
    findings.extend(diagnose::profile_findings(&profile, trials, omitted));
    let of_trials = diagnose::trial_findings(trials, &findings);
    findings.extend(of_trials);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    profile.findings = findings;
    Ok(profile)
}

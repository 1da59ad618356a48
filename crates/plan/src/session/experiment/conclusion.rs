//! Draws the conclusions of an experiment from its trials.

use crate::session::{Finished, Result, SessionError, something_completed};
use record::{DoneTrial, Experiment, Trial};
use std::cmp::Reverse;
use workload::Design;

/// Adds the results of the missing trials (see [`crate::missing_trials`]) and draws conclusions from all.
/// `trials` are those of `experiment.done`, one for one, before and after.
///
/// # Errors
/// If no trial finished, or no request of any trial completed.
pub fn conclude(
    experiment: &mut Experiment,
    design: &Design,
    trials: &mut Vec<Trial>,
    finished: Finished,
) -> Result<()> {
    let missing = crate::missing(experiment);
    let ended = finished.trials.into_iter().zip(finished.extras);
    for (position, (trial, extras)) in missing.into_iter().zip(ended) {
        // In the order of the plan, as it is read back.
        let place = experiment.done.partition_point(|known| known.position < position);
        experiment.done.insert(place, DoneTrial { position, trial_id: trial.id.clone(), extras });
        trials.insert(place, trial);
    }
    if trials.is_empty() {
        return Err(SessionError::ended("no trial finished"));
    }
    something_completed(trials)?;
    *experiment = crate::conclude(std::mem::take(experiment), design, trials);
    let of_trials = diagnose::trial_findings(trials, &experiment.findings);
    experiment.findings.extend(of_trials);
    for finding in &mut experiment.findings {
        // The finding names the measuring time of a check; here each trial has its own.
        finding.remedy = finding.remedy.replace("--budget", "--runtime");
    }
    experiment.findings.sort_by_cached_key(|finding| Reverse(finding.severity));
    experiment.advice = diagnose::advise_experiment(experiment);
    Ok(())
}

//! From an error to the exit code of the program's contract.

use anyhow::anyhow;
use engine::EngineError;
use record::Trial;
use simdisk::SpecError;
use std::collections::BTreeSet;
use store::StoreError;
use target::TargetError;
use trial::TrialError;
use workload::{BuildError, DesignError};

/// Flags or their values do not fit.
const USAGE: u8 = 2;
/// It would destroy something.
pub(crate) const REFUSED: u8 = 3;
/// There is no result, or it could not be kept.
const NO_RESULT: u8 = 4;
/// Interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// A mistake in the command line that no library knows of.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Something of the user's that would be destroyed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(pub(crate) String);

/// An end that the user or the system asked for, and what became of what was measured.
#[derive(Debug, thiserror::Error)]
#[error("interrupted: {0}")]
pub(crate) struct Interruption(pub(crate) String);

/// The error for trials of which no request at all came back well, as where a device is gone:
/// what failed is kept, but there is no result to print.
pub(crate) fn nothing_completed(trials: &[Trial]) -> Option<anyhow::Error> {
    let directions = || trials.iter().flat_map(Trial::directions);
    let failed: u64 = directions().map(|direction| direction.errors).sum();
    let short: u64 = directions().map(|direction| direction.short).sum();
    if failed + short == 0 || directions().any(|direction| direction.ios > 0) {
        return None;
    }
    let target = trials.first().and_then(|trial| trial.targets.first());
    let path = target.map_or("the target", |target| &target.path);
    let kinds: BTreeSet<&str> = directions()
        .flat_map(|direction| &direction.error_kinds)
        .map(|kind| kind.message.as_str())
        .collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let what = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    Some(anyhow!(
        "no request to {path:?} completed: {failed} failed{what} and {short} transferred less than \
         asked; it is broken, gone or was truncated: look at the kernel log (dmesg)"
    ))
}

/// Whether a trial ended because it was told to.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(TrialError::Interrupted))
}

/// The exit code of an error: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(host) = cause.downcast_ref::<TargetError>() {
            return host.exit_code();
        }
        if cause.is::<BuildError>() || cause.is::<SpecError>() || cause.is::<UsageError>() {
            return USAGE;
        }
        if cause.is::<DesignError>() {
            return USAGE;
        }
        if cause.is::<Refusal>() {
            return REFUSED;
        }
        if cause.is::<Interruption>() {
            return INTERRUPTED;
        }
        if cause.is::<StoreError>() || cause.is::<EngineError>() {
            return NO_RESULT;
        }
    }
    NO_RESULT
}

//! Why a target could not be opened or a plan not be carried out, and the exit code for it.

use engine::EngineError;
use record::Trial;
use simdisk::SpecError;
use std::collections::BTreeSet;
use store::StoreError;
use target::TargetError;
use trial::TrialError;
use workload::BuildError;

/// Flags or their values do not fit.
const USAGE: u8 = 2;
/// There is no result.
const NO_RESULT: u8 = 4;
/// Interrupted.
const INTERRUPTED: u8 = 130;

/// A target that could not be opened, or a trial that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A target cannot be opened or used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A trial has no result.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// An engine cannot be used here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An option of one engine where that engine cannot be used.
    #[error("{flag} needs io_uring, no other engine has it: {cause}")]
    NeedsUring {
        /// The option.
        flag: &'static str,
        /// Why it cannot be used.
        cause: EngineError,
    },
    /// A simulated device that does not exist.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A workload that does not fit its target.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Targets or flags that do not fit each other.
    #[error("{0}")]
    Usage(String),
    /// What was to be done to a target before or after a trial failed.
    #[error("{action} failed: {cause}")]
    Io {
        /// What was tried, on what.
        action: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The user or the system asked for an end: what became of what was measured.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// The device stopped answering: what became of what was measured.
    #[error("the device stopped answering; {0}")]
    Silent(String),
    /// No visit to the loads of a profile tells what the device does now.
    #[error(
        "--now: the level of the device is not told, because no visit to the profile's loads \
         counts; the machine may be too busy for it"
    )]
    NoLevel,
    /// What a treatment found rules out its trials.
    #[error("{0}")]
    Treatment(String),
    /// Not one request of any trial completed.
    #[error(
        "no request to {path:?} completed: {failed} failed{what} and {short} transferred less than \
         asked; it is broken, gone or was truncated: look at the kernel log (dmesg)"
    )]
    NothingCompleted {
        /// The target.
        path: String,
        /// Requests that failed.
        failed: u64,
        /// Requests that transferred less than asked.
        short: u64,
        /// What the system said of them, in brackets.
        what: String,
    },
}

impl SessionError {
    /// The exit code of the program: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Target(error) => error.exit_code(),
            Self::Spec(_) | Self::Build(_) | Self::Usage(_) => USAGE,
            Self::Interrupted(_) | Self::Trial(TrialError::Interrupted) => INTERRUPTED,
            Self::Trial(_)
            | Self::Engine(_)
            | Self::Store(_)
            | Self::NeedsUring { .. }
            | Self::Io { .. }
            | Self::Silent(_)
            | Self::NoLevel
            | Self::Treatment(_)
            | Self::NothingCompleted { .. } => NO_RESULT,
        }
    }

    /// Whether the user or the system asked for an end.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.exit_code() == INTERRUPTED
    }

    pub(crate) fn io(action: &str) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.to_owned();
        |cause| Self::Io { action, cause }
    }
}

/// The error for trials of which no request at all came back well, as where a device is gone:
/// what failed is saved, but there is no result to print.
///
/// # Errors
/// If no request completed and some failed.
pub fn something_completed(trials: &[Trial]) -> Result<(), SessionError> {
    let directions = || trials.iter().flat_map(Trial::directions);
    let failed: u64 = directions().map(|direction| direction.errors).sum();
    let short: u64 = directions().map(|direction| direction.short).sum();
    if failed + short == 0 || directions().any(|direction| direction.ios > 0) {
        return Ok(());
    }
    let target = trials.first().and_then(|trial| trial.targets.first());
    let path = target.map_or_else(|| "the target".to_owned(), |target| target.path.clone());
    let kinds: BTreeSet<&str> = directions()
        .flat_map(|direction| &direction.error_kinds)
        .map(|kind| kind.message.as_str())
        .collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let what = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    Err(SessionError::NothingCompleted { path, failed, short, what })
}

//! Why a target could not be opened or a plan not be carried out, and the exit code for it.

use engine::EngineError;
use host::target::TargetError;
use record::{Trial, quoted};
use simdisk::SpecError;
use store::StoreError;
use trial::TrialError;
use workload::BuildError;

/// Exit code where flags or their values do not fit.
pub const USAGE: u8 = 2;
/// Exit code where safety forbids it.
pub(crate) const REFUSED: u8 = 3;
/// Exit code where there is no result, or it could not be kept.
pub const NO_RESULT: u8 = 4;
/// Exit code of an end that the user or the system asked for.
pub const INTERRUPTED: u8 = 130;

/// A target that could not be opened, or a trial that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A target cannot be opened or used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A trial has no result.
    #[error(transparent)]
    Trial(#[from] TrialError),
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
    /// What safety forbids without a flag that names it: what, and which flag.
    #[error("{0}")]
    Refused(String),
    /// The user or the system asked for an end: what became of what was measured.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// The device stopped answering: what became of what was measured.
    #[error("the device stopped answering; {0}")]
    Silent(String),
    /// A client of a load from several machines cannot do what was asked: what it says, and the exit code
    /// that it would end with.
    #[error("{host}: {message}")]
    Client {
        /// Its name, as it was given.
        host: String,
        /// What it says, and what to do.
        message: String,
        /// The exit code.
        exit_code: u8,
    },
    /// What is here, or what was found, leaves no result: the reason, and what to do.
    #[error("{0}")]
    NoResult(String),
}

impl SessionError {
    /// The exit code of the program: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Target(error) => error.exit_code(),
            Self::Spec(_)
            | Self::Build(_)
            | Self::Usage(_)
            | Self::Trial(TrialError::Engine(EngineError::ControlGroup { .. })) => USAGE,
            Self::Client { exit_code, .. } => *exit_code,
            Self::Refused(_) => REFUSED,
            Self::Interrupted(_) | Self::Trial(TrialError::Interrupted) => INTERRUPTED,
            _ => NO_RESULT,
        }
    }

    /// Targets or flags that do not fit each other.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// An end that the user or the system asked for, and what became of what was measured.
    pub fn ended(text: impl Into<String>) -> Self {
        Self::Interrupted(text.into())
    }

    /// Whether it was interrupted by the user or the system.
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
    let kinds = directions().flat_map(|direction| &direction.error_kinds);
    let mut kinds: Vec<&str> = kinds.map(|kind| kind.message.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let what = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    Err(SessionError::NoResult(format!(
        "no request to {} completed: {failed} failed{what}, and {short} transferred less than \
         requested; the target is broken, was removed or was truncated; check the system log \
         (dmesg, or the event log)",
        quoted(path)
    )))
}

//! Defines why a target could not be opened or a plan not be run, with the exit codes.

use engine::EngineError;
use host::target::TargetError;
use record::{Trial, quoted};
use simdisk::SpecError;
use store::StoreError;
use trial::TrialError;
use workload::BuildError;

/// Exit code for invalid flags or values.
pub const USAGE: u8 = 2;
/// Exit code for a refusal for safety.
pub(crate) const REFUSED: u8 = 3;
/// Exit code for a missing result, or one that could not be saved.
pub const NO_RESULT: u8 = 4;
/// Exit code for a stop by the user or the system.
pub const INTERRUPTED: u8 = 130;

/// A target could not be opened, or a trial could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A target cannot be opened or used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A trial has no result.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The simulated device does not exist.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workload does not fit its target.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Targets or flags are incompatible.
    #[error("{0}")]
    Usage(String),
    /// An operation on a target before or after a trial failed.
    #[error("{action} failed: {cause}")]
    Io {
        /// The operation and its target.
        action: String,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// Refused for safety; the text names the operation and the flag that allows it.
    #[error("{0}")]
    Refused(String),
    /// The user or the system stopped it; the text states which results are saved.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// The device stopped answering; the text states which results are saved.
    #[error("the device stopped answering; {0}")]
    Silent(String),
    /// A client of a multi-machine load cannot run the request.
    #[error("{host}: {message}")]
    Client {
        /// Its name, as the user gave it.
        host: String,
        /// Its message, and what to do.
        message: String,
        /// The exit code that it would end with.
        exit_code: u8,
    },
    /// No result; the text states the reason and what to do.
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

    /// Incompatible targets or flags.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// A command without a target.
    #[must_use]
    pub fn no_target() -> Self {
        Self::usage("name at least one target: a directory, a file, a device or sim:NAME")
    }

    /// A stop by the user or the system; the text states which results are saved.
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

/// Returns an error if no request of the trials completed, as when a device is gone. The failures are
/// saved, but there is no result to print.
///
/// # Errors
/// If no request completed and some failed or were short.
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

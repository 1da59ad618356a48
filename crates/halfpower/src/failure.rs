//! From an error to the exit code of the program's contract.

use engine::EngineError;
use report::PngError;
use session::SessionError;
use simdisk::SpecError;
use store::StoreError;
use target::TargetError;
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

/// The exit code of an error: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(host) = cause.downcast_ref::<TargetError>() {
            return host.exit_code();
        }
        if let Some(session) = cause.downcast_ref::<SessionError>() {
            return session.exit_code();
        }
        if cause.is::<BuildError>()
            || cause.is::<SpecError>()
            || cause.is::<UsageError>()
            || cause.is::<DesignError>()
            || matches!(cause.downcast_ref(), Some(PngError::NotBuilt))
            || matches!(cause.downcast_ref(), Some(StoreError::Ambiguous { .. }))
        {
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

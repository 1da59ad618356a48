//! From an error to the exit code of the program's contract.

use report::PngError;
use session::SessionError;
use simdisk::SpecError;
use store::StoreError;
use target::TargetError;
use workload::{BuildError, DesignError};

/// Flags or their values do not fit.
const USAGE: u8 = 2;
/// There is no result, or it could not be kept.
const NO_RESULT: u8 = 4;
/// Interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// A mistake in the command line that no library knows of.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    SessionError::Usage(text.into()).into()
}

/// An end that the user or the system asked for, and what became of what was measured.
pub(crate) fn interrupted(text: impl Into<String>) -> anyhow::Error {
    SessionError::Interrupted(text.into()).into()
}

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
            || cause.is::<DesignError>()
            || matches!(cause.downcast_ref(), Some(PngError::NotBuilt))
            || matches!(cause.downcast_ref(), Some(StoreError::Ambiguous { .. }))
        {
            return USAGE;
        }
    }
    NO_RESULT
}

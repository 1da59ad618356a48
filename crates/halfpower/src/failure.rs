//! From an error to the exit code of the program's contract.

use engine::EngineError;
use host::HostError;
use simdisk::SpecError;
use store::StoreError;
use trial::TrialError;
use workload::BuildError;

/// Flags or their values do not fit.
const USAGE: u8 = 2;
/// There is no result.
const NO_RESULT: u8 = 4;
/// Interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// A mistake in the command line that no library knows of.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// The exit code of an error: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(host) = cause.downcast_ref::<HostError>() {
            return host.exit_code();
        }
        if cause.is::<BuildError>() || cause.is::<SpecError>() || cause.is::<UsageError>() {
            return USAGE;
        }
        if let Some(TrialError::Interrupted) = cause.downcast_ref() {
            return INTERRUPTED;
        }
        if cause.is::<StoreError>() || cause.is::<EngineError>() {
            return NO_RESULT;
        }
    }
    NO_RESULT
}

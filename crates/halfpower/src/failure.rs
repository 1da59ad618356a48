//! Converts errors to the exit codes of the program's contract.

use engine::input;
use host::target::TargetError;
use live::prometheus::ClientError;
pub(crate) use plan::session::INTERRUPTED;
use plan::session::{NO_RESULT, SessionError, USAGE};
use simdisk::SpecError;
use store::StoreError;
use workload::{BuildError, DesignError};

/// An error in the command line that no library detects.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    SessionError::usage(text).into()
}

/// The first of these flags that was given.
pub(crate) fn first_given(flags: &[(&'static str, bool)]) -> Option<&'static str> {
    flags.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
}

/// Rejects the first of these flags that was given, with an error about it.
pub(crate) fn refuse_given(
    flags: &[(&'static str, bool)],
    why: impl FnOnce(&str) -> String,
) -> anyhow::Result<()> {
    first_given(flags).map_or(Ok(()), |flag| Err(usage(why(flag))))
}

/// An end that the user or the system requested. `text` says what became of the measured data.
pub(crate) fn interrupted(text: impl Into<String>) -> anyhow::Error {
    SessionError::ended(text).into()
}

/// The exit code of an error: 2 usage, 3 refused for safety, 4 no result, 130 interrupted.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    // Checked first: the read's own error may have been replaced on its way.
    if input::was_interrupted() {
        return INTERRUPTED;
    }
    for cause in error.chain() {
        if let Some(host) = cause.downcast_ref::<TargetError>() {
            return host.exit_code();
        }
        if let Some(session) = cause.downcast_ref::<SessionError>() {
            return session.exit_code();
        }
        if matches!(cause.downcast_ref(), Some(ClientError::Interrupted)) {
            return INTERRUPTED;
        }
        if cause.is::<BuildError>()
            || cause.is::<SpecError>()
            || cause.is::<DesignError>()
            || matches!(cause.downcast_ref(), Some(StoreError::Ambiguous { .. }))
        {
            return USAGE;
        }
    }
    NO_RESULT
}

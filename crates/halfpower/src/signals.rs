//! Ctrl-C and SIGTERM end the trial in progress; a second one ends the program at once.

use anyhow::Context;
use session::StopFlag;
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;

const CANNOT: &str = "cannot listen for signals";

/// A flag that the first signal sets; where `second_ends`, the next one ends the program at once.
/// The test file goes with its last handle, so that such an end leaves nothing behind either.
pub(crate) fn stop_flag(second_ends: bool) -> anyhow::Result<StopFlag> {
    let stop = StopFlag::default();
    for signal in kernel::ENDING_SIGNALS {
        let code = i32::from(crate::failure::INTERRUPTED);
        if second_ends {
            // It must be registered first, to see the flag as the last signal left it.
            register_conditional_shutdown(signal, code, Arc::clone(&stop)).context(CANNOT)?;
        }
        register(signal, Arc::clone(&stop)).context(CANNOT)?;
    }
    Ok(stop)
}

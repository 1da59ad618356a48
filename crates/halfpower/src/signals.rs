//! Ctrl-C and SIGTERM end the trial in progress; a second one ends the program at once.

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that the first signal sets; where `second_ends`, the next one ends the program at once.
/// The test file has no name, so that such an end leaves nothing behind either.
pub(crate) fn stop_flag(second_ends: bool) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = i32::from(crate::failure::INTERRUPTED);
        // It must be registered first, to see the flag as the last signal left it.
        let second = if second_ends {
            signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&stop))
                .map(drop)
        } else {
            Ok(())
        };
        second
            .and_then(|()| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot listen for signals")?;
    }
    Ok(stop)
}

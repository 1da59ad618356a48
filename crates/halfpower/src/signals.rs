//! Ctrl-C and SIGTERM end the trial or the read in progress; a second one ends the program at once.

use anyhow::Context;
use engine::input;
use host::kernel;
use plan::session::StopFlag;
use signal_hook::SigId;
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;

const CANNOT: &str = "cannot install the signal handlers";

/// What signals do from now on.
pub(crate) struct Signals {
    /// The flag that the first one sets.
    pub(crate) stop: StopFlag,
    /// What ends the program at the next one.
    second: Vec<SigId>,
}

impl Signals {
    /// Signals end the program's reads and trials, and a second one the program at once. The test file goes with its
    /// last handle, so that such an end leaves nothing behind either.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut signals = Self { stop: StopFlag::default(), second: Vec::new() };
        for signal in kernel::ENDING_SIGNALS {
            let code = i32::from(crate::failure::INTERRUPTED);
            let stop = || Arc::clone(&signals.stop);
            // It must be registered first, to see the flag as the last signal left it.
            let second = register_conditional_shutdown(signal, code, stop()).context(CANNOT)?;
            register(signal, stop()).context(CANNOT)?;
            signals.second.push(second);
        }
        input::stop_at(Arc::clone(&signals.stop));
        Ok(signals)
    }

    /// The flag alone: no further signal ends the program.
    pub(crate) fn with_none_that_ends(self) -> StopFlag {
        for second in self.second {
            signal_hook::low_level::unregister(second);
        }
        self.stop
    }
}

//! Ctrl-C and SIGTERM end the current trial or read; a second one ends the program at once.

use anyhow::Context;
use engine::input;
use host::kernel;
use plan::session::StopFlag;
use signal_hook::SigId;
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;

const CANNOT: &str = "cannot install the signal handlers";

/// The registered signal handlers.
pub(crate) struct Signals {
    /// The flag that the first signal sets.
    pub(crate) stop: StopFlag,
    /// Handlers that end the program at the second signal.
    second: Vec<SigId>,
}

impl Signals {
    /// From now on, a signal ends the program's reads and trials, and a second one ends the program at once.
    /// Even then no test file is left behind, because it is deleted with its last handle.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut signals = Self { stop: StopFlag::default(), second: Vec::new() };
        for signal in kernel::ENDING_SIGNALS {
            let code = i32::from(crate::failure::INTERRUPTED);
            let stop = || Arc::clone(&signals.stop);
            // Register this one first: it must see the flag as the previous signal left it.
            let second = register_conditional_shutdown(signal, code, stop()).context(CANNOT)?;
            register(signal, stop()).context(CANNOT)?;
            signals.second.push(second);
        }
        for signal in kernel::REPORTED_SIGNALS {
            register(signal, Arc::default()).context(CANNOT)?;
        }
        input::stop_at(Arc::clone(&signals.stop));
        Ok(signals)
    }

    /// Returns the flag; a further signal no longer ends the program.
    pub(crate) fn with_none_that_ends(self) -> StopFlag {
        for second in self.second {
            signal_hook::low_level::unregister(second);
        }
        self.stop
    }
}

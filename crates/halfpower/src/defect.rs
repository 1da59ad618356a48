//! Handles a panic, which is a bug in halfpower: prints the message and what to report, and exits with the
//! code of "no result".
//!
//! The panic hook exits on the panicking thread, as a second Ctrl-C does. Test files disappear with their
//! handles, and saved trials remain. A live screen's hook runs first and restores the terminal. A release
//! build, which cannot unwind, and a test build thus end in the same way. Rejected: unwinding (a seventh of
//! the binary); ending by the abort signal (not an exit code of the contract, and a core file with all
//! buffers).

use crate::output;
use plan::session::NO_RESULT;

/// Message to the user.
const REPORT: &str = "this is a bug in halfpower, and no result was produced; please report the lines above, the \
     command line and the output of `halfpower --version`";

/// Installs the hook.
pub(crate) fn end_at_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        output::remark(REPORT);
        std::process::exit(i32::from(NO_RESULT));
    }));
}

//! How the program ends at a panic, which is a defect of its own: with the message, with what to report, and with
//! the exit code of no result.
//!
//! It ends in the hook, on whatever thread the panic is, as a second Ctrl-C ends it: test files go with their
//! handles, a trial that was saved stays, and a changed setting is put back at the next start. A live screen has
//! given the terminal back by then, because its hook runs first. So a release, which cannot unwind, and a
//! build for tests end alike. Rejected: unwinding (a seventh of the binary), and the signal by which a program
//! that aborts ends (no exit code of the contract, and a core file of all buffers).

use crate::output;
use plan::session::NO_RESULT;

/// What a user is asked to do.
const REPORT: &str = "this is a bug in halfpower, and no result was produced; please report the lines above, the \
     command line and the output of `halfpower --version`";

/// Has every panic end so.
pub(crate) fn end_at_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        output::remark(REPORT);
        std::process::exit(i32::from(NO_RESULT));
    }));
}

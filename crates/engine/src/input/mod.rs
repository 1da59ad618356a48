//! The one reader of everything that comes from outside: files, pipes, standard input, and the kernel's own files.
//!
//! A path may name anything: `/dev/zero`, a sparse file of a terabyte, a pipe that no process writes to. So each kind of
//! input has a limit, which its error message names. Devices and folders are refused before they are opened. Text
//! without a single letter is recognised at its start. A pipe may take its time, but the first signal ends the wait.
//!
//! The signal arrives in a flag that belongs to the process ([`stop_at`]), because the parsers of command-line values read
//! files too, and nothing can be passed to them. `cargo xtask tidy` refuses the unbounded readers of the standard
//! library in all other crates. Rejected: a limit of the whole process (`RLIMIT_AS`), which ends in an abort without a
//! message, and counts maps that cost no memory.
#![forbid(unsafe_code)]

mod error;
mod kernel_files;
mod kinds;
mod reader;
#[cfg_attr(not(unix), path = "source_elsewhere.rs")]
mod source;
mod stop;

pub use error::{InputError, Reason};
pub use kernel_files::{kernel_bytes, kernel_bytes_into, kernel_text};
pub use kinds::{
    CERTIFICATE, DATA_SHEET, DESIGN, DOCUMENT, HOST_LIST, JOB_FILE, Kind, MACHINE, RECORDING,
    REQUESTS, STANDARD_INPUT, TOKEN, TRIAL_LINES, WEB_CONFIG,
};
pub use reader::{
    at_most, bytes, bytes_if_known, first_line, line_at_most, may_start_with, text, text_if_known,
};
pub use stop::{give_up_at_signal, stop_at, was_interrupted};

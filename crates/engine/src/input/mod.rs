//! Reads everything that comes from outside: files, pipes, standard input, and the kernel's own files.
//!
//! A path may name anything: `/dev/zero`, a sparse file of a terabyte, a pipe without a writer. Each kind of
//! input therefore has a size limit, which its error message states. Devices and directories are refused
//! before they are opened. Input that starts with zero bytes is refused at once, because it is not text.
//! Reading from a pipe may take long, but the first signal ends the wait.
//!
//! A signal sets a flag of the whole process ([`stop_at`]), because the parsers of command-line values also
//! read files and cannot take a parameter. `cargo xtask tidy` refuses the unbounded readers of the standard
//! library in all other crates. Rejected: a limit on the whole process (`RLIMIT_AS`), which aborts without a
//! message and counts mappings that use no memory.
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
    ACCOUNTS, DATA_SHEET, DESIGN, DOCUMENT, HOST_LIST, JOB_FILE, Kind, MACHINE, RECORDING,
    REQUESTS, STANDARD_INPUT, TOKEN, TRIAL_LINES,
};
pub use reader::{
    at_most, bytes, bytes_if_known, first_line, line_at_most, may_start_with, text, text_if_known,
};
pub use stop::{give_up_at_signal, stop_at, was_interrupted};

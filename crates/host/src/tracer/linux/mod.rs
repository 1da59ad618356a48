//! Tracing on Linux: BPF programs on the tracepoints of the block layer.

mod assembler;
mod capability;
mod error;
mod events;
mod fields;
mod format;
mod issuers;
mod layout;
mod programs;
mod recorder;
#[allow(unsafe_code, reason = "bpf and perf_event_open")]
mod syscalls;
mod tracer;
mod types;

pub use capability::capabilities;
pub use error::TracerError;
pub use issuers::Issuers;
pub use recorder::Recorder;
pub use tracer::{Tracer, request_disks};

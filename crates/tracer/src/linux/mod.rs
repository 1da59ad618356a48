//! Tracing on Linux: BPF programs on the tracepoints of the block layer.

mod assembler;
mod capability;
mod format;
mod layout;
mod programs;
mod syscalls;
mod tracer;

pub use capability::capabilities;
pub use tracer::{Tracer, TracerError, request_disks};

//! Traces single requests in the block layer, by the kernel's tracepoints.
//!
//! BPF programs are assembled at run time from the event fields of this kernel, and attached by perf
//! events. They follow each request of the chosen disks and count in maps; no data is copied out per
//! request. Without the required events there is no tracer; [`Tracer::lacks`] lists what is missing without
//! the optional ones. It needs root, or CAP_BPF and CAP_PERFMON and a readable tracefs. If tracefs is not
//! mounted, it is mounted privately for this process. Devices that take no requests (dm, md, zram) cannot
//! be traced: trace their disks instead.
//!
//! Source: the kernel's Documentation/trace/events.rst, bpf(2), perf_event_open(2). The names below are the
//! interface. `linux` implements it; `windows` reports that tracing is not available.

mod drained;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use drained::Drained;
pub use platform::{Issuers, Recorder, Tracer, TracerError, capabilities, request_disks};

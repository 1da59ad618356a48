//! The block-layer tracer: what happened to single requests, told by the kernel's tracepoints.
//!
//! Programs for the kernel's BPF machine are put together at run time from the fields that this
//! kernel's events have, and attached by perf events. They follow each request of the chosen disks
//! and count in maps; nothing is copied out per request. Without the needed events there is no
//! tracer, without the others [`Tracer::lacks`] says what is lost. It needs root, or CAP_BPF and
//! CAP_PERFMON and a readable tracefs, which is mounted for this process alone where it is mounted
//! nowhere. Devices that take no requests (dm, md, zram) have none to trace: their disks have.
//!
//! Source: the kernel's Documentation/trace/events.rst, bpf(2), perf_event_open(2). The names below
//! are the interface; `windows` stands beside `linux` and says that there is none.

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

//! The block-layer tracer: what happened to single requests, told by the kernel's tracepoints.
//!
//! Programs for the kernel's BPF machine are put together at run time from the fields that this
//! kernel's events have, and attached to its tracepoints by perf events. They follow each request
//! of the chosen disks from its start over its issue to its completion and count what they find in
//! maps; nothing is copied out per request. [`Tracer::read`] takes the counts since the last time.
//! Which events there are differs by kernel: without the needed ones there is no tracer, without
//! the others [`Tracer::lacks`] says what is lost. Dropping it detaches all.
//!
//! Needs root, or CAP_BPF and CAP_PERFMON and a readable tracefs. Where tracefs is mounted nowhere,
//! it is mounted for this process alone. Devices that take no requests (dm, md, zram) have none to
//! trace: their disks have.
//!
//! Rejected: blktrace (a stream of events to be matched here: tens of bytes and a wake-up share
//! per event), ftrace's histograms (not built into many kernels), kprobes on accounting functions
//! (inlined since 5.x), and an object file built by clang (the tool chain, and type information
//! that not every kernel has).
//!
//! Source: the kernel's Documentation/trace/events.rst, bpf(2), perf_event_open(2).
//!
//! The names below are the interface. `linux` implements them; another system stands beside it as a
//! second folder with the same names.

mod linux;

pub use linux::{Tracer, TracerError, capabilities, request_disks};

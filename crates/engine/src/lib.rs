//! How a request is carried out, and the two other things that differ between a real and a
//! simulated run: the clock and the probe.
//!
//! The three traits below are all that the runner in `trial` knows of a machine. Each has a twin
//! in `simdisk`, so that the whole program, from command line to verdict, runs in virtual time
//! against devices whose truth is known. Engine and clock are chosen once per job, through the
//! table that [`visit_engine`] is made from, and are static types from there on: the loop of a job holds no `dyn`.
//!
//! Rejected: async runtimes (a scheduler between the request and its clock), and one engine
//! shared by several jobs (rings belong to the thread that made them).

mod buffer;
mod clock;
mod error;
mod null;
mod sync;
mod table;
mod uring;

pub use buffer::Buffers;
pub use clock::{MonotonicClock, clock_cost_ns};
pub use error::EngineError;
pub use null::NullEngine;
pub use sync::SyncEngine;
pub use table::{ENGINES, EngineInfo, EngineVisitor, visit_engine};
pub use uring::{UringEngine, probe_uring};

use record::Nanos;
use std::os::fd::RawFd;
use workload::Request;

/// One request on its way into an engine.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// What to do.
    pub request: Request,
    /// Which of the job's slots (0 to depth-1) carries it; returned in [`Completion::slot`].
    pub slot: u32,
}

/// One request on its way out of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot of its submission.
    pub slot: u32,
    /// Bytes transferred, or a negated error number.
    pub outcome: i32,
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Open descriptor of the target; it outlives the engine.
    pub file: RawFd,
    /// Largest number of requests that the job will have in flight, at least 1.
    pub depth: u32,
    /// Largest request, in bytes.
    pub max_bytes: u32,
    /// Whether any request will read.
    pub reads: bool,
    /// Whether any request will write.
    pub writes: bool,
    /// Seed of the data that writes carry.
    pub data_seed: u64,
}

/// Carries out requests of one job.
///
/// Contract:
/// - at most `Setup::depth` requests are in flight; each slot carries at most one;
/// - `prepare` readies requests (data to write, kernel entries) without starting them; the next
///   `wait` hands them over. A request's clock therefore starts between the two;
/// - `wait` appends completions in the order in which they are seen, each exactly once;
/// - an engine is used on the thread that opened it.
pub trait Engine {
    /// Readies requests for the next `wait`.
    fn prepare(&mut self, requests: &[Submission]);

    /// Hands over what was prepared, waits until `min` completions have been appended to `done` or `deadline` has passed
    /// (`None`: no deadline), and appends at most `max`. `min` is at most the number in flight.
    /// A request that fails is a completion, not an error.
    ///
    /// An engine in virtual time never blocks: it appends what is due now, perhaps nothing, and
    /// remembers what is waited for, so that its driver can advance the clock.
    ///
    /// # Errors
    /// If the engine itself broke.
    fn wait(
        &mut self,
        min: u32,
        max: u32,
        deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;

    /// What the engine got from the kernel, for the record.
    fn features(&self) -> Vec<String>;
}

/// An engine that works on real descriptors.
pub trait OpenEngine: Engine + Sized {
    /// Opens it on the calling thread.
    ///
    /// # Errors
    /// With the cause and what to do about it where the kernel refuses.
    fn open(setup: &Setup) -> Result<Self, EngineError>;

    /// The first `bytes` of what a completed read left in a slot; empty where the engine does no
    /// I/O. Valid until the slot is submitted again.
    fn data(&self, slot: u32, bytes: usize) -> &[u8];
}

/// Tells the time of a job: nanoseconds since an arbitrary origin, never going back.
pub trait Clock {
    /// Now.
    fn now(&self) -> Nanos;
}

/// Processor time used so far, and what the machine lost to its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// Our process in user mode, io_uring workers included; split by the kernel.
    pub user_ns: u64,
    /// Our process in the kernel, likewise.
    pub system_ns: u64,
    /// Kernel worker threads of io_uring that belong to us.
    pub workers_ns: u64,
    /// Steal time of all processors; `None` where the kernel does not tell.
    pub steal_ns: Option<u64>,
}

/// A device's own counters so far; index 0 is reads, 1 is writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSample {
    /// Kernel name of the device, or of the simulated one.
    pub device: String,
    /// Requests completed, after merging.
    pub ios: [u64; 2],
    /// Bytes transferred.
    pub bytes: [u64; 2],
    /// Requests merged into others.
    pub merges: [u64; 2],
    /// Time with at least one request in progress.
    pub busy_ns: u64,
    /// Sum of the time that requests spent in progress.
    pub weighted_ns: u64,
}

/// One reading of everything outside the job's own loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSample {
    /// When it was taken, by the clock of the jobs.
    pub at: Nanos,
    /// Processor time, or why there is none.
    pub cpu: Option<CpuSample>,
    /// Device counters; `None` where there is no device or it keeps no counters.
    pub device: Option<DeviceSample>,
}

/// Reads the counters around a measured window.
pub trait Probe {
    /// Takes a reading.
    fn sample(&mut self) -> ProbeSample;
    /// Whether the kernel measures the split of processor time or samples it.
    fn cpu_split(&self) -> record::CpuSplit;
    /// Why [`ProbeSample::device`] is `None`, as a clause after "not measured: ".
    fn no_device_reason(&self) -> String;
    /// Why [`ProbeSample::cpu`] is `None`, as a clause after "not measured: ".
    fn no_cpu_reason(&self) -> String;
}

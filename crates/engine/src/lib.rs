//! How a request is carried out, and the two other things that differ between a real and a
//! simulated run: the clock and the probe.
//!
//! The three traits below are all that the runner in `trial` knows of a machine. Each has a twin in
//! `simdisk`, so the whole program also runs in virtual time against devices whose truth is known.
//! [`visit_engine`] chooses the engine once per job; from there on engine and clock are static types.
//! Rejected: async runtimes (a scheduler between the request and its clock), and one engine shared by
//! several jobs (rings belong to the thread that made them).
//!
//! [`input`] is the other way to the outside: it reads files and pipes, with a limit for each kind.

mod array;
mod buffer;
mod clock;
pub mod conformance;
mod counter;
mod direct;
mod error;
pub mod input;
mod job_clock;
#[cfg(target_os = "linux")]
mod linux;
mod null;
mod plain_calls;
mod positioned;
mod striped;
mod sync;
mod table;
pub mod tag;
mod threads;
mod transport;
#[cfg(windows)]
mod windows;

// The one place that chooses the system. Below `windows` are the names of `linux`.
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use array::{Array, RebuildState, SharedArray};
pub use buffer::Buffers;
pub use clock::clock_cost_ns;
pub use direct::Direct;
pub use error::{EngineError, SystemError};
pub use job_clock::JobClock;
#[cfg(target_os = "linux")]
pub use linux::{BUFFERS_NOT_REGISTERED, IO_SUBMIT_BLOCKS, Mappings, Uring, probe_uring};
pub use null::NullEngine;
pub use plain_calls::{PlainCalls, SyncEngine};
pub use platform::{
    AsRawFile, COMMIT_FLUSH, DEFAULT_ENGINE, MonotonicClock, OwnedFile, RawFile,
    join_control_group, probe_default_engine, set_io_priority, sleep_precisely, tell_read_order,
};
pub use positioned::{read_all, read_up_to_end, write_all};
pub use striped::{StripeLayout, StripePlace, Striped};
pub use sync::{Carrier, OneByOne};
pub use table::{
    ENGINES, EngineInfo, EngineVisitor, add_engines, engine_elsewhere, engine_info, engines,
    engines_elsewhere, visit_engine,
};
#[cfg(target_os = "linux")]
pub use table::{LibaioEngine, MmapEngine, NopEngine, UringEngine};
pub use transport::{ACTS, Act, DRAIN, Memory, Transfer, Transport};
#[cfg(windows)]
pub use windows::{Privilege, allow_large_pages};

use record::{Data, FlushKind, Instead, Nanos};
use std::sync::Arc;
use workload::Request;

/// One request on its way into an engine.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// What to do.
    pub request: Request,
    /// Which of the job's slots (0 to depth-1) carries it; returned in [`Completion::slot`].
    pub slot: u32,
    /// What a write's blocks are tagged with ([`Data::Tagged`]); zero otherwise.
    pub generation: u64,
}

/// One request on its way out of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot of its submission.
    pub slot: u32,
    /// Bytes transferred, 0 for a flush, or a negated error number.
    pub outcome: i32,
}

/// The order in which the reads of a file will come, as the system is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// Nothing is said: the system watches the order itself.
    Normal,
    /// One after the other: it reads ahead further.
    Sequential,
    /// Anywhere: it reads nothing ahead.
    Random,
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Open files, which outlive the engine: of the target, or of those of a stripe or an array in
    /// order.
    pub files: Vec<RawFile>,
    /// Length of a chunk of the stripe; `None` with one target.
    pub stripe_bytes: Option<u32>,
    /// The array that the files are bound into, shared by all jobs on it; `None` where they are not.
    pub array: Option<Arc<SharedArray>>,
    /// Whether every write is a step of rebuilding the array's failed leg: its place is that on the leg.
    pub rebuilds: bool,
    /// Memory of each slot beside that of its request; an array sets it for itself.
    pub work_bytes: usize,
    /// Largest number of requests that the job will have in flight, at least 1.
    pub depth: u32,
    /// Largest request, in bytes.
    pub max_bytes: u32,
    /// Whether any request will read.
    pub reads: bool,
    /// Whether any request will write.
    pub writes: bool,
    /// What the job does in place of writes.
    pub instead: Option<Instead>,
    /// How the job flushes what it wrote, where it does.
    pub flushes: Option<FlushKind>,
    /// Seed of the data that writes carry.
    pub data_seed: u64,
    /// What writes carry.
    pub data: Data,
    /// Share of each block that is zeros with [`Data::Compressible`].
    pub compressible_percent: u8,
    /// What the tags of [`Data::Tagged`] have in common.
    pub tags: tag::Tags,
    /// io_uring with polled completion.
    pub polled: bool,
    /// io_uring with a kernel thread that takes submissions.
    pub sqpoll: bool,
    /// Whether the kernel is asked for huge pages below the job's buffers.
    pub huge_pages: bool,
}

impl Setup {
    /// For a job that only reads, without options.
    #[must_use]
    pub fn reading(files: Vec<RawFile>, depth: u32, max_bytes: u32) -> Self {
        Self {
            files,
            stripe_bytes: None,
            array: None,
            rebuilds: false,
            work_bytes: 0,
            depth,
            max_bytes,
            reads: true,
            writes: false,
            instead: None,
            flushes: None,
            data_seed: 0,
            data: Data::Random,
            compressible_percent: 0,
            tags: tag::Tags::default(),
            polled: false,
            sqpoll: false,
            huge_pages: false,
        }
    }
}

/// How many completions to wait for, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Wait until so many have come; at most the number in flight. Zero polls.
    pub min: u32,
    /// Take at most so many.
    pub max: u32,
    /// Stop waiting at this moment.
    pub deadline: Option<Nanos>,
}

impl Wait {
    /// Without a deadline.
    #[inline]
    #[must_use]
    pub fn new(min: u32, max: u32) -> Self {
        Self { min, max, deadline: None }
    }

    /// Until `deadline` at the latest.
    #[inline]
    #[must_use]
    pub fn until(self, deadline: Nanos) -> Self {
        Self { deadline: Some(deadline), ..self }
    }
}

/// Carries out requests of one job, on the thread that opened it.
///
/// Contract:
/// - at most `Setup::depth` requests are in flight; each slot carries at most one;
/// - `prepare` readies requests without starting them, the next `wait` hands them over: a request's
///   clock starts between the two;
/// - `wait` appends completions in the order in which they are seen, each exactly once.
pub trait Engine {
    /// Readies requests for the next `wait`.
    fn prepare(&mut self, requests: &[Submission]);

    /// Readies a flush of all that the job's file holds, in a free slot, like a request. It covers the
    /// writes that have completed; the job has none in flight.
    fn flush(&mut self, slot: u32, kind: FlushKind);

    /// Hands over what was prepared without waiting, where that is a call of its own; elsewhere
    /// the next `wait` does it.
    ///
    /// # Errors
    /// If the engine itself broke.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Hands over what was prepared, and appends completions to `done` until [`Wait`] is met. A
    /// request that fails is a completion, not an error.
    ///
    /// An engine in virtual time never blocks: it appends what is due now, perhaps nothing, and
    /// remembers the deadline, so that its driver can advance the clock.
    ///
    /// # Errors
    /// If the engine itself broke.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// What the engine got from the kernel, for the record.
    fn features(&self) -> Vec<String>;
}

/// An engine that works on real descriptors.
pub trait OpenEngine: Engine + Sized + 'static {
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

/// Time of all CPUs of a machine since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTimes {
    /// All of it.
    pub all_ns: u64,
    /// Programs of normal priority in user mode.
    pub user_ns: u64,
    /// Idle, also while requests of disks were in flight.
    pub idle_ns: u64,
    /// Taken by the hypervisor; `None` where the system does not report it.
    pub steal_ns: Option<u64>,
}

/// CPU time used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// Our process in user mode, io_uring workers included; split by the kernel.
    pub user_ns: u64,
    /// Our process in the kernel, likewise.
    pub system_ns: u64,
    /// Kernel worker threads of io_uring that belong to us.
    pub workers_ns: u64,
    /// Time of all CPUs together; `None` where the system does not report it.
    pub machine: Option<MachineTimes>,
    /// Instructions of our process in user mode and in the kernel, workers included; `None` for
    /// the reason in [`Processors::no_instructions_reason`].
    pub instructions: Option<u64>,
}

/// The processors, as far as the cost of a load is stated in their terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processors {
    /// How many processors' worth of time this process may use: those that it may run on, or less
    /// under a quota; 0 where that is not known.
    pub usable: f64,
    /// Their clock; `None` where the kernel tells none.
    pub clock: Option<record::CpuClock>,
    /// Why [`CpuSample::instructions`] is `None`, as a clause after "not measured: ".
    pub no_instructions_reason: String,
}

/// A device's own counters so far; index 0 is reads, 1 is writes, 2 is discards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSample {
    /// Kernel name of the device, or of the simulated one.
    pub device: String,
    /// Requests completed, after merging.
    pub ios: [u64; 3],
    /// Bytes transferred, or discarded.
    pub bytes: [u64; 3],
    /// Requests merged into others.
    pub merges: [u64; 3],
    /// Time with at least one request in flight.
    pub busy_ns: u64,
    /// Sum of the time that requests spent in progress.
    pub weighted_ns: u64,
}

/// Busy time so far of a component of a simulated device: a bus, a mechanism, the host's processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentSample {
    /// Its name, for example "bus 0".
    pub name: String,
    /// How many of its kind work side by side under this name, at least 1.
    pub units: u32,
    /// Time in use, of all units together.
    pub busy_ns: u64,
    /// What that time was spent on; empty where it is not told apart.
    pub phases: Vec<PhaseSample>,
}

/// Time so far that a component spent on one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseSample {
    /// What it did, for example "data".
    pub name: &'static str,
    /// For how long.
    pub busy_ns: u64,
}

/// One reading of everything outside the job's own loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSample {
    /// When it was taken, by the clock of the jobs.
    pub at: Nanos,
    /// CPU time, or why there is none.
    pub cpu: Option<CpuSample>,
    /// Device counters; `None` where there is no device or it keeps no counters.
    pub device: Option<DeviceSample>,
    /// Components of a simulated device, the same ones in every sample; else none.
    pub components: Vec<ComponentSample>,
}

/// What a probe knows beside its samples.
#[derive(Clone, Debug)]
pub struct ProbeFacts {
    /// Whether the kernel measures the split of CPU time or samples it.
    pub cpu_split: record::CpuSplit,
    /// The processors, as they are now.
    pub processors: Processors,
    /// Why [`ProbeSample::device`] is `None`, as a clause after "not measured: ".
    pub no_device_reason: String,
    /// Why [`ProbeSample::cpu`] is `None`, as a clause after "not measured: ".
    pub no_cpu_reason: String,
    /// The steps in which CPU time moves, in ns; 0 where it is exact.
    pub cpu_step_ns: u64,
}

/// Reads the counters around a measured window.
pub trait Probe {
    /// Takes a reading.
    fn sample(&mut self) -> ProbeSample;
    /// What it knows beside them, now.
    fn facts(&self) -> ProbeFacts;
}

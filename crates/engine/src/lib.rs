//! Carries out requests. Also defines the two other things that differ between a real and a simulated run:
//! the clock and the probe.
//!
//! The runner in `trial` accesses the machine only through the three traits below. Each has a simulated
//! implementation in `simdisk`, so the whole program also runs in virtual time on devices with known
//! properties. [`visit_engine`] selects the engine once per job. From there on, engine and clock are static
//! types. Rejected: async runtimes (a scheduler between the request and its clock), and one engine shared by
//! several jobs (a ring belongs to the thread that created it).
//!
//! [`input`] is the other interface to the outside: it reads files and pipes, with a size limit for each
//! kind.

mod aligned;
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

// Only this place selects the system. `windows` has the same names as `linux`.
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use aligned::AlignedMemory;
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
    join_control_group, probe_default_engine, set_io_priority, sleep_precisely,
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

/// One request on its way to an engine.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// The request.
    pub request: Request,
    /// Which of the job's slots (0 to depth-1) carries it; returned in [`Completion::slot`].
    pub slot: u32,
    /// Generation for the tags of a write's blocks ([`Data::Tagged`]); otherwise zero.
    pub generation: u64,
}

/// One completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot of its submission.
    pub slot: u32,
    /// Bytes transferred, 0 for a flush, or a negated error number.
    pub outcome: i32,
}

/// Parameters for opening an engine.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Open files that outlive the engine: the target, or the files of a stripe or an array in order.
    pub files: Vec<RawFile>,
    /// Length of a chunk of the stripe; `None` with one target.
    pub stripe_bytes: Option<u32>,
    /// The array that the files form, shared by all its jobs; `None` without an array.
    pub array: Option<Arc<SharedArray>>,
    /// Whether every write is a step that rebuilds the array's failed leg. Its offset is then on the leg.
    pub rebuilds: bool,
    /// Extra memory per slot besides that of its request. An array sets it itself.
    pub work_bytes: usize,
    /// Maximum requests in flight of the job, at least 1.
    pub depth: u32,
    /// Largest request, in bytes.
    pub max_bytes: u32,
    /// Whether any request will read.
    pub reads: bool,
    /// Whether any request will write.
    pub writes: bool,
    /// The operation that replaces writes, if any.
    pub instead: Option<Instead>,
    /// The kind of flush that the job uses, if any.
    pub flushes: Option<FlushKind>,
    /// Seed of the data that writes carry.
    pub data_seed: u64,
    /// The kind of data that writes carry.
    pub data: Data,
    /// Share of zeros in each block, in percent, with [`Data::Compressible`].
    pub compressible_percent: u8,
    /// Common part of the tags of [`Data::Tagged`].
    pub tags: tag::Tags,
    /// io_uring with polled completion.
    pub polled: bool,
    /// io_uring with a kernel thread that polls for submissions.
    pub sqpoll: bool,
    /// Whether the job's buffers request huge pages.
    pub huge_pages: bool,
}

impl Setup {
    /// A setup for a job that only reads, without options.
    #[must_use]
    pub fn reading(files: Vec<RawFile>, depth: u32, max_bytes: u32) -> Self {
        Self { files, depth, max_bytes, reads: true, ..Self::default() }
    }
}

/// Number of completions to wait for, and a time limit.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Minimum number of completions to wait for, at most the number in flight. Zero polls.
    pub min: u32,
    /// Maximum number of completions to return.
    pub max: u32,
    /// Time at which to stop waiting.
    pub deadline: Option<Nanos>,
}

impl Wait {
    /// A wait without a deadline.
    #[inline]
    #[must_use]
    pub fn new(min: u32, max: u32) -> Self {
        Self { min, max, deadline: None }
    }

    /// Adds a deadline.
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
/// - `prepare` queues requests without starting them, and the next `wait` submits them: a request's clock
///   starts between the two;
/// - `wait` appends completions in the order in which it sees them, each exactly once.
pub trait Engine {
    /// Queues requests for the next `wait`.
    fn prepare(&mut self, requests: &[Submission]);

    /// Queues a flush of all data of the job's file, in a free slot, like a request. It covers the completed
    /// writes; the job has none in flight.
    fn flush(&mut self, slot: u32, kind: FlushKind);

    /// Submits the queued requests without waiting, if the engine has a separate call for that. Otherwise the
    /// next `wait` submits them.
    ///
    /// # Errors
    /// If the engine itself fails.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Submits the queued requests, and appends completions to `done` until [`Wait`] is satisfied. A request
    /// that fails is a completion, not an error.
    ///
    /// An engine in virtual time never blocks. It appends what is due now, perhaps nothing, and remembers the
    /// deadline, so that its driver can advance the clock.
    ///
    /// # Errors
    /// If the engine itself fails.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Kernel features that the engine uses, for documents.
    fn features(&self) -> Vec<String>;
}

/// An engine that works on real descriptors.
pub trait OpenEngine: Engine + Sized + 'static {
    /// Opens it on the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses, with the cause and a remedy.
    fn open(setup: &Setup) -> Result<Self, EngineError>;

    /// The first `bytes` that a completed read left in a slot; empty if the engine does no I/O. Valid until
    /// the slot is submitted again.
    fn data(&self, slot: u32, bytes: usize) -> &[u8];
}

/// The clock of a job: nanoseconds since an arbitrary origin, never decreasing.
pub trait Clock {
    /// The current time.
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
    /// This process in user mode, including io_uring workers. The kernel determines the split.
    pub user_ns: u64,
    /// This process in the kernel, including io_uring workers.
    pub system_ns: u64,
    /// io_uring's kernel worker threads of this process.
    pub workers_ns: u64,
    /// Time of all CPUs together; `None` where the system does not report it.
    pub machine: Option<MachineTimes>,
    /// Instructions of this process in user mode and in the kernel, including workers; `None` for the reason
    /// in [`Processors::no_instructions_reason`].
    pub instructions: Option<u64>,
}

/// The processors, as needed to express the CPU cost of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processors {
    /// CPU time that this process may use, in processors: those that it may run on, or less under a quota; 0
    /// if unknown.
    pub usable: f64,
    /// Their clock frequency; `None` if the kernel does not report one.
    pub clock: Option<record::CpuClock>,
    /// Why [`CpuSample::instructions`] is `None`, as a clause after "not measured: ".
    pub no_instructions_reason: String,
}

/// A device's own counters so far. Index 0 is reads, 1 is writes, 2 is discards.
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
    /// Sum over the requests of the time in progress.
    pub weighted_ns: u64,
}

/// Busy time so far of a component of a simulated device: a bus, a mechanism, or the host's processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentSample {
    /// Its name, for example "bus 0".
    pub name: String,
    /// Number of parallel units with this name, at least 1.
    pub units: u32,
    /// Busy time of all units together.
    pub busy_ns: u64,
    /// The busy time by activity; empty if activities are not distinguished.
    pub phases: Vec<PhaseSample>,
}

/// Time so far that a component spent on one activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseSample {
    /// Name of the activity, for example "data".
    pub name: &'static str,
    /// Its busy time.
    pub busy_ns: u64,
}

/// One reading of all counters outside the job's own loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSample {
    /// Time of the reading, by the clock of the jobs.
    pub at: Nanos,
    /// CPU time; `None` for the reason in [`ProbeFacts::no_cpu_reason`].
    pub cpu: Option<CpuSample>,
    /// Device counters; `None` if there is no device or it keeps no counters.
    pub device: Option<DeviceSample>,
    /// Components of a simulated device, the same ones in every sample; otherwise empty.
    pub components: Vec<ComponentSample>,
}

/// What a probe knows besides its samples.
#[derive(Clone, Debug, Default)]
pub struct ProbeFacts {
    /// Whether the kernel measures the split of CPU time or samples it.
    pub cpu_split: record::CpuSplit,
    /// The processors, in their current state.
    pub processors: Processors,
    /// Why [`ProbeSample::device`] is `None`, as a clause after "not measured: ".
    pub no_device_reason: String,
    /// Why [`ProbeSample::cpu`] is `None`, as a clause after "not measured: ".
    pub no_cpu_reason: String,
    /// Resolution of CPU time, in ns; 0 if it is exact.
    pub cpu_step_ns: u64,
}

/// Reads the counters around a measured window.
pub trait Probe {
    /// Takes a reading.
    fn sample(&mut self) -> ProbeSample;
    /// Returns the facts that are not counters, at this time.
    fn facts(&self) -> ProbeFacts;
}

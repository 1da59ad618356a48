//! What is asked of a target: the canonical, integer-only form of a workload.
//!
//! Two runs of equal workloads are runs of the same cell: [`Workload::cell`] hashes everything
//! that changes what the device is asked to do. How long it was asked (run time, ramp) and which
//! sequence was drawn (the seed) are left out, because repeats differ in them.

use crate::{Bytes, Instead, Nanos, OpKind, OwnEngineName, Redundancy, Replay, hex_digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the requests go within the area.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending and adjacent, wrapping at the end of the job's region.
    Sequential,
    /// Uniform over all aligned positions of the area.
    Random,
    /// Random within a small area that was just read, which any cache below can serve.
    Hit,
    /// Random with popularity falling as 1/rank^theta, ranks spread over the area.
    Zipf,
    /// Random; a share of the requests goes to a hot part of the area.
    Hot,
    /// Each a fixed distance after the one before, wrapping.
    Strided,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Sequential, Self::Random, Self::Hit, Self::Zipf, Self::Hot, Self::Strided];

    /// The word in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Hit => "hit",
            Self::Zipf => "zipf",
            Self::Hot => "hot",
            Self::Strided => "strided",
        }
    }
}

/// How sequential and strided jobs share the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// Each job has an equal part of its own.
    PerJob,
    /// The jobs take the requests of one stream over the whole area in turn.
    Shared,
    /// Each job has an equal part of its own, though its order is not sequential.
    Own,
}

/// A part of the area that gets more than its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HotArea {
    /// Its length, from the start of the area.
    pub bytes: Bytes,
    /// Share of the requests that go there, 1 to 99; the others go to the rest of the area.
    pub percent: u8,
}

/// A part of the area behind those before it, with its share of the random requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AreaZone {
    /// Share of the requests in percent; those of all zones add up to 100.
    pub request_percent: u8,
    /// Share of the area in percent, likewise.
    pub area_percent: u8,
}

/// Shares of the requests that do not go where the pattern says; the rest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blend {
    /// Requests that continue the one before them of their direction, 0 to 100.
    pub sequential_percent: u8,
    /// Requests that re-read or rewrite a small area, 0 to 100; both together at most 100.
    pub hit_percent: u8,
}

/// Which caches may keep the data; SQLIO's letters in [`CacheMode::letter`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// File-system cache and device cache: buffered.
    All,
    /// File-system cache, written through to the medium: buffered, O_DSYNC.
    Fs,
    /// Device cache only: O_DIRECT.
    #[default]
    Device,
    /// None: O_DIRECT and O_DSYNC.
    None,
}

impl CacheMode {
    /// The word of `--cache`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Fs => "fs",
            Self::Device => "device",
            Self::None => "none",
        }
    }

    /// SQLIO's letter.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::All => 'Y',
            Self::Fs => 'S',
            Self::Device => 'H',
            Self::None => 'N',
        }
    }

    /// Whether the page cache is bypassed (O_DIRECT).
    #[must_use]
    pub fn direct(self) -> bool {
        matches!(self, Self::Device | Self::None)
    }

    /// Whether each write is on the medium before it completes (O_DSYNC).
    #[must_use]
    pub fn synchronous(self) -> bool {
        matches!(self, Self::Fs | Self::None)
    }
}

/// How requests are carried out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// Linux io_uring.
    IoUring,
    /// Linux native asynchronous I/O: io_submit and io_getevents.
    Libaio,
    /// Windows: overlapped calls whose ends a completion port hands out in batches.
    Iocp,
    /// Windows: overlapped calls with an event for each buffer, waited for together.
    Events,
    /// Windows: calls whose ends are calls to the thread that waits for them (ReadFileEx).
    Readfileex,
    /// Blocking calls at an offset (pread and pwrite, ReadFile and WriteFile), one at a time per job.
    Sync,
    /// A pool of threads per job, each with such calls.
    Threads,
    /// Copies from and to a mapping of the file.
    Mmap,
    /// Completes at once without any I/O: shows the limit of the harness.
    Null,
    /// A simulated device in virtual time.
    Sim,
    /// An engine of a build of its own, which other builds know by name alone.
    #[serde(untagged)]
    Own(OwnEngineName),
}

impl EngineName {
    /// The word of `--ioengine`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Iocp => "iocp",
            Self::Events => "events",
            Self::Readfileex => "readfileex",
            Self::Sync => "sync",
            Self::Threads => "threads",
            Self::Mmap => "mmap",
            Self::Null => "null",
            Self::Sim => "sim",
            Self::Own(name) => name.0,
        }
    }
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// A completion lets the next request go: the depth is constant.
    Closed,
    /// Open: at equal distances in time.
    Constant,
    /// Open: a Poisson process, which is many independent users.
    Poisson,
    /// Open: at recorded times ([`Replay`]).
    Recorded,
}

/// Which completed request lets the job go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// Whichever completes: its slot is used again at once.
    Any,
    /// The oldest: a slow request stalls those behind it.
    OldestFirst,
    /// A call per completion that issues the next request itself; such calls may nest.
    Callback,
    /// The same, with completions posted to the job's loop, which bounds the nesting.
    CallbackPosted,
}

impl Discipline {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Any, Self::OldestFirst, Self::Callback, Self::CallbackPosted];

    /// The word of `--completion`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::OldestFirst => "oldest-first",
            Self::Callback => "callback",
            Self::CallbackPosted => "callback-posted",
        }
    }
}

/// What writes carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Random bytes, other ones each time: nothing below can compress or deduplicate them.
    Random,
    /// Random bytes followed by zeros, in each 4 KiB block ([`Workload::compressible_percent`]).
    Compressible,
    /// Zeros.
    Zeros,
    /// Random bytes with a tag in each block (offset, generation, checksum), so that reading back
    /// tells lost, misplaced, torn and stale blocks apart.
    Tagged,
}

/// How a job makes what it wrote durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushKind {
    /// Data and all that the file system knows of the file (fsync).
    Fsync,
    /// Data, and of the rest only what it takes to read them again (fdatasync).
    Fdatasync,
    /// Written out to the device and waited for, and no more: neither the device's cache nor what the file
    /// system knows of the file (sync_file_range), so that it is not durable.
    SyncFileRange,
}

impl FlushKind {
    /// The word of its flag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::SyncFileRange => "sync-file-range",
        }
    }
}

/// Flushes of a job, as a program that commits makes them: after so many writes it hands over no
/// more, waits for those in flight, flushes, and goes on when that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flush {
    /// How.
    pub kind: FlushKind,
    /// Writes of a job between two flushes, at least 1.
    pub every: u32,
}

/// A class of service that a job's requests ask the I/O scheduler for, as ionice sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoClass {
    /// Before all others.
    Realtime,
    /// The usual one.
    BestEffort,
    /// Only when nobody else asks.
    Idle,
}

impl IoClass {
    /// The word of `--io-priority`, as ionice abbreviates it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "rt",
            Self::BestEffort => "be",
            Self::Idle => "idle",
        }
    }
}

/// A class, and the rank in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoPriority {
    /// The class.
    pub class: IoClass,
    /// From 0, the first, to 7; 0 in the idle class.
    pub level: u8,
}

/// As the flag takes it.
impl fmt::Display for IoPriority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.class.name(), self.level)
    }
}

/// A job that runs at the same time as the first one, by its own workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// By how much its window begins after that of the first.
    pub delay_ns: Nanos,
    /// Which set of targets it uses: 0 is that of the first job.
    pub targets: u32,
    /// What it does; it has no jobs beside itself.
    pub workload: Workload,
}

/// What is done to the page cache before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropCache {
    /// Nothing.
    None,
    /// The area's clean pages are dropped (POSIX_FADV_DONTNEED).
    Dontneed,
    /// A scratch file as large as the memory that can cache is read, which pushes others out.
    ScratchRead,
    /// The kernel drops all clean pages (/proc/sys/vm/drop_caches); takes root.
    DropCaches,
}

impl DropCache {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Dontneed, Self::ScratchRead, Self::DropCaches];

    /// The word of `--drop-cache`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dontneed => "dontneed",
            Self::ScratchRead => "scratch-read",
            Self::DropCaches => "drop-caches",
        }
    }
}

/// A request size and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Request size.
    pub bytes: Bytes,
    /// Share of the requests, 1 to 100; the shares of a workload add up to 100.
    pub percent: u8,
}

/// One workload. The fields hold together as [`Workload`]'s reader in the `workload` crate checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Share of reads among the requests, 0 to 100.
    pub read_percent: u8,
    /// Where requests go.
    pub pattern: Pattern,
    /// Size of the area that [`Pattern::Hit`] re-reads; `null` for other patterns.
    pub hit_bytes: Option<Bytes>,
    /// Exponent of [`Pattern::Zipf`] in thousandths; `null` for other patterns.
    pub zipf_theta_milli: Option<u32>,
    /// Hot part of [`Pattern::Hot`]; `null` for other patterns.
    pub hot: Option<HotArea>,
    /// Distance between the starts of [`Pattern::Strided`]; `null` for other patterns.
    pub stride_bytes: Option<Bytes>,
    /// Shares of a random pattern that are sequential or re-read a small area; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<Blend>,
    /// Parts of the area with a share of the random requests each; empty and absent where all of it is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<AreaZone>,
    /// What random requests begin at multiples of; absent where that is the smallest request size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<Bytes>,
    /// Whether strided requests go down from the end; absent where they go up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backwards: bool,
    /// Whether sequential requests begin at the start of the area, as appending to an empty file does,
    /// and not at a drawn position; absent where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_start: bool,
    /// Whether random requests take each position once before any comes again; absent where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_replacement: bool,
    /// By how much each job's area begins after that of the job before it, each as long as `size_bytes`; with 0
    /// every job works on the same whole area. Absent where jobs share or divide one area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_distance_bytes: Option<Bytes>,
    /// Added to every offset: how far requests lie from their natural alignment.
    pub misalign_bytes: Bytes,
    /// How sequential and strided jobs share the area.
    pub regions: Regions,
    /// Request sizes with their shares.
    pub bs: Vec<SizeShare>,
    /// Requests outstanding per job.
    pub iodepth: u32,
    /// Jobs, each with a thread and an engine of its own.
    pub numjobs: u32,
    /// `iodepth` times `numjobs`.
    pub depth: u32,
    /// Caches in use.
    pub cache: CacheMode,
    /// Recorded requests in place of sizes, directions and pattern, which then only sum them up; absent
    /// where they are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// How requests are carried out.
    pub engine: EngineName,
    /// io_uring with polled completion (IOPOLL).
    pub polled: bool,
    /// io_uring with a kernel thread that takes submissions (SQPOLL).
    pub sqpoll: bool,
    /// Whether the kernel was asked for huge pages below the buffers, so that a large request lies in few
    /// pieces of memory; absent where the system's setting decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages: bool,
    /// Which completed request lets the job go on.
    pub discipline: Discipline,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Arrivals per second over all jobs; `null` in a closed loop.
    pub rate_iops: Option<u64>,
    /// The part of them that are writes, where reads and writes arrive by processes of their own;
    /// `null` where one process serves both by the mix.
    pub write_rate_iops: Option<u64>,
    /// Requests that arrive at the same time, in thousandths: the mean of a geometric number, with
    /// [`Arrival::Poisson`]; absent where each arrives by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_milli: Option<u32>,
    /// Time between a completion and the next request of its slot, in a closed loop.
    pub think_ns: Nanos,
    /// Flushes of what was written; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flush>,
    /// What is done in place of writes; absent where they are writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// Length of a chunk where several targets are bound into one (RAID 0, or [`Workload::array`]);
    /// `null` where each target has streams of its own, or there is one.
    pub stripe_bytes: Option<Bytes>,
    /// How the targets hold more than the data, so that one of them may fail; absent where they do
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Redundancy>,
    /// Number of targets. Without a stripe, job `i` works on target `i` modulo this.
    pub targets: u32,
    /// Start of the area in the target.
    pub offset_bytes: Bytes,
    /// Length of the area, over all jobs.
    pub size_bytes: Bytes,
    /// What writes carry.
    pub data: Data,
    /// Share of each block that is zeros with [`Data::Compressible`], 0 to 100.
    pub compressible_percent: u8,
    /// What the job is called; absent where it has no name. Not part of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How the I/O scheduler is asked to rank its requests; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<IoPriority>,
    /// Processors that its threads are bound to; empty and absent where they are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// The directory of the control group that its threads are put into; absent where they stay in that of
    /// the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Jobs at the same time; absent where it runs alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// What is done to the page cache before the run.
    pub drop_cache: DropCache,
    /// Measured time asked for, or the longest with another stop rule; not part of the cell.
    pub runtime_ns: Nanos,
    /// Time before it that is run but not counted; not part of the cell.
    pub ramp_ns: Nanos,
    /// Stop rules and reporting; not part of the cell.
    pub stop: StopRules,
}

/// When a run ends before its run time is over, and how it is reported. Changes nothing of what a
/// device is asked to do at any moment, so it is no part of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRules {
    /// Bytes transferred over all jobs.
    pub max_bytes: Option<Bytes>,
    /// Times that the area's length has been transferred.
    pub passes: Option<u32>,
    /// Half-width of the 95 % interval of the rate, in millionths of it.
    pub precision_ppm: Option<u32>,
    /// Whether a start that differs is cut off what is reported.
    pub cut_warm_up: bool,
    /// Length of the intervals that are reported one by one; `null` for none.
    pub interval_ns: Option<Nanos>,
    /// How long a device may stay silent before the run is given up.
    pub io_timeout_ns: Nanos,
}

/// Time alone, and a device that may be silent for half a minute.
impl Default for StopRules {
    fn default() -> Self {
        Self {
            max_bytes: None,
            passes: None,
            precision_ppm: None,
            cut_warm_up: false,
            interval_ns: None,
            io_timeout_ns: Nanos(30_000_000_000),
        }
    }
}

/// The defaults of `halfpower run` on an area without length: what a workload is built from.
impl Default for Workload {
    fn default() -> Self {
        Self {
            read_percent: 100,
            pattern: Pattern::Random,
            hit_bytes: None,
            zipf_theta_milli: None,
            hot: None,
            stride_bytes: None,
            blend: None,
            zones: Vec::new(),
            align_bytes: None,
            backwards: false,
            from_start: false,
            without_replacement: false,
            job_distance_bytes: None,
            misalign_bytes: Bytes(0),
            regions: Regions::PerJob,
            bs: vec![SizeShare { bytes: Bytes(4096), percent: 100 }],
            iodepth: 1,
            numjobs: 1,
            depth: 1,
            cache: CacheMode::Device,
            replay: None,
            engine: EngineName::IoUring,
            polled: false,
            sqpoll: false,
            huge_pages: false,
            discipline: Discipline::Any,
            arrival: Arrival::Closed,
            rate_iops: None,
            write_rate_iops: None,
            burst_milli: None,
            think_ns: Nanos(0),
            flush: None,
            instead: None,
            stripe_bytes: None,
            array: None,
            targets: 1,
            offset_bytes: Bytes(0),
            size_bytes: Bytes(0),
            data: Data::Random,
            compressible_percent: 0,
            name: None,
            io_priority: None,
            processors: Vec::new(),
            cgroup: None,
            beside: Vec::new(),
            drop_cache: DropCache::None,
            runtime_ns: Nanos(10_000_000_000),
            ramp_ns: Nanos(0),
            stop: StopRules::default(),
        }
    }
}

impl Workload {
    /// The largest request size of the mix.
    #[must_use]
    pub fn max_bs(&self) -> Bytes {
        self.bs.iter().map(|share| share.bytes).max().unwrap_or_default()
    }

    /// The only operation, or `None` for a mix.
    #[must_use]
    pub fn only_op(&self) -> Option<OpKind> {
        match self.read_percent {
            100 => Some(OpKind::Read),
            0 => Some(OpKind::Write),
            _ => None,
        }
    }

    /// Whether any request changes the target, or does what stands in place of that.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Whether any request carries data to the target.
    #[must_use]
    pub fn carries(&self) -> bool {
        self.writes() && self.instead.is_none()
    }

    /// All workloads that run at the same time: this one, and those beside it.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.beside.iter().map(|job| &job.workload))
    }

    /// This and those beside it, each with its set of targets.
    pub fn by_targets(&self) -> impl Iterator<Item = (u32, &Self)> {
        std::iter::once((0, self)).chain(self.beside.iter().map(|job| (job.targets, &job.workload)))
    }

    /// The workload of one job that does what all of them do, as far as counters can tell: directions,
    /// sizes, depth, caches and flushes of all.
    #[must_use]
    pub fn together(&self) -> Self {
        let all = || self.all();
        let reads = all().any(|workload| workload.read_percent > 0);
        let writes = all().any(Self::carries);
        Self {
            read_percent: match (reads, writes) {
                (true, true) if self.only_op().is_some() => 50,
                _ => self.read_percent,
            },
            bs: all().flat_map(|workload| workload.bs.clone()).collect(),
            depth: all().map(|workload| workload.depth).sum(),
            numjobs: all().map(|workload| workload.numjobs).sum(),
            cache: all()
                .map(|workload| workload.cache)
                .find(|it| !it.direct())
                .unwrap_or(self.cache),
            flush: all().find_map(|workload| {
                let flushes = workload.instead == Some(Instead::Flush);
                workload.flush.or(flushes.then_some(Flush { kind: FlushKind::Fsync, every: 1 }))
            }),
            instead: None,
            beside: Vec::new(),
            ..self.clone()
        }
    }

    /// What a job of several is called: its name, or its number from 1.
    #[must_use]
    pub fn label(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("job {}", index + 1))
    }

    /// The identity of what is asked of the device: 32 hexadecimal digits (the first half of a
    /// SHA-256) over the canonical text of every field but run time, ramp and [`StopRules`].
    #[must_use]
    pub fn cell(&self) -> String {
        let hit = self.hit_bytes.map_or(0, |bytes| bytes.0);
        let sizes: Vec<String> =
            self.bs.iter().map(|share| format!("{}/{}", share.bytes.0, share.percent)).collect();
        let text = format!(
            "cell/1 read={} pattern={} hit={hit} bs={} iodepth={} numjobs={} cache={} engine={} \
             arrival={:?} offset={} size={} drop-cache={:?} zipf={} hot={}/{} stride={} misalign={} \
             regions={:?} polled={} sqpoll={} completion={} rate={}/{} think={} raid0={} \
             targets={} data={:?}/{}",
            self.read_percent,
            self.pattern.name(),
            sizes.join(":"),
            self.iodepth,
            self.numjobs,
            self.cache.name(),
            self.engine.name(),
            self.arrival,
            self.offset_bytes.0,
            self.size_bytes.0,
            self.drop_cache,
            self.zipf_theta_milli.unwrap_or(0),
            self.hot.map_or(0, |hot| hot.bytes.0),
            self.hot.map_or(0, |hot| hot.percent),
            self.stride_bytes.map_or(0, |bytes| bytes.0),
            self.misalign_bytes.0,
            self.regions,
            self.polled,
            self.sqpoll,
            self.discipline.name(),
            self.rate_iops.unwrap_or(0),
            self.write_rate_iops.unwrap_or(0),
            self.think_ns.0,
            self.stripe_bytes.map_or(0, |bytes| bytes.0),
            self.targets,
            self.data,
            self.compressible_percent,
        );
        // Only where there is one: cells without it stay what they were.
        let blend = self.blend.map_or_else(String::new, |blend| {
            format!(" blend={}/{}", blend.sequential_percent, blend.hit_percent)
        });
        let from_start = if self.from_start { " from-start" } else { "" };
        let once = if self.without_replacement { " without-replacement" } else { "" };
        let zones: String = self
            .zones
            .iter()
            .map(|zone| format!(" zone={}/{}", zone.request_percent, zone.area_percent))
            .collect();
        let align =
            self.align_bytes.map_or_else(String::new, |bytes| format!(" align={}", bytes.0));
        let backwards = if self.backwards { " backwards" } else { "" };
        let distance = self
            .job_distance_bytes
            .map_or_else(String::new, |distance| format!(" offset-increment={}", distance.0));
        let processors = match self.processors.as_slice() {
            [] => String::new(),
            bound => format!(" processors={bound:?}"),
        };
        let flush = self
            .flush
            .map_or_else(String::new, |flush| format!(" {}={}", flush.kind.name(), flush.every));
        let huge_pages = if self.huge_pages { " huge-pages" } else { "" };
        let instead = self.instead.map_or_else(String::new, |it| format!(" instead={it:?}"));
        let priority = self
            .io_priority
            .map_or_else(String::new, |priority| format!(" io-priority={priority}"));
        let cgroup = self.cgroup.as_ref().map_or_else(String::new, |it| format!(" cgroup={it}"));
        let array = self.array.map_or_else(String::new, |array| {
            let failed = array.failed.map_or_else(String::new, |leg| format!("/failed {leg}"));
            let rebuild = array.rebuild.map_or_else(String::new, |pace| {
                format!("/rebuild {}", pace.bytes_per_s.map_or(0, |bytes| bytes.0))
            });
            format!(" raid={}{failed}{rebuild}", array.level.number())
        });
        let burst = self.burst_milli.map_or_else(String::new, |burst| format!(" burst={burst}"));
        let replay = self.replay.as_ref().map_or_else(String::new, |replay| {
            format!(" replay={}/{:?}", replay.digest, replay.pace)
        });
        let beside: String = self
            .beside
            .iter()
            .map(|job| {
                format!(" beside={}/{}/{}", job.delay_ns.0, job.targets, job.workload.cell())
            })
            .collect();
        hex_digest(
            &(text
                + &blend
                + from_start
                + once
                + &zones
                + &align
                + backwards
                + &distance
                + &processors
                + &flush
                + &instead
                + huge_pages
                + &priority
                + &array
                + &cgroup
                + &burst
                + &replay
                + &beside),
        )
    }
}

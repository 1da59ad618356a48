//! The parts of a workload: which requests it makes, by which engine, and when.

use crate::{Bytes, Locality, OwnEngineName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the requests go within the area.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending and contiguous, wrapping at the end of the job's region.
    Sequential,
    /// Uniform over all aligned positions of the area.
    Random,
    /// Random within a small area that was just read, so that any cache below can serve it.
    Hit,
    /// Random with popularity proportional to 1/rank^theta, ranks spread over the area.
    Zipf,
    /// Random; a share of the requests goes to a hot part of the area.
    Hot,
    /// Each a fixed distance after the previous one, wrapping.
    Strided,
}

crate::words! { Pattern:
    Sequential = "sequential",
    Random = "random",
    Hit = "hit",
    Zipf = "zipf",
    Hot = "hot",
    Strided = "strided",
}

impl Pattern {
    /// Where its requests go, if the models cover it.
    #[must_use]
    pub fn locality(self) -> Option<Locality> {
        match self {
            Self::Sequential => Some(Locality::Sequential),
            Self::Random => Some(Locality::Random),
            Self::Hit => Some(Locality::Hit),
            Self::Zipf | Self::Hot | Self::Strided => None,
        }
    }
}

/// How sequential and strided jobs share the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// Each job has its own equal part.
    PerJob,
    /// The jobs take the requests of one stream over the whole area in turn.
    Shared,
    /// Each job has its own equal part, although its order is not sequential.
    Own,
}

/// A part of the area that gets more than its proportional share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HotArea {
    /// Its length, from the start of the area; in bytes.
    pub bytes: Bytes,
    /// Share of the requests that go there, 1 to 99. The others go to the rest of the area.
    pub percent: u8,
}

/// A part of the area that follows the previous parts, with its share of the random requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AreaZone {
    /// Share of the requests in percent; those of all zones add up to 100.
    pub request_percent: u8,
    /// Share of the area in percent; those of all zones add up to 100.
    pub area_percent: u8,
}

/// Shares of the requests that do not follow the pattern. The remaining requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blend {
    /// Requests that continue the previous one of the same direction, 0 to 100.
    pub sequential_percent: u8,
    /// Requests that reread or rewrite a small area, 0 to 100. Both shares together are at most 100.
    pub hit_percent: u8,
}

/// Which caches may hold the data. [`CacheMode::letter`] has SQLIO's letters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Page cache and device cache: buffered I/O.
    All,
    /// Page cache, written through to the medium: buffered I/O with O_DSYNC.
    Fs,
    /// Device cache only: direct I/O (O_DIRECT).
    #[default]
    Device,
    /// No cache: O_DIRECT and O_DSYNC.
    None,
}

crate::words! { CacheMode: All = "all", Fs = "fs", Device = "device", None = "none" }

impl CacheMode {
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

    /// Whether requests bypass the page cache (O_DIRECT).
    #[must_use]
    pub fn direct(self) -> bool {
        matches!(self, Self::Device | Self::None)
    }

    /// Whether each write is durable on the medium before it completes (O_DSYNC).
    #[must_use]
    pub fn synchronous(self) -> bool {
        matches!(self, Self::Fs | Self::None)
    }
}

/// The interface that issues the requests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// Linux io_uring.
    IoUring,
    /// Linux native asynchronous I/O: io_submit and io_getevents.
    Libaio,
    /// Windows: overlapped I/O, with completions delivered in batches by a completion port.
    Iocp,
    /// Windows: overlapped I/O with one event per buffer; the job waits for all events together.
    Events,
    /// Windows: ReadFileEx, which delivers completions as calls in the waiting thread.
    Readfileex,
    /// Blocking calls at an offset (pread and pwrite, or ReadFile and WriteFile), one at a time per job.
    Sync,
    /// A pool of threads per job, each with blocking calls.
    Threads,
    /// Copies from and to a memory mapping of the file.
    Mmap,
    /// Completes immediately without I/O: shows the limit of the load generator.
    Null,
    /// A simulated device in virtual time.
    Sim,
    /// An engine of a custom build, which other builds know only by name.
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

/// Which completion a job waits for before it issues the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// Any completion: its slot is reused immediately.
    Any,
    /// The oldest request: a slow one stalls those after it.
    OldestFirst,
    /// A callback per completion issues the next request itself; callbacks may nest.
    Callback,
    /// The same, but completions are posted to the job's loop, which limits the nesting.
    CallbackPosted,
}

crate::words! { Discipline:
    Any = "any",
    OldestFirst = "oldest-first",
    Callback = "callback",
    CallbackPosted = "callback-posted",
}

/// How a job makes its writes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushKind {
    /// Data and all metadata of the file (fsync).
    Fsync,
    /// Data and only the metadata needed to read it (fdatasync).
    Fdatasync,
    /// Writes data to the device and waits (sync_file_range). It flushes neither the device's cache nor the
    /// file's metadata, so the data is not durable.
    SyncFileRange,
}

crate::words! { FlushKind:
    Fsync = "fsync",
    Fdatasync = "fdatasync",
    SyncFileRange = "sync-file-range",
}

/// Flushes of a job, as a program that commits issues them. After `every` writes, the job submits nothing,
/// waits for the requests in flight, flushes, and then continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flush {
    /// The kind of flush.
    pub kind: FlushKind,
    /// Writes per job between two flushes, at least 1.
    pub every: u32,
}

/// I/O scheduling class of a job's requests, as ionice sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoClass {
    /// Served before all others.
    Realtime,
    /// The default.
    BestEffort,
    /// Served only if no other requests wait.
    Idle,
}

crate::words! { IoClass: Realtime = "rt", BestEffort = "be", Idle = "idle" }

/// I/O class and level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoPriority {
    /// The class.
    pub class: IoClass,
    /// From 0 (highest) to 7; 0 in the idle class.
    pub level: u8,
}

/// In the syntax of the flag.
impl fmt::Display for IoPriority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.class.name(), self.level)
    }
}

/// How the page cache is dropped before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropCache {
    /// Not dropped.
    None,
    /// The area's clean pages are dropped (POSIX_FADV_DONTNEED).
    Dontneed,
    /// A scratch file as large as the cacheable memory is read, which evicts other pages.
    ScratchRead,
    /// The kernel drops all clean pages (/proc/sys/vm/drop_caches); requires root.
    DropCaches,
}

crate::words! { DropCache:
    None = "none",
    Dontneed = "dontneed",
    ScratchRead = "scratch-read",
    DropCaches = "drop-caches",
}

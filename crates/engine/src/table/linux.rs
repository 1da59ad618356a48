//! The engines on Linux: those of its kernel, and those that every system has.

use super::{ANY_CACHE, EngineInfo, EngineVisitor, engine_table};
use crate::linux::{Libaio, Mappings, Uring};
use crate::threads::Threads;
use crate::{Array, Direct, NullEngine, OneByOne, PlainCalls, Striped};
use record::{CacheMode, EngineName};

/// The cache modes with the page cache.
const PAGE_CACHE: &[CacheMode] = &[CacheMode::All, CacheMode::Fs];

/// Requests through an io_uring.
pub type UringEngine = Direct<Uring<false>>;

/// The same ring and code with entries that do nothing (IORING_OP_NOP) and return the request's length. It
/// measures the cost of the ring itself. Requires Linux 6.10, which lets a NOP return a value.
pub type NopEngine = Direct<Uring<true>>;

/// Requests through io_submit and io_getevents.
pub type LibaioEngine = Direct<Libaio>;

/// Requests through a mapping of the file.
pub type MmapEngine = Direct<OneByOne<Mappings>>;

/// The system that has the engines in `ELSEWHERE`.
pub(super) const OTHER_SYSTEM: &str = "Windows";
/// The engines of that system, each with the closest one here.
pub(super) const ELSEWHERE: &[(EngineName, EngineName)] = &[
    (EngineName::Iocp, EngineName::IoUring),
    (EngineName::Events, EngineName::Libaio),
    (EngineName::Readfileex, EngineName::IoUring),
];

engine_table! {
    IoUring: Uring<false>, max_depth u32::MAX, caches ANY_CACHE,
        "io_uring: any depth from one thread";
    Libaio: Libaio, max_depth u32::MAX, caches ANY_CACHE,
        "io_submit and io_getevents: asynchronous with O_DIRECT only";
    Sync: OneByOne<PlainCalls>, max_depth 1, caches ANY_CACHE,
        "pread and pwrite: one request per job; the queue depth comes from --numjobs";
    Threads: Threads, max_depth u32::MAX, caches ANY_CACHE,
        "a pool of threads per job, each with pread and pwrite";
    Mmap: OneByOne<Mappings>, max_depth 1, caches PAGE_CACHE,
        "copies to and from a mapping of the file: page cache only";
}

//! The engines on Windows: those of its kernel, and those that every system has.

use super::{ANY_CACHE, EngineInfo, EngineVisitor, engine_table};
use crate::threads::Threads;
use crate::windows::{CompletionPort, Events, ReadFileExCalls};
use crate::{Array, Direct, NullEngine, OneByOne, PlainCalls, Striped, Transport};
use record::EngineName;

/// The system that has the engines in `ELSEWHERE`.
pub(super) const OTHER_SYSTEM: &str = "Linux";
/// The engines of that system, each with the closest one here.
pub(super) const ELSEWHERE: &[(EngineName, EngineName)] = &[
    (EngineName::IoUring, EngineName::Iocp),
    (EngineName::Libaio, EngineName::Iocp),
    (EngineName::Mmap, EngineName::Sync),
];

engine_table! {
    Iocp: CompletionPort, max_depth u32::MAX, caches ANY_CACHE,
        "a completion port: any depth from one thread";
    Events: Events, max_depth <Events as Transport>::MOST, caches ANY_CACHE,
        "overlapped calls with one event each: at most 64 in flight";
    Readfileex: ReadFileExCalls, max_depth u32::MAX, caches ANY_CACHE,
        "ReadFileEx and WriteFileEx: the system calls a function for each completed request";
    Sync: OneByOne<PlainCalls>, max_depth 1, caches ANY_CACHE,
        "ReadFile and WriteFile: one request per job; the queue depth comes from --numjobs";
    Threads: Threads, max_depth u32::MAX, caches ANY_CACHE,
        "a pool of threads per job, each with ReadFile and WriteFile";
}

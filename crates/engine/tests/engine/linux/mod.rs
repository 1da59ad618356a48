//! Tests that only Linux supports, and the Linux functions for the shared tests.

mod direct_io;
mod limits;
mod mapping;
mod memory;
mod refusals;
pub(crate) mod scratch;
mod uring;

pub(crate) use scratch::scratch_file;

use record::EngineName;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Whether the engine's system calls exist: qemu-user lacks both io_uring and io_submit.
pub(crate) fn has_calls_of(engine: EngineName) -> bool {
    let rings = [EngineName::IoUring, EngineName::Libaio];
    testkit::emulator().is_none() || !rings.contains(&engine)
}

/// The outcome of a write through a read-only handle: EBADF.
pub(crate) const NOT_WRITABLE: i32 = -9;

/// The same file, opened read-only.
pub(crate) fn read_only(file: &File) -> File {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

/// Raises this process's limit on open files.
pub(crate) fn allow_files(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|soft| soft < count) {
        let limit = Rlimit { current: Some(count), maximum: limit.maximum };
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

//! Wraps every unsafe call of this module, so that callers are safe.
//!
//! rustix has safe forms of nearly all calls needed. The exceptions: FIEMAP, two ioctls of block and loop
//! devices, leases, and counting pages by cachestat and mincore. Rejected: a crate for FIEMAP, which would
//! add a second errno type and its own interpretation of the flags.

use crate::kernel::{checked, require_block_device};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Updater, ioctl};
use std::mem::size_of;

/// One extent from FIEMAP, as in the kernel's include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FiemapExtent {
    pub(crate) logical: u64,
    /// Position on the device of the file system.
    pub(crate) physical: u64,
    pub(crate) length: u64,
    pub(crate) reserved64: [u64; 2],
    pub(crate) flags: u32,
    pub(crate) reserved: [u32; 3],
}

/// Extents per call: a response of 28 KiB, so that a scattered file needs few calls.
pub(crate) const FIEMAP_PAGE: usize = 512;

/// `struct fiemap` with space for the response.
#[repr(C)]
struct FiemapRequest {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; FIEMAP_PAGE],
}

// The kernel's structures, byte for byte: 32 and 56 bytes.
const _: () = assert!(size_of::<FiemapExtent>() == 56);
const _: () = assert!(size_of::<FiemapRequest>() == 32 + FIEMAP_PAGE * 56);

/// `_IOWR('f', 11, struct fiemap)`; the size in the number is that of the header alone, 32 bytes.
const FS_IOC_FIEMAP: Opcode = 0xC020_660B;
/// Write dirty pages first, which ends delayed allocation.
const FIEMAP_FLAG_SYNC: u32 = 1;

/// The extents that map `start..start + length` of a file, at most [`FIEMAP_PAGE`]. With `sync`, dirty data
/// is written first, so that it has a position.
pub(crate) fn fiemap_page(
    file: impl AsFd,
    start: u64,
    length: u64,
    sync: bool,
) -> Result<Vec<FiemapExtent>, Errno> {
    let mut request = Box::new(FiemapRequest {
        start,
        length,
        flags: if sync { FIEMAP_FLAG_SYNC } else { 0 },
        mapped_extents: 0,
        extent_count: FIEMAP_PAGE as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); FIEMAP_PAGE],
    });
    // SAFETY: `request` is a live, exclusive `struct fiemap` followed by space for `extent_count` extents,
    // which is all that the kernel writes to; every bit pattern is valid in its fields.
    unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, _>::new(&mut *request)) }?;
    let mapped = (request.mapped_extents as usize).min(FIEMAP_PAGE);
    Ok(request.extents[..mapped].to_vec())
}

/// `_IO(0x12, 94)`.
const BLKROGET: Opcode = 0x125E;

/// Whether a block device rejects writes; for a partition, this includes its disk.
pub(crate) fn is_read_only(device: impl AsFd) -> Result<bool, Errno> {
    // SAFETY: the kernel writes one `int`.
    let flag = unsafe { ioctl(device, Getter::<BLKROGET, libc::c_int>::new()) }?;
    Ok(flag != 0)
}

/// The object below a loop device: the beginning of `struct loop_info64` (include/uapi/linux/loop.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopStatus {
    /// Device of the file's file system.
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The block device, if the file is one; 0 for a regular file.
    pub(crate) block_device: u64,
    /// Offset and limit in the file, number, encryption, flags, names: not needed.
    rest: [u64; 26],
}

// Must match the kernel's structure exactly.
const _: () = assert!(size_of::<LoopStatus>() == 232);

/// The ioctl of loop(4).
const LOOP_GET_STATUS64: Opcode = 0x4C05;

pub(crate) fn loop_status(device: impl AsFd) -> Result<LoopStatus, Errno> {
    require_block_device(&device)?;
    // SAFETY: the kernel writes a whole `struct loop_info64`, which has the length of ours; every bit
    // pattern is valid in its integers.
    unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopStatus>::new()) }
}

/// Whether another program has a lock on any bytes of a file that conflicts with a write lock (fcntl(2)).
/// rustix has this call, but panics if the holder has no process number, as for a lock of an open file.
pub(crate) fn is_locked(file: impl AsFd) -> bool {
    // SAFETY: all zeros is a valid `flock`: from the start to the end of the file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    // SAFETY: the kernel reads and writes one live `flock`.
    let asked =
        checked(unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_GETLK, &raw mut lock) });
    asked.is_ok() && lock.l_type != libc::F_UNLCK as libc::c_short
}

/// Whether the kernel reports that two threads, by their numbers, share one descriptor table; false if it
/// does not report it.
pub(crate) fn share_descriptors(one: &str, other: &str) -> bool {
    /// From linux/kcmp.h.
    const FILES: libc::c_int = 2;
    let (Ok(one), Ok(other)) = (one.parse::<libc::pid_t>(), other.parse::<libc::pid_t>()) else {
        return false;
    };
    // SAFETY: kcmp reads its arguments and writes nowhere.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, FILES, 0, 0) == 0 }
}

/// The result of requesting a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// No program has it open for writing.
    None,
    /// A program has.
    Some,
    /// This user may not ask: the file belongs to another user.
    Hidden,
    /// The file system does not support leases.
    Unknown,
}

/// `F_SETSIG` of include/uapi/asm-generic/fcntl.h.
const F_SETSIG: libc::c_int = 10;

/// Whether any program has a regular file open for writing. Requests a read lease (fcntl(2)), which is
/// released at once. `file` must be open only for reading.
pub(crate) fn has_writers(file: impl AsFd) -> Writers {
    let descriptor = file.as_fd().as_raw_fd();
    // SAFETY: these commands of fcntl take an integer and touch no memory of ours. If a program opens the
    // file for writing in between, the kernel signals us, and the default signal would end the process.
    if checked(unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) }).is_err() {
        return Writers::Unknown;
    }
    // SAFETY: as above.
    let taken = checked(unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_RDLCK) });
    match taken {
        Ok(_) => {
            // SAFETY: as above.
            let _ = checked(unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) });
            Writers::None
        }
        Err(Errno::AGAIN) => Writers::Some,
        Err(Errno::ACCESS | Errno::PERM) => Writers::Hidden,
        Err(_) => Writers::Unknown,
    }
}

/// `struct cachestat` of include/uapi/linux/mman.h, in pages.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Cachestat {
    pub(crate) cached: u64,
    pub(crate) dirty: u64,
    pub(crate) writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// `__NR_cachestat` (Linux 6.5), the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

/// The state of the pages of `offset..offset + length` of a file in the page cache.
pub(crate) fn cachestat(file: impl AsFd, offset: u64, length: u64) -> Result<Cachestat, Errno> {
    // `struct cachestat_range` from the same header.
    let range = [offset, length];
    let mut answer = Cachestat::default();
    // SAFETY: both structures are live and have the kernel's layout; it reads the first and fills the
    // second. The last argument is the flags, which are 0.
    checked(unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_fd().as_raw_fd(),
            &raw const range,
            &raw mut answer,
            0 as libc::c_uint,
        )
    })?;
    Ok(answer)
}

/// The number of cached pages, by mincore, for `length` bytes from the page at `offset`; on any kernel.
pub(crate) fn mapped_pages(file: impl AsFd, offset: u64, length: usize) -> Result<u64, Errno> {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    // SAFETY: a new mapping at an address of the kernel's choice, without any access rights.
    let start = unsafe {
        mmap(std::ptr::null_mut(), length, ProtFlags::empty(), MapFlags::SHARED, file, offset)
    }?;
    let mut pages = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: the range was mapped just above, and the buffer has one byte for each of its pages.
    let outcome = checked(unsafe { libc::mincore(start.cast(), length, pages.as_mut_ptr()) });
    // SAFETY: the mapping is ours, and no reference into it was ever created.
    unsafe { munmap(start, length) }?;
    outcome.map(|_| pages.iter().filter(|&&page| page & 1 == 1).count() as u64)
}

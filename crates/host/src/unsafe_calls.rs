//! Every call of this crate that the compiler cannot check, wrapped so that its callers are safe.
//!
//! rustix gives safe forms of nearly all that is needed; what is left are an ioctl with a
//! variable-length answer, `getrusage`, and the probe of `io_uring_setup`. They are here and
//! nowhere else, so that the unsafe code of the crate is read in one place. Rejected: a crate for
//! FIEMAP, which would bring a second errno type and its own reading of the flags.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use std::mem::{MaybeUninit, size_of};

/// One answer of FIEMAP, as in the kernel's include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FiemapExtent {
    /// Position in the file.
    pub(crate) logical: u64,
    /// Position on the device of the file system.
    pub(crate) physical: u64,
    /// Length.
    pub(crate) length: u64,
    /// The kernel's.
    pub(crate) reserved64: [u64; 2],
    /// Properties.
    pub(crate) flags: u32,
    /// The kernel's.
    pub(crate) reserved: [u32; 3],
}

/// Extents that one call asks for: 28 KiB of answer, so that a scattered file needs few calls.
pub(crate) const FIEMAP_PAGE: usize = 512;

/// `struct fiemap` with room for its answer.
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

/// `_IOWR('f', 11, struct fiemap)`; the size in the number is that of the head alone, 32 bytes.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// Write dirty pages first, so that delayed allocation is over.
const FIEMAP_FLAG_SYNC: u32 = 1;

/// The extents that map `start..start + length` of a file, at most [`FIEMAP_PAGE`] of them.
pub(crate) fn fiemap_page(
    file: impl AsFd,
    start: u64,
    length: u64,
) -> Result<Vec<FiemapExtent>, Errno> {
    let mut request = Box::new(FiemapRequest {
        start,
        length,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: FIEMAP_PAGE as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); FIEMAP_PAGE],
    });
    // SAFETY: `request` is a live, exclusive `struct fiemap` followed by room for `extent_count`
    // extents, which is all that the kernel writes to; every bit pattern is valid in its fields.
    let outcome =
        unsafe { libc::ioctl(file.as_fd().as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) };
    if outcome < 0 {
        return Err(last_error());
    }
    let mapped = (request.mapped_extents as usize).min(FIEMAP_PAGE);
    Ok(request.extents[..mapped].to_vec())
}

/// User and system time of the whole process in microseconds.
pub(crate) fn process_times_us() -> Option<(u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable `rusage`, which the kernel fills.
    let outcome = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if outcome != 0 {
        return None;
    }
    // SAFETY: zero bytes are a valid `rusage` (integers only), and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let microseconds = |time: libc::timeval| {
        (u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000)
            .saturating_add(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Some((microseconds(usage.ru_utime), microseconds(usage.ru_stime)))
}

/// Makes the smallest io_uring and closes it again: whether the kernel lets us.
pub(crate) fn try_io_uring() -> Result<(), Errno> {
    let mut parameters = rustix::io_uring::io_uring_params::default();
    // SAFETY: the parameters are valid and zeroed but for what the kernel writes back; the ring is
    // never mapped nor entered, so no memory is shared with the kernel.
    let ring: OwnedFd = unsafe { rustix::io_uring::io_uring_setup(2, &mut parameters) }?;
    drop(ring);
    Ok(())
}

/// `errno` of the call that has just failed.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

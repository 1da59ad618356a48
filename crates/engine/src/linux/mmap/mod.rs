//! Copies from and to a mapping of the file, as a program that maps its data does.
//!
//! If a page is missing, the processor faults and the kernel fetches the page on the job's thread, so a job's
//! queue depth is one. With write-through, an msync of its pages follows each write. A mapping cannot bypass
//! the page cache, so those cache modes are refused.
//!
//! If a page cannot be provided (the file was truncated, the device failed, the file system is full), the
//! kernel raises SIGBUS. The request then fails with EIO (`fault`). Without such a fault, this costs nothing.
//! Rejected: MADV_POPULATE_READ before each copy, and copies through the kernel (process_vm_readv). Both need
//! a system call per request, which a mapping exists to avoid.
//!
//! A mapping does not grow: a write beyond the file's end at the opening is refused with ENOSPC, as on a
//! block device. Within its last page, a truncated file shows zeros instead of a fault. The length is
//! therefore read again at every [`CHECK_EVERY`]th transfer.

mod fault;

use crate::{Act, Carrier, EngineError, Setup, Transfer};
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fstat, seek};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::os::fd::{BorrowedFd, RawFd};

/// Number of transfers between two checks of the files' lengths.
const CHECK_EVERY: u32 = 256;

#[derive(Debug)]
struct Mapped {
    file: RawFd,
    /// Null if the file is empty.
    base: *mut u8,
    /// Bytes that were mapped.
    length: usize,
    /// The file's length at the last check, at most `length`.
    size: u64,
    /// Whether writing is permitted.
    writable: bool,
    /// Whether writes go through to the medium.
    synchronous: bool,
}

/// The mapped files of a job.
#[derive(Debug)]
pub struct Mappings {
    files: Vec<Mapped>,
    since_check: u32,
}

/// Length of a file or block device.
fn length(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    match fstat(file)?.st_size {
        // A block device reports a size of zero. Seeking moves the position, but nothing uses it.
        0 => seek(file, SeekFrom::End(0)),
        size => Ok(size as u64),
    }
}

impl Mapped {
    fn new(file: RawFd, writes: bool) -> Result<Self, EngineError> {
        // SAFETY: the owner of the files keeps the descriptor open while the engine exists.
        let borrowed = unsafe { BorrowedFd::borrow_raw(file) };
        let refused = |cause: &str, errno: Errno, remedy| EngineError::Unavailable {
            engine: "mmap",
            cause: cause.to_owned(),
            errno: errno.into(),
            remedy,
        };
        let flags = fcntl_getfl(borrowed).map_err(|errno| {
            refused("the target's flags cannot be read", errno, "check the target")
        })?;
        if flags.contains(OFlags::DIRECT) {
            let cause = "mmap uses the page cache, but the target was opened to bypass it";
            return Err(refused(cause, Errno::INVAL, "use --cache all or --cache fs"));
        }
        let size = length(borrowed)
            .map_err(|errno| refused("the target has no length", errno, "use another engine"))?;
        let mut mapped = Self {
            file,
            base: std::ptr::null_mut(),
            length: size as usize,
            size,
            writable: writes && !flags.intersection(OFlags::RWMODE).is_empty(),
            // O_SYNC includes O_DSYNC. The constant in rustix means both.
            synchronous: flags.bits() & libc::O_DSYNC as u32 != 0,
        };
        if size > 0 {
            let mut protection = ProtFlags::READ;
            protection.set(ProtFlags::WRITE, mapped.writable);
            let wherever = std::ptr::null_mut();
            // SAFETY: a new shared mapping at an address chosen by the kernel. Only the copies below access
            // it, and they survive a truncation.
            let base =
                unsafe { mmap(wherever, mapped.length, protection, MapFlags::SHARED, borrowed, 0) };
            mapped.base = base
                .map_err(|errno| {
                    refused("the target cannot be mapped", errno, "use another engine")
                })?
                .cast();
        }
        Ok(mapped)
    }

    fn look_again(&mut self) {
        // SAFETY: as at the opening.
        let borrowed = unsafe { BorrowedFd::borrow_raw(self.file) };
        if let Ok(size) = length(borrowed) {
            self.size = size.min(self.length as u64);
        }
    }

    /// Carries out a transfer. Returns the bytes, or a negated error number.
    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        let failed = |errno: Errno| -errno.raw_os_error();
        if matches!(transfer.act, Act::Fsync | Act::Fdatasync | Act::WriteOut) {
            // The kernel notices a write to a mapping when it checks the page, as fsync does.
            return crate::linux::files::carry_out(self.file, transfer);
        }
        let writes = transfer.act == Act::Write;
        let wanted = u64::from(transfer.bytes).min(self.size.saturating_sub(transfer.offset));
        let bytes = wanted as usize;
        if writes && !self.writable {
            return failed(Errno::BADF);
        }
        if bytes == 0 {
            return if writes { failed(Errno::NOSPC) } else { 0 };
        }
        // SAFETY: the offset is below the length of the mapping.
        let place = unsafe { self.base.add(transfer.offset as usize) };
        let (to, from) = if writes { (place, transfer.address) } else { (transfer.address, place) };
        // SAFETY: both ranges are mapped, writable if they are written, and do not overlap. The copy survives
        // missing pages of the file.
        if unsafe { fault::copy(to, from, bytes) } > 0 {
            self.look_again();
            return failed(Errno::IO);
        }
        if writes && self.synchronous {
            // msync takes whole pages, which are not 4 KiB on every machine.
            let page = rustix::param::page_size() as u64;
            let start = transfer.offset / page * page;
            let end = transfer.offset + wanted;
            // SAFETY: the range is in the mapping and starts at a page.
            let written = unsafe {
                let start_address = self.base.add(start as usize).cast();
                msync(start_address, (end - start) as usize, MsyncFlags::SYNC)
            };
            if let Err(errno) = written {
                return failed(errno);
            }
        }
        bytes as i32
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if !self.base.is_null() {
            // SAFETY: the mapping belongs to this value, and no copy is running.
            let _ = unsafe { munmap(self.base.cast(), self.length) };
        }
    }
}

impl Carrier for Mappings {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        fault::install()?;
        let files = setup.files.iter().map(|&file| Mapped::new(file, setup.writes));
        Ok(Self { files: files.collect::<Result<_, _>>()?, since_check: 0 })
    }

    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        self.since_check += 1;
        if self.since_check == CHECK_EVERY {
            self.since_check = 0;
            self.files.iter_mut().for_each(Mapped::look_again);
        }
        self.files[transfer.file as usize].carry_out(transfer)
    }

    fn features(&self) -> Vec<String> {
        let mut features = vec!["copies from and to a mapping".to_owned()];
        if self.files.iter().any(|file| file.synchronous && file.writable) {
            features.push("msync after each write".to_owned());
        }
        features
    }
}

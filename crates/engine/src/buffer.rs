//! The memory that requests read into and write from.
//!
//! One contiguous anonymous mapping per job, a stride per slot, so that one registration with
//! io_uring covers all of it. For writes it is filled once with random data. Before each write the
//! slot's data is renewed, so that nothing below can deduplicate or compress it: requests below
//! 64 KiB are combined as a whole with a fresh random word (exclusive or), because a compressor
//! sees several of them at once; in larger ones, which fill a compressor's window by themselves,
//! a word of every sector is. That is 0.05 µs for 4 KiB and 0.1 µs for 64 KiB, before the
//! request's clock starts. Rejected: drawing all data anew (twenty times that), and a few bytes of
//! each block at every size, which a window of several blocks sees through.

use crate::{EngineError, Setup};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;
use workload::Rng;

/// Requests from this size on are renewed by sectors: the windows of compressors that work on
/// storage (LZ4 64 KiB, zlib 32 KiB, arrays 4 to 32 KiB) hold no two of them.
const WINDOW_BYTES: usize = 64 << 10;
/// Words of a sector of 512 bytes, the unit in which the finest deduplication compares.
const SECTOR_WORDS: usize = 64;
/// Alignment of every slot's buffer: enough for O_DIRECT on any block device in use.
const PAGE_BYTES: u64 = 4_096;

/// The buffers of one job, one per slot.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    stride: usize,
    length: usize,
    keys: Rng,
}

impl Buffers {
    /// Maps `setup.depth` buffers of `setup.max_bytes` and touches all of their pages.
    ///
    /// # Errors
    /// If the memory is refused.
    pub fn new(setup: &Setup) -> Result<Self, EngineError> {
        let stride = u64::from(setup.max_bytes).max(1).next_multiple_of(PAGE_BYTES);
        let bytes = stride * u64::from(setup.depth.max(1));
        let refused = |errno| EngineError::Memory { what: "buffer memory", bytes, errno };
        let length = usize::try_from(bytes).map_err(|_| refused(rustix::io::Errno::NOMEM))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh private mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE) }
                .map_err(refused)?;
        // Huge pages make registration and pinning cheaper; where they are off, nothing is lost.
        // SAFETY: the range was mapped just above.
        let _ = unsafe { madvise(base, length, Advice::LinuxHugepage) };
        let base = NonNull::new(base.cast()).ok_or(refused(rustix::io::Errno::NOMEM))?;
        let mut buffers =
            Self { base, stride: stride as usize, length, keys: Rng::new(setup.data_seed) };
        buffers.fill(setup.writes);
        Ok(buffers)
    }

    /// Faults every page in; with random data if it will be written to a device.
    fn fill(&mut self, random: bool) {
        let mut rng = self.keys.clone();
        // SAFETY: the mapping is ours, page-aligned, `length` bytes long and writable, and no
        // other reference to it exists.
        let words = unsafe {
            std::slice::from_raw_parts_mut(self.base.as_ptr().cast::<u64>(), self.length / 8)
        };
        if random {
            words.fill_with(|| rng.next_u64());
        } else {
            for page in words.chunks_mut(PAGE_BYTES as usize / 8) {
                page[0] = 1;
            }
        }
    }

    /// Start of all buffers, for registration.
    #[must_use]
    pub fn base(&self) -> *mut c_void {
        self.base.as_ptr().cast()
    }

    /// Length of all buffers in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Start of a slot's buffer.
    ///
    /// # Panics
    /// In debug builds, if the slot is beyond the depth.
    #[inline]
    #[must_use]
    pub fn slot(&self, slot: u32) -> *mut u8 {
        let offset = slot as usize * self.stride;
        debug_assert!(offset + self.stride <= self.length, "slot {slot} is beyond the depth");
        // SAFETY: engines take slots below the depth (the contract of `Engine`), so the offset
        // lies in the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The first `bytes` of a slot's buffer, at most its length.
    #[must_use]
    pub fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        // SAFETY: the range lies in the slot and is initialised; the borrow of `self` keeps the
        // engine from submitting into it meanwhile.
        unsafe { std::slice::from_raw_parts(self.slot(slot), bytes.min(self.stride)) }
    }

    /// Makes the first `bytes` of a slot's buffer differ from all data written before.
    #[inline]
    pub fn renew(&mut self, slot: u32, bytes: u32) {
        let bytes = (bytes as usize).min(self.stride);
        let key = self.keys.next_u64();
        // SAFETY: the range lies in the slot, whose length is a multiple of eight; it is aligned
        // and initialised, and the slot has no request in flight while it is renewed.
        let data = unsafe {
            std::slice::from_raw_parts_mut(self.slot(slot).cast::<u64>(), bytes.div_ceil(8))
        };
        if bytes >= WINDOW_BYTES {
            for word in data.iter_mut().step_by(SECTOR_WORDS) {
                *word ^= key;
            }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just detected.
            unsafe { combine_avx2(data, key) };
        } else {
            combine(data, key);
        }
    }
}

/// Combines every word with `key`.
#[inline(always)]
fn combine(data: &mut [u64], key: u64) {
    for word in data {
        *word ^= key;
    }
}

/// The same, compiled for wide registers: twice as fast as the baseline's.
#[target_feature(enable = "avx2")]
fn combine_avx2(data: &mut [u64], key: u64) {
    combine(data, key);
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and engines drop their buffers only after the last request
        // in flight (their own drop order sees to it).
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
    }
}

//! The memory that requests read into and write from. Each job has one anonymous mapping with an equal stride
//! per slot, so that one registration with io_uring covers all of it.
//!
//! No layer below should be able to deduplicate or compress written data, at almost no CPU cost. Each slot's
//! write area is a ring of random data for at least two requests. Each write takes the next piece of the ring
//! and stamps a word into each of its pages. The slots take turns, so a piece returns only after all rings
//! together, which is four times the window of any compressor on storage (LZ4 64 KiB, zlib 32 KiB, arrays 4
//! to 32 KiB). Rejected: generating or combining all data anew (1 µs for 4 KiB), one buffer stamped
//! repeatedly (a window of several blocks sees through it), a whole window for each slot (2 MiB at depth 32,
//! beyond the second-level cache: a quarter of the rate of writes to memory).
//!
//! Tagged blocks have their tag instead of the word (its hashes are computed once, when the ring is filled).
//! Compressible blocks end in zeros. Zeros use a ring of zeros without a stamp.

use crate::tag::{self, Tags};
use crate::{EngineError, Memory, Request, Setup, platform};
use record::Data;
use std::ptr::NonNull;
use workload::Rng;

/// Minimum requests in a slot's ring, so that data also differs for a slot that is used out of turn.
const RING_REQUESTS_MIN: u64 = 2;
/// Minimum size of all rings together: four of the longest compressor windows.
const RINGS_BYTES: u64 = 256 << 10;
/// Maximum size of all rings together, unless single requests need more.
const RINGS_BYTES_MAX: u64 = 256 << 20;
/// Alignment of every slot's buffer: enough for direct I/O on any current block device.
const PAGE_BYTES: u64 = 4_096;

/// How a piece of the ring is made different from all earlier writes.
#[derive(Debug)]
enum Renewal {
    /// Not at all: zeros.
    None,
    /// A new random word is combined with the first word of each page.
    Word,
    /// A tag in each block. `hashes` has the hashes of all sectors of all rings, in order.
    Tag { tags: Tags, hashes: Vec<u64> },
}

/// The buffers of one job.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    /// Bytes per slot: its ring, its read area, and the work area of an array.
    stride: usize,
    /// Bytes of a slot's ring; 0 if the job does not write.
    ring: usize,
    /// Bytes of a slot's read area; 0 if the job does not read.
    read: usize,
    length: usize,
    /// Start of the current piece in each slot's ring.
    pieces: Vec<usize>,
    keys: Rng,
    renewal: Renewal,
}

impl Buffers {
    /// Maps the areas of `setup.depth` slots and touches all of their pages.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn new(setup: &Setup) -> Result<Self, EngineError> {
        let depth = u64::from(setup.depth.max(1));
        let request = u64::from(setup.max_bytes).max(1).next_multiple_of(PAGE_BYTES);
        let ring = if setup.writes { ring_bytes(request, depth) } else { 0 };
        let read = if setup.reads { request } else { 0 };
        let work = (setup.work_bytes as u64).checked_next_multiple_of(PAGE_BYTES);
        let stride = work.unwrap_or(u64::MAX).saturating_add(ring + read);
        // A size beyond the range of the number exceeds any machine's memory.
        let bytes = stride.saturating_mul(depth);
        let refused = |errno| EngineError::Memory { what: "buffer memory", bytes, errno };
        let length = usize::try_from(bytes).map_err(|_| refused(platform::OUT_OF_MEMORY))?;
        let base = platform::map_memory(length, setup.huge_pages).map_err(refused)?;
        let mut buffers = Self {
            base,
            stride: stride as usize,
            ring: ring as usize,
            read: read as usize,
            length,
            pieces: vec![0; depth as usize],
            keys: Rng::new(setup.data_seed),
            renewal: Renewal::Word,
        };
        buffers.fill(setup);
        Ok(buffers)
    }

    /// Touches every page, and fills the rings with the data to write.
    fn fill(&mut self, setup: &Setup) {
        let mut rng = self.keys.clone();
        // SAFETY: the mapping is ours, page-aligned, `length` bytes long and writable, and no
        // other reference to it exists.
        let memory = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) };
        for page in memory.chunks_mut(PAGE_BYTES as usize) {
            page[0] = 0;
        }
        let data = match (setup.data, setup.compressible_percent) {
            (Data::Compressible, 100..) => Data::Zeros,
            (data, _) => data,
        };
        self.renewal = match data {
            Data::Zeros => Renewal::None,
            Data::Random | Data::Compressible => Renewal::Word,
            Data::Tagged => Renewal::Tag { tags: setup.tags, hashes: Vec::new() },
        };
        if self.ring == 0 || data == Data::Zeros {
            return;
        }
        // A request shorter than a page sees only the start of one.
        let block = (setup.max_bytes as usize).clamp(1, PAGE_BYTES as usize);
        let zeros = match data {
            Data::Compressible => block * usize::from(setup.compressible_percent) / 100,
            _ => 0,
        };
        for slot in memory.chunks_exact_mut(self.stride) {
            let ring = &mut slot[..self.ring];
            for word in ring.chunks_exact_mut(8) {
                word.copy_from_slice(&rng.next_u64().to_le_bytes());
            }
            for page in ring.chunks_exact_mut(PAGE_BYTES as usize) {
                page[block - zeros..block].fill(0);
            }
            if let Renewal::Tag { tags, hashes } = &mut self.renewal {
                let sectors = ring.chunks_exact(tag::SECTOR_BYTES).enumerate();
                let per_block = tags.block_bytes as usize / tag::SECTOR_BYTES;
                hashes.extend(sectors.map(|(i, sector)| tag::sector_hash(sector, i % per_block)));
            }
        }
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { base: self.base.as_ptr().cast(), bytes: self.length }
    }

    /// Address at `offset` bytes into a slot.
    #[inline]
    fn at(&self, slot: u32, offset: usize) -> *mut u8 {
        let start = slot as usize * self.stride + offset;
        // The caller chooses the slot, so check it.
        assert!(offset <= self.stride && start <= self.length, "slot {slot} is beyond");
        // SAFETY: the address is in the mapping or at its end, as was just checked.
        unsafe { self.base.as_ptr().add(start) }
    }

    /// Destination of a read of this slot with this many bytes.
    ///
    /// # Panics
    /// If that exceeds the largest request, or the slot is beyond the depth. The kernel would write to other
    /// memory.
    #[inline]
    #[must_use]
    pub fn read_area(&self, slot: u32, bytes: u32) -> *mut u8 {
        assert!(bytes as usize <= self.read, "a read of {bytes} bytes into {}", self.read);
        assert!((slot as usize) < self.pieces.len(), "slot {slot} is beyond the depth");
        self.at(slot, self.ring)
    }

    /// The work area of a slot, where an array computes data beyond the request ([`Setup::work_bytes`]).
    pub(crate) fn work_area(&self, slot: u32) -> *mut u8 {
        self.at(slot, self.ring + self.read)
    }

    /// The first `bytes` that a read left in a slot, limited to the largest request.
    #[must_use]
    pub fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.read);
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the range is in the slot's read area and initialised. The borrow of `self` prevents the
        // engine from submitting into it meanwhile.
        unsafe { std::slice::from_raw_parts(self.read_area(slot, bytes as u32), bytes) }
    }

    /// Data of this slot's next write: the request's bytes, of the configured kind. Except for zeros, it
    /// differs from all earlier writes. `generation` goes into tags.
    ///
    /// # Panics
    /// As [`Buffers::read_area`].
    #[inline]
    pub fn next_write(&mut self, slot: u32, request: &Request, generation: u64) -> *mut u8 {
        let length = (request.bytes as usize).next_multiple_of(PAGE_BYTES as usize);
        assert!(length <= self.ring, "a write of {length} bytes out of {}", self.ring);
        let piece = &mut self.pieces[slot as usize];
        *piece += length;
        if *piece + length > self.ring {
            *piece = 0;
        }
        let piece = *piece;
        let start = self.at(slot, piece);
        match &self.renewal {
            Renewal::Word => {
                let key = self.keys.next_u64();
                for page in 0..length / PAGE_BYTES as usize {
                    // SAFETY: the page is in the slot's ring (asserted above), aligned and initialised. The
                    // slot has no request in flight while its next one is prepared.
                    unsafe { *start.add(page * PAGE_BYTES as usize).cast::<u64>() ^= key };
                }
            }
            Renewal::Tag { tags, hashes } => {
                // SAFETY: as above, for the whole piece; nothing else refers to it.
                let content =
                    unsafe { std::slice::from_raw_parts_mut(start, request.bytes as usize) };
                let first = (slot as usize * self.ring + piece) / tag::SECTOR_BYTES;
                tag::stamp_request(content, request, generation, *tags, &hashes[first..]);
            }
            Renewal::None => {}
        }
        start
    }
}

/// Length of a slot's ring for requests of up to `request` bytes at this depth.
fn ring_bytes(request: u64, depth: u64) -> u64 {
    let wanted = (RINGS_BYTES / depth).max(RING_REQUESTS_MIN * request);
    wanted.min(RINGS_BYTES_MAX / depth).max(request) / request * request
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value. Engines drop their buffers only after the last request
        // in flight, because of their drop order.
        unsafe { platform::unmap_memory(self.base, self.length) };
    }
}

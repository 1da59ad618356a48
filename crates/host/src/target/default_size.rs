//! How large a test file is where the user names no size.

use record::Bytes;

/// Largest size that is taken unasked.
const DEFAULT_MAX_BYTES: u64 = 2 << 30;
/// Smallest one.
pub(crate) const DEFAULT_MIN_BYTES: u64 = 256 << 20;
/// The default takes this part of the free space.
const DEFAULT_PART: u64 = 10;
/// Unit of writing: long enough for full throughput, short enough for smooth progress.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;

/// The size of a test file where the user names none: the smaller of 2 GiB and a tenth of the free
/// space, at least 256 MiB.
#[must_use]
pub fn default_test_size(free: Bytes) -> Bytes {
    let tenth = free.0 / DEFAULT_PART;
    // A multiple of the chunk is a multiple of every block and request size.
    let tenth = tenth - tenth % CHUNK_BYTES;
    Bytes(tenth.clamp(DEFAULT_MIN_BYTES, DEFAULT_MAX_BYTES))
}

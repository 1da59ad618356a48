//! The size of a test file if the user names none.

use record::Bytes;

const DEFAULT_MAX_BYTES: u64 = 2 << 30;
pub(crate) const DEFAULT_MIN_BYTES: u64 = 256 << 20;
/// Divisor from the free space to the default size.
const DEFAULT_PART: u64 = 10;
/// Unit of writing: long enough for full throughput, short enough for smooth progress.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;

/// The size of a test file if the user names none: the smaller of 2 GiB and a tenth of the free space, but
/// at least 256 MiB.
#[must_use]
pub fn default_test_size(free: Bytes) -> Bytes {
    let tenth = free.0 / DEFAULT_PART;
    // A multiple of the chunk is a multiple of every block and request size.
    let tenth = tenth - tenth % CHUNK_BYTES;
    Bytes(tenth.clamp(DEFAULT_MIN_BYTES, DEFAULT_MAX_BYTES))
}

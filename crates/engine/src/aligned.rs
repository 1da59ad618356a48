//! Memory for direct requests outside of the engines: test files, and data that is read back.
//!
//! Rejected: the engines' own buffers, which are mapped and may be pinned.

/// Alignment of memory that every device accepts for direct requests.
const PAGE_BYTES: usize = 4_096;

/// Memory that starts at a page boundary.
#[derive(Debug, Default)]
pub struct AlignedMemory(Vec<u8>);

impl AlignedMemory {
    /// The first `length` bytes, with arbitrary contents.
    pub fn get(&mut self, length: usize) -> &mut [u8] {
        if self.0.len() < length + PAGE_BYTES {
            self.0.resize(length + PAGE_BYTES, 0);
        }
        let start = self.0.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        &mut self.0[start..start + length]
    }
}

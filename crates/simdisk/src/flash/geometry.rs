//! How the flash is divided, and how to find a slot from its number.
//!
//! A *unit* (4 KiB) is what the map addresses, and a *page* what a die programs at once. A *block* is one
//! erase block of every die together: its consecutive pages are on consecutive dies, and these on different
//! channels. Each place for a unit has a number, its *slot*; division gives its die, page and block.
//! Rejected: blocks of single dies that are collected separately; each die would need its own spare blocks.
//!
//! A simulated drive is smaller than a real one. Its blocks are smaller too, so that there are always
//! hundreds, and the time of an erasure shrinks with them. The free blocks that the collector needs are
//! added to the over-provisioning, because on a real drive they are only a small part of it.

use super::spec::FlashSpec;

pub(super) const UNIT_BYTES: u64 = 4_096;
/// Minimum number of blocks that the capacity is divided into.
const BLOCKS_MIN: u64 = 512;
/// Maximum number of blocks that are emptied at the same time.
pub(super) const VICTIMS: u32 = 3;
/// Free blocks at which collection begins: two streams that have just begun a block, the blocks being
/// emptied with the slots promised for them, and one for remainders. This number is added to the
/// over-provisioning.
pub(super) const FREE_LOW: u32 = 2 * VICTIMS + 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Geometry {
    pub(super) units: u32,
    pub(super) dies: u32,
    pub(super) channels: u32,
    pub(super) page_units: u32,
    pub(super) block_units: u32,
    pub(super) blocks: u32,
    pub(super) erase_ns: u64,
}

impl Geometry {
    pub(super) fn new(spec: &FlashSpec) -> Self {
        let units = spec.size.0 / UNIT_BYTES;
        let page_units = spec.page.0 / UNIT_BYTES;
        let row_units = page_units * u64::from(spec.dies);
        let pages_of_block = (spec.block.0 / spec.page.0).max(1);
        let rows = (units / BLOCKS_MIN / row_units).clamp(1, pages_of_block);
        let block_units = rows * row_units;
        let full = (units as f64 * (1.0 + spec.op) / block_units as f64).ceil() as u32;
        Self {
            units: units as u32,
            dies: spec.dies,
            channels: spec.channels,
            page_units: page_units as u32,
            block_units: block_units as u32,
            blocks: full + FREE_LOW,
            erase_ns: (spec.erase.0 * rows / pages_of_block).max(1),
        }
    }

    pub(super) fn slots(&self) -> u32 {
        self.blocks * self.block_units
    }

    /// Blocks that are full while the collector has its free ones.
    pub(super) fn full_blocks(&self) -> u32 {
        self.blocks - FREE_LOW
    }

    pub(super) fn page_of(&self, slot: u32) -> u32 {
        slot / self.page_units
    }

    pub(super) fn block_of(&self, slot: u32) -> u32 {
        slot / self.block_units
    }

    pub(super) fn die_of_page(&self, page: u32) -> u32 {
        page % self.dies
    }

    pub(super) fn slots_of_page(&self, page: u32) -> std::ops::Range<u32> {
        let first = page * self.page_units;
        first..first + self.page_units
    }
}

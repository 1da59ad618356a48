//! Tracks the progress of rebuilding a failed disk. Steps end in any order, but count only from the start
//! without a gap.
//!
//! A step that ends before an earlier one keeps its stripes until the earlier one has ended too. One number
//! therefore describes the rebuilt part of the disk, and no write can occur between a step and its counting.
//! Steps join the queues of their stripes in rising order, so none of them waits for a later one.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    bytes: u64,
    /// Length and request of each step that ended early, by its offset.
    ended: BTreeMap<u64, (u32, u32)>,
    /// Whether a step failed. Later steps are then never counted.
    broken: bool,
}

impl Progress {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends a step. Returns the requests of the steps that are complete now.
    pub(super) fn step(&mut self, request: u32, offset: u64, bytes: u32, whole: bool) -> Vec<u32> {
        self.broken |= !whole;
        self.ended.insert(offset, (bytes, request));
        if self.broken {
            return std::mem::take(&mut self.ended).into_values().map(|(_, it)| it).collect();
        }
        let mut over = Vec::new();
        while let Some((bytes, request)) = self.ended.remove(&self.bytes) {
            self.bytes += u64::from(bytes);
            over.push(request);
        }
        over
    }
}

//! How far a failed disk is rebuilt: steps end in any order, and count from the start without a gap.
//!
//! A step that ended before one ahead of it keeps its stripes until that has ended too. So one number
//! says what the disk holds, and no write can come between a step and its counting. Steps join the
//! lines of their stripes in rising order, so none of them waits for one behind it.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    bytes: u64,
    /// Length and request of each step that ended early, by its start.
    ended: BTreeMap<u64, (u32, u32)>,
    /// A step failed: what is behind it is never counted.
    broken: bool,
}

impl Progress {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a step that ended; the requests of those that are over now.
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

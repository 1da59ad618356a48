//! Tracks written data that is not yet on the medium: the room it takes, and which data form a run.
//!
//! With the write cache on, a write that continues a run of consecutive bytes extends it, so that many
//! small sequential writes become few long ones. When the drive destages, it chooses among the runs. The
//! number of runs is limited; a write that needs one more waits. With the cache off, data only takes room.

use crate::drive::DriveSpec;

/// Consecutive bytes that are not yet on the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// First byte that is not on the medium.
    pub(super) first: u64,
    /// Byte after the last that has arrived.
    pub(super) ready: u64,
    /// Byte after the last that has been requested.
    reserved: u64,
}

#[derive(Debug)]
pub(super) struct WriteBuffer {
    /// Runs with `ready` above `first` can be written.
    pub(super) runs: Vec<Run>,
    most_runs: usize,
    capacity: u64,
    used: u64,
    coalesce: bool,
    /// Whether uncached writes may overlap; and the number in progress.
    overlaps: bool,
    through: u32,
}

impl WriteBuffer {
    pub(super) fn new(spec: &DriveSpec) -> Self {
        Self {
            runs: Vec::with_capacity(spec.write_runs as usize),
            most_runs: spec.write_runs.max(1) as usize,
            capacity: spec.write_buffer_bytes,
            used: 0,
            coalesce: spec.effects.coalesce,
            overlaps: spec.overlaps_writes,
            through: 0,
        }
    }

    /// Reserves room for data; returns whether there was enough.
    pub(super) fn reserve(&mut self, first: u64, bytes: u64, cached: bool) -> bool {
        if self.used > 0 && self.used + bytes > self.capacity {
            return false;
        }
        if !cached {
            if self.through > 0 && !self.overlaps {
                return false;
            }
            self.through += 1;
        } else if let Some(run) =
            self.runs.iter_mut().find(|run| self.coalesce && run.reserved == first)
        {
            run.reserved += bytes;
        } else if self.runs.len() < self.most_runs {
            self.runs.push(Run { first, ready: first, reserved: first + bytes });
        } else {
            return false;
        }
        self.used += bytes;
        true
    }

    pub(super) fn arrived(&mut self, first: u64, bytes: u64) {
        let run =
            self.runs.iter_mut().find(|run| run.ready == first && run.reserved >= first + bytes);
        debug_assert!(run.is_some(), "data come where room was made");
        if let Some(run) = run {
            run.ready += bytes;
        }
    }

    pub(super) fn holds(&self, first: u64, end: u64) -> bool {
        self.runs.iter().any(|run| run.first <= first && end <= run.ready)
    }

    pub(super) fn dirty(&self) -> bool {
        self.runs.iter().any(|run| run.ready > run.first)
    }

    /// How many bytes of a run the mechanism writes before it frees their room.
    pub(super) fn stretch(&self, run: usize) -> u64 {
        let run = self.runs[run];
        (run.ready - run.first).min((self.capacity / 8).max(4_096))
    }

    pub(super) fn destaged(&mut self, run: usize, bytes: u64) {
        self.used -= bytes;
        self.runs[run].first += bytes;
        if self.runs[run].first == self.runs[run].reserved {
            self.runs.remove(run);
        }
    }

    pub(super) fn written(&mut self, bytes: u64) {
        self.used -= bytes;
        self.through -= 1;
    }
}

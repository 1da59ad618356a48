//! The array that the engines of all its jobs share, behind a lock: its volume, and which request waits for which.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use workload::volume::{DiskLoad, Raid, Volume, VolumeSpec};

/// The array that the engines of all its jobs share.
#[derive(Debug)]
pub struct SharedArray {
    pub(super) spec: VolumeSpec,
    pub(super) legs: u32,
    /// Whether writes go to the failed leg because it is being rebuilt.
    pub(super) rebuilds: bool,
    state: Mutex<State>,
    pub(super) freed: Condvar,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) volume: Volume,
    pub(super) loads: Vec<DiskLoad>,
    /// Requests of each engine: the first number, the count, and those that may start now.
    pub(super) owners: Vec<Owner>,
    /// Bytes read from each leg for a rebuild.
    pub(super) rebuild_read: Vec<u64>,
    pub(super) rebuild_written: u64,
}

#[derive(Debug)]
pub(super) struct Owner {
    pub(super) first: u32,
    count: u32,
    pub(super) woken: Vec<u32>,
    /// Whether its engine was dropped.
    pub(super) gone: bool,
}

/// Progress of a rebuild.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildState {
    /// Bytes rebuilt, from the start of the leg.
    pub rebuilt: u64,
    /// Bytes read from each leg.
    pub read: Vec<u64>,
    /// Bytes written to the failed leg.
    pub written: u64,
}

impl SharedArray {
    /// Combines legs of `leg_bytes` each into one array. The specification must already be checked.
    #[must_use]
    pub fn new(spec: &VolumeSpec, legs: u32, leg_bytes: u64, rebuilds: bool) -> Self {
        let state = State {
            volume: Volume::new(spec, legs, leg_bytes),
            loads: vec![DiskLoad::default(); legs as usize],
            owners: Vec::new(),
            rebuild_read: vec![0; legs as usize],
            rebuild_written: 0,
        };
        Self { spec: *spec, legs, rebuilds, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Progress of its rebuild.
    #[must_use]
    pub fn rebuild(&self) -> RebuildState {
        let state = self.lock();
        RebuildState {
            rebuilt: state.volume.rebuilt_bytes(),
            read: state.rebuild_read.clone(),
            written: state.rebuild_written,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves numbers for the requests of an engine and returns the first.
    pub(super) fn join(&self, count: u32) -> u32 {
        let mut state = self.lock();
        let first = state.owners.last().map_or(0, |owner| owner.first + owner.count);
        state.owners.push(Owner { first, count, woken: Vec::new(), gone: false });
        first
    }

    /// Maximum number of stripes, or areas of a mirror, that a request touches.
    pub(super) fn most_stripes(&self, bytes: u64) -> u64 {
        let data = u64::from(if self.spec.raid == Raid::Raid5 { self.legs - 1 } else { 1 });
        bytes.saturating_sub(1) / (self.spec.chunk_bytes * data) + 2
    }

    /// Extra memory for a request of this size. At both ends, rows are read and written. Between them, whole
    /// stripes are written, or read with a leg missing.
    pub(super) fn work_bytes(&self, bytes: u64) -> u64 {
        let legs = u64::from(self.legs);
        let whole = self.most_stripes(bytes).saturating_sub(2) * self.spec.chunk_bytes;
        legs * (4 * bytes.min(self.spec.chunk_bytes) + whole)
    }
}

impl State {
    /// Moves those of `ready` that belong to the engine whose numbers start at `own` into `mine`, and passes
    /// the others to their engines. Returns whether there were others.
    pub(super) fn hand_on(&mut self, mut ready: Vec<u32>, own: u32, mine: &mut Vec<u32>) -> bool {
        let mut others = false;
        while let Some(number) = ready.pop() {
            let at = self.owners.partition_point(|owner| owner.first <= number) - 1;
            let owner = &mut self.owners[at];
            if owner.gone {
                // Its engine is gone and cannot start it, so the requests behind it continue.
                ready.extend(self.volume.release(number));
            } else if owner.first == own {
                mine.push(number - own);
            } else {
                owner.woken.push(number);
                others = true;
            }
        }
        others
    }
}

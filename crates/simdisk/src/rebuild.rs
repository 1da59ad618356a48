//! Counts the progress of a rebuild in virtual time: due steps, steps in progress, bytes moved.
//!
//! The device executes a step like a request of its own, by the plan of the volume. The device decides
//! when; this module only counts.

use crate::device::Rebuilding;
use record::{Nanos, OpKind};
use workload::volume::{Plan, REBUILD_DEPTH, RebuildSteps, Volume};

/// How a failed disk is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildSpec {
    /// Maximum bytes per second written to it; `None` for no limit.
    pub bytes_per_s: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Rebuild {
    steps: RebuildSteps,
    in_progress: u32,
    told: Rebuilding,
}

impl Rebuild {
    /// The rebuild of a disk of a volume with chunks of this many bytes, beginning at this time.
    pub(crate) fn new(
        spec: RebuildSpec,
        disk: u32,
        disks: u32,
        (volume, chunk): (&Volume, u64),
        now: Nanos,
    ) -> Self {
        let disk_bytes = volume.member_bytes();
        let mut told = Rebuilding { disk, disk_bytes, begin: now, ..Rebuilding::default() };
        told.state.read = vec![0; disks as usize];
        let steps = RebuildSteps::new(chunk, disk_bytes, now.0, spec.bytes_per_s);
        Self { steps, in_progress: 0, told }
    }

    /// The next step, if it is due and there is room for it.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        let step = (self.in_progress < REBUILD_DEPTH).then(|| self.steps.take(now_ns)).flatten();
        self.in_progress += u32::from(step.is_some());
        step
    }

    /// When the next step is due, unless it waits for a step in progress.
    pub(crate) fn due(&self) -> Option<u64> {
        self.steps.due().filter(|_| self.in_progress < REBUILD_DEPTH)
    }

    /// Counts the bytes of a step that has ended.
    pub(crate) fn count(&mut self, plan: &Plan) {
        for piece in &plan.pieces {
            match piece.op {
                OpKind::Read => self.told.state.read[piece.disk as usize] += u64::from(piece.bytes),
                OpKind::Write => self.told.state.written += u64::from(piece.bytes),
            }
        }
    }

    /// Records that this many steps have ended, and how much of the disk is rebuilt.
    pub(crate) fn over(&mut self, steps: usize, rebuilt: u64, now: Nanos) {
        self.in_progress -= steps as u32;
        self.told.state.rebuilt = rebuilt;
        if rebuilt >= self.told.disk_bytes {
            self.told.end = Some(now);
        }
    }

    pub(crate) fn told(&self) -> Rebuilding {
        self.told.clone()
    }
}

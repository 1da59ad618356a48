//! The slots of an array's engine, and the transfers that requests in them become.

use crate::Transfer;
use record::OpKind;
use workload::Request;
use workload::volume::{Combinations, Plan};

/// Maximum transfers of a job in flight: enough for any device, and within the size of a ring.
pub(super) const MOST_TRANSFERS: u32 = 4_096;

/// State of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Nothing,
    /// Waits for requests on its stripes.
    Waits,
    /// Runs a request.
    Request,
    /// Runs a step of the rebuild.
    Step,
    /// Flushes all legs.
    Flush,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) doing: Doing,
    pub(super) request: Request,
    /// The request's own memory.
    pub(super) memory: *mut u8,
    pub(super) plan: Plan,
    pub(super) sums: Combinations,
    /// Where the memory of each piece begins in the slot's work area.
    pub(super) begins: Vec<usize>,
    pub(super) stage: usize,
    /// Transfers of the stage that are not finished.
    pub(super) left: u32,
    /// The first error.
    pub(super) error: i32,
    /// Bytes that transfers failed to move.
    pub(super) missing: u64,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self {
            doing: Doing::Nothing,
            request: Request { offset: 0, bytes: 0, op: OpKind::Read },
            memory: std::ptr::null_mut(),
            plan: Plan::default(),
            sums: Combinations::default(),
            begins: Vec::new(),
            stage: 0,
            left: 0,
            error: 0,
            missing: 0,
        }
    }
}

/// A transfer in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnItsWay {
    pub(super) slot: u32,
    pub(super) bytes: u32,
}

/// A transfer that waits for a tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) slot: u32,
    pub(super) transfer: Transfer,
}

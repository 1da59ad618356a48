//! Requests as they are put together from a recording.

use crate::ReplayError;
use record::{Nanos, OpKind, RecordedRequest, Replay};

/// What a recording has shown so far.
#[derive(Default)]
pub(crate) struct Requests<'a> {
    all: Vec<RecordedRequest>,
    /// Names of devices or files, in order of their numbers.
    devices: Vec<&'a str>,
    pub(crate) flushes: u64,
    pub(crate) discards: u64,
}

impl<'a> Requests<'a> {
    /// The number of a device or file; `None` for one too many.
    pub(crate) fn device(&mut self, name: &'a str) -> Option<u16> {
        let known = self.devices.iter().position(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.devices.push(name);
            self.devices.len() - 1
        });
        u16::try_from(number).ok()
    }

    /// Whether a device has been seen.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.devices.contains(&name)
    }

    pub(crate) fn push(&mut self, device: u16, at: Nanos, op: OpKind, offset: u64, bytes: u32) {
        self.all.push(RecordedRequest { at, offset, bytes, op, device });
    }

    /// The replay: in order of time, from the first request on. `else_why` says what an empty one may
    /// mean.
    pub(crate) fn replay(mut self, else_why: &'static str) -> Result<Replay, ReplayError> {
        // Of devices without a read or write nothing is to be made again.
        let mut used: Vec<u16> = self.all.iter().map(|request| request.device).collect();
        used.sort_unstable();
        used.dedup();
        // Lines of several processors or threads may come out of order.
        self.all.sort_by_key(|request| request.at);
        let first = self.all.first().ok_or(ReplayError::Empty(else_why))?.at;
        for request in &mut self.all {
            request.at = request.at.since(first);
            let number = used.binary_search(&request.device).unwrap_or(0);
            request.device = number as u16;
        }
        let mut replay = Replay::of(self.all);
        replay.flushes_left_out = self.flushes;
        replay.discards_left_out = self.discards;
        Ok(replay)
    }
}

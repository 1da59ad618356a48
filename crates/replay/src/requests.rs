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
        if self.all.is_empty() {
            return Err(ReplayError::Empty(else_why));
        }
        in_order(&mut self.all);
        let mut replay = Replay::of(self.all);
        replay.flushes_left_out = self.flushes;
        replay.discards_left_out = self.discards;
        Ok(replay)
    }
}

/// Puts requests in order of their times, counts these from the first one on, and numbers their devices
/// without gaps.
pub fn in_order(requests: &mut [RecordedRequest]) {
    // Of devices without a read or write nothing is to be made again.
    let mut used: Vec<u16> = requests.iter().map(|request| request.device).collect();
    used.sort_unstable();
    used.dedup();
    // Those of several processors or threads come out of order.
    requests.sort_by_key(|request| request.at);
    let first = requests.first().map_or(Nanos(0), |first| first.at);
    for request in requests {
        request.at = request.at.since(first);
        request.device = used.binary_search(&request.device).unwrap_or(0) as u16;
    }
}

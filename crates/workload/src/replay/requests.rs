//! Collects the requests of a recording.

use crate::replay::ReplayError;
use record::{Nanos, OpKind, RecordedRequest, Replay};

/// Requests found so far in a recording.
#[derive(Default)]
pub(crate) struct Requests<'a> {
    /// Requests, flushes and discards.
    found: Found,
    /// Names of devices or files, in the order of their numbers.
    devices: Vec<&'a str>,
}

/// Recorded requests of all kinds, in any order.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Reads and writes.
    pub requests: Vec<RecordedRequest>,
    /// Flushes without data; offset and length are 0.
    pub flushes: Vec<RecordedRequest>,
    /// Discards.
    pub discards: Vec<RecordedRequest>,
}

impl Found {
    /// Creates the replay: sorted by time, relative to the first request. Devices with a read or write are
    /// numbered without gaps.
    #[must_use]
    pub fn replay(self) -> Replay {
        let Self { mut requests, mut flushes, mut discards } = self;
        // Devices without a read or write are not replayed.
        let mut used: Vec<u16> = requests.iter().map(|request| request.device).collect();
        used.sort_unstable();
        used.dedup();
        // The first replayed request of any kind.
        let all = requests.iter().chain(&flushes).chain(&discards);
        let made = all.filter(|request| used.binary_search(&request.device).is_ok());
        let first = made.map(|request| request.at).min().unwrap_or_default();
        let order = |all: &mut Vec<RecordedRequest>| {
            let before = all.len();
            all.retain_mut(|request| {
                request.at = request.at.since(first);
                let number = used.binary_search(&request.device);
                request.device = number.unwrap_or(0) as u16;
                number.is_ok()
            });
            // Requests from several processors or threads are out of order.
            all.sort_by_key(|request| request.at);
            (before - all.len()) as u64
        };
        order(&mut requests);
        let more = (order(&mut flushes), order(&mut discards));
        Replay::of(requests).with(flushes, discards, more)
    }
}

impl<'a> Requests<'a> {
    /// The number of a device or file; `None` if there are too many.
    pub(crate) fn device(&mut self, name: &'a str) -> Option<u16> {
        let known = self.devices.iter().position(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.devices.push(name);
            self.devices.len() - 1
        });
        u16::try_from(number).ok()
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.devices.contains(&name)
    }

    pub(crate) fn push(&mut self, device: u16, at: Nanos, op: OpKind, offset: u64, bytes: u32) {
        self.found.requests.push(RecordedRequest { at, offset, bytes, op, device });
    }

    pub(crate) fn push_flush(&mut self, device: u16, at: Nanos) {
        let (offset, bytes, op) = (0, 0, OpKind::Write);
        self.found.flushes.push(RecordedRequest { at, offset, bytes, op, device });
    }

    pub(crate) fn push_discard(&mut self, device: u16, at: Nanos, offset: u64, bytes: u64) {
        self.found.discards.extend(RecordedRequest::discards(device, at, offset, bytes));
    }

    /// Creates the replay. `else_why` explains a recording without requests.
    pub(crate) fn replay(self, else_why: &'static str) -> Result<Replay, ReplayError> {
        if self.found.requests.is_empty() {
            return Err(ReplayError::Empty(else_why));
        }
        Ok(self.found.replay())
    }
}

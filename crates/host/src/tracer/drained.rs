//! Requests that were recorded one by one.

use record::RecordedRequest;

/// What was recorded since the last time.
#[derive(Debug, Default)]
pub struct Drained {
    /// Requests, those of each processor in order; their times are the kernel's.
    pub requests: Vec<RecordedRequest>,
    /// Flushes without data, likewise.
    pub flushes: Vec<RecordedRequest>,
    /// Discards, likewise.
    pub discards: Vec<RecordedRequest>,
    /// Events for which there was no room.
    pub lost: u64,
}

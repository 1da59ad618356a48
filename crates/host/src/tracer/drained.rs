//! Requests that were recorded one by one.

use record::RecordedRequest;

/// Recorded since the last call.
#[derive(Debug, Default)]
pub struct Drained {
    /// Requests, in order per processor; times are the kernel's.
    pub requests: Vec<RecordedRequest>,
    /// Flushes without data, in the same form.
    pub flushes: Vec<RecordedRequest>,
    /// Discards, in the same form.
    pub discards: Vec<RecordedRequest>,
    /// Number of events lost for lack of space.
    pub lost: u64,
}

//! Detects sequential readers and writers by the last ends of a few streams.
//!
//! A request that begins where a stream ended continues it; the least recently used stream is replaced. A
//! request at the start of the file begins a stream that counts as sequential at once. Linux and NT (with
//! FILE_FLAG_SEQUENTIAL_SCAN, which the papers' programs set) both do so.

/// Number of streams: more than the sequential readers of any run in the papers.
const STREAMS: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    next: u64,
    /// How far read-ahead has been requested.
    pub(super) ahead: u64,
    seen: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub(super) streams: [Stream; STREAMS],
    visits: u64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { streams: [Stream { next: u64::MAX, ahead: 0, seen: 0 }; STREAMS], visits: 0 }
    }
}

impl Streams {
    /// Records a request; returns the number of its stream if it continues one or begins the file.
    pub(super) fn visit(&mut self, begin: u64, offset: u64, bytes: u32) -> Option<usize> {
        self.visits += 1;
        let found = self.streams.iter().position(|stream| stream.next == offset);
        let oldest = || (0..STREAMS).min_by_key(|&index| self.streams[index].seen).unwrap_or(0);
        let index = found.unwrap_or_else(oldest);
        let stream = &mut self.streams[index];
        if found.is_none() {
            stream.ahead = 0;
        }
        stream.next = offset + u64::from(bytes);
        stream.seen = self.visits;
        (found.is_some() || offset == begin).then_some(index)
    }
}

//! Who reads or writes in sequence: the last ends of a few streams.
//!
//! A request that begins where a stream ended continues it; the stream not seen for longest gives
//! way. A request at the start of the file begins a stream that counts as sequential at once, as
//! Linux and NT (with FILE_FLAG_SEQUENTIAL_SCAN, which the papers' programs set) both take it.

/// Streams remembered: more sequential readers at once than any run of the papers has.
const STREAMS: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Stream {
    next: u64,
    /// How far reading ahead has been asked for.
    ahead: u64,
    seen: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamAt(usize);

#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: [Stream; STREAMS],
    visits: u64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { streams: [Stream { next: u64::MAX, ahead: 0, seen: 0 }; STREAMS], visits: 0 }
    }
}

impl Streams {
    /// Notes a request; its stream if it continues one or begins the file.
    pub(super) fn visit(&mut self, begin: u64, offset: u64, bytes: u32) -> Option<StreamAt> {
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
        (found.is_some() || offset == begin).then_some(StreamAt(index))
    }

    /// How far reading ahead has been asked for.
    pub(super) fn ahead(&mut self, at: StreamAt) -> &mut u64 {
        &mut self.streams[at.0].ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_streams_side_by_side_are_both_sequential_and_a_jump_is_not() {
        let mut streams = Streams::default();
        assert!(streams.visit(0, 0, 10).is_some(), "the start of the file");
        assert!(streams.visit(0, 1_000, 10).is_none(), "a jump");
        assert!(streams.visit(0, 10, 10).is_some());
        assert!(streams.visit(0, 1_010, 10).is_some());
        assert!(streams.visit(0, 5_000, 10).is_none());
        assert!(streams.visit(0, 20, 10).is_some());
    }

    #[test]
    fn the_stream_not_seen_for_longest_gives_way() {
        let mut streams = Streams::default();
        for number in 1..=STREAMS as u64 + 1 {
            streams.visit(0, number << 20, 10);
        }
        assert!(streams.visit(0, (1 << 20) + 10, 10).is_none(), "forgotten");
        assert!(streams.visit(0, (3 << 20) + 10, 10).is_some(), "remembered");
    }
}

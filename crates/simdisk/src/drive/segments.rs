//! Simulates the read cache of a drive: a few segments, each a window that moves over the disk.
//!
//! A segment is a ring. Reading ahead moves its upper end until the ring is full of unsent bytes. Sent
//! bytes stay readable until they are overwritten, if the firmware looks for such data. A segment remembers
//! the last few sent ranges. A gap between them keeps its room until the sent data is half a ring ahead of
//! it, because the overtaken request is still coming. Rejected: a cache of sectors, which would serve
//! random re-reads that drives do not serve; completing a re-read that is partly overwritten (Riedel 1997,
//! Table 3, 64 KB: it takes revolutions); and freeing a gap as soon as it is overtaken, which costs two
//! readers of one stream a revolution each time.

/// Sent ranges that a segment remembers.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    low: u64,
    /// Byte after the last one read; while the head streams into the segment, the byte where it stops.
    pub(super) high: u64,
    /// End of the free part of the ring: everything before was sent or dropped.
    pub(super) sent: u64,
    /// Byte after the highest that has been sent.
    top: u64,
    stamp: u64,
    /// The last sent ranges, as a ring.
    ranges: [(u64, u64); REMEMBERED],
    next_range: usize,
}

impl Segment {
    pub(super) fn has_sent(&self, first: u64, end: u64) -> bool {
        first < self.top && self.ranges.iter().any(|&(from, to)| first < to && from < end)
    }

    pub(super) fn sent_last(&self) -> u64 {
        let (from, to) = self.ranges[(self.next_range + REMEMBERED - 1) % REMEMBERED];
        to - from
    }

    /// Frees sent bytes up to the first gap; ignores a gap that is half a ring behind.
    fn free(&mut self, bytes: u64) {
        let mut sent = self.sent.max(self.top.saturating_sub(bytes / 2));
        while let Some(&(_, to)) =
            self.ranges.iter().find(|&&(from, to)| (from..to).contains(&sent))
        {
            sent = to;
        }
        self.sent = sent;
    }
}

#[derive(Debug)]
pub(super) struct Segments {
    pub(super) all: Vec<Segment>,
    /// Size of each segment.
    pub(super) bytes: u64,
    rereads: bool,
    clock: u64,
    active: Option<usize>,
}

impl Segments {
    pub(super) fn new(count: u32, bytes: u64, rereads: bool) -> Self {
        let all = vec![Segment::default(); count.max(1) as usize];
        Self { all, bytes, rereads, clock: 0, active: None }
    }

    /// How far the head may read ahead of the sent data: the whole ring. A drive that serves re-reads keeps
    /// the `sent_last` bytes, up to a quarter of the ring.
    pub(super) fn room(&self, sent_last: u64) -> u64 {
        if self.rereads { self.bytes - sent_last.min(self.bytes / 4) } else { self.bytes }
    }

    /// Whether sent data of a segment can be found at `first`: only in the last quarter, which
    /// [`Self::room`] keeps.
    fn finds_again(&self, segment: &Segment, first: u64) -> bool {
        self.rereads && first + self.bytes / 4 >= segment.top
    }

    /// The segment to read into from `first`, and the byte where reading begins, after existing data.
    pub(super) fn begin(&mut self, first: u64, end: u64) -> (usize, u64) {
        self.clock += 1;
        let known = self.all.iter().position(|segment| {
            segment.high > segment.low
                && (segment.low..=segment.high).contains(&first)
                && !segment.has_sent(first, end)
        });
        let index = known.unwrap_or_else(|| {
            let oldest = self.all.iter().enumerate().min_by_key(|(_, segment)| segment.stamp);
            let index = oldest.map_or(0, |(index, _)| index);
            self.all[index] =
                Segment { low: first, high: first, sent: first, top: first, ..Segment::default() };
            index
        });
        let segment = &mut self.all[index];
        segment.stamp = self.clock;
        self.active = Some(index);
        (index, segment.high)
    }

    /// Records that the head has left the segment at `high`.
    pub(super) fn freeze(&mut self, index: usize, high: u64) {
        let segment = &mut self.all[index];
        segment.high = high;
        segment.low = segment.low.max(high.saturating_sub(self.bytes));
        self.active = None;
    }

    /// Whether the segment that the head reads into, now at `high`, can send a range after the head passed
    /// it.
    pub(super) fn keeps(&self, index: usize, high: u64, first: u64, end: u64) -> bool {
        let segment = &self.all[index];
        first >= segment.low.max(high.saturating_sub(self.bytes))
            && (!segment.has_sent(first, end) || self.finds_again(segment, first))
    }

    /// Whether a range is in any segment except the one that the head reads into. The value says whether it
    /// was sent before.
    pub(super) fn find(&mut self, first: u64, end: u64) -> Option<bool> {
        self.clock += 1;
        for index in 0..self.all.len() {
            let segment = &self.all[index];
            if self.active == Some(index) || first < segment.low || end > segment.high {
                continue;
            }
            let again = segment.has_sent(first, end);
            if !again || self.finds_again(segment, first) {
                self.all[index].stamp = self.clock;
                return Some(again);
            }
        }
        None
    }

    pub(super) fn sent(&mut self, first: u64, end: u64) {
        for segment in &mut self.all {
            if segment.low <= first && end <= segment.high {
                segment.top = segment.top.max(end);
                segment.ranges[segment.next_range] = (first, end);
                segment.next_range = (segment.next_range + 1) % REMEMBERED;
                segment.free(self.bytes);
            }
        }
    }

    /// Invalidates segments that hold overwritten bytes.
    pub(super) fn overwrite(&mut self, first: u64, end: u64) {
        for (index, segment) in self.all.iter_mut().enumerate() {
            if self.active != Some(index) && segment.low < end && first < segment.high {
                *segment = Segment { stamp: segment.stamp, ..Segment::default() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1_024;

    #[test]
    fn a_gap_keeps_its_room_until_what_is_sent_is_half_a_ring_ahead_of_it() {
        let mut segments = Segments::new(1, 128 * KIB, false);
        let (index, _) = segments.begin(0, 16 * KIB);
        segments.all[index].high = 128 * KIB;
        segments.sent(16 * KIB, 32 * KIB);
        assert_eq!(segments.all[index].sent, 0, "the first 16 KiB were overtaken");
        assert!(segments.keeps(index, 128 * KIB, 0, 16 * KIB));
        segments.sent(32 * KIB, 64 * KIB);
        assert_eq!(segments.all[index].sent, 0);
        segments.sent(64 * KIB, 80 * KIB);
        let given_up = "given up: 16 KiB were not sent, the rest was";
        assert_eq!(segments.all[index].sent, 80 * KIB, "{given_up}");
    }

    #[test]
    fn a_gap_that_is_sent_late_frees_all_that_was_sent_behind_it() {
        let mut segments = Segments::new(1, 128 * KIB, false);
        let (index, _) = segments.begin(0, 16 * KIB);
        segments.all[index].high = 128 * KIB;
        segments.sent(16 * KIB, 32 * KIB);
        segments.sent(48 * KIB, 64 * KIB);
        segments.sent(0, 16 * KIB);
        assert_eq!(segments.all[index].sent, 32 * KIB);
        segments.sent(32 * KIB, 48 * KIB);
        assert_eq!(segments.all[index].sent, 64 * KIB);
    }
}

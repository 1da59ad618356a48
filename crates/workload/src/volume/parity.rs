//! RAID 5, left-symmetric: parity rotates from the last disk downwards, and data follows it.
//!
//! A write that covers all data of some rows needs no reads. For other rows there are two ways to the new
//! parity: from the old data and the old parity of what is written (read-modify-write), or from the data that
//! is not written (reconstruct-write). The plan takes the way with fewer operations in the stripe, then the
//! one with fewer bytes, then the former. The rows of a stripe form at most three segments in which the same
//! chunks are written. With a failed disk, each segment has only one possible way. One rule per segment is
//! therefore correct with and without a failure. Rejected: rounding partial chunks up to whole ones, which
//! reads up to a chunk more per disk.

use super::{Extent, Piece, Plan, VolumeSpec, add_piece};
use record::OpKind;

#[derive(Clone, Debug)]
pub(super) struct Parity {
    disks: u32,
    chunk: u64,
    failed: Option<u32>,
    /// Bytes rebuilt, from the start of the failed disk, in whole chunks.
    pub(super) rebuilt: u64,
    /// Reads for each of the two ways, for the comparison.
    modify: Vec<Piece>,
    rebuild: Vec<Piece>,
}

/// Direction, disk and stripe.
type Spot = (OpKind, u32, u64);

/// Rows of a stripe in which the request touches the same chunks.
#[derive(Clone, Copy, Debug)]
struct Segment {
    low: u64,
    high: u64,
}

impl Segment {
    fn rows(self) -> u64 {
        self.high - self.low
    }
}

/// The part of a request in one stripe: data bytes `begin..end`, counted over its data chunks.
#[derive(Clone, Copy, Debug)]
struct Touch {
    stripe: u64,
    begin: u64,
    end: u64,
}

/// How the parity of a segment is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Full,
    /// From old data and old parity.
    Modify,
    /// From the data that is not written.
    Rebuild,
    /// Not at all, because the disk with the parity has failed.
    NoParity,
}

impl Parity {
    pub(super) fn new(spec: &VolumeSpec, disks: u32) -> Self {
        let (chunk, failed) = (spec.chunk_bytes, spec.failed);
        Self { disks, chunk, failed, rebuilt: 0, modify: Vec::new(), rebuild: Vec::new() }
    }

    pub(super) fn disks(&self) -> u32 {
        self.disks
    }

    pub(super) fn stripes(&self, offset: u64, bytes: u32) -> (u64, u64) {
        let width = self.width();
        (offset / width, (offset + u64::from(bytes) - 1) / width)
    }

    /// The disk whose part of a stripe is missing.
    fn lost(&self, stripe: u64) -> Option<u32> {
        self.failed.filter(|_| stripe * self.chunk >= self.rebuilt)
    }

    /// Whether a read must be reconstructed from parity.
    pub(super) fn is_lost(&self, offset: u64, bytes: u32) -> bool {
        self.failed.is_some()
            && self.touches(offset, bytes).any(|touch| {
                self.lost(touch.stripe).is_some_and(|disk| self.touched_on(touch, disk).is_some())
            })
    }

    /// The plan for rebuilding a part of the failed disk: from the same rows of all others.
    pub(super) fn remake(&self, offset: u64, bytes: u32, plan: &mut Plan) {
        let Some(failed) = self.failed else { return plan.end_stage(0) };
        let others = (0..self.disks).filter(|&disk| disk != failed);
        plan.pieces.extend(others.map(|disk| Piece { disk, op: OpKind::Read, offset, bytes }));
        plan.end_stage(u64::from(bytes) * self.data_chunks());
        plan.pieces.push(Piece { disk: failed, op: OpKind::Write, offset, bytes });
        plan.end_stage(0);
    }

    fn width(&self) -> u64 {
        self.chunk * self.data_chunks()
    }

    fn data_chunks(&self) -> u64 {
        u64::from(self.disks) - 1
    }

    pub(super) fn parity_disk(&self, stripe: u64) -> u32 {
        self.disks - 1 - (stripe % u64::from(self.disks)) as u32
    }

    /// The disk with a data chunk of a stripe. The first data chunk follows the parity.
    fn data_disk(&self, stripe: u64, index: u64) -> u32 {
        let after = u64::from(self.parity_disk(stripe)) + 1 + index;
        (after % u64::from(self.disks)) as u32
    }

    /// The request's part of each stripe.
    fn touches(&self, offset: u64, bytes: u32) -> impl Iterator<Item = Touch> + use<> {
        let (width, end) = (self.width(), offset + u64::from(bytes));
        let (first, last) = self.stripes(offset, bytes);
        (first..=last).map(move |stripe| {
            let base = stripe * width;
            Touch { stripe, begin: offset.max(base) - base, end: end.min(base + width) - base }
        })
    }

    /// The positions of a request's bytes, chunk by chunk.
    pub(super) fn extents(&self, offset: u64, bytes: u32, extents: &mut Vec<Extent>) {
        for touch in self.touches(offset, bytes) {
            let base = touch.stripe * self.width();
            for index in 0..self.data_chunks() {
                let rows = self.touched(touch, index);
                if rows.rows() > 0 {
                    extents.push(Extent {
                        disk: self.data_disk(touch.stripe, index),
                        offset: touch.stripe * self.chunk + rows.low,
                        bytes: rows.rows() as u32,
                        at: (base + index * self.chunk + rows.low - offset) as u32,
                    });
                }
            }
        }
    }

    /// The touched rows of data chunk `index`; empty if none.
    fn touched(&self, touch: Touch, index: u64) -> Segment {
        let base = index * self.chunk;
        let low = touch.begin.clamp(base, base + self.chunk) - base;
        let high = touch.end.clamp(base, base + self.chunk) - base;
        Segment { low, high }
    }

    fn covers(&self, touch: Touch, index: u64, segment: Segment) -> bool {
        let touched = self.touched(touch, index);
        touched.low <= segment.low && segment.high <= touched.high && segment.low < segment.high
    }

    /// The rows touched in any chunk, split where the set of touched chunks changes.
    fn segments(&self, touch: Touch) -> impl Iterator<Item = Segment> + use<> {
        let first = touch.begin / self.chunk;
        let last = (touch.end - 1) / self.chunk;
        let begin = touch.begin - first * self.chunk;
        let end = touch.end - last * self.chunk;
        let cuts = if first == last {
            [begin, end, end, end]
        } else {
            [0, begin.min(end), begin.max(end), self.chunk]
        };
        // Two chunks without common rows leave a gap between their segments.
        let gap = last == first + 1 && end < begin;
        (0..3).filter_map(move |index| {
            let segment = Segment { low: cuts[index], high: cuts[index + 1] };
            (segment.rows() > 0 && !(gap && index == 1)).then_some(segment)
        })
    }

    /// Adds rows of a stripe on a disk to the pieces of the stage that started at `from`.
    fn add(&self, pieces: &mut Vec<Piece>, from: usize, (op, disk, stripe): Spot, rows: Segment) {
        let (offset, bytes) = (stripe * self.chunk + rows.low, rows.rows() as u32);
        add_piece(pieces, from, 2 * self.disks, Piece { disk, op, offset, bytes });
    }

    /// The index of the data chunk of a stripe on a disk; `None` if the disk has the parity.
    fn data_index(&self, stripe: u64, disk: u32) -> Option<u64> {
        let index = (disk + self.disks - 1 - self.parity_disk(stripe)) % self.disks;
        (index < self.disks - 1).then_some(index.into())
    }

    /// The touched rows of a disk, if it has data of this stripe.
    fn touched_on(&self, touch: Touch, disk: u32) -> Option<Segment> {
        let rows = self.touched(touch, self.data_index(touch.stripe, disk)?);
        (rows.rows() > 0).then_some(rows)
    }

    pub(super) fn read(&self, offset: u64, bytes: u32, plan: &mut Plan) {
        let mut xor_bytes = 0;
        for touch in self.touches(offset, bytes) {
            let failed = self.lost(touch.stripe);
            let lost = failed.and_then(|disk| self.touched_on(touch, disk));
            xor_bytes += lost.map_or(0, |rows| rows.rows() * self.data_chunks());
            for disk in (0..self.disks).filter(|&disk| Some(disk) != failed) {
                for rows in union(self.touched_on(touch, disk), lost).into_iter().flatten() {
                    self.add(&mut plan.pieces, 0, (OpKind::Read, disk, touch.stripe), rows);
                }
            }
        }
        plan.end_stage(xor_bytes);
    }

    pub(super) fn write(&mut self, offset: u64, bytes: u32, plan: &mut Plan) {
        let mut xor_bytes = 0;
        for touch in self.touches(offset, bytes) {
            let mut modify = std::mem::take(&mut self.modify);
            let mut rebuild = std::mem::take(&mut self.rebuild);
            let modify_xor = self.gather(touch, Way::Modify, &mut modify);
            let rebuild_xor = self.gather(touch, Way::Rebuild, &mut rebuild);
            let cost = |pieces: &[Piece]| {
                (pieces.len(), pieces.iter().map(|piece| u64::from(piece.bytes)).sum::<u64>())
            };
            let (reads, xor) = if cost(&rebuild) < cost(&modify) {
                (&rebuild, rebuild_xor)
            } else {
                (&modify, modify_xor)
            };
            xor_bytes += xor;
            for &piece in reads {
                add_piece(&mut plan.pieces, 0, 2 * self.disks, piece);
            }
            self.modify = modify;
            self.rebuild = rebuild;
        }
        if !plan.pieces.is_empty() || xor_bytes > 0 {
            plan.end_stage(xor_bytes);
        }
        let from = plan.pieces.len();
        for touch in self.touches(offset, bytes) {
            self.write_stripe(touch, from, plan);
        }
        plan.end_stage(0);
    }

    /// Fills `reads` with the reads for a stripe's new parity, using the way `wanted` where there is a
    /// choice. Returns the bytes of exclusive-or work.
    fn gather(&self, touch: Touch, wanted: Way, reads: &mut Vec<Piece>) -> u64 {
        reads.clear();
        let mut xor_bytes = 0;
        for segment in self.segments(touch) {
            let count = (0..self.data_chunks())
                .filter(|&index| self.covers(touch, index, segment))
                .count() as u64;
            let way = self.way(touch, segment, count, wanted);
            xor_bytes += segment.rows()
                * match way {
                    Way::NoParity => 0,
                    Way::Full | Way::Rebuild => self.data_chunks(),
                    Way::Modify => 2 * count + 1,
                };
            let mut add = |disk| self.add(reads, 0, (OpKind::Read, disk, touch.stripe), segment);
            for index in 0..self.data_chunks() {
                let covered = self.covers(touch, index, segment);
                if (way == Way::Modify && covered) || (way == Way::Rebuild && !covered) {
                    add(self.data_disk(touch.stripe, index));
                }
            }
            if way == Way::Modify {
                add(self.parity_disk(touch.stripe));
            }
        }
        xor_bytes
    }

    /// The way for a segment of which `count` chunks are written.
    fn way(&self, touch: Touch, segment: Segment, count: u64, wanted: Way) -> Way {
        let failed = self.lost(touch.stripe);
        if failed == Some(self.parity_disk(touch.stripe)) {
            return Way::NoParity;
        }
        if count == self.data_chunks() {
            return Way::Full;
        }
        match failed.and_then(|disk| self.data_index(touch.stripe, disk)) {
            // The old data of a missing chunk cannot be read, so the new parity comes from the others.
            Some(index) if self.covers(touch, index, segment) => Way::Rebuild,
            // The parity must continue to represent the missing data.
            Some(_) => Way::Modify,
            None => wanted,
        }
    }

    fn write_stripe(&self, touch: Touch, from: usize, plan: &mut Plan) {
        let failed = self.lost(touch.stripe);
        let alive = |disk: u32| failed != Some(disk);
        for disk in (0..self.data_chunks()).map(|index| self.data_disk(touch.stripe, index)) {
            if let Some(rows) = self.touched_on(touch, disk).filter(|_| alive(disk)) {
                self.add(&mut plan.pieces, from, (OpKind::Write, disk, touch.stripe), rows);
            }
        }
        let disk = self.parity_disk(touch.stripe);
        for rows in self.segments(touch).filter(|_| alive(disk)) {
            self.add(&mut plan.pieces, from, (OpKind::Write, disk, touch.stripe), rows);
        }
    }
}

/// The rows in either segment: one range if they meet, otherwise both in rising order.
fn union(one: Option<Segment>, other: Option<Segment>) -> [Option<Segment>; 2] {
    match (one, other) {
        (Some(a), Some(b)) if a.low <= b.high && b.low <= a.high => {
            [Some(Segment { low: a.low.min(b.low), high: a.high.max(b.high) }), None]
        }
        (Some(a), Some(b)) if b.low < a.low => [Some(b), Some(a)],
        (Some(_), Some(_)) => [one, other],
        _ => [one.or(other), None],
    }
}

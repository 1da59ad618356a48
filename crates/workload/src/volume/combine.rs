//! Computes which bytes are the exclusive-or of which others, for arrays that move bytes.
//!
//! This module does not know where parity is. In each row of the disks (the bytes at one offset of all
//! disks), the exclusive-or over all disks is zero. A byte that the request does not supply is therefore the
//! exclusive-or of all other bytes of its row if these are known, otherwise the old byte combined with the
//! changes in its row. The reads of the plan decide which of the two applies. Rejected: one rule per method
//! of the plan (it would duplicate the plan's knowledge).

use crate::volume::{Extent, Piece, Plan};
use record::OpKind;
use std::ops::Range;

/// A position in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Offset in the request's memory.
    Request(u32),
    /// Index of a piece of the plan, and the offset in its memory.
    Piece(u32, u32),
}

impl Memory {
    /// The position this many bytes further on.
    fn plus(self, bytes: u32) -> Self {
        match self {
            Self::Request(at) => Self::Request(at + bytes),
            Self::Piece(piece, at) => Self::Piece(piece, at + bytes),
        }
    }
}

/// Bytes that are the exclusive-or of others, or a copy if there is one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The destination.
    pub to: Memory,
    /// Number of bytes.
    pub bytes: u32,
    /// Range of its sources in [`Combinations::sources`].
    pub from: Range<usize>,
}

/// The combinations of a request. Reused, to avoid allocations.
#[derive(Clone, Debug, Default)]
pub struct Combinations {
    /// All combinations, in any order.
    pub all: Vec<Combination>,
    /// The sources of all combinations.
    pub sources: Vec<Memory>,
    /// For each piece of the plan: the offset of its bytes in the request's memory, if they are contiguous
    /// there, so that no copy is needed.
    pub direct: Vec<Option<u32>>,
    pub(crate) extents: Vec<Extent>,
    cuts: Vec<u64>,
}

impl Combinations {
    /// The sources of a combination.
    #[must_use]
    pub fn sources_of(&self, combination: &Combination) -> &[Memory] {
        &self.sources[combination.from.clone()]
    }

    pub(crate) fn clear(&mut self, plan: &Plan) {
        self.all.clear();
        self.sources.clear();
        self.extents.clear();
        self.direct.clear();
        self.direct.resize(plan.pieces.len(), None);
    }

    /// Copies for a mirror: every piece has the request's bytes at its offset.
    pub(crate) fn copies(&mut self, op: OpKind, offset: u64, plan: &Plan) {
        for (piece, index) in plan.pieces.iter().zip(0..) {
            let ends = (Memory::Request((piece.offset - offset) as u32), Memory::Piece(index, 0));
            let (to, from) = match op {
                OpKind::Read => ends,
                OpKind::Write => (ends.1, ends.0),
            };
            self.add(to, piece.bytes, &[from]);
        }
    }

    /// A step of a rebuild: the written bytes are the exclusive-or of everything that is read.
    pub(crate) fn remake(&mut self, plan: &Plan) {
        let begin = self.sources.len();
        for (piece, index) in plan.pieces.iter().zip(0..) {
            match piece.op {
                OpKind::Read => self.sources.push(Memory::Piece(index, 0)),
                OpKind::Write => {
                    let (to, from) = (Memory::Piece(index, 0), begin..self.sources.len());
                    self.all.push(Combination { to, bytes: piece.bytes, from });
                }
            }
        }
    }

    /// Combinations for `disks` disks with parity. The extents are those of the request.
    pub(crate) fn parity(&mut self, op: OpKind, disks: u32, plan: &Plan) {
        let extents = std::mem::take(&mut self.extents);
        let mut cuts = std::mem::take(&mut self.cuts);
        let row = Row { disks, plan, extents: &extents };
        match op {
            OpKind::Read => {
                for extent in &extents {
                    let rows = extent.offset..extent.offset + u64::from(extent.bytes);
                    row.cut(&rows, &mut cuts);
                    for part in cuts.windows(2) {
                        let (at, bytes) = (part[0], (part[1] - part[0]) as u32);
                        let to = Memory::Request(extent.at + (at - extent.offset) as u32);
                        self.add_of_row(to, bytes, |sources| row.data(extent.disk, at, sources));
                    }
                }
            }
            OpKind::Write => {
                let pieces = plan.pieces.iter().zip(0..);
                for (piece, index) in pieces.filter(|(piece, _)| piece.op == OpKind::Write) {
                    row.cut(&(piece.offset..piece.offset + u64::from(piece.bytes)), &mut cuts);
                    for part in cuts.windows(2) {
                        let (at, bytes) = (part[0], (part[1] - part[0]) as u32);
                        let to = Memory::Piece(index, (at - piece.offset) as u32);
                        self.add_of_row(to, bytes, |sources| match row.given(piece.disk, at) {
                            Some(given) => sources.push(given),
                            None => row.parity(piece.disk, at, sources),
                        });
                    }
                }
            }
        }
        (self.extents, self.cuts) = (extents, cuts);
    }

    fn add(&mut self, to: Memory, bytes: u32, from: &[Memory]) {
        self.add_of_row(to, bytes, |sources| sources.extend_from_slice(from));
    }

    /// Adds a combination, or extends the last one if this continues all of its parts.
    fn add_of_row(&mut self, to: Memory, bytes: u32, fill: impl FnOnce(&mut Vec<Memory>)) {
        let begin = self.sources.len();
        fill(&mut self.sources);
        debug_assert!(begin < self.sources.len(), "a plan reads what its bytes are made of");
        if let Some(last) = self.all.last_mut() {
            let goes_on = last.to.plus(last.bytes) == to
                && last.from.len() == self.sources.len() - begin
                && last
                    .from
                    .clone()
                    .zip(begin..)
                    .all(|(old, new)| self.sources[old].plus(last.bytes) == self.sources[new]);
            if goes_on {
                last.bytes += bytes;
                self.sources.truncate(begin);
                return;
            }
        }
        self.all.push(Combination { to, bytes, from: begin..self.sources.len() });
    }

    /// Removes copies between a whole piece and one part of the request. A piece that was read may also be a
    /// source of others. They then use the request's memory.
    pub(crate) fn find_direct(&mut self, plan: &Plan) {
        let Self { all, sources, direct, .. } = self;
        all.retain(|combination| {
            let [from] = sources[combination.from.clone()] else { return true };
            let (piece, at) = match (combination.to, from) {
                (Memory::Request(at), Memory::Piece(piece, 0))
                | (Memory::Piece(piece, 0), Memory::Request(at)) => (piece as usize, at),
                _ => return true,
            };
            let whole = plan.pieces[piece].bytes == combination.bytes;
            if whole {
                direct[piece] = Some(at);
            }
            !whole
        });
    }
}

/// Bytes that are known in rows of the disks.
struct Row<'a> {
    disks: u32,
    plan: &'a Plan,
    extents: &'a [Extent],
}

impl Row<'_> {
    /// The positions where the known bytes of the rows change, including both ends.
    fn cut(&self, rows: &Range<u64>, cuts: &mut Vec<u64>) {
        cuts.clear();
        cuts.extend([rows.start, rows.end]);
        let ends = |offset: u64, bytes: u32| [offset, offset + u64::from(bytes)];
        let of_pieces = self.plan.pieces.iter().flat_map(|it| ends(it.offset, it.bytes));
        let of_extents = self.extents.iter().flat_map(|it| ends(it.offset, it.bytes));
        let inside = |cut: &u64| rows.start < *cut && *cut < rows.end;
        cuts.extend(of_pieces.chain(of_extents).filter(inside));
        cuts.sort_unstable();
        cuts.dedup();
    }

    /// The request's bytes for a disk.
    fn given(&self, disk: u32, at: u64) -> Option<Memory> {
        let here = |it: &&Extent| it.disk == disk && covers(it.offset, it.bytes, at);
        let extent = self.extents.iter().find(here)?;
        Some(Memory::Request(extent.at + (at - extent.offset) as u32))
    }

    /// The bytes that were read from a disk.
    fn held(&self, disk: u32, at: u64) -> Option<Memory> {
        let here = |(it, _): &(&Piece, u32)| {
            it.op == OpKind::Read && it.disk == disk && covers(it.offset, it.bytes, at)
        };
        let (piece, index) = self.plan.pieces.iter().zip(0..).find(here)?;
        Some(Memory::Piece(index, (at - piece.offset) as u32))
    }

    /// The content of a disk: as read, or computed from all others.
    fn data(&self, disk: u32, at: u64, sources: &mut Vec<Memory>) {
        match self.held(disk, at) {
            Some(old) => sources.push(old),
            None => {
                let others = (0..self.disks).filter(|&other| other != disk);
                sources.extend(others.filter_map(|other| self.held(other, at)));
            }
        }
    }

    /// The new content of a disk that gets none of the request's bytes.
    fn parity(&self, disk: u32, at: u64, sources: &mut Vec<Memory>) {
        let begin = sources.len();
        let others = || (0..self.disks).filter(|&other| other != disk);
        sources.extend(others().filter_map(|it| self.given(it, at).or_else(|| self.held(it, at))));
        if sources.len() - begin == self.disks as usize - 1 {
            return;
        }
        sources.truncate(begin);
        sources.extend(self.held(disk, at));
        for other in others() {
            if let Some(new) = self.given(other, at) {
                sources.push(new);
                sources.extend(self.held(other, at));
            }
        }
    }
}

fn covers(offset: u64, bytes: u32, at: u64) -> bool {
    (offset..offset + u64::from(bytes)).contains(&at)
}

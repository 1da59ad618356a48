//! RAID 1: writes go to every disk, and a read goes to one. This module selects it.
//!
//! TwinStor (Chung 2000, section 8.4, on 3ware's paper): "Requests smaller than 256KB are treated as random
//! to allow the second disk to independently service a second request." Random reads go to the disk with the
//! shortest queue, and among equals to the nearest head. With 256 KB of sequential requests outstanding,
//! areas of that size alternate, so that each disk reads in long runs. Rejected: choosing by a predicted
//! positioning time, which a card in front of IDE drives cannot see.

use super::{DiskLoad, MirrorReads, Piece, Plan, VolumeSpec};
use record::OpKind;

/// Below this amount of sequential requests outstanding, reads are treated as random. Also the size of the
/// areas that alternate.
const SEQUENTIAL_BYTES: u64 = 256 << 10;

#[derive(Clone, Debug)]
pub(super) struct Mirror {
    disks: u32,
    failed: Option<u32>,
    /// Bytes rebuilt, from the start of the failed disk.
    pub(super) rebuilt: u64,
    reads: MirrorReads,
    next_offset: u64,
    /// Number of consecutive reads that each start where the previous one ended.
    in_sequence: u32,
    turn: u32,
}

impl Mirror {
    pub(super) fn new(spec: &VolumeSpec, disks: u32) -> Self {
        let (failed, reads) = (spec.failed, spec.mirror_reads);
        let (next_offset, in_sequence, turn) = (u64::MAX, 0, 0);
        Self { disks, failed, rebuilt: 0, reads, next_offset, in_sequence, turn }
    }

    pub(super) fn plan(
        &mut self,
        op: OpKind,
        offset: u64,
        bytes: u32,
        load: &[DiskLoad],
        plan: &mut Plan,
    ) {
        match op {
            OpKind::Write => {
                let disks = self.alive(offset + u64::from(bytes));
                plan.pieces.extend(disks.map(|disk| Piece { disk, op, offset, bytes }));
                // The rebuild writes the bytes beyond its progress when it gets there.
                if let Some(disk) = self
                    .failed
                    .filter(|_| (offset + 1..offset + u64::from(bytes)).contains(&self.rebuilt))
                {
                    let bytes = (self.rebuilt - offset) as u32;
                    plan.pieces.push(Piece { disk, op, offset, bytes });
                }
            }
            OpKind::Read => self.read(offset, bytes, load, plan),
        }
        plan.end_stage(0);
    }

    /// The disks that have all bytes up to `end`.
    fn alive(&self, end: u64) -> impl Iterator<Item = u32> + use<> {
        let failed = self.failed.filter(|_| end > self.rebuilt);
        (0..self.disks).filter(move |&disk| Some(disk) != failed)
    }

    fn read(&mut self, offset: u64, bytes: u32, load: &[DiskLoad], plan: &mut Plan) {
        let op = OpKind::Read;
        let sequential = offset == self.next_offset;
        self.in_sequence = if sequential { self.in_sequence.saturating_add(1) } else { 0 };
        self.next_offset = offset + u64::from(bytes);
        let disk = match self.reads {
            MirrorReads::Plain => self.in_turn(self.next_offset),
            MirrorReads::TwinStor => {
                let waiting: u32 = load.iter().map(|disk| disk.waiting).sum();
                let outstanding = u64::from(bytes) * (u64::from(waiting) + 1);
                if outstanding >= SEQUENTIAL_BYTES
                    && (self.in_sequence > 0 || u64::from(bytes) >= SEQUENTIAL_BYTES)
                {
                    return self.alternate(offset, bytes, plan);
                }
                self.nearest(offset, self.next_offset, load)
            }
        };
        plan.pieces.push(Piece { disk, op, offset, bytes });
    }

    /// The disk with the shortest queue, then with the nearest head.
    fn nearest(&self, offset: u64, end: u64, load: &[DiskLoad]) -> u32 {
        let key = |disk: &u32| {
            let load = load.get(*disk as usize).copied().unwrap_or_default();
            (load.waiting, load.head_bytes.abs_diff(offset))
        };
        self.alive(end).min_by_key(key).unwrap_or(0)
    }

    fn in_turn(&mut self, end: u64) -> u32 {
        let turn = self.turn;
        let disk = self.alive(end).find(|&disk| disk >= turn).or_else(|| self.alive(end).next());
        let disk = disk.unwrap_or(0);
        self.turn = disk + 1;
        disk
    }

    fn alternate(&mut self, offset: u64, bytes: u32, plan: &mut Plan) {
        let end = offset + u64::from(bytes);
        let alive = self.alive(end).count() as u64;
        super::split(SEQUENTIAL_BYTES, offset, bytes, &mut plan.pieces, |area, offset, bytes| {
            let disk = self.alive(end).nth((area % alive) as usize).unwrap_or(0);
            Piece { disk, op: OpKind::Read, offset, bytes }
        });
    }

    /// The plan for rebuilding a part of the failed disk: from a copy.
    pub(super) fn rebuild(&self, offset: u64, bytes: u32, load: &[DiskLoad], plan: &mut Plan) {
        let Some(failed) = self.failed else { return plan.end_stage(0) };
        let disk = self.nearest(offset, u64::MAX, load);
        plan.pieces.push(Piece { disk, op: OpKind::Read, offset, bytes });
        plan.end_stage(0);
        plan.pieces.push(Piece { disk: failed, op: OpKind::Write, offset, bytes });
        plan.end_stage(0);
    }
}

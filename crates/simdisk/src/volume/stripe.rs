//! Disks in a row and RAID 0: every byte lies once, a request is split where the disk changes.
//!
//! NT's stripe sets send chunk after chunk to disk after disk in turn. A request over a chunk
//! boundary becomes two, and has to wait for both (Riedel 1997, section 5.5).

use super::{Piece, Plan, add_piece};
use record::OpKind;

/// One disk after the other.
pub(super) fn row(disk_bytes: u64, op: OpKind, offset: u64, bytes: u32, plan: &mut Plan) {
    let end = offset + u64::from(bytes);
    let mut at = offset;
    while at < end {
        let disk = at / disk_bytes;
        let until = end.min((disk + 1) * disk_bytes);
        plan.pieces.push(Piece {
            disk: disk as u32,
            op,
            offset: at - disk * disk_bytes,
            bytes: (until - at) as u32,
        });
        at = until;
    }
    plan.end_stage(0);
}

/// Chunks in turn.
pub(super) fn striped(
    disks: u32,
    chunk: u64,
    op: OpKind,
    offset: u64,
    bytes: u32,
    plan: &mut Plan,
) {
    let end = offset + u64::from(bytes);
    let mut at = offset;
    while at < end {
        let number = at / chunk;
        let until = end.min((number + 1) * chunk);
        let piece = Piece {
            disk: (number % u64::from(disks)) as u32,
            op,
            offset: number / u64::from(disks) * chunk + (at - number * chunk),
            bytes: (until - at) as u32,
        };
        add_piece(&mut plan.pieces, 0, disks, piece);
        at = until;
    }
    plan.end_stage(0);
}

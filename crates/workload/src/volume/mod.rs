//! Maps a request on a volume to bytes on its disks: disks in a row, RAID 0, 1 and 5.
//!
//! A volume is a pure mapping: [`Volume::plan`] turns a request into stages of pieces. The pieces of a stage
//! are issued at once. The next stage waits for all of them and for the parity work in between. The volume
//! knows only addresses, and what the caller says about the disks' queues and heads. The same mapping
//! therefore serves software and hardware arrays, and a model of the bytes can prove it correct. The volume
//! has two kinds of state: the order of writes to a stripe with parity ([`Volume::claim`] admits one at a
//! time), and the progress of rebuilding a failed disk. For arrays that move bytes, [`Combinations`] says
//! which bytes are the exclusive-or of which others. Rejected: a service-time model inside the volume (two
//! clocks), and a separate type of plan per RAID level (three executors for one loop).

mod combine;
mod mirror;
mod parity;
mod progress;
mod spec;
mod steps;
mod stripe_order;

pub use combine::{Combination, Combinations, Memory};
pub use spec::{MirrorReads, Raid, VolumeSpec};
pub use steps::{REBUILD_DEPTH, RebuildSteps};

use mirror::Mirror;
use parity::Parity;
use progress::Progress;
use record::OpKind;
use stripe_order::StripeOrder;

/// A part of a request on one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which disk, from 0.
    pub disk: u32,
    /// Direction; a write to a volume may need reads.
    pub op: OpKind,
    /// First byte on the disk.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// The position of some bytes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The disk, from 0.
    pub disk: u32,
    /// First byte on the disk.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// First byte in the request.
    pub at: u32,
}

/// Pieces that are issued at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Index after its last piece in [`Plan::pieces`]. Its first piece follows those of the previous stage. A
    /// stage without pieces is only parity work.
    pub end: usize,
    /// Bytes of exclusive-or work after the pieces and before the next stage.
    pub xor_bytes: u64,
}

/// The transfers of a request. Reused, so that planning allocates no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The pieces of all stages.
    pub pieces: Vec<Piece>,
    /// The stages, in order; at least one.
    pub stages: Vec<Stage>,
}

impl Plan {
    /// The pieces of a stage.
    #[must_use]
    pub fn stage(&self, index: usize) -> &[Piece] {
        let begin = index.checked_sub(1).map_or(0, |before| self.stages[before].end);
        &self.pieces[begin..self.stages[index].end]
    }

    /// Ends a stage, with the pieces added since the previous one.
    fn end_stage(&mut self, xor_bytes: u64) {
        self.stages.push(Stage { end: self.pieces.len(), xor_bytes });
    }
}

/// Result of a finished rebuild step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepsOver {
    /// The steps that are complete now.
    pub over: Vec<u32>,
    /// The requests and steps that may start now.
    pub ready: Vec<u32>,
}

/// State of a disk that the volume uses to select one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskLoad {
    /// Requests that are queued for it or in it.
    pub waiting: u32,
    /// The byte address at its head.
    pub head_bytes: u64,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Chunks in turn, or disks in a row if a chunk is a whole disk.
    Stripe {
        disks: u32,
        chunk: u64,
    },
    Mirror(Mirror),
    Parity(Parity),
}

/// Disks combined into one address space.
#[derive(Clone, Debug)]
pub struct Volume {
    layout: Layout,
    align_bytes: u64,
    chunk_bytes: u64,
    size: u64,
    /// Bytes that it uses on each disk.
    member: u64,
    ordered: bool,
    order: StripeOrder,
    progress: Progress,
}

impl Volume {
    /// A volume of `disks` disks of `disk_bytes` each. The specification must already have passed
    /// [`VolumeSpec::check`].
    #[must_use]
    pub fn new(spec: &VolumeSpec, disks: u32, disk_bytes: u64) -> Self {
        debug_assert!(spec.check(disks).is_ok(), "a specification is checked where it is read");
        let count = u64::from(disks);
        let whole = disk_bytes / spec.chunk_bytes * spec.chunk_bytes;
        let (layout, bytes) = match spec.raid {
            Raid::None => (Layout::Stripe { disks, chunk: disk_bytes }, disk_bytes * count),
            Raid::Raid0 => (Layout::Stripe { disks, chunk: spec.chunk_bytes }, whole * count),
            Raid::Raid1 => (Layout::Mirror(Mirror::new(spec, disks)), disk_bytes),
            Raid::Raid5 => (Layout::Parity(Parity::new(spec, disks)), whole * (count - 1)),
        };
        let size = bytes.saturating_sub(spec.align_bytes);
        let member = if spec.raid == Raid::Raid1 { disk_bytes } else { whole };
        Self {
            layout,
            align_bytes: spec.align_bytes,
            chunk_bytes: spec.chunk_bytes,
            size,
            member,
            ordered: spec.ordered,
            order: StripeOrder::default(),
            progress: Progress::default(),
        }
    }

    /// Bytes of each disk that contain data, which a rebuild restores.
    #[must_use]
    pub fn member_bytes(&self) -> u64 {
        self.member
    }

    /// Size of the volume in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `plan` with the transfers of a request. `load` has one entry per disk.
    pub fn plan(
        &mut self,
        op: OpKind,
        offset: u64,
        bytes: u32,
        load: &[DiskLoad],
        plan: &mut Plan,
    ) {
        debug_assert!(bytes > 0 && offset + u64::from(bytes) <= self.size, "inside the volume");
        plan.pieces.clear();
        plan.stages.clear();
        let offset = offset + self.align_bytes;
        match &mut self.layout {
            // NT's stripe sets send consecutive chunks to the disks in turn. A request across a chunk
            // boundary becomes two, and must wait for both (Riedel 1997, section 5.5).
            &mut Layout::Stripe { disks, chunk } => {
                let disks = u64::from(disks);
                split(chunk, offset, bytes, &mut plan.pieces, |number, at, bytes| Piece {
                    disk: (number % disks) as u32,
                    op,
                    offset: number / disks * chunk + (at - number * chunk),
                    bytes,
                });
                plan.end_stage(0);
            }
            Layout::Mirror(mirror) => mirror.plan(op, offset, bytes, load, plan),
            Layout::Parity(parity) => match op {
                OpKind::Read => parity.read(offset, bytes, plan),
                OpKind::Write => parity.write(offset, bytes, plan),
            },
        }
        debug_assert_eq!(plan.stages.last().map(|stage| stage.end), Some(plan.pieces.len()));
    }

    /// The disk with the parity of the row at `offset` on the disks; `None` without parity.
    #[must_use]
    pub fn parity_disk(&self, offset: u64) -> Option<u32> {
        match &self.layout {
            Layout::Parity(parity) => Some(parity.parity_disk(offset / self.chunk_bytes)),
            _ => None,
        }
    }

    /// Whether a request may be planned and issued now. If not, a later [`Volume::release`] returns its
    /// number. `request` is a small number chosen by the caller, unique among the requests that are claimed
    /// and not released.
    pub fn claim(&mut self, request: u32, op: OpKind, offset: u64, bytes: u32) -> bool {
        match &self.layout {
            Layout::Parity(parity) => {
                let offset = offset + self.align_bytes;
                let (first, last) = parity.stripes(offset, bytes);
                match op {
                    OpKind::Write => self.order.claim(request, first, last, false),
                    OpKind::Read if self.ordered && parity.is_lost(offset, bytes) => {
                        self.order.claim(request, first, last, true)
                    }
                    OpKind::Read => true,
                }
            }
            Layout::Mirror(_) if self.ordered && op == OpKind::Write => {
                let offset = offset + self.align_bytes;
                let last = (offset + u64::from(bytes) - 1) / self.chunk_bytes;
                self.order.claim(request, offset / self.chunk_bytes, last, false)
            }
            _ => true,
        }
    }

    /// Ends an admitted request. Returns the requests that may be issued now.
    pub fn release(&mut self, request: u32) -> Vec<u32> {
        self.order.release(request)
    }

    /// Like [`Volume::claim`], for a step of a rebuild: a part of the failed disk that must start where the
    /// previous step ended and consist of whole chunks. It keeps its claim until all earlier steps have
    /// finished.
    pub fn claim_rebuild(&mut self, request: u32, offset: u64, bytes: u32) -> bool {
        let whole = offset.is_multiple_of(self.chunk_bytes);
        debug_assert!(bytes > 0 && whole && offset + u64::from(bytes) <= self.member);
        let last = (offset + u64::from(bytes) - 1) / self.chunk_bytes;
        self.order.claim(request, offset / self.chunk_bytes, last, false)
    }

    /// Fills `plan` with a step of a rebuild: reads from others, then the write.
    pub fn plan_rebuild(&mut self, offset: u64, bytes: u32, load: &[DiskLoad], plan: &mut Plan) {
        plan.pieces.clear();
        plan.stages.clear();
        match &self.layout {
            Layout::Stripe { .. } => plan.end_stage(0),
            Layout::Mirror(mirror) => mirror.rebuild(offset, bytes, load, plan),
            Layout::Parity(parity) => parity.remake(offset, bytes, plan),
        }
    }

    /// Ends a step of a rebuild. Returns the steps that are complete now, and the requests and steps that may
    /// start. The number of a step can be reused once it is complete. After a failed step, nothing more
    /// counts as rebuilt.
    pub fn rebuilt(&mut self, request: u32, offset: u64, bytes: u32, whole: bool) -> StepsOver {
        let over = self.progress.step(request, offset, bytes, whole);
        let bytes = self.progress.bytes();
        match &mut self.layout {
            Layout::Stripe { .. } => {}
            Layout::Mirror(mirror) => mirror.rebuilt = bytes,
            Layout::Parity(parity) => parity.rebuilt = bytes,
        }
        let ready = over.iter().flat_map(|&request| self.order.release(request)).collect();
        StepsOver { over, ready }
    }

    /// Bytes rebuilt, from the start of the failed disk.
    #[must_use]
    pub fn rebuilt_bytes(&self) -> u64 {
        self.progress.bytes()
    }

    /// Fills `combinations` for a planned request: which bytes of the pieces' memory, or of the request, are
    /// the exclusive-or of others. The caller applies them after the last stage of a read, and before the
    /// last stage of a write.
    pub fn combine(
        &self,
        op: OpKind,
        offset: u64,
        bytes: u32,
        plan: &Plan,
        combinations: &mut Combinations,
    ) {
        combinations.clear(plan);
        let offset = offset + self.align_bytes;
        match &self.layout {
            Layout::Mirror(_) => combinations.copies(op, offset, plan),
            Layout::Stripe { .. } => {}
            Layout::Parity(parity) => {
                parity.extents(offset, bytes, &mut combinations.extents);
                combinations.parity(op, parity.disks(), plan);
            }
        }
        combinations.find_direct(plan);
    }

    /// The same for a step of a rebuild. The caller applies them before its last stage.
    pub fn combine_rebuild(&self, plan: &Plan, combinations: &mut Combinations) {
        combinations.clear(plan);
        combinations.remake(plan);
        combinations.find_direct(plan);
    }
}

/// Splits a request at multiples of `size`. Creates a piece for each part from its number, first byte and
/// length.
fn split(
    size: u64,
    offset: u64,
    bytes: u32,
    pieces: &mut Vec<Piece>,
    piece: impl Fn(u64, u64, u32) -> Piece,
) {
    let (mut at, end) = (offset, offset + u64::from(bytes));
    while at < end {
        let number = at / size;
        let until = end.min((number + 1) * size);
        add_piece(pieces, 0, u32::MAX, piece(number, at, (until - at) as u32));
        at = until;
    }
}

/// Adds a piece to the stage that started at `from`. It is merged with the last piece of the same disk among
/// the last `window` pieces if it continues that piece.
fn add_piece(pieces: &mut Vec<Piece>, from: usize, window: u32, piece: Piece) {
    let near = from.max(pieces.len().saturating_sub(window as usize));
    let before = pieces[near..].iter_mut().rev().find(|before| before.disk == piece.disk);
    if let Some(before) = before
        && before.op == piece.op
        && before.offset + u64::from(before.bytes) == piece.offset
    {
        before.bytes += piece.bytes;
    } else {
        pieces.push(piece);
    }
}

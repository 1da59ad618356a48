//! Which bytes of which disk a request of a volume becomes: disks in a row, RAID 0, 1 and 5.
//!
//! A volume is a pure mapping: [`Volume::plan`] turns a request into stages of pieces; the pieces of
//! a stage go out at once, the next stage waits for all of them and for the parity work between. The
//! volume knows only addresses, and what the caller says about the disks' queues and heads, so the
//! same mapping serves software and hardware arrays, and a model of the bytes themselves can prove it.
//! What has memory is the order of writes to a stripe with parity ([`Volume::claim`] lets one in at a
//! time) and how far a failed disk is rebuilt. Arrays that move bytes learn from [`Combinations`] which of
//! them are the exclusive or of which others. Rejected: a service-time model inside the volume (two clocks), and a plan per
//! level of RAID with types of its own (three executors for one loop).

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
    /// Direction; a write of a volume may need reads.
    pub op: OpKind,
    /// First byte on the disk.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
}

/// Where some bytes of a request lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// On which disk, from 0.
    pub disk: u32,
    /// First byte on the disk.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// First byte in the request.
    pub at: u32,
}

/// Pieces that go out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Where they end in [`Plan::pieces`]; they begin where those of the stage before end. A stage
    /// without pieces stands for parity work alone.
    pub end: usize,
    /// Bytes that go through the exclusive or once the pieces are done, before the next stage.
    pub xor_bytes: u64,
}

/// What a request becomes. Kept and filled again, so that planning allocates nothing.
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

    /// Ends a stage with the pieces added since the last one.
    fn end_stage(&mut self, xor_bytes: u64) {
        self.stages.push(Stage { end: self.pieces.len(), xor_bytes });
    }
}

/// What the end of a step of a rebuild leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepsOver {
    /// The steps that are over.
    pub over: Vec<u32>,
    /// The requests and steps that may be carried out now.
    pub ready: Vec<u32>,
}

/// What the volume may know of a disk when it chooses one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskLoad {
    /// Requests on their way to it or in it.
    pub waiting: u32,
    /// The byte address under its head.
    pub head_bytes: u64,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Chunks in turn, or disks in a row where a chunk is a whole disk.
    Stripe {
        disks: u32,
        chunk: u64,
    },
    Mirror(Mirror),
    Parity(Parity),
}

/// Disks bound into one address space.
#[derive(Clone, Debug)]
pub struct Volume {
    layout: Layout,
    align_bytes: u64,
    chunk_bytes: u64,
    size: u64,
    /// Bytes of each disk that it uses.
    member: u64,
    ordered: bool,
    order: StripeOrder,
    progress: Progress,
}

impl Volume {
    /// A volume of `disks` disks of `disk_bytes` each. The specification must have passed
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

    /// Bytes of each disk that hold something: what a rebuild makes again.
    #[must_use]
    pub fn member_bytes(&self) -> u64 {
        self.member
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `plan` with what a request becomes. `load` has one entry per disk.
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
            // NT's stripe sets send chunk after chunk to disk after disk in turn. A request over a
            // chunk boundary becomes two, and has to wait for both (Riedel 1997, section 5.5).
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

    /// The disk with the parity of the row at `offset` of the disks; `None` without parity.
    #[must_use]
    pub fn parity_disk(&self, offset: u64) -> Option<u32> {
        match &self.layout {
            Layout::Parity(parity) => Some(parity.parity_disk(offset / self.chunk_bytes)),
            _ => None,
        }
    }

    /// Whether a request may be planned and carried out now. If not, its number comes back from a
    /// later [`Volume::release`]. `request` is a small number of the caller's, unique among those
    /// that are claimed and not released.
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

    /// A request that was let in is done; those that may be carried out now.
    pub fn release(&mut self, request: u32) -> Vec<u32> {
        self.order.release(request)
    }

    /// As [`Volume::claim`] for a step of a rebuild: a part of the failed disk, which has to begin
    /// where the step before ended and to be whole chunks. It keeps its claim until all before it are
    /// done.
    pub fn claim_rebuild(&mut self, request: u32, offset: u64, bytes: u32) -> bool {
        let whole = offset.is_multiple_of(self.chunk_bytes);
        debug_assert!(bytes > 0 && whole && offset + u64::from(bytes) <= self.member);
        let last = (offset + u64::from(bytes) - 1) / self.chunk_bytes;
        self.order.claim(request, offset / self.chunk_bytes, last, false)
    }

    /// Fills `plan` with what a step of a rebuild is: reads of others, then the write.
    pub fn plan_rebuild(&mut self, offset: u64, bytes: u32, load: &[DiskLoad], plan: &mut Plan) {
        plan.pieces.clear();
        plan.stages.clear();
        match &self.layout {
            Layout::Stripe { .. } => plan.end_stage(0),
            Layout::Mirror(mirror) => mirror.rebuild(offset, bytes, load, plan),
            Layout::Parity(parity) => parity.remake(offset, bytes, plan),
        }
    }

    /// A step of a rebuild has ended: which steps are over by that, and what may be carried out now.
    /// The number of a step is free again when it is over. After one that failed nothing more counts as
    /// rebuilt.
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

    /// Bytes from the start of the failed disk that it holds again.
    #[must_use]
    pub fn rebuilt_bytes(&self) -> u64 {
        self.progress.bytes()
    }

    /// Fills `combinations` with what becomes of the bytes of a planned request: the memory of each
    /// piece, or of the request, is the exclusive or of others. Of a read after its last stage, of a
    /// write before it.
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

    /// The same of a step of a rebuild, before its last stage.
    pub fn combine_rebuild(&self, plan: &Plan, combinations: &mut Combinations) {
        combinations.clear(plan);
        combinations.remake(plan);
        combinations.find_direct(plan);
    }
}

/// Cuts a request at multiples of `size`: the piece of each part by number, first byte and length.
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

/// Adds a piece to the stage that began at `from`, merged with the one that it continues: the last
/// of its disk, looked for among the last `window` pieces.
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

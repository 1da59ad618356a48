//! The cells of `check`: which workloads characterise a device.
//!
//! Friedman's abbreviated matrix (4, 16, 64 KiB x sequential, random x read, write; his full one
//! has 4 to 128 KiB and the hit pattern for both operations) at depth 1, random also at his depth
//! of 4; re-reads of a small area, which show a cache; and four cells for the choice of cache
//! mode. The curves against depth and request size are added by the plan as it learns, and so are the
//! cells where predictions would be furthest off without them: larger random requests at depth, and
//! mixes of reads and writes.

use record::{Bytes, CacheMode, DropCache, EngineName, Nanos, OpKind, Pattern, Workload};
use workload::Spec;

/// Friedman's depth for random requests.
const RANDOM_DEPTH: u32 = 4;
/// The area of the hit pattern: small enough for any cache, large enough to need one.
const HIT_BYTES: u64 = 1 << 20;
/// Sizes of the curves against request size.
pub(crate) const CURVE_SIZES: [u64; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// A sequential load between QD 1 and the depth of the size curve. On a quick device that depth can be past
/// the best one, where the memory of all requests no longer fits into the processor's cache.
const STREAM: u64 = 256 << 10;
const STREAM_DEPTH: u32 = 8;
/// Sizes and depths of larger random requests. A depth curve of 4 KiB predicts them worst.
const LARGER: [u64; 2] = [16 << 10, 64 << 10];
const LARGER_DEPTHS: [u32; 2] = [8, 32];
/// Mixes at the same depths: percent of reads, and size. Four are the fewest of which the models learn
/// what reads and writes take from each other.
const MIXES: [(u8, u64); 4] = [(70, 4 << 10), (30, 4 << 10), (50, 16 << 10), (90, 64 << 10)];

/// What makes a cell of `check`; the area and the engine are the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpec {
    /// Operation; of a mix the one with more requests.
    pub op: OpKind,
    /// Share of reads in percent, of a mix.
    pub mix: Option<u8>,
    /// Pattern.
    pub pattern: Pattern,
    /// Request size.
    pub bytes: u64,
    /// Requests outstanding.
    pub iodepth: u32,
    /// Caches in use.
    pub cache: CacheMode,
}

impl CellSpec {
    /// A cell past the page cache.
    #[must_use]
    pub fn direct(op: OpKind, pattern: Pattern, bytes: u64, iodepth: u32) -> Self {
        Self { op, mix: None, pattern, bytes, iodepth, cache: CacheMode::Device }
    }

    /// Random reads and writes past the page cache.
    fn mixed(reads_percent: u8, bytes: u64, iodepth: u32) -> Self {
        let op = if reads_percent < 50 { OpKind::Write } else { OpKind::Read };
        Self { mix: Some(reads_percent), ..Self::direct(op, Pattern::Random, bytes, iodepth) }
    }

    /// The workload on an area of `area` bytes, or `None` where a request does not fit or is not
    /// a multiple of `alignment`.
    #[must_use]
    pub fn workload(&self, area: Bytes, engine: EngineName, alignment: u64) -> Option<Workload> {
        if !self.bytes.is_multiple_of(alignment.max(1)) {
            return None;
        }
        let engine = engine_at(engine, self.iodepth);
        let spec = Spec::of(Workload {
            read_percent: self.mix.unwrap_or(if self.op == OpKind::Read { 100 } else { 0 }),
            pattern: self.pattern,
            hit_bytes: (self.pattern == Pattern::Hit).then_some(Bytes(HIT_BYTES.min(area.0))),
            // One request per job for an engine that holds no more: depth comes from jobs.
            iodepth: if engine == EngineName::Sync { 1 } else { self.iodepth },
            numjobs: if engine == EngineName::Sync { self.iodepth } else { 1 },
            cache: self.cache,
            engine,
            drop_cache: if self.cache.direct() { DropCache::None } else { DropCache::Dontneed },
            runtime_ns: Nanos(1_000_000_000),
            ..Workload::default()
        });
        spec.with_bs(self.bytes).build(area).ok()
    }
}

/// The engine of a closed loop. A lone request is a blocking call, as in most programs: on a device behind
/// a kernel thread that differs from a submission and a wait by a factor of 1.5.
pub(crate) fn engine_at(engine: EngineName, depth: u32) -> EngineName {
    use EngineName::{Events, IoUring, Iocp, Libaio};
    match engine {
        IoUring | Libaio | Iocp | Events if depth == 1 => EngineName::Sync,
        other => other,
    }
}

/// The operations of a plan that may write or not.
pub(crate) fn ops(write: bool) -> &'static [OpKind] {
    if write { &OpKind::BOTH } else { &[OpKind::Read] }
}

/// Cells for predictions of loads that are not in the matrix.
pub(crate) fn between_cells(write: bool) -> Vec<CellSpec> {
    let stream = |op: &OpKind| CellSpec::direct(*op, Pattern::Sequential, STREAM, STREAM_DEPTH);
    let mut cells: Vec<CellSpec> = ops(write).iter().map(stream).collect();
    for depth in LARGER_DEPTHS {
        for &op in ops(write) {
            cells.extend(LARGER.map(|bytes| CellSpec::direct(op, Pattern::Random, bytes, depth)));
        }
        if write {
            cells.extend(MIXES.map(|(reads, bytes)| CellSpec::mixed(reads, bytes, depth)));
        }
    }
    cells
}

/// The cells that every check measures: the matrix, the hit pattern and the cache modes.
#[must_use]
pub fn check_cells(full: bool, write: bool) -> Vec<CellSpec> {
    let sizes: &[u64] = if full { &CURVE_SIZES[..6] } else { &[4 << 10, 16 << 10, 64 << 10] };
    let mut cells = Vec::new();
    for &op in ops(write) {
        for &bytes in sizes {
            cells.push(CellSpec::direct(op, Pattern::Sequential, bytes, 1));
            cells.push(CellSpec::direct(op, Pattern::Random, bytes, 1));
            cells.push(CellSpec::direct(op, Pattern::Random, bytes, RANDOM_DEPTH));
            if op == OpKind::Read || full {
                cells.push(CellSpec::direct(op, Pattern::Hit, bytes, 1));
            }
        }
    }
    let cached =
        |op, pattern, bytes, cache| CellSpec { cache, ..CellSpec::direct(op, pattern, bytes, 1) };
    let sequential_read = |bytes| cached(OpKind::Read, Pattern::Sequential, bytes, CacheMode::All);
    cells.extend([sequential_read(4 << 10), sequential_read(64 << 10)]);
    if write {
        cells.push(cached(OpKind::Write, Pattern::Random, 4 << 10, CacheMode::None));
        cells.push(cached(OpKind::Write, Pattern::Sequential, 64 << 10, CacheMode::None));
    }
    cells
}

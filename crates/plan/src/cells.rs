//! Lists the cells of `check`: the workloads that characterise a device.
//!
//! Friedman's abbreviated matrix (4, 16, 64 KiB x sequential, random x read, write; his full one has 4 to
//! 128 KiB and the hit pattern for both operations) at queue depth 1, random also at his depth of 4;
//! re-reads of a small area, which reveal a cache; and four cells for the choice of cache mode. The plan
//! adds the curves against depth and request size as it learns. It also adds the cells that reduce the
//! largest prediction errors: larger random requests at depth, and mixes of reads and writes.

use record::{Bytes, CacheMode, DropCache, EngineName, Nanos, OpKind, Pattern, Workload};
use workload::Spec;

/// Friedman's queue depth for random requests.
const RANDOM_DEPTH: u32 = 4;
/// The area of the hit pattern: fits any cache, but is too large for none.
const HIT_BYTES: u64 = 1 << 20;
/// Request sizes of the size curves.
pub(crate) const CURVE_SIZES: [u64; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// A sequential load between QD 1 and the depth of the size curve. On a fast device that depth can be
/// beyond the best one, because the buffers of all requests no longer fit into the processor's cache.
const STREAM: u64 = 256 << 10;
const STREAM_DEPTH: u32 = 8;
/// Sizes and depths of larger random requests, which a 4 KiB depth curve predicts worst.
const LARGER: [u64; 2] = [16 << 10, 64 << 10];
const LARGER_DEPTHS: [u32; 2] = [8, 32];
/// Mixes at the same depths: percent of reads, and size. The models need at least four to learn the
/// interference between reads and writes.
const MIXES: [(u8, u64); 4] = [(70, 4 << 10), (30, 4 << 10), (50, 16 << 10), (90, 64 << 10)];

/// The properties that distinguish the cells of `check`; area and engine are the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpec {
    /// Operation; for a mix the more frequent one.
    pub op: OpKind,
    /// Share of reads in percent; `None` if not a mix.
    pub mix: Option<u8>,
    /// Order of the requests.
    pub pattern: Pattern,
    /// Request size.
    pub bytes: u64,
    /// Queue depth.
    pub iodepth: u32,
    /// Which caches are enabled.
    pub cache: CacheMode,
}

impl CellSpec {
    /// A cell with direct I/O.
    #[must_use]
    pub fn direct(op: OpKind, pattern: Pattern, bytes: u64, iodepth: u32) -> Self {
        Self { op, mix: None, pattern, bytes, iodepth, cache: CacheMode::Device }
    }

    fn mixed(reads_percent: u8, bytes: u64, iodepth: u32) -> Self {
        let op = if reads_percent < 50 { OpKind::Write } else { OpKind::Read };
        Self { mix: Some(reads_percent), ..Self::direct(op, Pattern::Random, bytes, iodepth) }
    }

    /// The workload on an area of `area` bytes; `None` if a request does not fit or is not a multiple of
    /// `alignment`.
    #[must_use]
    pub fn workload(&self, area: Bytes, engine: EngineName, alignment: u64) -> Option<Workload> {
        if !self.bytes.is_multiple_of(alignment.max(1)) {
            return None;
        }
        let spec = Spec::of(Workload {
            read_percent: self.mix.unwrap_or(if self.op == OpKind::Read { 100 } else { 0 }),
            pattern: self.pattern,
            hit_bytes: (self.pattern == Pattern::Hit).then_some(Bytes(HIT_BYTES.min(area.0))),
            iodepth: self.iodepth,
            cache: self.cache,
            drop_cache: if self.cache.direct() { DropCache::None } else { DropCache::Dontneed },
            runtime_ns: Nanos(1_000_000_000),
            ..Workload::default()
        });
        let spec = with_engine(spec.with_bs(self.bytes), engine_at(engine, self.iodepth));
        spec.build(area).ok()
    }
}

/// The engine of a closed loop. A lone request is a blocking call, as in most programs: on a device behind
/// a kernel thread its latency differs from a submission and a wait by a factor of 1.5.
pub(crate) fn engine_at(engine: EngineName, depth: u32) -> EngineName {
    use EngineName::{Events, IoUring, Iocp, Libaio};
    match engine {
        IoUring | Libaio | Iocp | Events if depth == 1 => EngineName::Sync,
        other => other,
    }
}

/// The same workload for an engine with one request per job: depth comes from jobs.
pub(crate) fn with_engine(mut spec: Spec, engine: EngineName) -> Spec {
    for job in &mut spec.beside {
        // A fallback is only for an engine that does not work. Another requested engine does.
        if engine == EngineName::Sim || job.spec.asked.engine == spec.asked.engine {
            job.spec = with_engine(std::mem::take(&mut job.spec), engine);
        }
    }
    if spec.asked.engine != engine && engine == EngineName::Sync {
        spec.asked.numjobs = spec.asked.numjobs.saturating_mul(spec.asked.iodepth);
        spec.asked.iodepth = 1;
    }
    spec.asked.engine = engine;
    spec
}

/// The operations of a plan, depending on whether it may write.
pub(crate) fn ops(write: bool) -> &'static [OpKind] {
    if write { &OpKind::ALL } else { &[OpKind::Read] }
}

/// Cells for predictions of loads outside the matrix.
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

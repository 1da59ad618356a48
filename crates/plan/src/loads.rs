//! Describes loads as users state them: a share of reads, sizes, and the sequential and cached shares.
//!
//! The loads that `check --for-diagnosis` measures besides its pure cells, those that validation draws, and
//! those of a prediction have one type, so that "20 % sequential" means the same everywhere.

use crate::cells::engine_at;
use record::{
    Arrival, Blend, Bytes, EngineName, Locality, Mix, MixClass, Nanos, OpKind, Pattern, SizeShare,
    Workload,
};
use workload::{BuildError, Rng, Spec};

/// Maximum requests in flight for an open loop.
const OPEN_DEPTH: u32 = 256;
/// Number of threads for an open loop on an engine that holds one request each.
const OPEN_JOBS: u32 = 64;
/// Sizes that are drawn, in KiB: powers of two, and sizes in between.
const SIZES: [u64; 10] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128];

/// A load without its rate or queue depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSpec {
    /// Share of reads, 0 to 100.
    pub read_percent: u8,
    /// Sizes with their shares.
    pub bs: Vec<SizeShare>,
    /// Share of requests that continue the previous one, 0 to 100.
    pub sequential_percent: u8,
    /// Share of requests to a small area, 0 to 100; the sum with `sequential_percent` is at most 100.
    pub hit_percent: u8,
}

/// Rate or queue depth of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A constant queue depth.
    Depth(u32),
    /// Poisson arrivals per second.
    Poisson(u64),
}

impl LoadSpec {
    /// Requests of one kind.
    #[must_use]
    pub fn pure(op: OpKind, locality: Locality, bytes: u64) -> Self {
        let whole = |is: bool| if is { 100 } else { 0 };
        Self {
            read_percent: whole(op == OpKind::Read),
            bs: vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
            sequential_percent: whole(locality == Locality::Sequential),
            hit_percent: whole(locality == Locality::Hit),
        }
    }

    /// Random requests of one size.
    #[must_use]
    pub fn random(read_percent: u8, bytes: u64) -> Self {
        Self { read_percent, ..Self::pure(OpKind::Read, Locality::Random, bytes) }
    }

    /// Its classes, reads first.
    #[must_use]
    pub fn mix(&self) -> Mix {
        let part = |percent: u8| f64::from(percent) / 100.0;
        let (sequential, hit) = (part(self.sequential_percent), part(self.hit_percent));
        let places = [
            (Locality::Random, 1.0 - sequential - hit),
            (Locality::Sequential, sequential),
            (Locality::Hit, hit),
        ];
        let reads = part(self.read_percent);
        let mut classes = Vec::new();
        for (op, of_op) in [(OpKind::Read, reads), (OpKind::Write, 1.0 - reads)] {
            for (locality, of_place) in places {
                for size in &self.bs {
                    let share = of_op * of_place * part(size.percent);
                    if share > 1e-9 {
                        classes.push(MixClass { op, locality, bytes: size.bytes.0, share });
                    }
                }
            }
        }
        Mix { classes }
    }

    /// The workload on an area.
    ///
    /// # Errors
    /// If a request does not fit the area, or is not a multiple of `alignment`.
    pub fn workload(
        &self,
        amount: Amount,
        area: Bytes,
        engine: EngineName,
        alignment: u64,
    ) -> Result<Workload, BuildError> {
        let (depth, arrival, rate) = match amount {
            Amount::Depth(depth) => (depth, None, None),
            Amount::Poisson(rate) => (OPEN_DEPTH, Some(Arrival::Poisson), Some(rate)),
        };
        let engine = engine_at(engine, depth);
        let sync = engine == EngineName::Sync;
        // A single kind uses the pattern of that name, so that it is the same cell as elsewhere.
        let pattern = match (self.sequential_percent, self.hit_percent) {
            (100, _) => Pattern::Sequential,
            (_, 100) => Pattern::Hit,
            _ => Pattern::Random,
        };
        let blend =
            Blend { sequential_percent: self.sequential_percent, hit_percent: self.hit_percent };
        let spec = Spec {
            arrival,
            ..Spec::of(Workload {
                read_percent: self.read_percent,
                pattern,
                hit_bytes: (pattern == Pattern::Hit).then_some(Bytes((1 << 20).min(area.0))),
                blend: (pattern == Pattern::Random).then_some(blend),
                bs: self.bs.clone(),
                iodepth: if sync { 1 } else { depth },
                numjobs: if sync { depth.min(OPEN_JOBS) } else { 1 },
                rate_iops: rate,
                engine,
                runtime_ns: Nanos(1_000_000_000),
                ..Workload::default()
            })
        };
        let workload = spec.build(area)?;
        workload::check_alignment(&workload, alignment)?;
        Ok(workload)
    }

    /// A random load: mostly with both operations, half of them with a sequential part, a third with a
    /// cached one, a quarter with two sizes.
    #[must_use]
    pub fn draw(rng: &mut Rng, write: bool) -> Self {
        let read_percent = if write { 10 + 5 * rng.below(18) as u8 } else { 100 };
        let size = |rng: &mut Rng| SIZES[rng.below(SIZES.len() as u64) as usize] << 10;
        let first = size(rng);
        let second = size(rng);
        let percent = 30 + 10 * rng.below(5) as u8;
        let bs = if rng.below(4) == 0 && second != first {
            vec![
                SizeShare { bytes: Bytes(first), percent },
                SizeShare { bytes: Bytes(second), percent: 100 - percent },
            ]
        } else {
            vec![SizeShare { bytes: Bytes(first), percent: 100 }]
        };
        let part = |rng: &mut Rng, one_in: u64| {
            let percent = 10 + 10 * rng.below(4) as u8;
            if rng.below(one_in) == 0 { percent } else { 0 }
        };
        let sequential_percent = part(rng, 2);
        let hit_percent = part(rng, 3);
        Self { read_percent, bs, sequential_percent, hit_percent }
    }
}

//! Plans the trials of `limits`: their loads, purposes and order.
//!
//! Every workload is visited in each of three rounds, each in a different order, so that a disk that
//! changes its speed affects all results equally. The visits share the allowed time.

use crate::cells::with_engine;
use crate::{PlannedTrial, Preparation, TrialList};
use record::{Bytes, CacheMode, EngineName, Nanos, OpKind, Pattern, Workload};
use workload::{Rng, Spec, derive_seed};

/// Request size of the disk-cache test, as in the papers.
pub const BUS_REQUEST: Bytes = Bytes(64 << 10);
/// Queue depth per target in the disk-cache test.
pub const BUS_DEPTH: u32 = 2;
/// The small area per target: one block. A drive may keep no more of the data that it sent.
pub const BUS_AREA: Bytes = BUS_REQUEST;
/// Area of the cached file: it stays in the page cache of any machine.
const CACHED_AREA: Bytes = Bytes(64 << 20);
/// Request sizes of the hit test.
const HIT_SIZES: [u64; 8] = [512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Large requests and their queue depths: enough for any medium.
const LARGE: [(u64, u32); 2] = [(256 << 10, 4), (1 << 20, 4)];
/// Small requests, at queue depth 1 and at a depth that saturates any device whose limit is of interest.
const SMALL_BYTES: u64 = 4 << 10;
const SMALL_DEPTHS: [u32; 2] = [1, 32];
/// Visits of each workload: the fewest that give a useful interval.
const ROUNDS: usize = stats::MIN_VISITS;
/// Minimum and maximum length of a visit.
const VISIT: (Nanos, Nanos) = (Nanos(50_000_000), Nanos(2_000_000_000));
/// Minimum number of requests in a visit with delays.
const DELAYED_REQUESTS: u64 = 20;
/// The ramp of a visit is its length divided by this.
const RAMP_PARTS: u64 = 5;

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Sequential throughput of the device.
    Sequential(OpKind),
    /// Random requests of the device.
    Random(OpKind),
    /// Calls on a file that the page cache holds.
    Cached(OpKind),
    /// Reads of places that were not read before.
    First,
    /// Re-reads of a small area on this many targets.
    Again(u32),
    /// One block, read repeatedly.
    Hit,
    /// The next block, after a delay in which the drive can read it ahead.
    Ahead,
}

/// Settings of the plan.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Area of a target.
    pub area: Bytes,
    /// Engine of the trials.
    pub engine: EngineName,
    /// Direct requests must be a multiple of this, in bytes.
    pub alignment: u64,
    /// Number of targets on different disks.
    pub targets: u32,
    /// Names of the simulated machines with two disks and more; each represents that many targets.
    pub machines: Vec<String>,
    /// Whether the target may be written.
    pub write: bool,
    /// Whether the device's own limits are measured.
    pub device: bool,
    /// Whether the path has a page cache.
    pub cached: bool,
    /// Time between a completion and the next sequential request of the hit test.
    pub delay: Nanos,
    /// Time for all trials.
    pub budget: Nanos,
    /// Seed of order and requests.
    pub seed: u64,
}

impl Settings {
    /// Whether time is virtual.
    pub(crate) fn simulated(&self) -> bool {
        self.engine == EngineName::Sim
    }
}

/// The trials of one run of `limits` with their purposes. Workloads that do not fit area or alignment are
/// left out.
#[must_use]
pub fn trials(settings: &Settings) -> (Vec<Purpose>, TrialList) {
    let cells = cells(settings);
    let mut rng = Rng::new(derive_seed(settings.seed, u64::MAX - 7));
    let mut order: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let mut round: Vec<usize> = (0..cells.len()).collect();
        rng.shuffle(&mut round);
        order.extend(round);
    }
    let planned = order.iter().zip(1..).map(|(&cell, number)| {
        // 53 bits: exact in any JSON reader.
        planned(settings, &cells[cell], derive_seed(settings.seed, number) >> 11)
    });
    let list = TrialList::new("measure", planned.collect());
    (order.iter().map(|&cell| cells[cell].0).collect(), list)
}

fn planned(
    settings: &Settings,
    (purpose, workload): &(Purpose, Workload),
    seed: u64,
) -> PlannedTrial {
    let preparation = match purpose {
        Purpose::Cached(_) => {
            Preparation::FillPageCache { start: Bytes(0), length: cached_area(settings.area) }
        }
        _ => Preparation::None,
    };
    let targets = match purpose {
        Purpose::Again(disks) if *disks > 1 => settings.machines.get(*disks as usize - 2),
        _ => None,
    };
    PlannedTrial {
        preparation,
        targets: targets.into_iter().cloned().collect(),
        // Writes to memory must not disturb the next trial.
        flush: true,
        ..PlannedTrial::new(workload.clone(), seed)
    }
}

/// The part of the area that is read into the page cache before a trial.
fn cached_area(area: Bytes) -> Bytes {
    Bytes(CACHED_AREA.0.min(area.0))
}

/// A workload under construction; its queue depth is per target.
type Draft = (Purpose, Spec);

fn draft(purpose: Purpose, op: OpKind, pattern: Pattern, bytes: u64, iodepth: u32) -> Draft {
    let read_percent = if op == OpKind::Read { 100 } else { 0 };
    let asked = Workload { read_percent, pattern, iodepth, ..Workload::default() };
    (purpose, Spec::of(asked).with_bs(bytes))
}

/// All workloads, with their lengths.
fn cells(settings: &Settings) -> Vec<(Purpose, Workload)> {
    let mut drafts = Vec::new();
    let ops = if settings.write { &[OpKind::Read, OpKind::Write][..] } else { &[OpKind::Read] };
    if settings.device {
        drafts.extend(device_drafts(ops));
    }
    if settings.cached {
        drafts.extend(ops.iter().map(|&op| {
            let mut cached = draft(Purpose::Cached(op), op, Pattern::Sequential, 64 << 10, 1);
            cached.1.size = Some(cached_area(settings.area));
            cached.1.asked.cache = CacheMode::All;
            cached
        }));
    }
    drafts.extend(bus_drafts(settings));
    drafts.extend(hit_drafts(settings));
    let built = |(purpose, spec): Draft| Some((purpose, build(spec, settings)?));
    let fitting: Vec<(Purpose, Workload)> = drafts.into_iter().filter_map(built).collect();
    let visits = (fitting.len() * ROUNDS).max(1) as u64;
    let length = Nanos(settings.budget.0 / visits).clamp(VISIT.0, VISIT.1);
    let timed = |(purpose, workload): (Purpose, Workload)| {
        let runtime = Nanos(length.0.max(workload.think_ns.0 * DELAYED_REQUESTS));
        let ramp = Nanos(runtime.0 / RAMP_PARTS);
        (purpose, Workload { runtime_ns: runtime, ramp_ns: ramp, ..workload })
    };
    fitting.into_iter().map(timed).collect()
}

fn device_drafts(ops: &[OpKind]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for &op in ops {
        for (bytes, depth) in LARGE {
            drafts.push(draft(Purpose::Sequential(op), op, Pattern::Sequential, bytes, depth));
        }
        for depth in SMALL_DEPTHS {
            drafts.push(draft(Purpose::Random(op), op, Pattern::Random, SMALL_BYTES, depth));
        }
    }
    drafts
}

fn bus_drafts(settings: &Settings) -> Vec<Draft> {
    let read =
        |purpose, pattern, depth| draft(purpose, OpKind::Read, pattern, BUS_REQUEST.0, depth);
    let mut drafts = vec![read(Purpose::First, Pattern::Random, BUS_DEPTH)];
    for targets in 1..=settings.targets {
        let purpose = Purpose::Again(targets);
        drafts.push(if settings.simulated() {
            // Simulated disks are combined into one target: sequential access gives each an equal part.
            let mut again = read(purpose, Pattern::Sequential, BUS_DEPTH * targets);
            again.1.size = Some(Bytes(BUS_AREA.0 * u64::from(targets)));
            again
        } else {
            let mut again = read(purpose, Pattern::Hit, BUS_DEPTH);
            (again.1.asked.targets, again.1.asked.hit_bytes) = (targets, Some(BUS_AREA));
            again
        });
    }
    drafts
}

fn hit_drafts(settings: &Settings) -> impl Iterator<Item = Draft> {
    HIT_SIZES.into_iter().flat_map(|bytes| {
        let mut hit = draft(Purpose::Hit, OpKind::Read, Pattern::Hit, bytes, 1);
        hit.1.asked.hit_bytes = Some(Bytes(bytes));
        let mut ahead = draft(Purpose::Ahead, OpKind::Read, Pattern::Sequential, bytes, 1);
        ahead.1.asked.think_ns = settings.delay;
        [hit, ahead]
    })
}

fn build(mut spec: Spec, settings: &Settings) -> Option<Workload> {
    spec.asked.numjobs = spec.asked.targets;
    let aligned = spec.asked.max_bs().0.is_multiple_of(settings.alignment.max(1));
    with_engine(spec, settings.engine).build(settings.area).ok().filter(|_| aligned)
}

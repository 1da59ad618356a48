//! Plans `check --for-diagnosis`: measures what the prediction models need.
//!
//! In addition to the plain check, the plan measures three things. Depth curves of every size class and
//! pattern, because the queue of a mix is composed of those of its parts. Mixes in closed loops, which show
//! the interference between reads and writes, streams and random requests. Open loads at shares of the
//! capacity found by the closed loops, because a closed loop cannot distinguish a token bucket from a
//! server.
//!
//! Everything is visited three times. Closed loops come first, because the rates of the open ones depend on
//! them. A visit ends when it has enough requests, or when its share of the budget is used. If the budget
//! is below `LEISURE`, the remaining time goes into further rounds. Rejected: measuring every mix that may
//! be asked for (too many), and rates as absolute numbers (half of a slow disk's capacity is nothing to a
//! fast one).

use crate::cells::{CURVE_SIZES, check_cells, ops};
use crate::check::depth_phase;
use crate::loads::{Amount, LoadSpec};
use crate::visits::{CheckSettings, MIN_VISIT, RAMP_SHARE, Visits, is_flat};
use crate::{Plan, PlannedTrial, Progress};
use model::{Predictor, aggregate, mix_of};
use record::{Bytes, Locality, Nanos, OpKind, SizeShare, Trial, Workload};
use stats::MIN_VISITS;

/// Queue depths of random classes.
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Sizes of random requests with a whole depth curve, in KiB.
const CURVES_KIB: [u64; 4] = [4, 16, 64, 256];
/// Sizes in between, measured only at the ends of the curve.
const BETWEEN_KIB: [u64; 3] = [8, 32, 128];
/// Sizes in between that are not powers of two: they cross the borders of pages and chunks, and cost the
/// device more than their size suggests. With little time, only drawn mixes show it.
const ACROSS_KIB: [u64; 4] = [12, 24, 48, 96];
/// Queue depth at the end of such a curve, and of streams.
const DEEP: u32 = 64;
/// Queue depths of sequential streams and of hits.
const FEW_DEPTHS: [u32; 4] = [1, 4, 16, DEEP];
/// Sizes of the streams and of the hits that are measured at these depths.
const STREAMS: [u64; 3] = [4 << 10, 64 << 10, 256 << 10];
const HITS: [u64; 2] = [4 << 10, 64 << 10];
/// Queue depths of mixes.
const MIX_DEPTHS: [u32; 3] = [1, 8, DEEP];
/// A series of rising depths ends when two doublings together gain less than this.
const LADDER_GAIN: f64 = 0.02;
/// Open loads of single classes, in percent of their capacity. The lightest finds processors and threads
/// asleep: on a loop device over memory its requests take five times as long as those of a closed loop.
const CURVE_LOADS: [u64; 6] = [2, 15, 40, 60, 75, 88];
/// Sizes of random requests under these loads; and those under fewer loads with a large budget, in KiB.
const OPEN_CURVES_KIB: [u64; 2] = [4, 64];
const OPEN_BETWEEN_KIB: [u64; 3] = [16, 48, 128];
const FEW_LOADS: [u64; 3] = [20, 60, 85];
/// Number of drawn mixes under an open load, with little time and with a large budget (from `LEISURE` on),
/// and the range of their loads in percent.
const DRAWN: u64 = 24;
const DRAWN_AT_LEISURE: u64 = 160;
const LEISURE: Nanos = Nanos(3_600_000_000_000);
const DRAWN_LOADS: (u64, u64) = (15, 88);
/// Minimum requests of a visit. In a closed loop also a number of rounds of its depth.
const CLOSED_REQUESTS: f64 = 4_000.0;
const OPEN_REQUESTS: f64 = 12_000.0;
/// The same for drawn mixes: many mixes sampled briefly give more information about the range than few
/// measured precisely.
const DRAWN_REQUESTS: f64 = 8_000.0;
const ROUNDS: f64 = 24.0;
/// Factor of the requests in an open-loop visit with a large budget: a device's own stalls only show in
/// long visits.
const LEISURELY: f64 = 2.0;
/// Requests of a first visit, at the rate of the slowest cell so far.
const FIRST_REQUESTS: f64 = 1_000.0;
/// Shares of the budget, and the number of cells by which they are divided into visits.
const CLOSED_SHARE: f64 = 0.4;
const OPEN_SHARE: f64 = 0.5;
const CLOSED_CELLS: f64 = 200.0;
const OPEN_CELLS: f64 = 70.0;
/// Length of the first visit while no rate is known.
const FIRST_VISIT: Nanos = Nanos(400_000_000);
/// A visit to a deep closed loop that writes: its ramp is the visit's length divided by `FILLING_SHARE`,
/// and it sees at least `FILLING_REQUESTS` requests. A drive's buffer and spare blocks accept more at first
/// than they can sustain.
const FILLING_SHARE: u64 = 4;
const FILLING_REQUESTS: f64 = 6_000.0;
/// Number of visits without a completion after which a cell is dropped.
const MAX_STALLS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    Ladder(usize),
    Mixes,
    ClosedRound(usize),
    OpenRound(usize),
    Done,
}

/// Plans the trials.
#[derive(Clone, Debug)]
pub struct DiagnosisPlan {
    /// Cells with the phase that visits them.
    visits: Visits<&'static str>,
    stage: Stage,
    /// Trials of closed loops, from which the rates of the open ones are derived.
    closed: Vec<Trial>,
    /// Phase of the latest trial.
    phase: &'static str,
    /// Mixes for open loads, each with its share of capacity in percent.
    drawn: Vec<(LoadSpec, u64)>,
}

impl DiagnosisPlan {
    /// `None` if no cell fits the area.
    #[must_use]
    pub fn new(settings: CheckSettings) -> Option<Self> {
        let mut plan = Self {
            visits: Visits::new(settings, u64::MAX - 2),
            stage: Stage::Closed,
            closed: Vec::new(),
            phase: "matrix",
            drawn: Vec::new(),
        };
        let write = plan.visits.settings.write;
        let drawn = if plan.at_leisure() { DRAWN_AT_LEISURE } else { DRAWN };
        for _ in 0..drawn {
            let load = LoadSpec::draw(&mut plan.visits.rng, write);
            let (low, high) = DRAWN_LOADS;
            plan.drawn.push((load, low + plan.visits.rng.below(high - low)));
        }
        for spec in check_cells(plan.visits.settings.full, write) {
            let CheckSettings { area, engine, alignment, .. } = plan.visits.settings;
            if let Some(workload) = spec.workload(area, engine, alignment) {
                plan.visits.add(workload, "matrix");
            }
        }
        let between: Vec<u64> = plan.between_kib().iter().map(|kib| kib << 10).collect();
        for &op in plan.ops() {
            let mut curves = |locality, sizes: &[u64], depths: &[u32], phase| {
                for &bytes in sizes {
                    for &depth in depths {
                        let load = LoadSpec::pure(op, locality, bytes);
                        plan.add(&load, Amount::Depth(depth), phase);
                    }
                }
            };
            curves(Locality::Sequential, &CURVE_SIZES, &[1], "request size");
            curves(Locality::Sequential, &STREAMS, &FEW_DEPTHS, "request size");
            curves(Locality::Random, &between, &[1, DEEP], depth_phase(op));
            curves(Locality::Hit, &HITS, &FEW_DEPTHS, "matrix");
        }
        let cells = plan.visits.cells.len();
        plan.visits.queue_shuffled(0..cells);
        (cells > 0).then_some(plan)
    }

    fn ops(&self) -> &'static [OpKind] {
        ops(self.visits.settings.write)
    }

    /// Whether the budget is large.
    fn at_leisure(&self) -> bool {
        self.visits.settings.budget >= LEISURE
    }

    /// Sizes that are measured only at the ends of the curve.
    fn between_kib(&self) -> Vec<u64> {
        let across = if self.at_leisure() { &ACROSS_KIB[..] } else { &[] };
        BETWEEN_KIB.iter().chain(across).copied().collect()
    }

    /// The workload of a load on the area; `None` if it does not fit.
    fn workload(&self, load: &LoadSpec, amount: Amount) -> Option<Workload> {
        let CheckSettings { area, engine, alignment, .. } = self.visits.settings;
        load.workload(amount, area, engine, alignment).ok()
    }

    /// Adds a cell if it fits the area; returns its index if it needs its first visit.
    fn add(&mut self, load: &LoadSpec, amount: Amount, phase: &'static str) -> Option<usize> {
        let workload = self.workload(load, amount)?;
        self.visits.add(workload, phase)
    }

    /// Fills the queue for the current stage, or moves to the next stage.
    fn go_on(&mut self) {
        match self.stage {
            Stage::Closed => self.stage = Stage::Ladder(0),
            Stage::Ladder(step) => match self.next_rung(step) {
                Some(index) => self.visits.queue.push_back(index),
                None if step + 1 < self.ops().len() * CURVES_KIB.len() => {
                    self.stage = Stage::Ladder(step + 1);
                }
                None => {
                    self.stage = Stage::Mixes;
                    let mixes = self.mixes();
                    self.visits.queue_shuffled(mixes);
                    self.fill_buffers_last();
                }
            },
            Stage::Mixes => self.closed_round(2),
            Stage::ClosedRound(round) if round < MIN_VISITS => self.closed_round(round + 1),
            Stage::ClosedRound(MIN_VISITS) => {
                self.stage = Stage::OpenRound(1);
                let open = self.open_loads();
                self.visits.queue_shuffled(open);
            }
            Stage::ClosedRound(round) => self.open_round(round),
            Stage::OpenRound(round) if round < MIN_VISITS => self.open_round(round + 1),
            // The remaining time goes into further rounds: a shared disk drifts, so an average needs visits
            // at many moments.
            Stage::OpenRound(round) if !self.at_leisure() && !self.of_loop(false).is_empty() => {
                self.closed_round(round + 1);
            }
            Stage::OpenRound(_) => self.stage = Stage::Done,
            Stage::Done => {}
        }
    }

    /// Runs deep write loops consecutively, those with the most writes first. Between other loads a drive
    /// empties its buffer and collects spare blocks, and would then accept more than it can sustain.
    fn fill_buffers_last(&mut self) {
        let Visits { cells, queue, .. } = &mut self.visits;
        queue.make_contiguous().sort_by_cached_key(|&index| {
            let workload = &cells[index].workload;
            fills_buffers(workload).then_some(workload.read_percent)
        });
    }

    fn closed_round(&mut self, round: usize) {
        self.stage = Stage::ClosedRound(round);
        let closed = self.of_loop(false);
        self.visits.queue_shuffled(closed);
        self.fill_buffers_last();
    }

    fn open_round(&mut self, round: usize) {
        self.stage = Stage::OpenRound(round);
        let open = self.of_loop(true);
        self.visits.queue_shuffled(open);
    }

    /// Cells of closed or of open loops that are worth another visit.
    fn of_loop(&self, open: bool) -> Vec<usize> {
        let cells = self.visits.cells.iter().enumerate();
        let of_kind = cells.filter(|(_, cell)| cell.workload.rate_iops.is_some() == open);
        let alive = of_kind.filter(|(_, it)| it.stalls < MAX_STALLS || !it.rates.is_empty());
        alive.map(|(index, _)| index).collect()
    }

    /// The next depth of one size of random requests, until deeper ones gain nothing.
    fn next_rung(&mut self, step: usize) -> Option<usize> {
        let op = self.ops()[step / CURVES_KIB.len()];
        let load = LoadSpec::pure(op, Locality::Random, CURVES_KIB[step % CURVES_KIB.len()] << 10);
        let mut rates: Vec<f64> = Vec::new();
        for depth in DEPTHS {
            if depth > DEEP && is_flat(&rates, LADDER_GAIN) {
                return None;
            }
            let index = self.add(&load, Amount::Depth(depth), depth_phase(op));
            if index.is_some() {
                return index;
            }
            let workload = self.workload(&load, Amount::Depth(depth));
            rates.extend(workload.and_then(|workload| self.visits.first_rate(&workload)));
        }
        None
    }

    fn mixes(&mut self) -> Vec<usize> {
        let half = |bytes| SizeShare { bytes: Bytes(bytes), percent: 50 };
        let two = |first, second| vec![half(first), half(second)];
        let small = 4 << 10;
        let large = 64 << 10;
        let reads = |bytes| LoadSpec::random(100, bytes);
        let mut loads = vec![
            LoadSpec { sequential_percent: 50, ..reads(small) },
            LoadSpec { sequential_percent: 50, ..reads(large) },
            LoadSpec { sequential_percent: 20, ..reads(16 << 10) },
            LoadSpec { hit_percent: 50, ..reads(small) },
            LoadSpec { bs: two(small, large), ..reads(small) },
        ];
        if self.visits.settings.write {
            loads.extend([
                LoadSpec::random(70, small),
                LoadSpec::random(50, small),
                LoadSpec::random(25, small),
                LoadSpec::random(70, large),
                LoadSpec::random(40, 16 << 10),
                LoadSpec { sequential_percent: 50, ..LoadSpec::random(60, 16 << 10) },
                LoadSpec { sequential_percent: 50, ..LoadSpec::random(0, large) },
                LoadSpec { bs: two(8 << 10, large), ..LoadSpec::random(60, small) },
            ]);
        }
        let mut added = Vec::new();
        let deeper = self.deeper();
        if let Some(depth) = deeper {
            added.extend(self.ends(depth));
        }
        for load in &loads {
            for depth in MIX_DEPTHS.into_iter().chain(deeper) {
                added.extend(self.add(load, Amount::Depth(depth), "mixes"));
            }
        }
        for (load, _) in self.drawn.clone() {
            let depth = deeper.unwrap_or(DEEP);
            added.extend(self.add(&load, Amount::Depth(depth), "mixes"));
        }
        added
    }

    /// The depth at which the series ended, if beyond [`DEEP`]: the maximum rate of a mix must refer to the
    /// same queue as the maximum rates of its parts.
    fn deeper(&self) -> Option<u32> {
        let depths = self.visits.cells.iter().map(|cell| cell.workload.depth);
        depths.max().filter(|&depth| depth > DEEP)
    }

    /// Measures at another depth the cells that were measured up to [`DEEP`] only, because the gain differs
    /// between sizes. Without such a point, a size took the gain of its neighbour: reads of 32 KiB on a
    /// virtual disk were then predicted 10 % too fast.
    fn ends(&mut self, depth: u32) -> Vec<usize> {
        let mut added = Vec::new();
        for &op in self.ops() {
            let random = CURVES_KIB.into_iter().chain(self.between_kib());
            let loads = random
                .map(|kib| (Locality::Random, kib << 10))
                .chain(STREAMS.map(|bytes| (Locality::Sequential, bytes)))
                .chain(HITS.map(|bytes| (Locality::Hit, bytes)));
            for (locality, bytes) in loads {
                let load = LoadSpec::pure(op, locality, bytes);
                added.extend(self.add(&load, Amount::Depth(depth), depth_phase(op)));
            }
        }
        added
    }

    /// Open loads, at shares of the capacity found by the closed loops.
    fn open_loads(&mut self) -> Vec<usize> {
        let predictor =
            Predictor::of_cells(&aggregate(&self.closed, self.visits.settings.target_rel));
        let mut wanted: Vec<(LoadSpec, u64)> = Vec::new();
        for &op in self.ops() {
            let mut loads = |locality, kib: &[u64], percents: &[u64]| {
                for kib in kib {
                    let load = LoadSpec::pure(op, locality, kib << 10);
                    wanted.extend(percents.iter().map(|&percent| (load.clone(), percent)));
                }
            };
            loads(Locality::Random, &OPEN_CURVES_KIB, &CURVE_LOADS);
            if self.at_leisure() {
                loads(Locality::Random, &OPEN_BETWEEN_KIB, &FEW_LOADS);
            }
            // Sizes with measured curves, so that the share of their capacity is known.
            loads(Locality::Sequential, &[4, 64], &FEW_LOADS);
            loads(Locality::Hit, &[4, 64], &FEW_LOADS);
        }
        wanted.extend(self.drawn.iter().cloned());
        let mut added = Vec::new();
        for (load, percent) in &wanted {
            let Ok(max) = predictor.max_rate(&load.mix()) else { continue };
            let rate = (max.value * *percent as f64 / 100.0).round().max(1.0) as u64;
            added.extend(self.add(load, Amount::Poisson(rate), "open loads"));
        }
        added
    }

    fn visit_time(&self, index: usize) -> Nanos {
        let cell = &self.visits.cells[index];
        let budget = self.visits.settings.budget.0 as f64;
        let visits = MIN_VISITS as f64;
        let pure = mix_of(&cell.workload).is_some_and(|mix| mix.classes.len() == 1);
        let open = cell.workload.rate_iops.is_some();
        let (share, cells) =
            if open { (OPEN_SHARE, OPEN_CELLS) } else { (CLOSED_SHARE, CLOSED_CELLS) };
        let rounds = ROUNDS * f64::from(cell.workload.depth);
        let patience = if self.at_leisure() { LEISURELY } else { 1.0 };
        let requests = match cell.workload.rate_iops {
            // A cell without a visit may be much faster than the slowest one.
            None if cell.rates.is_empty() => FIRST_REQUESTS,
            None if fills_buffers(&cell.workload) => FILLING_REQUESTS.max(rounds),
            None => CLOSED_REQUESTS.max(rounds),
            Some(_) if pure => OPEN_REQUESTS * patience,
            Some(_) => DRAWN_REQUESTS * patience,
        };
        let longest = (budget * share / (visits * cells)).max(MIN_VISIT.0 as f64);
        let op = cell.workload.only_op();
        let expected = || {
            self.visits.expected_rate(index, |other| {
                other.workload.rate_iops.is_none() && other.workload.only_op() == op
            })
        };
        let rate = cell.workload.rate_iops.map(|rate| rate as f64).or_else(expected);
        let wanted = match rate {
            Some(rate) if rate > 0.0 => requests / rate * 1e9,
            _ => FIRST_VISIT.0 as f64,
        };
        Nanos((wanted.clamp(MIN_VISIT.0 as f64, longest) * self.visits.stretch(index)) as u64)
    }
}

impl Plan for DiagnosisPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        while self.visits.queue.is_empty() {
            if self.stage == Stage::Done {
                return None;
            }
            self.go_on();
        }
        let index = self.visits.queue.pop_front()?;
        let visit = self.visit_time(index);
        let cells = &self.visits.cells;
        let over = self.visits.spent.plus(visit) > self.visits.settings.budget;
        if over && self.stage != Stage::Closed {
            // Cells that were tried and dropped did not lack time.
            let untried = cells.iter().filter(|cell| cell.rates.is_empty() && cell.stalls == 0);
            self.visits.skipped += untried.count();
            self.stage = Stage::Done;
            self.visits.queue.clear();
            return None;
        }
        let filling = fills_buffers(&cells[index].workload);
        self.phase = cells[index].tag;
        Some(self.visits.planned(index, visit, if filling { FILLING_SHARE } else { RAMP_SHARE }))
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        let failed = self.visits.observe(trial, spent).is_some();
        if !failed && trial.workload.rate_iops.is_none() {
            self.closed.push(trial.clone());
        }
    }

    fn progress(&self) -> Progress {
        self.visits.progress(self.phase)
    }

    fn skipped(&self) -> usize {
        self.visits.skipped
    }
}

/// Whether a visit must last until buffers are full.
fn fills_buffers(workload: &Workload) -> bool {
    workload.rate_iops.is_none() && workload.depth >= DEEP && workload.writes()
}

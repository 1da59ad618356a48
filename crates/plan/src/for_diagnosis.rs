//! The plan of `check --for-diagnosis`: what the models of a prediction need.
//!
//! Beyond the plain check: depth curves of every size class and place, because the queue of a mix
//! is made of those of its parts; mixes in closed loops, which show what reads and writes, streams
//! and random requests take from each other; and open loads at shares of the capacity that the
//! closed loops showed, because a closed loop does not tell a token bucket from a server.
//!
//! Everything is visited three times, closed loops first, since the rates of the open ones follow
//! from them. A visit lasts until it has seen its requests, but no longer than its share of the
//! budget. What the budget then has left, short of a leisurely one, goes into further rounds.
//! Rejected: measuring every mix that may be asked for (too many), and rates as absolute numbers
//! (half of a slow disk's capacity is nothing to a fast one).

use crate::cells::{CURVE_SIZES, check_cells};
use crate::check::{CheckSettings, depth_phase};
use crate::loads::{Amount, LoadSpec};
use crate::{Plan, PlannedTrial, Progress};
use model::{Predictor, aggregate, mix_of};
use record::{Locality, Nanos, OpKind, Trial, Workload};
use stats::MIN_VISITS;
use std::collections::VecDeque;
use workload::{Rng, derive_seed};

/// Depths of random classes.
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Sizes of random requests with a whole depth curve, in KiB.
const CURVES_KIB: [u64; 4] = [4, 16, 64, 256];
/// Those between, at the ends of the curve only.
const BETWEEN_KIB: [u64; 3] = [8, 32, 128];
/// Those between that are no powers of two: they lie across the borders of pages and chunks, and
/// take more of the device than their size says. Where time is short, drawn mixes alone show it.
const ACROSS_KIB: [u64; 4] = [12, 24, 48, 96];
/// Depth at the end of such a curve, and of streams.
const DEEP: u32 = 64;
/// Depths of sequential streams and of hits.
const FEW_DEPTHS: [u32; 4] = [1, 4, 16, DEEP];
/// Depths of mixes.
const MIX_DEPTHS: [u32; 3] = [1, 8, DEEP];
/// A ladder ends when two doublings together gain less than this.
const LADDER_GAIN: f64 = 0.02;
/// Loads of single classes, shares of their capacity in percent.
const CURVE_LOADS: [u64; 5] = [15, 40, 60, 75, 88];
/// Sizes of random requests under them, and those under fewer of them where time costs nothing, in
/// KiB.
const OPEN_CURVES_KIB: [u64; 2] = [4, 64];
const OPEN_BETWEEN_KIB: [u64; 3] = [16, 48, 128];
const FEW_LOADS: [u64; 3] = [20, 60, 85];
/// Drawn mixes under an open load, where time is short and where it costs nothing, and the range of
/// their loads in percent.
const DRAWN: u64 = 24;
const DRAWN_AT_LEISURE: u64 = 160;
const LEISURE: Nanos = Nanos(3_600_000_000_000);
const DRAWN_LOADS: (u64, u64) = (15, 88);
/// Requests that a visit should see, and in a closed loop also rounds of its depth.
const CLOSED_REQUESTS: f64 = 4_000.0;
const OPEN_REQUESTS: f64 = 12_000.0;
/// The same of drawn mixes: many of them seen roughly tell more of what lies between than few seen
/// well.
const DRAWN_REQUESTS: f64 = 8_000.0;
const ROUNDS: f64 = 24.0;
/// How many times as many requests a visit to an open load sees where time costs nothing: a device
/// that stalls by itself shows how much only to who waits.
const LEISURELY: f64 = 2.0;
/// Requests of a first visit, at the rate of the slowest cell so far.
const FIRST_REQUESTS: f64 = 1_000.0;
/// Parts of the budget, and the number of cells by which they are divided into visits.
const CLOSED_SHARE: f64 = 0.4;
const OPEN_SHARE: f64 = 0.5;
const CLOSED_CELLS: f64 = 200.0;
const OPEN_CELLS: f64 = 70.0;
/// Shortest visit.
const MIN_VISIT: Nanos = Nanos(50_000_000);
/// Length of the first visit of a cell of which nothing is known.
const FIRST_VISIT: Nanos = Nanos(400_000_000);
/// Part of a visit that is run before it counts.
const RAMP_SHARE: u64 = 10;
/// The same of deep closed loops that write, and the requests that they see: what a drive's buffer
/// and its spare blocks take at first is not what it can go on to take.
const FILLING_SHARE: u64 = 4;
const FILLING_REQUESTS: f64 = 6_000.0;
/// Visits without a completion after which a cell is given up.
const MAX_STALLS: u32 = 2;

/// A cell with what is known of it.
#[derive(Clone, Debug)]
struct Known {
    workload: Workload,
    phase: &'static str,
    /// Rates of the visits so far.
    rates: Vec<f64>,
    stalls: u32,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    Ladder(usize),
    Mixes,
    ClosedRound(usize),
    OpenRound(usize),
    Done,
}

/// The plan.
#[derive(Clone, Debug)]
pub struct DiagnosisPlan {
    settings: CheckSettings,
    cells: Vec<Known>,
    stage: Stage,
    queue: VecDeque<usize>,
    /// Trials of closed loops, from which the rates of the open ones follow.
    closed: Vec<Trial>,
    issued: u64,
    /// Of the trial that was given last.
    phase: &'static str,
    spent: Nanos,
    rng: Rng,
    /// Mixes for open loads, with the share of their capacity in percent.
    drawn: Vec<(LoadSpec, u64)>,
    skipped: usize,
}

impl DiagnosisPlan {
    /// A plan; `None` where not one cell fits the area.
    #[must_use]
    pub fn new(settings: CheckSettings) -> Option<Self> {
        let mut plan = Self {
            rng: Rng::new(derive_seed(settings.seed, u64::MAX - 2)),
            cells: Vec::new(),
            stage: Stage::Closed,
            queue: VecDeque::new(),
            closed: Vec::new(),
            issued: 0,
            phase: "matrix",
            spent: Nanos(0),
            drawn: Vec::new(),
            skipped: 0,
            settings,
        };
        let drawn = if plan.at_leisure() { DRAWN_AT_LEISURE } else { DRAWN };
        for _ in 0..drawn {
            let load = LoadSpec::draw(&mut plan.rng, plan.settings.write);
            let (low, high) = DRAWN_LOADS;
            plan.drawn.push((load, low + plan.rng.below(high - low)));
        }
        for spec in check_cells(plan.settings.full, plan.settings.write) {
            let CheckSettings { area, engine, alignment, .. } = plan.settings;
            if let Some(workload) = spec.workload(area, engine, alignment) {
                plan.know(workload, "matrix");
            }
        }
        for &op in plan.ops() {
            for bytes in CURVE_SIZES {
                plan.add(
                    &LoadSpec::pure(op, Locality::Sequential, bytes),
                    Amount::Depth(1),
                    "request size",
                );
            }
            for bytes in [4 << 10, 64 << 10, 256 << 10] {
                for depth in FEW_DEPTHS {
                    let stream = LoadSpec::pure(op, Locality::Sequential, bytes);
                    plan.add(&stream, Amount::Depth(depth), "request size");
                }
            }
            for kib in plan.between_kib() {
                for depth in [1, DEEP] {
                    let load = LoadSpec::pure(op, Locality::Random, kib << 10);
                    plan.add(&load, Amount::Depth(depth), depth_phase(op));
                }
            }
            for bytes in [4 << 10, 64 << 10] {
                for depth in FEW_DEPTHS {
                    let load = LoadSpec::pure(op, Locality::Hit, bytes);
                    plan.add(&load, Amount::Depth(depth), "matrix");
                }
            }
        }
        plan.queue = plan.shuffled(0..plan.cells.len());
        (!plan.cells.is_empty()).then_some(plan)
    }

    fn ops(&self) -> &'static [OpKind] {
        if self.settings.write { &[OpKind::Read, OpKind::Write] } else { &[OpKind::Read] }
    }

    /// Whether time costs nothing.
    fn at_leisure(&self) -> bool {
        self.settings.budget >= LEISURE
    }

    /// Sizes at the ends of the curve only.
    fn between_kib(&self) -> Vec<u64> {
        let across = if self.at_leisure() { &ACROSS_KIB[..] } else { &[] };
        BETWEEN_KIB.iter().chain(across).copied().collect()
    }

    /// The index of a cell, which is added if it is new.
    fn know(&mut self, workload: Workload, phase: &'static str) -> usize {
        let id = workload.cell();
        if let Some(index) = self.cells.iter().position(|cell| cell.workload.cell() == id) {
            return index;
        }
        self.cells.push(Known { workload, phase, rates: Vec::new(), stalls: 0 });
        self.cells.len() - 1
    }

    /// Adds a cell if it fits the area; its index if it is owed its first visit.
    fn add(&mut self, load: &LoadSpec, amount: Amount, phase: &'static str) -> Option<usize> {
        let CheckSettings { area, engine, alignment, .. } = self.settings;
        let workload = load.workload(amount, area, engine, alignment).ok()?;
        let known = self.cells.len();
        let index = self.know(workload, phase);
        (index == known).then_some(index)
    }

    fn shuffled(&mut self, indices: impl IntoIterator<Item = usize>) -> VecDeque<usize> {
        let mut order: Vec<usize> = indices.into_iter().collect();
        self.rng.shuffle(&mut order);
        order.into()
    }

    /// Fills the queue for the present stage or moves to the next one.
    fn go_on(&mut self) {
        match self.stage {
            Stage::Closed => self.stage = Stage::Ladder(0),
            Stage::Ladder(step) => match self.next_rung(step) {
                Some(index) => self.queue.push_back(index),
                None if step + 1 < self.ops().len() * CURVES_KIB.len() => {
                    self.stage = Stage::Ladder(step + 1);
                }
                None => {
                    self.stage = Stage::Mixes;
                    self.queue = self.mixes();
                    self.fill_buffers_last();
                }
            },
            Stage::Mixes => self.closed_round(2),
            Stage::ClosedRound(round) if round < MIN_VISITS => self.closed_round(round + 1),
            Stage::ClosedRound(MIN_VISITS) => {
                self.stage = Stage::OpenRound(1);
                let open = self.open_loads();
                self.queue = self.shuffled(open);
            }
            Stage::ClosedRound(round) => self.open_round(round),
            Stage::OpenRound(round) if round < MIN_VISITS => self.open_round(round + 1),
            // What is left of the time goes into further rounds: the level of a shared disk wanders,
            // and visits at more moments are what an average over it is made of.
            Stage::OpenRound(round) if !self.at_leisure() && !self.of_loop(false).is_empty() => {
                self.closed_round(round + 1);
            }
            Stage::OpenRound(_) => self.stage = Stage::Done,
            Stage::Done => {}
        }
    }

    /// Runs deep loops that write one after the other, those that write most first: between others a
    /// drive empties its buffer and collects spare blocks, and what it takes then is more than it
    /// goes on to take.
    fn fill_buffers_last(&mut self) {
        let cells = &self.cells;
        self.queue.make_contiguous().sort_by_key(|&index| {
            let workload = &cells[index].workload;
            fills_buffers(workload).then_some(workload.read_percent)
        });
    }

    fn closed_round(&mut self, round: usize) {
        self.stage = Stage::ClosedRound(round);
        let closed = self.of_loop(false);
        self.queue = self.shuffled(closed);
        self.fill_buffers_last();
    }

    fn open_round(&mut self, round: usize) {
        self.stage = Stage::OpenRound(round);
        let open = self.of_loop(true);
        self.queue = self.shuffled(open);
    }

    /// Cells of closed or of open loops that are worth another visit.
    fn of_loop(&self, open: bool) -> Vec<usize> {
        let alive = |cell: &Known| cell.stalls < MAX_STALLS || !cell.rates.is_empty();
        (0..self.cells.len())
            .filter(|&index| self.cells[index].workload.rate_iops.is_some() == open)
            .filter(|&index| alive(&self.cells[index]))
            .collect()
    }

    /// The next depth of one size of random requests, until deeper ones gain nothing.
    fn next_rung(&mut self, step: usize) -> Option<usize> {
        let op = self.ops()[step / CURVES_KIB.len()];
        let load = LoadSpec::pure(op, Locality::Random, CURVES_KIB[step % CURVES_KIB.len()] << 10);
        let mut rates: Vec<f64> = Vec::new();
        for depth in DEPTHS {
            let flat = rates.len() > 2 && depth > DEEP && {
                let best = rates.iter().copied().fold(0.0, f64::max);
                let before = rates[..rates.len() - 2].iter().copied().fold(0.0, f64::max);
                best < before * (1.0 + LADDER_GAIN)
            };
            if flat {
                return None;
            }
            let index = self.add(&load, Amount::Depth(depth), depth_phase(op));
            if index.is_some() {
                return index;
            }
            rates.extend(self.first_rate(&load, depth));
        }
        None
    }

    fn first_rate(&self, load: &LoadSpec, depth: u32) -> Option<f64> {
        let CheckSettings { area, engine, alignment, .. } = self.settings;
        let workload = load.workload(Amount::Depth(depth), area, engine, alignment).ok()?;
        let id = workload.cell();
        self.cells.iter().find(|cell| cell.workload.cell() == id)?.rates.first().copied()
    }

    /// Mixes in closed loops.
    fn mixes(&mut self) -> VecDeque<usize> {
        let two = |first: u64, second: u64| {
            [first, second]
                .map(|bytes| record::SizeShare { bytes: record::Bytes(bytes), percent: 50 })
        };
        let small = 4 << 10;
        let large = 64 << 10;
        let reads = |bytes| LoadSpec::random(100, bytes);
        let mut loads = vec![
            LoadSpec { sequential_percent: 50, ..reads(small) },
            LoadSpec { sequential_percent: 50, ..reads(large) },
            LoadSpec { sequential_percent: 20, ..reads(16 << 10) },
            LoadSpec { hit_percent: 50, ..reads(small) },
            LoadSpec { bs: two(small, large).to_vec(), ..reads(small) },
        ];
        if self.settings.write {
            loads.extend([
                LoadSpec::random(70, small),
                LoadSpec::random(50, small),
                LoadSpec::random(25, small),
                LoadSpec::random(70, large),
                LoadSpec::random(40, 16 << 10),
                LoadSpec { sequential_percent: 50, ..LoadSpec::random(60, 16 << 10) },
                LoadSpec { sequential_percent: 50, ..LoadSpec::random(0, large) },
                LoadSpec { bs: two(8 << 10, large).to_vec(), ..LoadSpec::random(60, small) },
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
        self.shuffled(added)
    }

    /// The depth at which the ladders ended, where it lies beyond [`DEEP`]: the largest rate of a mix
    /// is that of the same queue as the largest rates of its parts.
    fn deeper(&self) -> Option<u32> {
        let depths = self.cells.iter().map(|cell| cell.workload.depth);
        depths.max().filter(|&depth| depth > DEEP)
    }

    /// What was measured up to [`DEEP`] only, at another depth: what a size gains there is its own
    /// matter. Where one lacked it and took that of its neighbour, reads of 32 KiB on a virtual disk
    /// were foretold 10 % too fast.
    fn ends(&mut self, depth: u32) -> Vec<usize> {
        let mut added = Vec::new();
        for &op in self.ops() {
            let random = CURVES_KIB.into_iter().chain(self.between_kib());
            let loads = random.map(|kib| (Locality::Random, kib << 10)).chain([
                (Locality::Sequential, 4 << 10),
                (Locality::Sequential, 64 << 10),
                (Locality::Sequential, 256 << 10),
                (Locality::Hit, 4 << 10),
                (Locality::Hit, 64 << 10),
            ]);
            for (locality, bytes) in loads {
                let load = LoadSpec::pure(op, locality, bytes);
                added.extend(self.add(&load, Amount::Depth(depth), depth_phase(op)));
            }
        }
        added
    }

    /// Open loads, at shares of the capacity that the closed loops showed.
    fn open_loads(&mut self) -> Vec<usize> {
        let predictor = Predictor::of_cells(&aggregate(&self.closed, self.settings.target_rel));
        let mut wanted: Vec<(LoadSpec, u64)> = Vec::new();
        for &op in self.ops() {
            for kib in OPEN_CURVES_KIB {
                let load = LoadSpec::pure(op, Locality::Random, kib << 10);
                wanted.extend(CURVE_LOADS.map(|percent| (load.clone(), percent)));
            }
            let between = if self.at_leisure() { &OPEN_BETWEEN_KIB[..] } else { &[] };
            for kib in between {
                let load = LoadSpec::pure(op, Locality::Random, kib << 10);
                wanted.extend(FEW_LOADS.map(|percent| (load.clone(), percent)));
            }
            // Sizes whose curves were measured: the share of their capacity is then known.
            for (locality, bytes) in [
                (Locality::Sequential, 4 << 10),
                (Locality::Sequential, 64 << 10),
                (Locality::Hit, 4 << 10),
                (Locality::Hit, 64 << 10),
            ] {
                let load = LoadSpec::pure(op, locality, bytes);
                wanted.extend(FEW_LOADS.map(|percent| (load.clone(), percent)));
            }
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

    /// Length of a visit.
    fn visit_time(&self, index: usize) -> Nanos {
        let cell = &self.cells[index];
        let budget = self.settings.budget.0 as f64;
        let visits = MIN_VISITS as f64;
        let pure = mix_of(&cell.workload).is_some_and(|mix| mix.classes.len() == 1);
        let open = cell.workload.rate_iops.is_some();
        let (share, cells) =
            if open { (OPEN_SHARE, OPEN_CELLS) } else { (CLOSED_SHARE, CLOSED_CELLS) };
        let rounds = ROUNDS * f64::from(cell.workload.depth);
        let patience = if self.at_leisure() { LEISURELY } else { 1.0 };
        let requests = match cell.workload.rate_iops {
            // A cell that was never seen may be much faster than the slowest one.
            None if cell.rates.is_empty() => FIRST_REQUESTS,
            None if fills_buffers(&cell.workload) => FILLING_REQUESTS.max(rounds),
            None => CLOSED_REQUESTS.max(rounds),
            Some(_) if pure => OPEN_REQUESTS * patience,
            Some(_) => DRAWN_REQUESTS * patience,
        };
        let longest = (budget * share / (visits * cells)).max(MIN_VISIT.0 as f64);
        let rate = cell.workload.rate_iops.map(|rate| rate as f64).or_else(|| self.expected(index));
        let wanted = match rate {
            Some(rate) if rate > 0.0 => requests / rate * 1e9,
            _ => FIRST_VISIT.0 as f64,
        };
        let stretch = if cell.rates.is_empty() { 4f64.powi(cell.stalls as i32) } else { 1.0 };
        Nanos((wanted.clamp(MIN_VISIT.0 as f64, longest) * stretch) as u64)
    }

    /// Rate of a cell as first seen, else the lowest of its operation.
    fn expected(&self, index: usize) -> Option<f64> {
        let cell = &self.cells[index];
        let alike = self.cells.iter().filter(|other| {
            other.workload.rate_iops.is_none()
                && other.workload.only_op() == cell.workload.only_op()
        });
        let lowest = || alike.filter_map(|other| other.rates.first().copied()).reduce(f64::min);
        cell.rates.first().copied().or_else(lowest)
    }
}

impl Plan for DiagnosisPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        while self.queue.is_empty() {
            if self.stage == Stage::Done {
                return None;
            }
            self.go_on();
        }
        let index = self.queue.pop_front()?;
        let visit = self.visit_time(index);
        if self.spent.plus(visit) > self.settings.budget && self.stage != Stage::Closed {
            // What was tried and given up did not lack time.
            let untried = |cell: &&Known| cell.rates.is_empty() && cell.stalls == 0;
            self.skipped += self.cells.iter().filter(untried).count();
            self.stage = Stage::Done;
            self.queue.clear();
            return None;
        }
        self.issued += 1;
        let cell = &self.cells[index];
        let share = if fills_buffers(&cell.workload) { FILLING_SHARE } else { RAMP_SHARE };
        let ramp = Nanos(visit.0 / share);
        let workload = Workload {
            ramp_ns: ramp,
            runtime_ns: Nanos(visit.0 - ramp.0),
            ..cell.workload.clone()
        };
        self.phase = cell.phase;
        Some(PlannedTrial::new(workload, derive_seed(self.settings.seed, self.issued) >> 11))
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.spent = self.spent.plus(spent);
        let Some(cell) = self.cells.iter_mut().find(|cell| cell.workload.cell() == trial.cell)
        else {
            return;
        };
        if !model::counts(trial) {
            cell.stalls += 1;
            return;
        }
        cell.rates.push(trial.iops());
        if cell.workload.rate_iops.is_none() {
            self.closed.push(trial.clone());
        }
    }

    fn progress(&self) -> Progress {
        Progress::of_budget(self.phase, self.spent, self.settings.budget)
    }

    fn skipped(&self) -> usize {
        self.skipped
    }
}

/// Whether a visit must last until buffers are full.
fn fills_buffers(workload: &Workload) -> bool {
    workload.rate_iops.is_none() && workload.depth >= DEEP && workload.writes()
}

//! The plan of `check`: what to measure next within a budget.
//!
//! Three rounds over all cells, each in an order of its own, so that the drift of a shared device
//! enters the intervals. The first round also finds out how far the curves of depth and request
//! size go. Then the budget goes to the cells whose intervals are widest: their visits are doubled,
//! and only at a doubling is it decided whether to go on ([`stats::look`]), because stopping
//! whenever the numbers happen to agree would bias the intervals.
//!
//! The matrix is never cut; a point of a curve is added only while the visits that are owed, and
//! its own, fit the budget. Rejected: one long run per cell, whose interval knows nothing of the
//! minutes before and after it.

use crate::cells::{CURVE_SIZES, CellSpec, check_cells};
use crate::{Plan, PlannedTrial, Progress};
use record::{Bytes, EngineName, Nanos, OpKind, Pattern, Trial, Workload};
use stats::{Look, MIN_VISITS, look};
use std::collections::VecDeque;
use workload::{Rng, derive_seed};

/// Below this the matrix itself does not fit.
pub const MIN_BUDGET: Nanos = Nanos(5_000_000_000);
/// Largest depth of the curves.
const MAX_DEPTH: u32 = 256;
/// Request size of the depth curves.
const DEPTH_CURVE_BYTES: u64 = 4 << 10;
/// A ladder ends when two doublings together gain less than this.
const LADDER_GAIN: f64 = 0.1;
/// Cells of a whole plan, for the length of a visit.
const EXPECTED_CELLS: u64 = 70;
/// Share of the budget for the three rounds on a fast device. Small, so that what is left doubles
/// the visits twice: noise that comes and goes within seconds averages out over many short visits
/// far apart, not over a few long ones.
const ROUNDS_SHARE: f64 = 0.2;
/// Share of the budget for the three rounds of the matrix on a slow device.
const MATRIX_SHARE: f64 = 0.6;
/// Share of the budget that may be promised to the rounds when points are added.
const PROMISE_SHARE: f64 = 0.9;
/// Shortest visit: the kernel's counters have a resolution of a millisecond.
const MIN_VISIT: Nanos = Nanos(50_000_000);
/// Requests that a visit should see at least.
const VISIT_REQUESTS: f64 = 64.0;
/// And rounds of its whole depth: some devices complete all requests in flight together, and the
/// edges of the window then cut a round.
const VISIT_ROUNDS: f64 = 16.0;
/// Visits without a single completion after which a cell is given up.
const MAX_STALLS: u32 = 3;
/// Share of a visit that is run before it counts.
const RAMP_SHARE: u64 = 10;
/// What a visit costs beside its run: opening an engine, starting a thread.
const VISIT_OVERHEAD: Nanos = Nanos(5_000_000);

/// What is to be characterised, and how thoroughly.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// The measured area.
    pub area: Bytes,
    /// Engine of all cells.
    pub engine: EngineName,
    /// Alignment of requests past the page cache, in bytes.
    pub alignment: u64,
    /// Measuring time.
    pub budget: Nanos,
    /// Whether to write.
    pub write: bool,
    /// Whether to measure the full matrix.
    pub full: bool,
    /// Half-width of the 95 % interval of a cell's rate at which it is precise enough, as a share.
    pub target_rel: f64,
    /// Seed of order and requests.
    pub seed: u64,
}

/// The name of a phase that makes the depth curve of random requests.
pub(crate) fn depth_phase(op: OpKind) -> &'static str {
    match op {
        OpKind::Read => "read depth",
        OpKind::Write => "write depth",
    }
}

/// A cell with what is known of it.
#[derive(Clone, Debug)]
struct CellState {
    spec: CellSpec,
    workload: Workload,
    /// Rates of the visits so far.
    rates: Vec<f64>,
    /// Visits in which nothing completed.
    stalls: u32,
    /// Whether requests failed: repeating that characterises nothing.
    failed: bool,
}

/// The steps of the plan, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Matrix,
    Ladder(OpKind),
    Sizes,
    Round(usize),
    Refine,
    Done,
}

/// The plan of one check.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    settings: CheckSettings,
    cells: Vec<CellState>,
    stage: Stage,
    queue: VecDeque<usize>,
    issued: u64,
    spent: Nanos,
    rng: Rng,
    /// Points of the curves that did not fit the budget.
    skipped: usize,
}

impl CheckPlan {
    /// A plan; `None` where not one cell fits the area.
    #[must_use]
    pub fn new(settings: CheckSettings) -> Option<Self> {
        let rng = Rng::new(derive_seed(settings.seed, u64::MAX - 1));
        let mut plan = Self {
            cells: Vec::new(),
            stage: Stage::Matrix,
            queue: VecDeque::new(),
            issued: 0,
            spent: Nanos(0),
            rng,
            skipped: 0,
            settings,
        };
        for spec in check_cells(plan.settings.full, plan.settings.write) {
            plan.know(spec);
        }
        plan.queue = plan.shuffled(0..plan.cells.len());
        (!plan.cells.is_empty()).then_some(plan)
    }

    fn phase(&self) -> &'static str {
        match self.stage {
            Stage::Matrix => "matrix",
            Stage::Ladder(op) => depth_phase(op),
            Stage::Sizes => "request size",
            Stage::Round(_) => "repeats",
            Stage::Refine | Stage::Done => "precision",
        }
    }

    /// The index of a cell, which is added if it is new and fits the area.
    fn know(&mut self, spec: CellSpec) -> Option<usize> {
        if let Some(index) = self.cells.iter().position(|cell| cell.spec == spec) {
            return Some(index);
        }
        let CheckSettings { area, engine, alignment, .. } = self.settings;
        let workload = spec.workload(area, engine, alignment)?;
        self.cells.push(CellState { spec, workload, rates: Vec::new(), stalls: 0, failed: false });
        Some(self.cells.len() - 1)
    }

    fn shuffled(&mut self, indices: impl IntoIterator<Item = usize>) -> VecDeque<usize> {
        let mut order: Vec<usize> = indices.into_iter().collect();
        self.rng.shuffle(&mut order);
        order.into()
    }

    /// Fills the queue for the present stage or moves to the next one.
    fn go_on(&mut self) {
        match self.stage {
            Stage::Matrix => self.stage = Stage::Ladder(OpKind::Read),
            Stage::Ladder(op) => match self.next_rung(op) {
                Some(index) => self.queue.push_back(index),
                None if op == OpKind::Read && self.settings.write => {
                    self.stage = Stage::Ladder(OpKind::Write);
                }
                None => {
                    self.stage = Stage::Sizes;
                    self.queue = self.size_points();
                }
            },
            Stage::Sizes => self.start_round(2),
            Stage::Round(round) if round < MIN_VISITS => self.start_round(round + 1),
            Stage::Round(_) => self.stage = Stage::Refine,
            Stage::Refine => {
                let wanted = self.wanted_visits();
                self.queue = self.shuffled(wanted);
                if self.queue.is_empty() {
                    self.stage = Stage::Done;
                }
            }
            Stage::Done => {}
        }
    }

    fn start_round(&mut self, round: usize) {
        self.stage = Stage::Round(round);
        let indices: Vec<usize> =
            (0..self.cells.len()).filter(|&index| !self.cells[index].failed).collect();
        self.queue = self.shuffled(indices);
    }

    /// Length of a visit of a cell: enough requests for an average, within the rounds' share.
    fn visit_time(&self, index: usize) -> Nanos {
        let budget = self.settings.budget.0 as f64;
        let visits = MIN_VISITS as f64;
        let base = (budget * ROUNDS_SHARE / (visits * EXPECTED_CELLS as f64))
            .clamp(MIN_VISIT.0 as f64, 1e9);
        let mandatory = check_cells(self.settings.full, self.settings.write).len() as f64;
        let longest = (budget * MATRIX_SHARE / (visits * mandatory)).max(base);
        let wanted = match self.expected_rate(index) {
            Some(rate) if rate > 0.0 => {
                let rounds = VISIT_ROUNDS * f64::from(self.cells[index].workload.depth);
                rounds.max(VISIT_REQUESTS) / rate * 1e9
            }
            _ => base,
        };
        // A visit in which nothing completed was too short, whatever the plan: the matrix stays
        // whole, and other visits pay for it.
        let stalls = self.cells[index].stalls;
        let stretch =
            if self.cells[index].rates.is_empty() { 4f64.powi(stalls as i32) } else { 1.0 };
        Nanos((wanted.clamp(base, longest) * stretch) as u64)
    }

    /// Rate of a cell as first seen; for a cell not yet visited, the lowest of its operation, so
    /// that a slow device is not promised more points than it has time for.
    fn expected_rate(&self, index: usize) -> Option<f64> {
        let cell = &self.cells[index];
        let alike = self.cells.iter().filter(|other| other.spec.op == cell.spec.op);
        let lowest = || alike.filter_map(|other| other.rates.first().copied()).reduce(f64::min);
        cell.rates.first().copied().or_else(lowest)
    }

    /// Time that the visits cost which every known cell is still owed.
    fn owed(&self) -> Nanos {
        let costs = self.cells.iter().enumerate().map(|(index, cell)| {
            let missing = MIN_VISITS.saturating_sub(cell.rates.len()) as u64;
            let visit = self.visit_time(index).plus(VISIT_OVERHEAD);
            if cell.failed { 0 } else { missing * visit.0 }
        });
        Nanos(costs.sum())
    }

    /// Adds a point of a curve if its visits fit the budget; its index if it is new and owed its
    /// first visit.
    fn add_point(&mut self, spec: CellSpec) -> Option<usize> {
        let known = self.cells.len();
        let index = self.know(spec)?;
        if index < known {
            return None;
        }
        let promised = self.spent.plus(self.owed()).0 as f64;
        if promised > PROMISE_SHARE * self.settings.budget.0 as f64 {
            self.cells.pop();
            self.skipped += 1;
            return None;
        }
        Some(index)
    }

    /// The first rate of a random cell at a depth.
    fn first_rate(&self, op: OpKind, depth: u32) -> Option<f64> {
        let spec = CellSpec::direct(op, Pattern::Random, DEPTH_CURVE_BYTES, depth);
        self.cells.iter().find(|cell| cell.spec == spec)?.rates.first().copied()
    }

    /// First rates of the ladder so far, at depths 1, 2, 4, ….
    fn rungs(&self, op: OpKind) -> Vec<(u32, f64)> {
        (0..=MAX_DEPTH.ilog2())
            .filter_map(|power| Some((1 << power, self.first_rate(op, 1 << power)?)))
            .collect()
    }

    /// The next depth of a ladder to visit.
    fn next_rung(&mut self, op: OpKind) -> Option<usize> {
        let skipped = self.skipped;
        for depth in (0..=MAX_DEPTH.ilog2()).map(|power| 1 << power) {
            if self.first_rate(op, depth).is_some() {
                continue;
            }
            let rungs = self.rungs(op);
            let best_before = rungs.iter().rev().skip(2).map(|&(_, rate)| rate).reduce(f64::max);
            let best = rungs.iter().map(|&(_, rate)| rate).reduce(f64::max);
            let flat = rungs.len() > 2
                && best.zip(best_before).is_some_and(|(all, old)| all < old * (1.0 + LADDER_GAIN));
            if flat && depth > 4 {
                return None;
            }
            let spec = CellSpec::direct(op, Pattern::Random, DEPTH_CURVE_BYTES, depth);
            let index = self.add_point(spec);
            if index.is_some() || self.skipped > skipped {
                return index;
            }
        }
        None
    }

    /// Depth near the knee of the first round: the smallest with 80 % of the ladder's best rate.
    fn working_depth(&self, op: OpKind) -> u32 {
        let rungs = self.rungs(op);
        let best = rungs.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        rungs.iter().find(|&&(_, rate)| rate >= 0.8 * best).map_or(1, |&(depth, _)| depth)
    }

    /// The points of the size curves that fit, in random order.
    fn size_points(&mut self) -> VecDeque<usize> {
        let ops: &[OpKind] =
            if self.settings.write { &[OpKind::Read, OpKind::Write] } else { &[OpKind::Read] };
        let mut specs = Vec::new();
        for &op in ops {
            let mut depths = vec![1, self.working_depth(op)];
            depths.dedup();
            // Coarse points first, so that a tight budget keeps the curve's whole range.
            for stride in [[0, 4, 8, 2, 6], [1, 3, 5, 7, 8]] {
                for &depth in &depths {
                    let sizes = stride.iter().map(|&position| CURVE_SIZES[position]);
                    specs.extend(
                        sizes.map(|bytes| CellSpec::direct(op, Pattern::Sequential, bytes, depth)),
                    );
                }
            }
        }
        let added: Vec<usize> = specs.into_iter().filter_map(|spec| self.add_point(spec)).collect();
        self.shuffled(added)
    }

    /// The visits of the next refinement: for the widest cells, as many as bring them to the next
    /// look, as long as that fits the budget. A cell that missed visits comes first.
    fn wanted_visits(&self) -> Vec<usize> {
        let mut wide: Vec<(f64, usize)> = self
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !cell.failed)
            .filter_map(|(index, cell)| match look(&cell.rates, self.settings.target_rel) {
                Look::Wider(estimate) => Some((estimate.relative_half_width(), index)),
                Look::NotYet => Some((f64::INFINITY, index)),
                Look::Precise => None,
            })
            .collect();
        wide.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut left = self.settings.budget.since(self.spent);
        let mut visits = Vec::new();
        for (_, index) in wide {
            let count = missing_visits(self.cells[index].rates.len());
            let cost = Nanos(count as u64 * self.visit_time(index).plus(VISIT_OVERHEAD).0);
            if cost <= left {
                left = left.since(cost);
                visits.extend(std::iter::repeat_n(index, count));
            }
        }
        visits
    }
}

impl Plan for CheckPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        while self.queue.is_empty() {
            if self.stage == Stage::Done {
                return None;
            }
            self.go_on();
        }
        let index = self.queue.pop_front()?;
        let visit = self.visit_time(index);
        let over = self.spent.plus(visit).0 > self.settings.budget.0;
        if over && self.stage != Stage::Matrix {
            self.stage = Stage::Done;
            self.queue.clear();
            return None;
        }
        self.issued += 1;
        let cell = &self.cells[index];
        let ramp = Nanos(visit.0 / RAMP_SHARE);
        let workload = Workload {
            ramp_ns: ramp,
            runtime_ns: Nanos(visit.0 - ramp.0),
            ..cell.workload.clone()
        };
        Some(PlannedTrial::new(workload, derive_seed(self.settings.seed, self.issued) >> 11))
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.spent = self.spent.plus(spent);
        let Some(cell) = self.cells.iter_mut().find(|cell| cell.workload.cell() == trial.cell)
        else {
            return;
        };
        if model::counts(trial) {
            cell.rates.push(trial.iops());
            return;
        }
        cell.stalls += 1;
        cell.failed = cell.stalls >= MAX_STALLS || trial.failed() > 0;
    }

    fn progress(&self) -> Progress {
        Progress::of_budget(self.phase(), self.spent, self.settings.budget)
    }

    fn skipped(&self) -> usize {
        self.skipped
    }
}

/// Visits from `count` to the next number at which the rule looks.
fn missing_visits(count: usize) -> usize {
    let mut next = MIN_VISITS;
    while next <= count {
        next *= 2;
    }
    next - count
}

//! Plans `check`: chooses what to measure next within a time budget.
//!
//! The plan visits all cells in three rounds, each in a different order, so that the intervals include the
//! drift of a shared device. The first round also finds how far the curves of depth and request size
//! extend. The remaining budget goes to the cells with the widest intervals: their visits are doubled. The
//! plan decides only at a doubling whether to continue ([`stats::look`]), because stopping as soon as the
//! numbers happen to agree would bias the intervals.
//!
//! The matrix is always complete. A point of a curve is added only if the outstanding visits and its own
//! fit the budget. Rejected: one long run per cell, whose interval does not include the minutes before and
//! after it.

use crate::cells::{CURVE_SIZES, CellSpec, between_cells, check_cells, ops};
use crate::visits::{CheckSettings, MIN_VISIT, RAMP_SHARE, Visits, is_flat};
use crate::{Plan, PlannedTrial, Progress};
use record::{Nanos, OpKind, Pattern, Trial};
use stats::{Look, MIN_VISITS, look};

/// With a smaller budget the matrix itself does not fit.
pub const MIN_BUDGET: Nanos = Nanos(5_000_000_000);
/// Largest depth of the curves.
const MAX_DEPTH: u32 = 256;
/// Request size of the depth curves.
const DEPTH_CURVE_BYTES: u64 = 4 << 10;
/// A series of rising depths ends when two doublings together gain less than this.
const LADDER_GAIN: f64 = 0.1;
/// Depth up to which a series does not end for that reason. Each depth has a single visit at that time, and
/// noise makes the first few look flat.
const LADDER_LEAST: u32 = 32;
/// Expected number of cells in a whole plan, to choose the length of a visit.
const EXPECTED_CELLS: u64 = 85;
/// Share of the budget for the three rounds on a fast device. It is small, so that the rest doubles the
/// visits twice: noise that varies within seconds averages out over many short visits far apart, not over a
/// few long ones.
const ROUNDS_SHARE: f64 = 0.2;
/// Share of the budget for the three rounds of the matrix on a slow device.
const MATRIX_SHARE: f64 = 0.6;
/// Share of the budget that the rounds may reserve when points are added.
const PROMISE_SHARE: f64 = 0.9;
/// Minimum number of requests in a visit.
const VISIT_REQUESTS: f64 = 64.0;
/// Minimum number of requests in a visit, in multiples of its queue depth. Some devices complete all
/// requests in flight together, and the ends of the window then cut off one such batch.
const VISIT_ROUNDS: f64 = 16.0;
/// Number of visits without a completion after which a cell is dropped.
const MAX_STALLS: u32 = 3;
/// Time of a visit in addition to its run: opening an engine, starting a thread.
const VISIT_OVERHEAD: Nanos = Nanos(5_000_000);

/// The name of the phase that measures the depth curve of random requests.
pub(crate) fn depth_phase(op: OpKind) -> &'static str {
    match op {
        OpKind::Read => "read depth",
        OpKind::Write => "write depth",
    }
}

/// Data of the plan about a cell.
#[derive(Clone, Debug)]
struct CheckCell {
    spec: CellSpec,
    /// Whether requests failed; such a cell is not repeated.
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Matrix,
    Ladder(OpKind),
    Sizes,
    Round(usize),
    Refine,
    Done,
}

/// Plans one check.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    visits: Visits<CheckCell>,
    stage: Stage,
}

impl CheckPlan {
    /// `None` if no cell fits the area.
    #[must_use]
    pub fn new(settings: CheckSettings) -> Option<Self> {
        let specs = check_cells(settings.full, settings.write);
        let mut plan = Self { visits: Visits::new(settings, u64::MAX - 1), stage: Stage::Matrix };
        for spec in specs {
            plan.add(spec);
        }
        let cells = plan.visits.cells.len();
        plan.visits.queue_shuffled(0..cells);
        (cells > 0).then_some(plan)
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

    /// Adds a cell if it fits the area; returns its index if it is new.
    fn add(&mut self, spec: CellSpec) -> Option<usize> {
        let CheckSettings { area, engine, alignment, .. } = self.visits.settings;
        let workload = spec.workload(area, engine, alignment)?;
        self.visits.add(workload, CheckCell { spec, failed: false })
    }

    /// Fills the queue for the current stage, or moves to the next stage.
    fn go_on(&mut self) {
        match self.stage {
            Stage::Matrix => self.stage = Stage::Ladder(OpKind::Read),
            Stage::Ladder(op) => match self.next_rung(op) {
                Some(index) => self.visits.queue.push_back(index),
                None if op == OpKind::Read && self.visits.settings.write => {
                    self.stage = Stage::Ladder(OpKind::Write);
                }
                None => {
                    self.stage = Stage::Sizes;
                    let points = self.size_points();
                    self.visits.queue_shuffled(points);
                }
            },
            Stage::Sizes => self.start_round(2),
            Stage::Round(round) if round < MIN_VISITS => self.start_round(round + 1),
            Stage::Round(_) => self.stage = Stage::Refine,
            Stage::Refine => {
                let wanted = self.wanted_visits();
                self.visits.queue_shuffled(wanted);
                if self.visits.queue.is_empty() {
                    self.stage = Stage::Done;
                }
            }
            Stage::Done => {}
        }
    }

    fn start_round(&mut self, round: usize) {
        self.stage = Stage::Round(round);
        let cells = &self.visits.cells;
        let alive: Vec<usize> = (0..cells.len()).filter(|&at| !cells[at].tag.failed).collect();
        self.visits.queue_shuffled(alive);
    }

    /// Length of a visit of a cell: long enough for an average, but within the rounds' share.
    fn visit_time(&self, index: usize) -> Nanos {
        let settings = &self.visits.settings;
        let budget = settings.budget.0 as f64;
        let visits = MIN_VISITS as f64;
        let base = (budget * ROUNDS_SHARE / (visits * EXPECTED_CELLS as f64))
            .clamp(MIN_VISIT.0 as f64, 1e9);
        let mandatory = check_cells(settings.full, settings.write).len() as f64;
        let longest = (budget * MATRIX_SHARE / (visits * mandatory)).max(base);
        let cell = &self.visits.cells[index];
        let op = cell.tag.spec.op;
        let wanted = match self.visits.expected_rate(index, |other| other.tag.spec.op == op) {
            Some(rate) if rate > 0.0 => {
                let rounds = VISIT_ROUNDS * f64::from(cell.workload.depth);
                rounds.max(VISIT_REQUESTS) / rate * 1e9
            }
            _ => base,
        };
        Nanos((wanted.clamp(base, longest) * self.visits.stretch(index)) as u64)
    }

    /// Time for the visits that the known cells still need.
    fn owed(&self) -> Nanos {
        let costs = self.visits.cells.iter().enumerate().map(|(index, cell)| {
            let missing = MIN_VISITS.saturating_sub(cell.rates.len()) as u64;
            let visit = self.visit_time(index).plus(VISIT_OVERHEAD);
            if cell.tag.failed { 0 } else { missing * visit.0 }
        });
        Nanos(costs.sum())
    }

    /// Adds a point of a curve if its visits fit the budget; returns its index if it is new and needs its
    /// first visit.
    fn add_point(&mut self, spec: CellSpec) -> Option<usize> {
        let index = self.add(spec)?;
        let promised = self.visits.spent.plus(self.owed()).0 as f64;
        if promised > PROMISE_SHARE * self.visits.settings.budget.0 as f64 {
            self.visits.cells.pop();
            self.visits.skipped += 1;
            return None;
        }
        Some(index)
    }

    /// The first rate of a random cell at a depth.
    fn first_rate(&self, op: OpKind, depth: u32) -> Option<f64> {
        let spec = CellSpec::direct(op, Pattern::Random, DEPTH_CURVE_BYTES, depth);
        let cell = self.visits.cells.iter().find(|cell| cell.tag.spec == spec)?;
        cell.rates.first().copied()
    }

    /// First rates measured so far, at depths 1, 2, 4, ….
    fn rungs(&self, op: OpKind) -> Vec<(u32, f64)> {
        (0..=MAX_DEPTH.ilog2())
            .filter_map(|power| Some((1 << power, self.first_rate(op, 1 << power)?)))
            .collect()
    }

    /// The next depth of the depth curve to visit.
    fn next_rung(&mut self, op: OpKind) -> Option<usize> {
        let skipped = self.visits.skipped;
        for depth in (0..=MAX_DEPTH.ilog2()).map(|power| 1 << power) {
            if self.first_rate(op, depth).is_some() {
                continue;
            }
            let rates: Vec<f64> = self.rungs(op).into_iter().map(|(_, rate)| rate).collect();
            if depth > LADDER_LEAST && is_flat(&rates, LADDER_GAIN) {
                return None;
            }
            let spec = CellSpec::direct(op, Pattern::Random, DEPTH_CURVE_BYTES, depth);
            let index = self.add_point(spec);
            if index.is_some() || self.visits.skipped > skipped {
                return index;
            }
        }
        None
    }

    /// Queue depth near the knee of the first round: the smallest with 80 % of the best rate.
    fn working_depth(&self, op: OpKind) -> u32 {
        let rungs = self.rungs(op);
        let best = rungs.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        rungs.iter().find(|&&(_, rate)| rate >= 0.8 * best).map_or(1, |&(depth, _)| depth)
    }

    /// The points of the size curves and of the predictions that fit the budget.
    fn size_points(&mut self) -> Vec<usize> {
        let mut specs = Vec::new();
        for &op in ops(self.visits.settings.write) {
            let mut depths = vec![1, self.working_depth(op)];
            depths.dedup();
            // Coarse points first, so that a tight budget still covers the whole range of the curve.
            for stride in [[0, 4, 8, 2, 6], [1, 3, 5, 7, 8]] {
                for &depth in &depths {
                    let sizes = stride.iter().map(|&position| CURVE_SIZES[position]);
                    specs.extend(
                        sizes.map(|bytes| CellSpec::direct(op, Pattern::Sequential, bytes, depth)),
                    );
                }
            }
        }
        specs.extend(between_cells(self.visits.settings.write));
        specs.into_iter().filter_map(|spec| self.add_point(spec)).collect()
    }

    /// The visits of the next refinement: for the cells with the widest intervals, enough visits to reach
    /// their next check of the stopping rule, if they fit the budget. A cell that missed visits comes
    /// first.
    fn wanted_visits(&self) -> Vec<usize> {
        let Visits { cells, settings, spent, .. } = &self.visits;
        let mut wide: Vec<(f64, usize)> = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !cell.tag.failed)
            .filter_map(|(index, cell)| match look(&cell.rates, settings.target_rel) {
                Look::Wider(estimate) => Some((estimate.relative_half_width(), index)),
                Look::NotYet => Some((f64::INFINITY, index)),
                Look::Precise => None,
            })
            .collect();
        wide.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut left = settings.budget.since(*spent);
        let mut visits = Vec::new();
        for (_, index) in wide {
            let count = missing_visits(cells[index].rates.len());
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
        while self.visits.queue.is_empty() {
            if self.stage == Stage::Done {
                return None;
            }
            self.go_on();
        }
        let index = self.visits.queue.pop_front()?;
        let visit = self.visit_time(index);
        let over = self.visits.spent.plus(visit) > self.visits.settings.budget;
        if over && self.stage != Stage::Matrix {
            self.stage = Stage::Done;
            self.visits.queue.clear();
            return None;
        }
        Some(self.visits.planned(index, visit, RAMP_SHARE))
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        if let Some(cell) = self.visits.observe(trial, spent) {
            cell.tag.failed = cell.stalls >= MAX_STALLS || trial.failed() > 0;
        }
    }

    fn progress(&self) -> Progress {
        self.visits.progress(self.phase())
    }

    fn skipped(&self) -> usize {
        self.visits.skipped
    }
}

/// Visits from `count` to the next number at which the stopping rule is applied.
fn missing_visits(count: usize) -> usize {
    let mut looks = std::iter::successors(Some(MIN_VISITS), |next| Some(next * 2));
    looks.find(|&next| next > count).map_or(0, |next| next - count)
}

//! Cells that are visited several times in random order, within a budget: what both plans of `check`
//! have in common.

use crate::{PlannedTrial, Progress};
use record::{Bytes, CacheMode, EngineName, Nanos, Trial, Workload};
use std::collections::VecDeque;
use workload::{Rng, derive_seed};

/// Shortest visit: the kernel's counters have a resolution of a millisecond.
pub(crate) const MIN_VISIT: Nanos = Nanos(50_000_000);
/// Part of a visit that is run before it counts.
pub(crate) const RAMP_SHARE: u64 = 10;

/// What is to be characterised, and how thoroughly.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// The measured area.
    pub area: Bytes,
    /// Names of further sets of targets, beside those of the command: the visits of a cell take
    /// turns, so that all areas are in it, at no cost.
    pub areas: Vec<Vec<String>>,
    /// The same of files that are others': they are only read, past the page cache.
    pub read_areas: Vec<Vec<String>>,
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

/// Whether the last two steps of a ladder together gained less than this share of the best rate
/// before them.
pub(crate) fn is_flat(rates: &[f64], least_gain: f64) -> bool {
    let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    rates.len() > 2 && best(rates) < best(&rates[..rates.len() - 2]) * (1.0 + least_gain)
}

/// A cell with what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct VisitedCell<T> {
    id: String,
    /// What the plan knows it by.
    pub(crate) tag: T,
    pub(crate) workload: Workload,
    /// Rates of the visits so far.
    pub(crate) rates: Vec<f64>,
    /// Visits in which nothing completed.
    pub(crate) stalls: u32,
}

/// The cells of a plan and its visits to them.
#[derive(Clone, Debug)]
pub(crate) struct Visits<T> {
    pub(crate) settings: CheckSettings,
    pub(crate) cells: Vec<VisitedCell<T>>,
    /// The cells to visit next.
    pub(crate) queue: VecDeque<usize>,
    pub(crate) spent: Nanos,
    pub(crate) rng: Rng,
    /// Cells that did not fit the budget.
    pub(crate) skipped: usize,
    issued: u64,
}

impl<T> Visits<T> {
    /// No cell yet; `stream` tells the random numbers of one plan from those of another.
    pub(crate) fn new(settings: CheckSettings, stream: u64) -> Self {
        let rng = Rng::new(derive_seed(settings.seed, stream));
        let (cells, queue) = (Vec::new(), VecDeque::new());
        Self { settings, cells, queue, spent: Nanos(0), rng, skipped: 0, issued: 0 }
    }

    /// Adds a cell; its index if it is new.
    pub(crate) fn add(&mut self, workload: Workload, tag: T) -> Option<usize> {
        let id = workload.cell();
        if self.cells.iter().any(|cell| cell.id == id) {
            return None;
        }
        self.cells.push(VisitedCell { id, tag, workload, rates: Vec::new(), stalls: 0 });
        Some(self.cells.len() - 1)
    }

    /// The first rate of a cell; `None` for one that is not known or was not seen.
    pub(crate) fn first_rate(&self, workload: &Workload) -> Option<f64> {
        let id = workload.cell();
        self.cells.iter().find(|cell| cell.id == id)?.rates.first().copied()
    }

    /// First rate of a cell; for one not yet seen, the lowest of those that are alike, so that a slow
    /// device is not promised more than it has time for.
    pub(crate) fn expected_rate(
        &self,
        index: usize,
        alike: impl Fn(&VisitedCell<T>) -> bool,
    ) -> Option<f64> {
        let alike = self.cells.iter().filter(|other| alike(other));
        let lowest = || alike.filter_map(|other| other.rates.first().copied()).reduce(f64::min);
        self.cells[index].rates.first().copied().or_else(lowest)
    }

    /// How many times as long a visit must be as planned: one in which nothing completed was too
    /// short, whatever the plan. The plan stays whole, and other visits pay for it.
    pub(crate) fn stretch(&self, index: usize) -> f64 {
        let cell = &self.cells[index];
        if cell.rates.is_empty() { 4f64.powi(cell.stalls as i32) } else { 1.0 }
    }

    pub(crate) fn queue_shuffled(&mut self, indices: impl IntoIterator<Item = usize>) {
        let mut order: Vec<usize> = indices.into_iter().collect();
        self.rng.shuffle(&mut order);
        self.queue = order.into();
    }

    /// The visit of this length to a cell, of which one part in `ramp_share` is run first.
    pub(crate) fn planned(&mut self, index: usize, visit: Nanos, ramp_share: u64) -> PlannedTrial {
        self.issued += 1;
        let ramp_ns = Nanos(visit.0 / ramp_share);
        let workload = Workload {
            ramp_ns,
            runtime_ns: Nanos(visit.0 - ramp_ns.0),
            ..self.cells[index].workload.clone()
        };
        let seed = derive_seed(self.settings.seed, self.issued) >> 11;
        PlannedTrial { targets: self.area_of_visit(index), ..PlannedTrial::new(workload, seed) }
    }

    /// The targets of the next visit to a cell: each cell begins with another area, so that every
    /// area is met at every time of the check.
    fn area_of_visit(&self, index: usize) -> Vec<String> {
        let cell = &self.cells[index];
        let visits = cell.rates.len() + cell.stalls as usize;
        let only_read = !cell.workload.writes() && cell.workload.cache == CacheMode::Device;
        let of_others = if only_read { &self.settings.read_areas[..] } else { &[] };
        let areas: Vec<&Vec<String>> = self.settings.areas.iter().chain(of_others).collect();
        let turn = (index + visits) % (areas.len() + 1);
        turn.checked_sub(1).map_or_else(Vec::new, |area| areas[area].clone())
    }

    /// Takes note of a trial; its cell if it does not count.
    pub(crate) fn observe(&mut self, trial: &Trial, spent: Nanos) -> Option<&mut VisitedCell<T>> {
        self.spent = self.spent.plus(spent);
        let cell = self.cells.iter_mut().find(|cell| cell.id == trial.cell)?;
        if model::counts(trial) {
            cell.rates.push(trial.iops());
            return None;
        }
        cell.stalls += 1;
        Some(cell)
    }

    pub(crate) fn progress(&self, phase: &'static str) -> Progress {
        Progress::of_budget(phase, self.spent, self.settings.budget)
    }
}

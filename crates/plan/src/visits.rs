//! Manages cells that are visited several times in random order within a budget; shared by the plans of
//! `check`.

use crate::{PlannedTrial, Progress};
use record::{Bytes, CacheMode, EngineName, Nanos, Trial, Workload};
use std::collections::VecDeque;
use workload::{Rng, derive_seed};

/// Minimum length of a visit: the kernel's counters have a resolution of a millisecond.
pub(crate) const MIN_VISIT: Nanos = Nanos(50_000_000);
/// The ramp of a visit is its length divided by this.
pub(crate) const RAMP_SHARE: u64 = 10;

/// What is measured, and how thoroughly.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// Size of the measured area.
    pub area: Bytes,
    /// Names of additional sets of targets besides those of the command. The visits of a cell alternate
    /// between all areas, at no extra cost.
    pub areas: Vec<Vec<String>>,
    /// The same for files of other owners: they are only read, with direct I/O.
    pub read_areas: Vec<Vec<String>>,
    /// Engine of all cells.
    pub engine: EngineName,
    /// Offsets and sizes of direct I/O must be multiples of this, in bytes.
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

/// Whether the last two steps of a series of depths gained less than this share over the best rate before
/// them.
pub(crate) fn is_flat(rates: &[f64], least_gain: f64) -> bool {
    let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    rates.len() > 2 && best(rates) < best(&rates[..rates.len() - 2]) * (1.0 + least_gain)
}

/// A cell with its results so far.
#[derive(Clone, Debug)]
pub(crate) struct VisitedCell<T> {
    id: String,
    /// The plan's own data about it.
    pub(crate) tag: T,
    pub(crate) workload: Workload,
    pub(crate) rates: Vec<f64>,
    /// Number of visits in which nothing completed.
    pub(crate) stalls: u32,
}

/// The cells of a plan, and the visits to them.
#[derive(Clone, Debug)]
pub(crate) struct Visits<T> {
    pub(crate) settings: CheckSettings,
    pub(crate) cells: Vec<VisitedCell<T>>,
    /// The cells to visit next.
    pub(crate) queue: VecDeque<usize>,
    pub(crate) spent: Nanos,
    pub(crate) rng: Rng,
    /// Number of cells that did not fit the budget.
    pub(crate) skipped: usize,
    issued: u64,
}

impl<T> Visits<T> {
    /// No cell yet; `stream` separates the random numbers of the plans.
    pub(crate) fn new(settings: CheckSettings, stream: u64) -> Self {
        let rng = Rng::new(derive_seed(settings.seed, stream));
        let (cells, queue) = (Vec::new(), VecDeque::new());
        Self { settings, cells, queue, spent: Nanos(0), rng, skipped: 0, issued: 0 }
    }

    /// Adds a cell; returns its index if it is new.
    pub(crate) fn add(&mut self, workload: Workload, tag: T) -> Option<usize> {
        let id = workload.cell();
        if self.cells.iter().any(|cell| cell.id == id) {
            return None;
        }
        self.cells.push(VisitedCell { id, tag, workload, rates: Vec::new(), stalls: 0 });
        Some(self.cells.len() - 1)
    }

    /// The first rate of a cell; `None` if the cell is unknown or has no visit.
    pub(crate) fn first_rate(&self, workload: &Workload) -> Option<f64> {
        let id = workload.cell();
        self.cells.iter().find(|cell| cell.id == id)?.rates.first().copied()
    }

    /// First rate of a cell. For one without a visit, the lowest rate of similar cells, so that visits are
    /// not planned too short on a slow device.
    pub(crate) fn expected_rate(
        &self,
        index: usize,
        alike: impl Fn(&VisitedCell<T>) -> bool,
    ) -> Option<f64> {
        let alike = self.cells.iter().filter(|other| alike(other));
        let lowest = || alike.filter_map(|other| other.rates.first().copied()).reduce(f64::min);
        self.cells[index].rates.first().copied().or_else(lowest)
    }

    /// Factor by which a visit must be longer than planned: a visit in which nothing completed was too
    /// short. The plan stays complete, and other visits are reduced for it.
    pub(crate) fn stretch(&self, index: usize) -> f64 {
        let cell = &self.cells[index];
        if cell.rates.is_empty() { 4f64.powi(cell.stalls as i32) } else { 1.0 }
    }

    pub(crate) fn queue_shuffled(&mut self, indices: impl IntoIterator<Item = usize>) {
        let mut order: Vec<usize> = indices.into_iter().collect();
        self.rng.shuffle(&mut order);
        self.queue = order.into();
    }

    /// A visit of this length to a cell; the first `1 / ramp_share` of it is the ramp.
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

    /// The targets of the next visit to a cell. Each cell begins with another area, so that every area is
    /// measured at all times of the check.
    fn area_of_visit(&self, index: usize) -> Vec<String> {
        let cell = &self.cells[index];
        let visits = cell.rates.len() + cell.stalls as usize;
        let only_read = !cell.workload.writes() && cell.workload.cache == CacheMode::Device;
        let of_others = if only_read { &self.settings.read_areas[..] } else { &[] };
        let areas: Vec<&Vec<String>> = self.settings.areas.iter().chain(of_others).collect();
        let turn = (index + visits) % (areas.len() + 1);
        turn.checked_sub(1).map_or_else(Vec::new, |area| areas[area].clone())
    }

    /// Records a trial; returns its cell if the trial is not valid.
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

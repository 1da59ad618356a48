//! Measures how fast a device is now compared with when it was profiled.
//!
//! A profile is minutes old when it is used, and the level of a shared device drifts within minutes. Some
//! of the profile's own loads are rerun for less than half a second each to measure the drift. These are
//! closed loops of random reads at queue depth 1 and deep; if the target may be written, deep loops of
//! random writes and of both; and open loads well below the maximum. Without writes, writes are assumed to
//! drift like reads. Without open loads, these are assumed to drift like lone reads.
//!
//! A closed loop runs as long as in the profile: with half a second instead of a twentieth, deep loops of
//! large requests were 2 to 3 % faster. The rate of a visit is off by a sixth, so a level is the mean of
//! many visits. Only the latest count, because the level moves within a minute. If one loop differs from
//! the others of its kind, that is not the level: all its visits together give its new rate
//! ([`DriftProbe::updated`]).
//!
//! Rejected for closed loops: the median, which leaves out the stalls that a longer load meets (maximum
//! rates were 3 to 4 % too high). For open loads the geometric mean is used, because one visit with a stall
//! takes many times as long as the others: over ten validations that was closer to the following loads than
//! the mean or the median.

use crate::planned::{Plan, PlannedTrial, Progress};
use model::{DriftFactors, Predictor};
use record::{Arrival, Cell, Locality, Mix, Nanos, Offered, OpKind, SinceProfile, Trial, Workload};
use std::collections::VecDeque;

/// Minimum number of loads of a kind.
const MIN_LOADS: usize = 4;
/// Minimum queue depth of the deep loops.
const DEEP: u32 = 64;
/// Maximum rate of an open load in a probe, as a share of the largest rate. Above it, the error of that
/// rate affects its queue.
const ROOM: f64 = 0.5;
/// Number of latest visits that are averaged for a level: of lone reads, deep reads, deep writes, deep
/// mixes and open loads. A kind has at most that many loads, so that each counts equally: within a profile,
/// loads differ from each other by more than a level does.
const LATEST: [usize; KINDS] = [12, 24, 24, 36, 24];
const KINDS: usize = 5;
/// Lower limit for the end of an interval.
const LEAST_RATIO: f64 = 0.01;
/// Length of a visit to an open load, and its ramp.
const VISIT: Nanos = Nanos(400_000_000);
const RAMP: Nanos = Nanos(50_000_000);

/// Extent of a probe run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Everything needed for a level.
    Whole,
    /// Before a load well below the maximum: without deep writes, which would leave data in buffers.
    BeforeOpen,
    /// Before a closed loop.
    BeforeClosed,
}

impl Look {
    /// Number of visits, by kind.
    #[must_use]
    pub fn visits(self) -> [usize; KINDS] {
        match self {
            Self::Whole => LATEST,
            Self::BeforeOpen => [2, 4, 0, 0, 8],
            Self::BeforeClosed => [0, 6, 6, 12, 0],
        }
    }
}

/// Result of a load when the profile was made.
#[derive(Debug)]
enum PastMeasurement {
    /// Requests per second of a closed loop.
    Rate(f64),
    /// Requests per second of a closed loop that both reads and writes.
    Mixed { mix: Mix, per_s: f64 },
    /// Mean latency of an open load, in nanoseconds.
    Response { mix: Mix, rate_per_s: f64, ns: f64 },
}

/// A load of the profile.
#[derive(Debug)]
struct Load {
    workload: Workload,
    then: PastMeasurement,
    /// Its speed relative to the profile, by visit.
    ratios: Vec<f64>,
}

/// Loads of one kind, which are visited in turn.
#[derive(Debug, Default)]
struct Kind {
    loads: Vec<Load>,
    turn: usize,
    latest: VecDeque<f64>,
}

/// Measures the level of a device, again with each probe run.
#[derive(Debug)]
pub struct DriftProbe<'a> {
    predictor: &'a Predictor,
    /// Lone reads, deep reads, deep writes, deep mixes, open loads.
    kinds: [Kind; KINDS],
    /// Kinds of the next visits.
    to_visit: VecDeque<usize>,
    /// Kind and load of the current visit, and the level before the first visit to the kind. Mixes and open
    /// loads come last, because their ratio depends on how the others moved.
    present: (usize, usize),
    level_before: DriftFactors,
    seed: u64,
    /// Time of all probe runs so far, ramps included.
    pub(crate) spent: Nanos,
    /// Levels so far, one per probe run.
    levels: Vec<DriftFactors>,
    trial_ids: Vec<String>,
}

impl PastMeasurement {
    /// The speed of the load in a trial, relative to the profile; `None` if unknown.
    fn ratio(&self, trial: &Trial, predictor: &Predictor, level: DriftFactors) -> Option<f64> {
        match self {
            Self::Rate(then) => Some(trial.iops() / then),
            Self::Mixed { mix, per_s } => {
                let level = DriftFactors { mixes: 1.0, ..level };
                let max = |level| Some(predictor.max_rate_at(level, mix).ok()?.value);
                Some(trial.iops() / per_s * max(DriftFactors::PROFILED)? / max(level)?)
            }
            Self::Response { mix, rate_per_s, ns } => {
                // The same rate is now a different share of the maximum.
                let offered = Offered::PoissonPerS(*rate_per_s);
                let model = predictor.advised();
                let at = |level| {
                    Some(predictor.predict_at(level, model, mix, offered).ok()?.latency_ns.value)
                };
                let moved = at(DriftFactors { open: 1.0, ..level })? / at(DriftFactors::PROFILED)?;
                Some(ns * moved / trial.latency_ns()?)
            }
        }
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

impl Load {
    fn new(workload: Workload, then: PastMeasurement) -> Self {
        Self { workload, then, ratios: Vec::new() }
    }

    fn is_loop(&self) -> bool {
        self.workload.arrival == Arrival::Closed
    }
}

impl Kind {
    /// At most `most` loads, evenly selected.
    fn of(all: Vec<Load>, most: usize) -> Self {
        let (count, of) = (all.len().min(most), all.len());
        let mut kept = (0..count).map(|at| at * of / count).peekable();
        let spread = all.into_iter().enumerate();
        let spread = spread.filter(|(at, _)| kept.next_if_eq(at).is_some()).map(|(_, load)| load);
        Self { loads: spread.collect(), ..Self::default() }
    }

    /// Empty if there are too few.
    fn or_none(self) -> Self {
        if self.is_enough() { self } else { Self::default() }
    }

    fn is_enough(&self) -> bool {
        self.loads.len() >= MIN_LOADS
    }

    /// The mean of the latest visits, of their logarithms for open loads. Its interval is given if there
    /// are enough visits.
    fn latest(&self) -> Option<(f64, Option<[f64; 2]>)> {
        let open = !self.loads.iter().all(Load::is_loop);
        let scaled = |ratio: &f64| if open { ratio.ln() } else { *ratio };
        let back = |value: f64| if open { value.exp() } else { value };
        let visits: Vec<f64> = self.latest.iter().map(scaled).collect();
        if visits.is_empty() {
            return None;
        }
        let ends = stats::visits_mean(&visits)
            // A rate is never negative, even if a symmetric interval is.
            .map(|mean| [mean.low, mean.high].map(|end| back(end).max(LEAST_RATIO)));
        Some((back(visits.iter().sum::<f64>() / visits.len() as f64), ends))
    }
}

impl<'a> DriftProbe<'a> {
    /// A probe of a profile's cells that starts with a whole run; `None` with too few closed loops.
    #[must_use]
    pub fn new(cells: &[Cell], predictor: &'a Predictor, write: bool, seed: u64) -> Option<Self> {
        let closed = |most: usize, op: OpKind, of: &dyn Fn(u32) -> bool| {
            let at_random = cells.iter().filter(|cell| is_random_loop(cell, op));
            let of_kind = at_random.filter(|cell| of(cell.workload.depth));
            let load = |cell: &Cell| {
                Load::new(cell.workload.clone(), PastMeasurement::Rate(cell.iops.value))
            };
            Kind::of(of_kind.map(load).collect(), most)
        };
        let [lone, reads, writes, mixes, at_rates] = LATEST;
        let kinds = [
            closed(lone, OpKind::Read, &|depth| depth == 1),
            closed(reads, OpKind::Read, &|depth| depth >= DEEP),
            closed(writes, OpKind::Write, &|depth| write && depth >= DEEP),
            Kind::of(mixed(cells, write), mixes).or_none(),
            Kind::of(open(cells, predictor, write), at_rates).or_none(),
        ];
        let told = kinds[0].is_enough() && kinds[1].is_enough() && (!write || kinds[2].is_enough());
        let mut probe = Self {
            predictor,
            kinds,
            to_visit: VecDeque::new(),
            present: (KINDS, 0),
            level_before: DriftFactors::PROFILED,
            seed,
            spent: Nanos(0),
            levels: Vec::new(),
            trial_ids: Vec::new(),
        };
        probe.begin(Look::Whole);
        told.then_some(probe)
    }

    /// Begins a probe run: its visits come next.
    pub fn begin(&mut self, look: Look) {
        for (at, visits) in look.visits().into_iter().enumerate() {
            let visits = if self.kinds[at].loads.is_empty() { 0 } else { visits };
            self.to_visit.extend(std::iter::repeat_n(at, visits));
        }
        self.present.0 = KINDS;
    }

    /// The level from the latest visits; `None` without enough reads.
    #[must_use]
    pub fn level(&self) -> Option<DriftFactors> {
        level_of(self.kinds.each_ref().map(|kind| Some(kind.latest()?.0)))
    }

    /// The level with one of its numbers at an end of its interval, for each number that has one.
    #[must_use]
    pub fn ends(&self) -> Vec<DriftFactors> {
        let latest = self.kinds.each_ref().map(Kind::latest);
        let means = latest.map(|found| Some(found?.0));
        let ends = latest.into_iter().enumerate().filter_map(|(at, found)| Some((at, found?.1?)));
        let apart = ends.flat_map(|(at, ends)| ends.map(|end| (at, end)));
        let moved = |(at, end)| {
            let mut numbers = means;
            numbers[at] = Some(end);
            level_of(numbers)
        };
        apart.filter_map(moved).collect()
    }

    /// Measuring time of a probe run.
    #[must_use]
    pub fn time(&self, look: Look) -> Nanos {
        let of_kind = |(kind, visits): (&Kind, usize)| {
            let length = |one: &Load| one.workload.runtime_ns.plus(one.workload.ramp_ns).0;
            let all = kind.loads.iter().map(length);
            all.sum::<u64>() / kind.loads.len().max(1) as u64 * visits as u64
        };
        Nanos(self.kinds.iter().zip(look.visits()).map(of_kind).sum())
    }

    /// The profile's cells, updated with all probe runs so far. A rerun closed loop counts as its old and
    /// new visits together. The new ones are corrected by the mean level of their kind.
    #[must_use]
    pub fn updated(&self, cells: &[Cell]) -> Vec<Cell> {
        let mut cells = cells.to_vec();
        for kind in &self.kinds {
            let all: Vec<f64> = kind.loads.iter().flat_map(|load| load.ratios.clone()).collect();
            let level = all.iter().sum::<f64>() / all.len() as f64;
            let loops = kind.loads.iter().filter(|load| load.is_loop() && !load.ratios.is_empty());
            for load in loops {
                let id = load.workload.cell();
                let Some(cell) = cells.iter_mut().find(|cell| cell.cell == id) else { continue };
                let (then, now) = (cell.trial_ids.len() as f64, load.ratios.len() as f64);
                let beside = load.ratios.iter().sum::<f64>() / level;
                let factor = (then + beside) / (then + now);
                cell.iops = cell.iops.scaled(factor);
                cell.bytes_per_s = cell.bytes_per_s.scaled(factor);
                cell.latency_ns = cell.latency_ns.scaled(1.0 / factor);
            }
        }
        cells
    }

    /// Summary of all probe runs.
    #[must_use]
    pub fn since(&self) -> SinceProfile {
        let [qd1_ratio, reads_ratio, writes_ratio, mixes_ratio, open_ratio] =
            self.kinds.each_ref().map(|kind| {
                let visited = kind.loads.iter().filter(|one| !one.ratios.is_empty());
                let medians = visited.map(|one| stats::median(one.ratios.clone()));
                stats::median_interval(medians.collect())
            });
        let of_level = |&DriftFactors { reads, writes, mixes, .. }: &DriftFactors| {
            [reads, writes, reads * mixes, writes * mixes]
        };
        let deep = || self.levels.iter().flat_map(of_level);
        SinceProfile {
            qd1_ratio,
            reads_ratio,
            writes_ratio,
            mixes_ratio,
            open_ratio,
            least_deep_ratio: deep().reduce(f64::min),
            most_deep_ratio: deep().reduce(f64::max),
            trial_ids: self.trial_ids.clone(),
        }
    }
}

impl Plan for DriftProbe<'_> {
    fn next(&mut self) -> Option<PlannedTrial> {
        let at = self.to_visit.pop_front()?;
        if self.present.0 != at {
            self.level_before = self.level().unwrap_or(DriftFactors::PROFILED);
        }
        let kind = &mut self.kinds[at];
        let turn = kind.turn % kind.loads.len();
        kind.turn += 1;
        self.present = (at, turn);
        let seed = workload::derive_seed(self.seed, self.trial_ids.len() as u64) >> 11;
        Some(PlannedTrial::new(kind.loads[turn].workload.clone(), seed))
    }

    fn observe(&mut self, trial: &Trial, _spent: Nanos) {
        self.spent = self.spent.plus(trial.workload.runtime_ns).plus(trial.workload.ramp_ns);
        self.trial_ids.push(trial.id.clone());
        let (at, turn) = self.present;
        let kind = &mut self.kinds[at];
        let load = &mut kind.loads[turn];
        let ratio = load.then.ratio(trial, self.predictor, self.level_before);
        if let Some(ratio) = ratio.filter(|_| model::counts(trial)) {
            load.ratios.push(ratio);
            kind.latest.push_back(ratio);
            if kind.latest.len() > LATEST[at] {
                kind.latest.pop_front();
            }
        }
        if self.to_visit.is_empty() {
            self.levels.extend(self.level());
        }
    }

    fn progress(&self) -> Progress {
        Progress::of_budget("level", self.spent, self.time(Look::Whole))
    }
}

/// The level from these numbers, by kind. A kind without a number takes that of the most similar kind.
fn level_of([alone, reads, writes, mixes, open]: [Option<f64>; KINDS]) -> Option<DriftFactors> {
    let (alone, reads) = alone.zip(reads)?;
    Some(DriftFactors {
        alone,
        open: open.unwrap_or(alone),
        reads,
        writes: writes.unwrap_or(reads),
        mixes: mixes.unwrap_or(1.0),
    })
}

/// The open loads of a profile that are well below the maximum.
fn open(cells: &[Cell], predictor: &Predictor, write: bool) -> Vec<Load> {
    let loads = model::open_loads(cells).into_iter().filter_map(|load| {
        let rate_per_s = load.cell.workload.rate_iops? as f64;
        let max = predictor.max_rate(&load.mix).ok()?.value;
        let fits = rate_per_s <= ROOM * max && (write || !load.cell.workload.writes());
        let (mix, ns) = (load.mix, load.latency_ns);
        let workload = Workload { runtime_ns: VISIT, ramp_ns: RAMP, ..load.cell.workload.clone() };
        let then = PastMeasurement::Response { mix, rate_per_s, ns };
        fits.then(|| Load::new(workload, then))
    });
    loads.collect()
}

/// The deep loops of a profile that both read and write.
fn mixed(cells: &[Cell], write: bool) -> Vec<Load> {
    let loads = cells.iter().filter_map(|cell| {
        let Cell { workload, iops, .. } = cell;
        let closed = workload.arrival == Arrival::Closed && workload.depth >= DEEP;
        let both = workload.only_op().is_none();
        let mix = model::mix_of(workload).filter(|_| write && closed && both)?;
        Some(Load::new(workload.clone(), PastMeasurement::Mixed { mix, per_s: iops.value }))
    });
    loads.collect()
}

/// Whether a cell is a closed loop of only random requests of one operation.
fn is_random_loop(cell: &Cell, op: OpKind) -> bool {
    let of_kind = |class: &record::MixClass| class.locality == Locality::Random && class.op == op;
    cell.workload.arrival == Arrival::Closed
        && model::mix_of(&cell.workload).is_some_and(|mix| mix.classes.iter().all(of_kind))
}

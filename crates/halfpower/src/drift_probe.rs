//! How fast a device is now, over what it was when it was profiled.
//!
//! A profile lies minutes back when it is used, and the level of a shared device wanders within
//! minutes. Some of the profile's own loads, run again for less than half a second each, tell by how
//! much: closed loops of random reads, alone and deep; where the target may be written, deep loops
//! of random writes and of all that both reads and writes; and open loads that leave the device
//! room. Without writes these are taken to have moved as reads did, without open loads these as lone
//! reads did.
//!
//! A closed loop is run for as long as in the profile, one after the other of its kind. Half a
//! second in place of a twentieth showed deep loops of large requests that were 2 to 3 % faster, and
//! a buffer takes more at first than later. A visit's rate is off by a sixth, a longer one's by
//! little less, so a level is the mean of many, and these are the latest only, because the level has
//! moved when they are a minute old. One loop beside the others of its kind is no matter of the
//! level: there all visits, those of the profile and those since, say what it does
//! ([`DriftProbe::mended`]).
//!
//! Rejected for closed loops: their median, which leaves out the stalls that a longer load meets (it
//! foretold largest rates that were 3 to 4 % too high). Of open loads it is the geometric mean,
//! because one visit with a stall in it takes many times as long as the others: over ten validations
//! that was nearer to the loads that followed than the mean, the median, or a share of it by what is
//! known of it.

use model::{DriftFactors, Predictor};
use record::{Arrival, Cell, Locality, Mix, Nanos, Offered, OpKind, SinceProfile, Trial, Workload};
use std::collections::VecDeque;

/// Fewest without which a kind says nothing.
const MIN_LOADS: usize = 4;
/// Shallowest of the deep loops.
const DEEP: u32 = 64;
/// Share of the largest rate that an open load leaves to be looked at: at more, what is not known of
/// that rate moves its queue.
const ROOM: f64 = 0.5;
/// The latest visits of which a level is the mean: of lone reads, deep reads, deep writes, deep
/// mixes and open loads. A kind has no more loads than that, so each of them counts alike: in a
/// profile one differs from the next by more than a level does.
const LATEST: [usize; KINDS] = [12, 24, 24, 36, 24];
const KINDS: usize = 5;
/// A ratio below which the end of an interval is not believed.
const LEAST_RATIO: f64 = 0.01;
/// A visit to an open load, and what is run before it counts.
const VISIT: Nanos = Nanos(400_000_000);
const RAMP: Nanos = Nanos(50_000_000);

/// Runs a workload with this seed, and keeps the trial where trials are kept.
pub(crate) type Runner<'a> = dyn FnMut(&Workload, u64) -> anyhow::Result<Trial> + 'a;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// All that a level is taken from.
    Whole,
    /// Before a load that leaves the device room: no deep writes, whose traces in buffers it would
    /// meet.
    BeforeOpen,
    /// Before a closed loop.
    BeforeClosed,
}

impl Look {
    /// Visits by kind.
    fn visits(self) -> [usize; KINDS] {
        match self {
            Self::Whole => LATEST,
            Self::BeforeOpen => [2, 4, 0, 0, 8],
            Self::BeforeClosed => [0, 6, 6, 12, 0],
        }
    }
}

/// What a load of the profile did then.
#[derive(Debug)]
enum PastMeasurement {
    /// Requests per second of a closed loop.
    Rate(f64),
    /// Requests per second of a closed loop that both reads and writes.
    Mixed { mix: Mix, per_s: f64 },
    /// Mean response time of an open load, in nanoseconds.
    Response { mix: Mix, rate_per_s: f64, ns: f64 },
}

/// A load of the profile.
#[derive(Debug)]
struct Load {
    workload: Workload,
    then: PastMeasurement,
    /// How fast it was over that, by visit since.
    ratios: Vec<f64>,
}

/// Loads of one kind, which take turns.
#[derive(Debug, Default)]
struct Kind {
    loads: Vec<Load>,
    turn: usize,
    latest: VecDeque<f64>,
}

/// Tells the level of a device again and again.
#[derive(Debug)]
pub(crate) struct DriftProbe {
    /// Lone reads, deep reads, deep writes, deep mixes, open loads.
    kinds: [Kind; KINDS],
    seed: u64,
    /// Levels so far.
    levels: Vec<DriftFactors>,
    trial_ids: Vec<String>,
}

impl PastMeasurement {
    /// How fast the load is now, by a trial; `None` where it or the models do not tell.
    fn ratio(&self, trial: &Trial, predictor: &Predictor, level: DriftFactors) -> Option<f64> {
        match self {
            Self::Rate(then) => Some(trial.iops() / then),
            Self::Mixed { mix, per_s } => {
                let level = DriftFactors { mixes: 1.0, ..level };
                let max = |level| Some(predictor.max_rate_at(level, mix).ok()?.value);
                Some(trial.iops() / per_s * max(DriftFactors::PROFILED)? / max(level)?)
            }
            Self::Response { mix, rate_per_s, ns } => {
                // The same rate is another share of what the device does at most now.
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
    fn is_loop(&self) -> bool {
        self.workload.arrival == Arrival::Closed
    }
}

impl Kind {
    /// So many of these, spread evenly.
    fn of(all: Vec<Load>, most: usize) -> Self {
        let (count, of) = (all.len().min(most), all.len());
        let mut kept = (0..count).map(|at| at * of / count).peekable();
        let spread = all.into_iter().enumerate();
        let spread = spread.filter(|(at, _)| kept.next_if_eq(at).is_some()).map(|(_, load)| load);
        Self { loads: spread.collect(), ..Self::default() }
    }

    /// Nothing where there are too few.
    fn or_none(self) -> Self {
        if self.is_enough() { self } else { Self::default() }
    }

    fn is_enough(&self) -> bool {
        self.loads.len() >= MIN_LOADS
    }

    /// The mean of the latest visits, of their logarithms where these are open loads, with its
    /// interval where they are enough for one.
    fn latest(&self) -> Option<(f64, Option<[f64; 2]>)> {
        let open = !self.loads.iter().all(Load::is_loop);
        let scaled = |ratio: &f64| if open { ratio.ln() } else { *ratio };
        let back = |value: f64| if open { value.exp() } else { value };
        let visits: Vec<f64> = self.latest.iter().map(scaled).collect();
        if visits.is_empty() {
            return None;
        }
        let ends = stats::visits_mean(&visits)
            // A rate is never negative, whatever a symmetric interval says.
            .map(|mean| [mean.low, mean.high].map(|end| back(end).max(LEAST_RATIO)));
        Some((back(visits.iter().sum::<f64>() / visits.len() as f64), ends))
    }
}

impl DriftProbe {
    /// Of a profile's cells; `None` with too few closed loops.
    pub(crate) fn new(
        cells: &[Cell],
        predictor: &Predictor,
        write: bool,
        seed: u64,
    ) -> Option<Self> {
        let closed = |most: usize, op: OpKind, of: &dyn Fn(u32) -> bool| {
            let at_random = cells.iter().filter(|cell| is_random_loop(cell, op));
            let of_kind = at_random.filter(|cell| of(cell.workload.depth));
            let load = |cell: &Cell| Load {
                workload: cell.workload.clone(),
                then: PastMeasurement::Rate(cell.iops.value),
                ratios: Vec::new(),
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
        told.then(|| Self { kinds, seed, levels: Vec::new(), trial_ids: Vec::new() })
    }

    /// The level of this moment; `None` where no visit counts.
    pub(crate) fn look(
        &mut self,
        predictor: &Predictor,
        look: Look,
        run: &mut Runner<'_>,
    ) -> anyhow::Result<Option<DriftFactors>> {
        for (at, visits) in look.visits().into_iter().enumerate() {
            // Mixes and open loads come last: what they are held to is a matter of how others moved.
            let level = self.level().unwrap_or(DriftFactors::PROFILED);
            let kind = &mut self.kinds[at];
            let visits = if kind.loads.is_empty() { 0 } else { visits };
            for _ in 0..visits {
                let turn = kind.turn % kind.loads.len();
                kind.turn += 1;
                let Load { workload, then, ratios } = &mut kind.loads[turn];
                let stream = self.trial_ids.len() as u64;
                let trial = run(workload, workload::derive_seed(self.seed, stream) >> 11)?;
                self.trial_ids.push(trial.id.clone());
                let counts = model::counts(&trial);
                if let Some(ratio) = then.ratio(&trial, predictor, level).filter(|_| counts) {
                    ratios.push(ratio);
                    kind.latest.push_back(ratio);
                }
            }
            while kind.latest.len() > LATEST[at] {
                kind.latest.pop_front();
            }
        }
        let level = self.level();
        self.levels.extend(level);
        Ok(level)
    }

    /// By the latest visits; `None` without reads.
    fn level(&self) -> Option<DriftFactors> {
        level_of(self.kinds.each_ref().map(|kind| Some(kind.latest()?.0)))
    }

    /// The level with one of its numbers at an end of the interval that the latest visits give it,
    /// for each number that they give one.
    pub(crate) fn ends(&self) -> Vec<DriftFactors> {
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

    /// How long a look measures.
    pub(crate) fn time(&self, look: Look) -> Nanos {
        let of_kind = |(kind, visits): (&Kind, usize)| {
            let length = |one: &Load| one.workload.runtime_ns.plus(one.workload.ramp_ns).0;
            let all = kind.loads.iter().map(length);
            all.sum::<u64>() / kind.loads.len().max(1) as u64 * visits as u64
        };
        Nanos(self.kinds.iter().zip(look.visits()).map(of_kind).sum())
    }

    /// The profile's cells with what all looks so far add to them: a closed loop that was run again
    /// stands for as many visits as it had and has now, each of those now at the level that its kind
    /// had on average.
    pub(crate) fn mended(&self, cells: &[Cell]) -> Vec<Cell> {
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

    /// All looks together.
    pub(crate) fn since(&self) -> SinceProfile {
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

/// The level of these numbers, by kind: what has none of its own moved as what it is most like.
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

/// The open loads of a profile that leave the device room.
fn open(cells: &[Cell], predictor: &Predictor, write: bool) -> Vec<Load> {
    let loads = model::open_loads(cells).into_iter().filter_map(|load| {
        let rate_per_s = load.cell.workload.rate_iops? as f64;
        let max = predictor.max_rate(&load.mix).ok()?.value;
        let fits = rate_per_s <= ROOM * max && (write || !load.cell.workload.writes());
        fits.then(|| Load {
            workload: Workload { runtime_ns: VISIT, ramp_ns: RAMP, ..load.cell.workload.clone() },
            then: PastMeasurement::Response { mix: load.mix, rate_per_s, ns: load.latency_ns },
            ratios: Vec::new(),
        })
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
        Some(Load {
            workload: workload.clone(),
            then: PastMeasurement::Mixed { mix, per_s: iops.value },
            ratios: Vec::new(),
        })
    });
    loads.collect()
}

/// Whether a cell is a closed loop of nothing but random requests of an operation.
fn is_random_loop(cell: &Cell, op: OpKind) -> bool {
    let of_kind = |class: &record::MixClass| class.locality == Locality::Random && class.op == op;
    cell.workload.arrival == Arrival::Closed
        && model::mix_of(&cell.workload).is_some_and(|mix| mix.classes.iter().all(of_kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Amount, LoadSpec};
    use record::{Bytes, FindingCode};
    use session::{Session, simulated};
    use std::sync::Arc;

    const AREA: Bytes = Bytes(1 << 30);

    /// A simulated device, and cells of it: reads of four sizes, alone, deep and at a tenth and two
    /// fifths of the largest rate, deep writes, and deep loops that do both.
    fn device() -> (Session, Vec<Cell>) {
        let spec = simulated("sim:mmc,service=1ms").unwrap().unwrap();
        let mut session = Session::simulated(&spec, Some(AREA), 1, &Arc::default());
        let mut trials = Vec::new();
        for (read_percent, amount) in [
            (100, Amount::Depth(1)),
            (100, Amount::Depth(DEEP)),
            (0, Amount::Depth(DEEP)),
            (100, Amount::Poisson(100)),
            (100, Amount::Poisson(400)),
            (50, Amount::Depth(DEEP)),
        ] {
            for kib in [4, 8, 16, 64] {
                let load = LoadSpec::pure(OpKind::Read, Locality::Random, kib << 10);
                let load = LoadSpec { read_percent, ..load };
                let workload = load.workload(amount, AREA, session.engine, session.alignment());
                let runtime_ns = Nanos(3_000_000_000);
                let workload = Workload { runtime_ns, ..workload.unwrap() };
                trials.push(session.trial(&workload, 3, &mut |_| ()).unwrap());
            }
        }
        (session, model::aggregate(&trials, 0.1))
    }

    #[test]
    fn a_device_that_does_less_than_its_profile_says_is_told_by_how_much() {
        let (mut session, mut cells) = device();
        for cell in &mut cells {
            // As if it had been faster.
            if cell.workload.arrival == Arrival::Poisson {
                cell.latency_ns = cell.latency_ns.scaled(1.0 / 1.4);
                continue;
            }
            let factor = match (cell.workload.depth, cell.workload.only_op()) {
                (1, _) => 1.1,
                (_, Some(OpKind::Read)) => 1.25,
                (_, Some(OpKind::Write)) => 1.6,
                // Turns of 0.8 and 0.625 ms take 1 ms each now: by 1.2 more than that tells.
                (_, None) => 1.2 * 2.0 / (0.8 + 0.625),
            };
            cell.iops = cell.iops.scaled(factor);
        }
        let predictor = Predictor::of_cells(&cells);
        let mut gauge = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
        let mut visits = 0;
        for look in [Look::Whole, Look::BeforeOpen, Look::BeforeClosed] {
            let before = visits;
            let level = gauge.look(&predictor, look, &mut |workload, seed| {
                assert!(look != Look::BeforeOpen || !workload.writes());
                visits += 1;
                Ok(session.trial(workload, seed, &mut |_| ())?)
            });
            let level = level.unwrap().unwrap();
            assert!((level.reads * 1.25 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
            assert!((level.writes * 1.6 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
            assert!((level.mixes * 1.2 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
            assert!((level.alone * 1.1 - 1.0).abs() < 0.1, "{look:?}: {level:?}");
            assert!((level.open * 1.4 - 1.0).abs() < 0.1, "{look:?}: {level:?}");
            assert_eq!(visits - before, look.visits().iter().sum::<usize>());
        }
        let level = gauge.levels[gauge.levels.len() - 1];
        let ends = gauge.ends();
        assert_eq!(ends.len(), 2 * KINDS);
        // One number at a time, on both sides of what it is, and near it.
        let numbers = |one: &DriftFactors| [one.alone, one.reads, one.writes, one.mixes, one.open];
        for number in 0..KINDS {
            let share = |end: usize| numbers(&ends[end])[number] / numbers(&level)[number];
            let (low, high) = (share(2 * number), share(2 * number + 1));
            assert!((0.8..1.0).contains(&low) && (1.0..1.2).contains(&high), "{low} {high}");
            let moved = ends.iter().filter(|end| numbers(end)[number] != numbers(&level)[number]);
            assert_eq!(moved.count(), 2);
        }
        let since = gauge.since();
        assert_eq!(since.trial_ids.len(), visits);
        // All loops of a kind moved alike, so none is mended by more than its visits vary.
        let near = |(mended, cell): (&Cell, &Cell)| {
            let factor = mended.iops.value / cell.iops.value;
            let inverse = cell.latency_ns.value / mended.latency_ns.value;
            (factor - 1.0).abs() < 0.05 && (factor - inverse).abs() < 1e-9
        };
        assert!(gauge.mended(&cells).iter().zip(&cells).all(near));
        // Four loops of a kind are too few for an interval.
        assert!(since.reads_ratio.is_none());
        assert!(since.least_deep_ratio.unwrap() <= since.most_deep_ratio.unwrap());
    }

    /// A loop of whose rate the profile knows too much by a half is one of four in its kind, and each
    /// visit since counts as much as the one in the profile.
    #[test]
    fn visits_since_mend_a_cell_that_chance_put_beside_its_kind() {
        let (mut session, mut cells) = device();
        let at = cells.iter().position(|cell| cell.workload.depth == DEEP).unwrap();
        cells[at].iops = cells[at].iops.scaled(1.5);
        let predictor = Predictor::of_cells(&cells);
        let mut gauge = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
        gauge
            .look(&predictor, Look::Whole, &mut |workload, seed| {
                Ok(session.trial(workload, seed, &mut |_| ())?)
            })
            .unwrap();
        // Six visits to each: at 2/3 and three times 1, over 11/12. One in the profile, six now.
        let mended = gauge.mended(&cells);
        let factor = |at: usize| mended[at].iops.value / cells[at].iops.value;
        let expected = |ratio: f64| (1.0 + 6.0 * ratio / (11.0 / 12.0)) / 7.0;
        assert!((factor(at) - expected(2.0 / 3.0)).abs() < 0.02, "{}", factor(at));
        assert!((factor(at + 1) - expected(1.0)).abs() < 0.02, "{}", factor(at + 1));
        // Open loads are what they were.
        let open = cells.iter().position(|cell| cell.workload.arrival == Arrival::Poisson).unwrap();
        assert_eq!(mended[open], cells[open]);
    }

    #[test]
    fn a_level_forgets_what_lies_minutes_back() {
        let (mut session, cells) = device();
        let predictor = Predictor::of_cells(&cells);
        let mut gauge = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
        let mut looks = |gauge: &mut DriftProbe, speed: f64| {
            let mut level = None;
            for look in [Look::BeforeOpen, Look::BeforeClosed].repeat(LATEST[0]) {
                let run = &mut |workload: &Workload, seed| {
                    let mut trial = session.trial(workload, seed, &mut |_| ())?;
                    if let Some(read) = &mut trial.result.read {
                        read.iops *= speed;
                    }
                    Ok(trial)
                };
                level = gauge.look(&predictor, look, run).unwrap();
            }
            level.unwrap()
        };
        let before = looks(&mut gauge, 1.0);
        let after = looks(&mut gauge, 0.5);
        assert!((after.reads / before.reads - 0.5).abs() < 0.03, "{before:?} {after:?}");
        assert!((after.alone / before.alone - 0.5).abs() < 0.05, "{before:?} {after:?}");
    }

    #[test]
    fn without_loops_or_with_visits_that_do_not_count_there_is_no_level() {
        let (mut session, cells) = device();
        let predictor = Predictor::of_cells(&cells);
        assert!(DriftProbe::new(&cells[..2], &predictor, true, 7).is_none());
        // Nothing that may not be written is.
        let mut reads = DriftProbe::new(&cells, &predictor, false, 7).unwrap();
        let level = reads.look(&predictor, Look::Whole, &mut |workload, seed| {
            assert!(!workload.writes());
            Ok(session.trial(workload, seed, &mut |_| ())?)
        });
        let level = level.unwrap().unwrap();
        assert_eq!(level.reads.to_bits(), level.writes.to_bits());
        let ends = reads.ends();
        assert_eq!(ends.len(), 6);
        assert!(ends.iter().all(|end| end.reads.to_bits() == end.writes.to_bits()), "{ends:?}");
        // A profile without open loads: these are taken to have moved as lone reads did.
        let closed: Vec<Cell> = cells[..12].to_vec();
        let mut gauge = DriftProbe::new(&closed, &Predictor::of_cells(&closed), true, 7).unwrap();
        let level = gauge.look(&predictor, Look::Whole, &mut |workload, seed| {
            assert!(workload.arrival == Arrival::Closed);
            Ok(session.trial(workload, seed, &mut |_| ())?)
        });
        let level = level.unwrap().unwrap();
        assert_eq!(level.open.to_bits(), level.alone.to_bits());
        let ends = gauge.ends();
        assert!(ends.iter().all(|end| end.open.to_bits() == end.alone.to_bits()), "{ends:?}");
        let mut gauge = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
        let level = gauge.look(&predictor, Look::Whole, &mut |workload, seed| {
            let mut trial = session.trial(workload, seed, &mut |_| ())?;
            trial.findings.push(record::Finding::new(
                FindingCode::PageCacheServed,
                record::Severity::Invalid,
                "all from memory",
                "read past it",
            ));
            Ok(trial)
        });
        assert_eq!(level.unwrap(), None);
        assert_eq!(gauge.since().most_deep_ratio, None);
    }
}

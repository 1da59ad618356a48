//! How fast a device is now, over what it was when it was profiled.
//!
//! A profile lies minutes back when it is used, and the level of a shared device wanders within
//! minutes. Some of the profile's own closed loops, run again for less than half a second each, tell
//! by how much: random reads alone and deep, and deep writes where the target may be written, of all
//! sizes that the profile has. Without writes these are taken to have moved as reads did.
//!
//! One such visit is off by a fifth and more, so a level is the mean of several, and these are the
//! latest few only, because the level has moved when they are a minute old. Rejected: their median,
//! which leaves out the stalls that a longer load meets (it foretold largest rates that were 3 to 4 %
//! too high).

use model::Level;
use record::{Arrival, Cell, Locality, Nanos, OpKind, SinceProfile, Trial, Workload};
use std::collections::VecDeque;

/// Most loops of each kind.
const LOOPS: usize = 12;
/// Fewest without which a kind says nothing.
const MIN_LOOPS: usize = 4;
/// Shallowest of the deep ones.
const DEEP: u32 = 64;
/// The latest visits of which a level is the mean: of lone reads, deep reads and deep writes.
const LATEST: [usize; KINDS] = [6, 8, 8];
const KINDS: usize = 3;
/// A visit that reads, and what is run before it counts. Those that write are as they were for the
/// profile: a buffer takes more at first than later.
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
            Self::BeforeOpen => [2, 2, 0],
            Self::BeforeClosed => [1, 2, 2],
        }
    }
}

/// A closed loop of the profile.
#[derive(Debug)]
struct Loop {
    workload: Workload,
    /// Its rate as profiled.
    then: f64,
    /// Its rate over that, by visit since.
    ratios: Vec<f64>,
}

/// Loops of one kind, which take turns.
#[derive(Debug, Default)]
struct Kind {
    loops: Vec<Loop>,
    turn: usize,
    latest: VecDeque<f64>,
}

/// Tells the level of a device again and again.
#[derive(Debug)]
pub(crate) struct Gauge {
    /// Lone reads, deep reads, deep writes.
    kinds: [Kind; KINDS],
    seed: u64,
    /// Levels so far.
    levels: Vec<Level>,
    trial_ids: Vec<String>,
}

impl Gauge {
    /// Of a profile's cells; `None` with too few such loops.
    pub(crate) fn new(cells: &[Cell], write: bool, seed: u64) -> Option<Self> {
        let kind = |op: OpKind, of: &dyn Fn(u32) -> bool| {
            let at_random = cells.iter().filter(|cell| is_random_loop(cell, op));
            let cells: Vec<&Cell> = at_random.filter(|cell| of(cell.workload.depth)).collect();
            let count = cells.len().min(LOOPS);
            let spread = (0..count).map(|at| cells[at * cells.len() / count]);
            let loops = spread.map(|cell| {
                let workload = match op {
                    OpKind::Read => {
                        Workload { runtime_ns: VISIT, ramp_ns: RAMP, ..cell.workload.clone() }
                    }
                    OpKind::Write => cell.workload.clone(),
                };
                Loop { workload, then: cell.iops.value, ratios: Vec::new() }
            });
            Kind { loops: loops.collect(), ..Kind::default() }
        };
        let kinds = [
            kind(OpKind::Read, &|depth| depth == 1),
            kind(OpKind::Read, &|depth| depth >= DEEP),
            kind(OpKind::Write, &|depth| write && depth >= DEEP),
        ];
        let enough = |kind: &Kind| kind.loops.len() >= MIN_LOOPS;
        let told = enough(&kinds[0]) && enough(&kinds[1]) && (!write || enough(&kinds[2]));
        told.then(|| Self { kinds, seed, levels: Vec::new(), trial_ids: Vec::new() })
    }

    /// The level of this moment; `None` where no visit counts.
    pub(crate) fn look(
        &mut self,
        look: Look,
        run: &mut Runner<'_>,
    ) -> anyhow::Result<Option<Level>> {
        for (kind, (visits, latest)) in
            self.kinds.iter_mut().zip(look.visits().into_iter().zip(LATEST))
        {
            let visits = if kind.loops.is_empty() { 0 } else { visits };
            for _ in 0..visits {
                let at = kind.turn % kind.loops.len();
                kind.turn += 1;
                let Loop { workload, then, ratios } = &mut kind.loops[at];
                let stream = self.trial_ids.len() as u64;
                let trial = run(workload, workload::derive_seed(self.seed, stream) >> 11)?;
                self.trial_ids.push(trial.id.clone());
                if model::counts(&trial) {
                    let ratio = trial.iops() / *then;
                    ratios.push(ratio);
                    kind.latest.push_back(ratio);
                }
            }
            while kind.latest.len() > latest {
                kind.latest.pop_front();
            }
        }
        let [alone, reads, writes] = self.kinds.each_ref().map(|kind| {
            let mean = kind.latest.iter().sum::<f64>() / kind.latest.len() as f64;
            Some(mean).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        });
        let level = alone.zip(reads).map(|(alone, reads)| Level {
            alone,
            reads,
            writes: writes.unwrap_or(reads),
        });
        self.levels.extend(level);
        Ok(level)
    }

    /// How long a look measures.
    pub(crate) fn time(&self, look: Look) -> Nanos {
        let of_kind = |(kind, visits): (&Kind, usize)| {
            let length = |one: &Loop| one.workload.runtime_ns.plus(one.workload.ramp_ns).0;
            let all = kind.loops.iter().map(length);
            all.sum::<u64>() / kind.loops.len().max(1) as u64 * visits as u64
        };
        Nanos(self.kinds.iter().zip(look.visits()).map(of_kind).sum())
    }

    /// All looks together.
    pub(crate) fn since(&self) -> SinceProfile {
        let [lone_ratio, reads_ratio, writes_ratio] = self.kinds.each_ref().map(|kind| {
            let visited = kind.loops.iter().filter(|one| !one.ratios.is_empty());
            let medians = visited.map(|one| stats::median(one.ratios.clone()));
            stats::median_interval(medians.collect())
        });
        let deep = || self.levels.iter().flat_map(|level| [level.reads, level.writes]);
        SinceProfile {
            lone_ratio,
            reads_ratio,
            writes_ratio,
            least_deep_ratio: deep().reduce(f64::min),
            most_deep_ratio: deep().reduce(f64::max),
            trial_ids: self.trial_ids.clone(),
        }
    }
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
    use crate::session::{Session, simulated};
    use experiment::{Amount, LoadSpec};
    use record::{Bytes, FindingCode};
    use std::sync::Arc;

    const AREA: Bytes = Bytes(1 << 30);

    /// A simulated device, and cells of it: reads of four sizes, alone and deep, and writes.
    fn device() -> (Session, Vec<Cell>) {
        let spec = simulated("sim:mmc,service=1ms").unwrap().unwrap();
        let mut session = Session::simulated(&spec, Some(AREA), 1, &Arc::default());
        let mut trials = Vec::new();
        for (op, depth) in [(OpKind::Read, 1), (OpKind::Read, DEEP), (OpKind::Write, DEEP)] {
            for kib in [4, 8, 16, 64] {
                let load = LoadSpec::pure(op, Locality::Random, kib << 10);
                let amount = Amount::Depth(depth);
                let workload = load.workload(amount, AREA, session.engine, session.alignment());
                let runtime_ns = Nanos(10_000_000_000);
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
            let factor = match (cell.workload.depth, cell.workload.writes()) {
                (1, _) => 1.1,
                (_, false) => 1.25,
                (_, true) => 1.6,
            };
            cell.iops = cell.iops.scaled(factor);
        }
        let mut gauge = Gauge::new(&cells, true, 7).unwrap();
        let mut visits = 0;
        for look in [Look::Whole, Look::BeforeOpen, Look::BeforeClosed] {
            let before = visits;
            let level = gauge.look(look, &mut |workload, seed| {
                assert!(look != Look::BeforeOpen || !workload.writes());
                visits += 1;
                session.trial(workload, seed, &mut |_| ())
            });
            let level = level.unwrap().unwrap();
            assert!((level.reads * 1.25 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
            assert!((level.writes * 1.6 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
            assert!((level.alone * 1.1 - 1.0).abs() < 0.1, "{look:?}: {level:?}");
            assert_eq!(visits - before, look.visits().iter().sum::<usize>());
        }
        let since = gauge.since();
        assert_eq!(since.trial_ids.len(), visits);
        // Four loops of a kind are too few for an interval.
        assert!(since.reads_ratio.is_none());
        assert!(since.least_deep_ratio.unwrap() <= since.most_deep_ratio.unwrap());
    }

    #[test]
    fn a_level_forgets_what_lies_minutes_back() {
        let (mut session, cells) = device();
        let mut gauge = Gauge::new(&cells, true, 7).unwrap();
        let mut looks = |gauge: &mut Gauge, count: usize, speed: f64| {
            let mut level = None;
            for _ in 0..count {
                let run = &mut |workload: &Workload, seed| {
                    let mut trial = session.trial(workload, seed, &mut |_| ())?;
                    if let Some(read) = &mut trial.result.read {
                        read.iops *= speed;
                    }
                    Ok(trial)
                };
                level = gauge.look(Look::BeforeClosed, run).unwrap();
            }
            level.unwrap()
        };
        let before = looks(&mut gauge, 6, 1.0);
        let after = looks(&mut gauge, 6, 0.5);
        assert!((after.reads / before.reads - 0.5).abs() < 0.03, "{before:?} {after:?}");
        assert!((after.alone / before.alone - 0.5).abs() < 0.05, "{before:?} {after:?}");
    }

    #[test]
    fn without_loops_or_with_visits_that_do_not_count_there_is_no_level() {
        let (mut session, cells) = device();
        assert!(Gauge::new(&cells[..2], true, 7).is_none());
        // Nothing that may not be written is.
        let mut reads = Gauge::new(&cells, false, 7).unwrap();
        let level = reads.look(Look::Whole, &mut |workload, seed| {
            assert!(!workload.writes());
            session.trial(workload, seed, &mut |_| ())
        });
        let level = level.unwrap().unwrap();
        assert_eq!(level.reads.to_bits(), level.writes.to_bits());
        let mut gauge = Gauge::new(&cells, true, 7).unwrap();
        let level = gauge.look(Look::Whole, &mut |workload, seed| {
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

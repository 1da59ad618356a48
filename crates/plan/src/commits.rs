//! Plans the measurement of commits: writes to a log, each made durable, by 1 to 64 committers.
//!
//! Two kinds of log are measured. In blocks that were written before, a flush depends on the device alone.
//! With new blocks the file system's journal takes part. Each committer writes through the page cache, as
//! databases do, to its own part of one file, and flushes after each write. Several sessions that commit
//! together (group commit) need no trials of their own: one flush serves them all, just as it serves a
//! single one.
//!
//! The plan visits all points in three rounds, each in a different order. With little time there are fewer
//! points, never shorter visits. One committer gets the longest visits, because it makes the fewest flushes
//! and a percentile of them is needed.

use crate::visits::{CheckSettings, MIN_VISIT, RAMP_SHARE, Visits};
use crate::{Plan, PlannedTrial, Preparation, Progress};
use record::{
    Bytes, CacheMode, EngineName, Flush, FlushKind, LogKind, Nanos, Pattern, Trial, Workload,
};
use stats::MIN_VISITS;
use workload::Spec;

/// Name of the treatment that prepares the test file for new blocks.
const NEW_BLOCKS: &str = "new-blocks";
/// Bytes of each write: a block of PostgreSQL's log; etcd's writes are up to this size.
const WRITE_BYTES: u64 = 8 << 10;
/// Size of the log, shared by all committers.
const LOG_BYTES: u64 = 64 << 20;
/// Numbers of committers; the first list that fits the time is used.
const COMMITTERS: [&[u32]; 3] = [&[1, 2, 4, 8, 16, 32, 64], &[1, 4, 16, 64], &[1, 16]];
/// Length of visits with one committer, and with few, in units of the shortest visit.
const ALONE: u64 = 4;
const FEW: u64 = 2;
/// Number of visits without a completion after which a point is dropped.
const MAX_STALLS: u32 = 2;

/// Plans the commits.
#[derive(Clone, Debug)]
pub struct CommitsPlan {
    visits: Visits<LogKind>,
    /// Length of the shortest visits.
    unit: Nanos,
    rounds: usize,
}

impl CommitsPlan {
    /// A plan for the budget of `settings`; `None` if the budget or the area is too small. The file must
    /// end at the end of the area, because new blocks are appended there. `flush` is the kind by which
    /// programs commit on this system.
    #[must_use]
    pub fn new(settings: CheckSettings, flush: FlushKind) -> Option<Self> {
        let visit = |committers: &[u32]| {
            let units: u64 = committers.iter().map(|&number| units(number)).sum();
            Nanos(settings.budget.0 / (MIN_VISITS as u64 * 2 * units))
        };
        let committers = COMMITTERS.iter().find(|&&committers| visit(committers) >= MIN_VISIT)?;
        let unit = visit(committers);
        let area = settings.area;
        let mut visits = Visits::new(settings, u64::MAX - 3);
        for log in LogKind::ALL {
            for &number in *committers {
                if let Some(workload) = workload(log, number, area, flush) {
                    visits.add(workload, log);
                }
            }
        }
        (!visits.cells.is_empty()).then_some(Self { visits, unit, rounds: 0 })
    }
}

/// Length of a visit with this many committers, in units of the shortest visit.
fn units(committers: u32) -> u64 {
    match committers {
        1 => ALONE,
        2..=4 => FEW,
        _ => 1,
    }
}

/// Committers on a log: at the start of the area, or after its end.
fn workload(log: LogKind, committers: u32, area: Bytes, flush: FlushKind) -> Option<Workload> {
    let new = log == LogKind::NewBlocks;
    let length = LOG_BYTES.min(area.0);
    let offset = if new { area.0 } else { 0 };
    let spec = Spec {
        size: Some(Bytes(length)),
        ..Spec::of(Workload {
            read_percent: 0,
            pattern: Pattern::Sequential,
            from_start: new,
            numjobs: committers,
            cache: CacheMode::All,
            engine: EngineName::Sync,
            flush: Some(Flush { kind: flush, every: 1 }),
            offset_bytes: Bytes(offset),
            runtime_ns: Nanos(1_000_000_000),
            ..Workload::default()
        })
    };
    spec.with_bs(WRITE_BYTES).build(Bytes(offset + length)).ok()
}

impl Plan for CommitsPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        if self.visits.queue.is_empty() && self.rounds < MIN_VISITS {
            self.rounds += 1;
            let cells = self.visits.cells.iter().enumerate();
            let alive = cells.filter(|(_, cell)| cell.stalls < MAX_STALLS);
            let alive: Vec<usize> = alive.map(|(index, _)| index).collect();
            self.visits.queue_shuffled(alive);
        }
        let index = self.visits.queue.pop_front()?;
        let cell = &self.visits.cells[index];
        let units = units(cell.workload.numjobs) as f64 * self.visits.stretch(index);
        let new = cell.tag == LogKind::NewBlocks;
        let visit = Nanos((self.unit.0 as f64 * units) as u64);
        let mut planned = self.visits.planned(index, visit, RAMP_SHARE);
        if new {
            planned.preparation = Preparation::Treatment(NEW_BLOCKS.to_owned());
        }
        Some(planned)
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        if let Some(cell) = self.visits.observe(trial, spent)
            && trial.failed() > 0
        {
            // A file system that reserves nothing, or a full one: a repetition would fail too.
            cell.stalls = MAX_STALLS;
        }
    }

    fn progress(&self) -> Progress {
        self.visits.progress("commits")
    }
}

//! Plans `check --sustained`: the heaviest loads continue until their rate falls.
//!
//! A volume with credit and a drive with a fast area for writes are faster at first than in the long run.
//! The plan runs reads at the deepest queue of the check, then the writes that moved most bytes, in slices
//! of a second. A step is a rate a fifth below the previous one over eight consecutive slices. Then the
//! load pauses, and continues until it is slow again: this time compared with the first shows how fast the
//! pause restores the credit. Rejected: a test for a change of the mean, which finds one on any shared
//! disk.

use crate::{Plan, PlannedTrial, Progress, Saved};
use record::{
    Arrival, Bytes, CacheMode, Estimate, Measured, Nanos, OpKind, Pattern, RateStep, StepCause,
    Sustained, Trial, Workload,
};
use workload::derive_seed;

/// Maximum time of all loads together, without pauses and reruns.
pub const SUSTAINED_MOST: Nanos = Nanos(600_000_000_000);
const SLICE: Nanos = Nanos(1_000_000_000);
const REST: Nanos = Nanos(30_000_000_000);
/// A step needs `SLOWER_SLICES` consecutive slices below `SLOWER` times most of the previous ones, of which
/// there must be at least `FASTER_SLICES`.
const SLOWER_SLICES: usize = 8;
const FASTER_SLICES: usize = 5;
const SLOWER: f64 = 0.8;
/// Quantile of the faster slices with which later ones are compared.
const LOW_SHARE: f64 = 0.25;
/// If the rate varies by less than this between slices, a cap holds it.
const EXACT: f64 = 0.01;
/// Request size of the reads.
const READ_BYTES: u64 = 4 << 10;

/// Counts of one slice.
#[derive(Clone, Copy, Debug)]
struct Slice {
    seconds: f64,
    requests: f64,
    bytes: f64,
}

impl Slice {
    fn iops(&self) -> f64 {
        self.requests / self.seconds.max(1e-9)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    First,
    Rest,
    Again,
}

/// Plans the loads.
#[derive(Clone, Debug)]
pub struct SustainedPlan {
    loads: Vec<Workload>,
    seed: u64,
    issued: u64,
    phase: Phase,
    first: Vec<Slice>,
    again: Vec<Slice>,
    spent: Nanos,
    done: Vec<Sustained>,
}

impl SustainedPlan {
    /// Selects the loads from the trials of a check; `None` if none is suitable.
    #[must_use]
    pub fn new(trials: &[Trial], seed: u64) -> Option<Self> {
        let of = |op: OpKind, pattern: Pattern| {
            trials.iter().filter(move |trial| {
                let workload = &trial.workload;
                model::counts(trial)
                    && workload.arrival == Arrival::Closed
                    && workload.cache == CacheMode::Device
                    && workload.flush.is_none()
                    && workload.only_op() == Some(op)
                    && workload.pattern == pattern
            })
        };
        let small = |trial: &&Trial| trial.workload.max_bs().0 == READ_BYTES;
        let reads = of(OpKind::Read, Pattern::Random).filter(small);
        let reads = reads.max_by_key(|trial| trial.workload.depth);
        let moved = |trial: &Trial| trial.iops() * trial.workload.max_bs().0 as f64;
        let writes = of(OpKind::Write, Pattern::Sequential);
        let writes = writes.max_by(|one, other| moved(one).total_cmp(&moved(other)));
        let load = |trial: &Trial| Workload {
            ramp_ns: Nanos(0),
            runtime_ns: SLICE,
            ..trial.workload.clone()
        };
        let loads: Vec<Workload> = reads.into_iter().chain(writes).map(load).collect();
        (!loads.is_empty()).then(|| Self {
            loads,
            seed,
            issued: 0,
            phase: Phase::First,
            first: Vec::new(),
            again: Vec::new(),
            spent: Nanos(0),
            done: Vec::new(),
        })
    }

    /// Results of the finished loads.
    #[must_use]
    pub fn sustained(&self) -> Vec<Sustained> {
        self.done.clone()
    }

    fn load(&self) -> Option<&Workload> {
        self.loads.get(self.done.len())
    }

    /// Maximum time of a load before a step.
    fn longest_s(&self) -> f64 {
        SUSTAINED_MOST.as_secs_f64() / self.loads.len() as f64
    }

    /// Ends a load: records its rates and the effect of its pause.
    fn end(&mut self, step_at: Option<usize>) {
        let Some(workload) = self.load().cloned() else { return };
        let reads_fell = self.done.iter().any(|one| one.step.is_some());
        let before = &self.first[..step_at.unwrap_or(self.first.len())];
        let step = step_at.map(|at| {
            // The step itself is in the first of the slower slices.
            let iops = mean(&self.first[at + 1..]);
            let exact = iops.relative_half_width() <= EXACT;
            let credit = exact || reads_fell || workload.only_op() == Some(OpKind::Read);
            RateStep {
                cause: if credit { StepCause::Credit } else { StepCause::WriteCache },
                iops,
                rest_ns: REST,
                back_after_ns: back_after(before, &self.again, iops.value),
            }
        });
        let seconds: f64 = before.iter().map(|slice| slice.seconds).sum();
        let bytes: f64 = before.iter().map(|slice| slice.bytes).sum();
        let (ran_ns, bytes) = (Nanos((seconds * 1e9) as u64), Bytes(bytes as u64));
        self.done.push(Sustained { workload, ran_ns, bytes, iops: mean(before), step });
        (self.phase, self.first, self.again) = (Phase::First, Vec::new(), Vec::new());
    }

    /// Continues with the next phase if the current one has enough data.
    fn look(&mut self) {
        let seconds = |slices: &[Slice]| slices.iter().map(|slice| slice.seconds).sum::<f64>();
        match (self.phase, step(&self.first)) {
            (Phase::First, Some(_)) => self.phase = Phase::Rest,
            (Phase::First, None) if seconds(&self.first) >= self.longest_s() => self.end(None),
            (Phase::First | Phase::Again, None) | (Phase::Rest, _) => {}
            (Phase::Again, Some(at)) => {
                let fast = mean(&self.first[..at]).value;
                let middle = f64::midpoint(fast, mean(&self.first[at + 1..]).value);
                let slow = self.again.last().is_some_and(|slice| slice.iops() < middle);
                if slow || seconds(&self.again) >= seconds(&self.first[..at]) {
                    self.end(Some(at));
                }
            }
        }
    }
}

/// Index from which all slices are slower than most before them.
fn step(slices: &[Slice]) -> Option<usize> {
    let at = slices.len().checked_sub(SLOWER_SLICES).filter(|at| *at >= FASTER_SLICES)?;
    let (before, after) = slices.split_at(at);
    let mut rates: Vec<f64> = before.iter().map(Slice::iops).collect();
    rates.sort_by(f64::total_cmp);
    let low = rates[(rates.len() as f64 * LOW_SHARE) as usize];
    after.iter().all(|slice| slice.iops() < SLOWER * low).then_some(at)
}

fn mean(slices: &[Slice]) -> Estimate {
    stats::over_visits(&slices.iter().map(Slice::iops).collect::<Vec<_>>(), None)
}

/// How long a pause must be to restore everything that a load used beyond its rate after the step,
/// extrapolated from one pause. At each end, one slice cannot be assigned to either side.
fn back_after(before: &[Slice], again: &[Slice], slow_per_s: f64) -> Measured<Estimate> {
    let beyond = |slices: &[Slice]| -> f64 {
        slices.iter().map(|slice| (slice.requests - slow_per_s * slice.seconds).max(0.0)).sum()
    };
    let unsure = mean(before).value - slow_per_s;
    let (first, second) = (beyond(before), beyond(again));
    if second <= unsure {
        return Measured::not("after the idle time, the higher rate lasted less than a second");
    }
    let ns = |first: f64, second: f64| first / second * REST.0 as f64;
    let (low, high) = (ns(first - unsure, second + unsure), ns(first + unsure, second - unsure));
    Measured::Value(Estimate::spanning(ns(first, second), low, high, 2))
}

impl Plan for SustainedPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        let load = self.load()?.clone();
        let workload = match self.phase {
            // One request per second keeps the target active and uses no credit.
            Phase::Rest => Workload {
                arrival: Arrival::Constant,
                rate_iops: Some(1),
                iodepth: 1,
                numjobs: 1,
                depth: 1,
                runtime_ns: REST,
                ..load
            },
            Phase::First | Phase::Again => load,
        };
        self.issued += 1;
        let seed = derive_seed(self.seed, u64::MAX - self.issued) >> 11;
        let planned = PlannedTrial::new(workload, seed);
        Some(PlannedTrial { saved: Saved::No, ..planned })
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.spent = self.spent.plus(spent);
        let slice = Slice {
            seconds: trial.result.duration_ns.as_secs_f64(),
            requests: trial.completed() as f64,
            bytes: trial.completed() as f64 * trial.workload.max_bs().0 as f64,
        };
        match self.phase {
            Phase::First => self.first.push(slice),
            Phase::Rest => self.phase = Phase::Again,
            Phase::Again => self.again.push(slice),
        }
        self.look();
    }

    fn progress(&self) -> Progress {
        Progress::of_budget("sustained", self.spent, SUSTAINED_MOST)
    }
}

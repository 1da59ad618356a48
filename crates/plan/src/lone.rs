//! The plan of lone reads: requests at rates so low that each finds the device and the way to it at
//! rest.
//!
//! A closed loop keeps processors, host and device awake, so it does not show what a light load sees.
//! A few rates do, from one read per millisecond to one per second. Each visit is short, in turn with
//! those of the other plans, and the rest before its first request is part of its ramp. A rate at which
//! the device would not be at rest most of the time is given up. Where time is short the lowest rates
//! are left out, which cost most. Rejected: rates at chance, whose rests have no length of their own.

use crate::visits::{CheckSettings, Visits};
use crate::{Plan, PlannedTrial, Progress};
use record::{Arrival, Nanos, Trial, Workload};
use stats::MIN_VISITS;
use workload::{Spec, derive_seed};

/// Reads per second with the number of them that a visit counts, the cheapest first.
const RATES: [(u64, u64); 4] = [(1_000, 90), (100, 20), (10, 4), (1, 2)];
const READ_BYTES: u64 = 4 << 10;
/// Part of a visit that is run before it counts: at the lowest rates it holds the first request, which
/// comes at once and so after no rest.
const RAMP_SHARE: u64 = 20;
/// Of random numbers, apart from those of the other plans.
const STREAM: u64 = u64::MAX - 4;
/// Visits without a completion after which a rate is given up.
const MAX_STALLS: u32 = 2;

/// The plan.
#[derive(Clone, Debug)]
pub struct LoneReadsPlan {
    /// Cells with the length of a visit.
    visits: Visits<Nanos>,
    round: usize,
    /// The lowest rate at which the device was too busy.
    busy_from: Option<u64>,
}

impl LoneReadsPlan {
    /// A plan for the budget of `settings`; `None` where it is too short for any, or no read fits the
    /// area.
    #[must_use]
    pub fn new(settings: &CheckSettings) -> Option<Self> {
        let &CheckSettings { area, engine, alignment, budget, .. } = settings;
        let mut left = budget;
        // Plans side by side count their trials apart; no two have the same seed.
        let seed = derive_seed(settings.seed, STREAM);
        let mut visits = Visits::new(CheckSettings { seed, ..settings.clone() }, STREAM);
        for (rate, reads) in RATES {
            let gap = 1_000_000_000 / rate;
            // Part of a gap behind the last read is time for it to complete.
            let visit = Nanos((reads * gap + gap / 10) * RAMP_SHARE / (RAMP_SHARE - 1));
            let cost = Nanos(visit.0 * MIN_VISITS as u64);
            if cost > left || !READ_BYTES.is_multiple_of(alignment.max(1)) {
                break;
            }
            let spec = Spec {
                arrival: Some(Arrival::Constant),
                ..Spec::of(Workload {
                    rate_iops: Some(rate),
                    engine,
                    runtime_ns: Nanos(1_000_000_000),
                    ..Workload::default()
                })
            };
            let Ok(workload) = spec.with_bs(READ_BYTES).build(area) else { break };
            left = left.since(cost);
            visits.add(workload, visit);
        }
        (!visits.cells.is_empty()).then_some(Self { visits, round: 0, busy_from: None })
    }

    /// The visits of the next round; none after the last. Beyond the rounds that are owed it takes as
    /// many more as there is time for.
    fn next_round(&mut self) {
        let worth = |index: &usize| {
            let cell = &self.visits.cells[*index];
            let busy = self.busy_from.is_some_and(|from| cell.workload.rate_iops >= Some(from));
            !busy && cell.stalls < MAX_STALLS
        };
        let of_round: Vec<usize> = (0..self.visits.cells.len()).filter(worth).collect();
        let cost: u64 = of_round.iter().map(|&index| self.visits.cells[index].tag.0).sum();
        let fits = self.visits.spent.plus(Nanos(cost)) <= self.visits.settings.budget;
        if self.round < MIN_VISITS || fits {
            self.round += 1;
            self.visits.queue_shuffled(of_round);
        }
    }
}

impl Plan for LoneReadsPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        if self.visits.queue.is_empty() {
            self.next_round();
        }
        let index = self.visits.queue.pop_front()?;
        let visit = self.visits.cells[index].tag;
        Some(self.visits.planned(index, visit, RAMP_SHARE))
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        if let Some((rate, ns)) = trial.workload.rate_iops.zip(trial.latency_ns())
            && !model::leaves_rests(rate, ns)
        {
            self.busy_from = Some(self.busy_from.map_or(rate, |from| from.min(rate)));
        }
        self.visits.observe(trial, spent);
    }

    fn progress(&self) -> Progress {
        self.visits.progress("lone reads")
    }
}

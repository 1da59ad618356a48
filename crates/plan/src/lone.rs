//! Plans isolated reads: requests at rates so low that each finds the device and the way to it idle.
//!
//! A closed loop keeps processors, host and device awake, so it does not show the latency of a light load.
//! A few rates do, from one read per millisecond to one per second. Visits are short and alternate with
//! those of the other plans. The idle time before the first request is part of the ramp. A rate at which
//! the device would be busy too often is dropped. With little time the lowest rates, which take longest,
//! are left out. Rejected: random arrivals, whose idle times have no fixed length.

use crate::visits::{CheckSettings, Visits};
use crate::{Plan, PlannedTrial, Progress};
use record::{Arrival, Nanos, Trial, Workload};
use stats::MIN_VISITS;
use workload::{Spec, derive_seed};

/// Reads per second and the number of reads in a visit, cheapest first.
const RATES: [(u64, u64); 4] = [(1_000, 90), (100, 20), (10, 4), (1, 2)];
const READ_BYTES: u64 = 4 << 10;
/// The ramp is the visit's length divided by this. At the lowest rates it contains the first request, which
/// is sent at once and so not after an idle time.
const RAMP_SHARE: u64 = 20;
/// Stream of random numbers, separate from those of the other plans.
const STREAM: u64 = u64::MAX - 4;
/// Number of visits without a completion after which a rate is dropped.
const MAX_STALLS: u32 = 2;

/// Plans the isolated reads.
#[derive(Clone, Debug)]
pub struct LoneReadsPlan {
    /// Cells with the length of a visit.
    visits: Visits<Nanos>,
    round: usize,
    /// The lowest rate at which the device was too busy.
    busy_from: Option<u64>,
}

impl LoneReadsPlan {
    /// A plan for the budget of `settings`; `None` if the budget is too small, or no read fits the area.
    #[must_use]
    pub fn new(settings: &CheckSettings) -> Option<Self> {
        let &CheckSettings { area, engine, alignment, budget, .. } = settings;
        let mut left = budget;
        // Parallel plans number their trials separately, but no two have the same seed.
        let seed = derive_seed(settings.seed, STREAM);
        let mut visits = Visits::new(CheckSettings { seed, ..settings.clone() }, STREAM);
        for (rate, reads) in RATES {
            let gap = 1_000_000_000 / rate;
            // Part of an interval is added after the last read for it to complete.
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

    /// The visits of the next round; empty after the last. After the required rounds, more follow while
    /// time remains.
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

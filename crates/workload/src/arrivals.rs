//! Computes when requests arrive in an open loop.
//!
//! At equal intervals, arrival `n` of all jobs is at `n / rate` and belongs to job `n` modulo the number of
//! jobs. The time is kept as whole nanoseconds with their remainder, so it never drifts. Poisson arrivals are
//! independent in each job, which makes a Poisson process over all jobs; gaps are drawn by inversion. With
//! separate rates for reads and writes, each direction is its own process, and the two are merged in time
//! order. Rejected: drawing the direction of each arrival of one process (writes would not arrive at equal
//! intervals).

use crate::rng::{Rng, derive_seed};
use record::{Arrival, Nanos, OpKind, Workload};

const NANOS_PER_S: u64 = 1_000_000_000;
/// Separates the seeds of arrivals from those of requests and data.
const SEED_INDEX: u64 = 1 << 33;

#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// The process for both directions, or for reads.
    first: Process,
    /// The process for writes, if it is separate.
    writes: Option<Process>,
}

impl Arrivals {
    /// The arrivals of a job; `None` in a closed loop.
    pub(crate) fn new(workload: &Workload, seed: u64, job: u32) -> Option<Self> {
        let paced = !matches!(workload.arrival, Arrival::Closed | Arrival::Recorded);
        let rate = workload.rate_iops.filter(|_| paced)?;
        let process = |rate: u64, direction: u64| {
            let seed = derive_seed(seed, SEED_INDEX + 2 * u64::from(job) + direction);
            let burst = workload.burst_milli;
            Process::new((workload.arrival, burst), rate, workload.numjobs, job, seed)
        };
        let writes = workload.write_rate_iops;
        Some(Self {
            first: process(rate - writes.unwrap_or(0), 0),
            writes: writes.map(|rate| process(rate, 1)),
        })
    }

    /// Whether reads and writes arrive by separate processes.
    pub(crate) fn by_direction(&self) -> bool {
        self.writes.is_some()
    }

    /// The next arrival, and its direction if that is not drawn.
    pub(crate) fn next_arrival(&mut self) -> (Nanos, Option<OpKind>) {
        match &mut self.writes {
            None => (self.first.take(), None),
            Some(writes) if writes.next < self.first.next => (writes.take(), Some(OpKind::Write)),
            Some(_) => (self.first.take(), Some(OpKind::Read)),
        }
    }
}

#[derive(Clone, Debug)]
struct Process {
    /// Time of the next arrival.
    next: u64,
    spacing: Spacing,
}

#[derive(Clone, Debug)]
enum Spacing {
    /// Steps of `nanos` nanoseconds plus `parts / rate` of a nanosecond. `rest` is the remainder so far.
    Constant { nanos: u64, parts: u64, rate: u64, rest: u64 },
    /// Exponential gaps with this mean. `rest` is a fraction of a nanosecond. A share of the requests arrives
    /// with the previous one, and the gaps are longer by that.
    Poisson { rng: Rng, mean_ns: f64, rest: f64, with_last: f64 },
}

impl Process {
    fn new(
        (arrival, burst): (Arrival, Option<u32>),
        rate: u64,
        jobs: u32,
        job: u32,
        seed: u64,
    ) -> Self {
        let jobs = u64::from(jobs);
        if arrival == Arrival::Poisson {
            let burst = f64::from(burst.unwrap_or(1_000)) / 1e3;
            let mean_ns = burst * jobs as f64 * NANOS_PER_S as f64 / rate as f64;
            let with_last = 1.0 - 1.0 / burst;
            let spacing = Spacing::Poisson { rng: Rng::new(seed), mean_ns, rest: 0.0, with_last };
            let mut process = Self { next: 0, spacing };
            // Time zero is not an arrival: the first gap begins there, and no request joins it.
            while process.next == 0 {
                process.take();
            }
            return process;
        }
        let (first, step) = (u64::from(job) * NANOS_PER_S, jobs * NANOS_PER_S);
        let spacing =
            Spacing::Constant { nanos: step / rate, parts: step % rate, rate, rest: first % rate };
        Self { next: first / rate, spacing }
    }

    /// Returns the next arrival and advances the process.
    fn take(&mut self) -> Nanos {
        let arrival = self.next;
        self.next += match &mut self.spacing {
            Spacing::Constant { nanos, parts, rate, rest } => {
                *rest += *parts;
                let whole = u64::from(*rest >= *rate);
                *rest -= whole * *rate;
                *nanos + whole
            }
            Spacing::Poisson { rng, mean_ns, rest, with_last } => {
                // Without bursts, draw no number for them, so that existing sequences do not change.
                if *with_last > 0.0 && rng.unit() <= *with_last {
                    return Nanos(arrival);
                }
                let gap = *rest - libm::log(rng.unit()) * *mean_ns;
                let whole = gap as u64;
                *rest = gap - whole as f64;
                whole
            }
        };
        Nanos(arrival)
    }
}

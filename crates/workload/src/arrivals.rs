//! When requests arrive in an open loop.
//!
//! A job has a share of the rate of all. At equal distances, arrival `n` of all jobs lies at
//! `n / rate` and belongs to job `n` modulo their number, so that the jobs interleave evenly; it is
//! kept as a whole number of nanoseconds with its remainder, which drifts by nothing however long
//! a run is. Poisson arrivals are independent in each job, which is again a Poisson process over
//! all of them; gaps are drawn by inversion and the fraction of a nanosecond is carried on.
//!
//! With a rate for each direction, reads and writes are processes of their own, merged in time
//! order. Rejected: drawing the direction of each arrival of one process, whose writes are never at
//! equal distances.

use crate::rng::{Rng, derive_seed};
use record::{Arrival, Nanos, OpKind, Workload};

const NANOS_PER_S: u64 = 1_000_000_000;
/// Tells the seeds of arrivals from those of requests and data.
const SEED_INDEX: u64 = 1 << 33;

/// The arrivals of one job.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// One process for both directions, or that of the reads.
    first: Process,
    /// That of the writes.
    writes: Option<Process>,
}

impl Arrivals {
    /// Those of a job; `None` in a closed loop.
    pub(crate) fn new(workload: &Workload, seed: u64, job: u32) -> Option<Self> {
        let rate = workload.rate_iops.filter(|_| workload.arrival != Arrival::Closed)?;
        let process = |rate: u64, direction: u64| {
            let seed = derive_seed(seed, SEED_INDEX + 2 * u64::from(job) + direction);
            Process::new(workload.arrival, rate, workload.numjobs, job, seed)
        };
        let writes = workload.write_rate_iops;
        Some(Self {
            first: process(rate - writes.unwrap_or(0), 0),
            writes: writes.map(|rate| process(rate, 1)),
        })
    }

    /// Whether reads and writes arrive by processes of their own.
    pub(crate) fn by_direction(&self) -> bool {
        self.writes.is_some()
    }

    /// The next arrival, and its direction where that is not drawn.
    pub(crate) fn next_arrival(&mut self) -> (Nanos, Option<OpKind>) {
        match &mut self.writes {
            None => (self.first.take(), None),
            Some(writes) if writes.next < self.first.next => (writes.take(), Some(OpKind::Write)),
            Some(_) => (self.first.take(), Some(OpKind::Read)),
        }
    }
}

/// One process of arrivals.
#[derive(Clone, Debug)]
struct Process {
    /// Time of the next arrival.
    next: u64,
    spacing: Spacing,
}

#[derive(Clone, Debug)]
enum Spacing {
    /// Steps of `nanos` and `parts` of `rate` parts of a nanosecond, of which `rest` are owed.
    Constant { nanos: u64, parts: u64, rate: u64, rest: u64 },
    /// Exponential gaps with this mean; `rest` is a fraction of a nanosecond.
    Poisson { rng: Rng, mean_ns: f64, rest: f64 },
}

impl Process {
    fn new(arrival: Arrival, rate: u64, jobs: u32, job: u32, seed: u64) -> Self {
        let jobs = u64::from(jobs);
        if arrival == Arrival::Poisson {
            let mean_ns = jobs as f64 * NANOS_PER_S as f64 / rate as f64;
            let spacing = Spacing::Poisson { rng: Rng::new(seed), mean_ns, rest: 0.0 };
            let mut process = Self { next: 0, spacing };
            // Time zero is no arrival: the first gap begins there.
            process.take();
            return process;
        }
        let (first, step) = (u64::from(job) * NANOS_PER_S, jobs * NANOS_PER_S);
        let spacing =
            Spacing::Constant { nanos: step / rate, parts: step % rate, rate, rest: first % rate };
        Self { next: first / rate, spacing }
    }

    /// The next arrival, and the process moved past it.
    fn take(&mut self) -> Nanos {
        let arrival = self.next;
        self.next += match &mut self.spacing {
            Spacing::Constant { nanos, parts, rate, rest } => {
                *rest += *parts;
                let whole = u64::from(*rest >= *rate);
                *rest -= whole * *rate;
                *nanos + whole
            }
            Spacing::Poisson { rng, mean_ns, rest } => {
                let gap = *rest - libm::log(rng.unit()) * *mean_ns;
                let whole = gap as u64;
                *rest = gap - whole as f64;
                whole
            }
        };
        Nanos(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use record::Bytes;

    fn workload(change: impl FnOnce(&mut Spec)) -> Workload {
        let mut spec = Spec { iodepth: 32, ..Spec::default() };
        change(&mut spec);
        spec.build(Bytes(1 << 20)).unwrap()
    }

    fn times(workload: &Workload, job: u32, count: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(workload, 3, job).unwrap();
        (0..count).map(|_| arrivals.next_arrival().0.0).collect()
    }

    #[test]
    fn constant_arrivals_of_all_jobs_are_one_even_row_that_never_drifts() {
        for rate in [1, 3, 7, 999, 1_000, 333_333, 999_999_937] {
            let constant = workload(|spec| {
                spec.numjobs = 3;
                spec.rate_iops = Some(rate);
            });
            let mut merged: Vec<u64> =
                (0..3).flat_map(|job| times(&constant, job, 4_000)).collect();
            merged.sort_unstable();
            let exact = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(rate)) as u64;
            assert_eq!(merged, (0..12_000).map(exact).collect::<Vec<u64>>(), "{rate}");
        }
    }

    #[test]
    fn poisson_arrivals_have_the_mean_rate_and_exponential_gaps() {
        let poisson = workload(|spec| {
            spec.numjobs = 2;
            spec.rate_iops = Some(20_000);
            spec.arrival = Some(Arrival::Poisson);
        });
        let count = 200_000;
        for job in 0..2 {
            let times = times(&poisson, job, count);
            let mut gaps: Vec<f64> = Vec::with_capacity(count);
            let mut last = 0;
            for time in times {
                gaps.push((time - last) as f64);
                last = time;
            }
            let mean = gaps.iter().sum::<f64>() / count as f64;
            // 10,000 per second and job. The deviation of the mean is 1/sqrt(200,000) of it.
            assert!((mean / 100_000.0 - 1.0).abs() < 4.0 / (count as f64).sqrt(), "{mean}");
            gaps.sort_unstable_by(f64::total_cmp);
            let distance = gaps.iter().enumerate().fold(0.0f64, |worst, (index, gap)| {
                let truth = -libm::expm1(-gap / 100_000.0);
                let below = index as f64 / count as f64;
                worst.max((truth - below).abs()).max((below + 1.0 / count as f64 - truth).abs())
            });
            // Kolmogorov-Smirnov: 1 in 10,000 beyond 2.23 / sqrt(n).
            assert!(distance < 2.23 / (count as f64).sqrt(), "{distance}");
        }
    }

    #[test]
    fn poisson_arrivals_of_jobs_and_of_seeds_are_independent_and_repeat_with_the_seed() {
        let poisson = workload(|spec| {
            spec.numjobs = 2;
            spec.rate_iops = Some(1_000);
            spec.arrival = Some(Arrival::Poisson);
        });
        assert_ne!(times(&poisson, 0, 50), times(&poisson, 1, 50));
        assert_eq!(times(&poisson, 0, 50), times(&poisson, 0, 50));
        let mut other = Arrivals::new(&poisson, 4, 0).unwrap();
        assert_ne!(times(&poisson, 0, 1)[0], other.next_arrival().0.0);
    }

    #[test]
    fn directions_have_rates_of_their_own_merged_in_time_order() {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let both = workload(|spec| {
                spec.read_percent = 70;
                spec.rate_iops = Some(1_000);
                spec.write_rate_iops = Some(300);
                spec.arrival = Some(arrival);
            });
            let mut arrivals = Arrivals::new(&both, 1, 0).unwrap();
            let mut last = Nanos(0);
            let (mut reads, mut writes) = (0u32, 0u32);
            loop {
                let (at, op) = arrivals.next_arrival();
                assert!(at >= last, "time went back");
                last = at;
                if at >= Nanos(100_000_000_000) {
                    break;
                }
                match op.unwrap() {
                    OpKind::Read => reads += 1,
                    OpKind::Write => writes += 1,
                }
            }
            // 100 s. Poisson counts have their mean as variance: four deviations.
            let slack =
                |mean: f64| if arrival == Arrival::Poisson { 4.0 * mean.sqrt() } else { 0.0 };
            assert!((f64::from(reads) - 70_000.0).abs() <= slack(70_000.0), "{reads}");
            assert!((f64::from(writes) - 30_000.0).abs() <= slack(30_000.0), "{writes}");
        }
    }
}

//! Arrivals of open loops: rate, distribution and order.

use record::*;
use workload::*;

fn workload(change: impl FnOnce(&mut Spec)) -> Workload {
    let mut spec = Spec::default();
    spec.asked.iodepth = 32;
    change(&mut spec);
    spec.build(Bytes(1 << 20)).unwrap()
}

/// The first arrivals of a job, with their directions.
fn arrivals(workload: &Workload, seed: u64, job: u32, count: usize) -> Vec<(Nanos, OpKind)> {
    let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
    let (mut requests, mut times) = (vec![empty; count], vec![Nanos(0); count]);
    RequestStream::new(workload, seed, job).fill_timed(&mut requests, &mut times);
    times.into_iter().zip(requests.iter().map(|request| request.op)).collect()
}

fn times(workload: &Workload, job: u32, count: usize) -> Vec<u64> {
    arrivals(workload, 3, job, count).iter().map(|(at, _)| at.0).collect()
}

#[test]
fn constant_arrivals_of_all_jobs_are_one_even_row_that_never_drifts() {
    for rate in [1, 3, 7, 999, 1_000, 333_333, 999_999_937] {
        let constant = workload(|spec| {
            spec.asked.numjobs = 3;
            spec.asked.rate_iops = Some(rate);
        });
        let mut merged: Vec<u64> = (0..3).flat_map(|job| times(&constant, job, 4_000)).collect();
        merged.sort_unstable();
        let exact = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(rate)) as u64;
        assert_eq!(merged, (0..12_000).map(exact).collect::<Vec<u64>>(), "{rate}");
    }
}

#[test]
fn poisson_arrivals_have_the_mean_rate_and_exponential_gaps() {
    let poisson = workload(|spec| {
        spec.asked.numjobs = 2;
        spec.asked.rate_iops = Some(20_000);
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
        // Kolmogorov-Smirnov: 1 in 10,000 is beyond 2.23 / sqrt(n).
        assert!(distance < 2.23 / (count as f64).sqrt(), "{distance}");
    }
}

#[test]
fn poisson_arrivals_of_jobs_and_of_seeds_are_independent_and_repeat_with_the_seed() {
    let poisson = workload(|spec| {
        spec.asked.numjobs = 2;
        spec.asked.rate_iops = Some(1_000);
        spec.arrival = Some(Arrival::Poisson);
    });
    assert_ne!(times(&poisson, 0, 50), times(&poisson, 1, 50));
    assert_eq!(times(&poisson, 0, 50), times(&poisson, 0, 50));
    assert_ne!(times(&poisson, 0, 1)[0], arrivals(&poisson, 4, 0, 1)[0].0.0);
}

#[test]
fn directions_have_rates_of_their_own_merged_in_time_order() {
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let both = workload(|spec| {
            spec.asked.read_percent = 70;
            spec.asked.rate_iops = Some(1_000);
            spec.asked.write_rate_iops = Some(300);
            spec.arrival = Some(arrival);
        });
        let all = arrivals(&both, 1, 0, 110_000);
        assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0), "time went back");
        let end = Nanos(100_000_000_000);
        assert!(all.last().is_some_and(|(at, _)| *at > end));
        let of = |op| all.iter().filter(|(at, its)| *at < end && *its == op).count() as u32;
        let (reads, writes) = (of(OpKind::Read), of(OpKind::Write));
        // 100 s. The variance of Poisson counts is their mean: four standard deviations.
        let slack = |mean: f64| if arrival == Arrival::Poisson { 4.0 * mean.sqrt() } else { 0.0 };
        assert!((f64::from(reads) - 70_000.0).abs() <= slack(70_000.0), "{reads}");
        assert!((f64::from(writes) - 30_000.0).abs() <= slack(30_000.0), "{writes}");
    }
}

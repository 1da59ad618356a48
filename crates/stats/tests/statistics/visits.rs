//! Intervals with the stopping rule of `check`.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{
    Look, MIN_VISITS, look, student_t_quantile, visits_mean, visits_se, warm_up_of_visits,
};
use libm::sqrt;
use record::Estimate;

/// Number of visits after which the rule gives up.
const VISITS_MAX: usize = 24;
/// Slices per visit.
const SLICES: usize = 100;
/// Requested half-width, as a share of the mean.
const TARGET_REL: f64 = 0.05;
/// True level of every simulated cell.
const TRUTH: f64 = 1_000.0;

/// How the mean of a visit is generated.
#[derive(Clone, Copy)]
enum Process {
    /// Mean of an autoregressive chunk. A share of the variance is a level that changes between visits.
    Autoregressive { coefficient: f64, between: f64 },
    /// Mean of a chunk of latencies at half load, ten per slice; skewed.
    Queue,
}

impl Process {
    /// The mean of one visit, with relative standard deviation `noise`.
    fn visit(self, source: &mut Source, noise: f64) -> f64 {
        let deviation = match self {
            Self::Autoregressive { coefficient, between } => {
                let chunk = source.autoregressive(coefficient, SLICES);
                let within = chunk.iter().sum::<f64>() / SLICES as f64;
                sqrt(between) * source.normal()
                    + sqrt(1.0 - between) * within / chunk_deviation(coefficient)
            }
            Self::Queue => {
                let chunk = source.mm1_responses(0.5, SLICES, 10);
                // Asymptotic variance of the mean latency at a load of one half: 28 per request.
                (chunk.iter().sum::<f64>() / SLICES as f64 - 2.0)
                    / sqrt(28.0 / (10 * SLICES) as f64)
            }
        };
        TRUTH * (1.0 + noise * deviation)
    }
}

/// Exact standard deviation of the mean of a chunk of a unit autoregressive series.
fn chunk_deviation(coefficient: f64) -> f64 {
    let n = SLICES as f64;
    let mut power = 1.0;
    let mut sum = 1.0;
    for lag in 1..SLICES {
        power *= coefficient;
        sum += 2.0 * (1.0 - lag as f64 / n) * power;
    }
    sqrt(sum / n)
}

/// Visits a cell until the rule stops or gives up.
fn visit_until_precise(source: &mut Source, process: Process, noise: f64) -> Estimate {
    let mut visits = Vec::new();
    loop {
        visits.push(process.visit(source, noise));
        match look(&visits, TARGET_REL) {
            Look::NotYet => {}
            Look::Wider(_) if visits.len() < VISITS_MAX => {}
            Look::Precise | Look::Wider(_) => return visits_mean(&visits).unwrap(),
        }
    }
}

const PROCESSES: [(&str, Process); 4] = [
    ("independent", Process::Autoregressive { coefficient: 0.0, between: 0.5 }),
    ("correlated", Process::Autoregressive { coefficient: 0.9, between: 0.5 }),
    ("within only", Process::Autoregressive { coefficient: 0.9, between: 0.0 }),
    ("queue", Process::Queue),
];

#[test]
fn the_interval_covers_the_mean_through_the_stopping_rule() {
    for (name, process) in PROCESSES {
        for noise in [0.01, 0.03, 0.05, 0.07, 0.10] {
            let covered =
                share(|source| covers(&visit_until_precise(source, process, noise), TRUTH));
            assert_share(&format!("{name}, noise {noise}"), covered, 0.90..=0.97);
        }
    }
}

#[test]
fn looking_after_every_visit_fails_the_same_requirement() {
    let covered = share(|source| {
        let mut visits = Vec::new();
        loop {
            visits.push(PROCESSES[0].1.visit(source, 0.10));
            let Some(estimate) = visits_mean(&visits) else { continue };
            // The plain 95 % interval, used as soon as it is narrow.
            let df = visits.len() as f64 - 1.0;
            let plain = student_t_quantile(0.975, df) / student_t_quantile(0.98, df);
            let half_width = plain * (estimate.high - estimate.value);
            if half_width <= TARGET_REL * estimate.value || visits.len() >= VISITS_MAX {
                return (estimate.value - TRUTH).abs() <= half_width;
            }
        }
    });
    assert_share("peeking", covered, 0.70..=0.895);
}

#[test]
fn a_number_of_visits_fixed_beforehand_is_covered_as_stated() {
    for count in [2, 3, 5, 10] {
        let covered = share(|source| {
            let process = PROCESSES[1].1;
            let visits: Vec<f64> = (0..count).map(|_| process.visit(source, 0.05)).collect();
            covers(&visits_mean(&visits).unwrap(), TRUTH)
        });
        assert_share(&format!("{count} visits"), covered, 0.945..=0.972);
    }
}

#[test]
fn quiet_cells_stop_at_the_first_look_and_noisy_ones_do_not() {
    let first_look = |noise| {
        share(|source| visit_until_precise(source, PROCESSES[1].1, noise).n == MIN_VISITS as u32)
    };
    assert_share("1 % noise stops at once", first_look(0.01), 0.93..=1.0);
    assert_share("10 % noise does not", first_look(0.10), 0.0..=0.05);
}

#[test]
fn two_runs_of_one_cell_differ_by_more_than_their_intervals_in_under_a_tenth() {
    let agree = |shift: f64, noise| {
        share(|source| {
            let one = visit_until_precise(source, PROCESSES[1].1, noise);
            let two = visit_until_precise(source, PROCESSES[1].1, noise).scaled(1.0 + shift);
            (one.value - two.value).abs() <= 1.96 * libm::hypot(one.se, two.se)
        })
    };
    for noise in [0.01, 0.03, 0.05, 0.10] {
        assert_share(&format!("the same device, noise {noise}"), agree(0.0, noise), 0.92..=1.0);
    }
    assert_share("a device 10 % faster, noise 0.03", agree(0.10, 0.03), 0.0..=0.2);
}

#[test]
fn looks_come_at_three_visits_and_at_each_doubling_only() {
    let visits: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 2)).collect();
    let looks: Vec<usize> =
        (0..=100).filter(|&n| look(&visits[..n], 0.05) != Look::NotYet).collect();
    assert_eq!(looks, [3, 6, 12, 24, 48, 96]);
}

#[test]
fn the_interval_is_students_t_from_the_variance_between_visits() {
    assert!(visits_mean(&[7.0]).is_none());
    assert!(visits_mean(&[7.0, f64::NAN]).is_none());
    let estimate = visits_mean(&[9.0, 10.0, 11.0]).unwrap();
    // t(0.98, 2) = 4.848732, standard deviation 1.
    assert!((estimate.high - 10.0 - 4.848_732 / sqrt(3.0)).abs() < 1e-6, "{estimate:?}");
    assert!((estimate.low + estimate.high - 20.0).abs() < 1e-12);
    assert_eq!(estimate.n, 3);
    assert!((visits_se(&estimate) - 1.0 / sqrt(3.0)).abs() < 1e-9, "{estimate:?}");
    let lone = Estimate::symmetric(10.0, 1.0, 1);
    assert_eq!(visits_se(&lone), lone.se);
}

#[test]
fn a_wide_interval_asks_for_more_visits_and_a_narrow_one_for_none() {
    assert_eq!(look(&[100.0, 101.0, 100.5], 0.05), Look::Precise);
    let wide = [90.0, 110.0, 100.0];
    assert_eq!(look(&wide, 0.05), Look::Wider(visits_mean(&wide).unwrap()));
    assert_eq!(look(&[100.0, 100.0, 100.0], 0.05), Look::Precise);
    assert!(matches!(look(&[0.0, 0.0, 0.0], 0.05), Look::Wider(_)));
    assert_eq!(look(&[100.0, f64::INFINITY, 100.0], 0.05), Look::NotYet);
}

/// Completions per interval of a visit to a device with exponential service times.
fn exponential_visit(source: &mut Source, requests: f64, intervals: usize) -> Vec<f64> {
    let mut counts = vec![0.0; intervals];
    let mut at = 0.0;
    loop {
        at += source.exponential() / requests;
        match counts.get_mut((at * intervals as f64) as usize) {
            Some(count) => *count += 1.0,
            None => return counts,
        }
    }
}

#[test]
fn chance_cuts_no_short_visit_to_a_variable_device_and_their_rate_has_no_bias() {
    const REQUESTS: f64 = 57.0;
    for intervals in [60, 100, 200] {
        let (mut sum, mut cuts) = (0.0, 0);
        for seed in 0..200 {
            let source = &mut Source::new(seed);
            let visits: Vec<Vec<f64>> =
                (0..MIN_VISITS).map(|_| exponential_visit(source, REQUESTS, intervals)).collect();
            let cut = warm_up_of_visits(&visits);
            cuts += i32::from(cut > 0);
            let kept = visits.iter().map(|one| one[cut..].iter().sum::<f64>());
            let full = MIN_VISITS as f64 * REQUESTS * (intervals - cut) as f64 / intervals as f64;
            sum += kept.sum::<f64>() / full / 200.0;
        }
        println!("{intervals} intervals: mean {sum:.4}, {cuts} cuts in 200 cells");
        assert!((sum - 1.0).abs() < 0.012, "{intervals} intervals: {sum}");
        assert!(cuts <= 1, "{intervals} intervals: {cuts} cuts");
    }
}

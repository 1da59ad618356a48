//! The drift of a device's level, on devices with known drift.

use crate::model::profile;
use crate::model::synthetic::{trial, workload};
use model::{level_se_between, level_se_rel};
use record::{Nanos, OpKind, Pattern, Trial};

const CELLS: u32 = 40;
const VISITS: usize = 12;

/// Normal values from a seed: twelve uniforms minus six.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// Visits of a check, round by round. The level takes a step of `step` between visits, and each visit has
/// noise of 5 % of its own. The level continues in `level`.
fn check(noise: &mut Noise, level: &mut f64, step: f64) -> (Vec<Trial>, f64) {
    let mut trials = Vec::new();
    let mut sum = 0.0;
    for _ in 0..VISITS {
        for cell in 0..CELLS {
            *level += step * noise.next();
            sum += *level;
            let shape = workload(OpKind::Read, Pattern::Random, 4096, cell + 1);
            let rate = 1e5 * f64::from(cell + 1) * level.exp() * (1.0 + 0.05 * noise.next());
            trials.push(trial(&shape, rate));
        }
    }
    (trials, sum / (VISITS as f64 * f64::from(CELLS)))
}

/// Share of the pairs of runs, with a pause of a run's length, whose levels agree within the interval of
/// their difference; and the mean standard error.
fn agreement(step: f64, pairs: u32) -> (f64, f64) {
    let (mut agree, mut errors) = (0, 0.0);
    for seed in 0..u64::from(pairs) {
        let (mut noise, mut level) = (Noise(seed * 7919 + 1), 0.0);
        let (first, first_level) = check(&mut noise, &mut level, step);
        let _ = check(&mut noise, &mut level, step);
        let (second, second_level) = check(&mut noise, &mut level, step);
        let error = |trials: &[Trial]| level_se_rel(&|_| 1.0, trials).expect("enough visits");
        let (a, b) = (error(&first), error(&second));
        errors += (a + b) / (2.0 * f64::from(pairs));
        agree += u32::from((second_level - first_level).abs() <= 1.96 * (a * a + b * b).sqrt());
    }
    (f64::from(agree) / f64::from(pairs), errors)
}

#[test]
fn runs_of_a_wandering_device_agree_within_the_error_of_their_level() {
    let step = 0.1 / (f64::from(CELLS) * VISITS as f64).sqrt();
    let (pairs, least) = testkit::draws((60, 0.83), (100, 0.86));
    let (agree, error) = agreement(step, pairs);
    // Five degrees of freedom per run: a normal interval from them covers a little less than 95 %, and few
    // pairs may miss that by three standard deviations of the binomial distribution.
    assert!((least..=0.99).contains(&agree), "{agree}");
    // Variance 0.01 over a run: sqrt(5/6 x 0.01) = 0.091.
    assert!((error - 0.091).abs() < 0.02, "{error}");
}

#[test]
fn a_device_that_holds_its_level_has_next_to_no_error_of_it() {
    let (_, error) = agreement(0.0, testkit::draws(20, 100));
    assert!(error < 0.01, "{error}");
}

#[test]
fn too_few_visits_say_nothing_of_the_level() {
    let (trials, _) = check(&mut Noise(1), &mut 0.0, 0.01);
    assert_eq!(level_se_rel(&|_| 1.0, &trials[..50]), None);
    assert_eq!(level_se_rel(&|_| 1.0, &[]), None);
}

#[test]
fn earlier_profiles_tell_a_level_that_wanders_between_runs_only() {
    let run = |level: f64, seed: u64| check(&mut Noise(seed), &mut level.ln(), 0.0).0;
    let earlier = [profile(&run(1.1, 3), &[]), profile(&run(0.9, 4), &[])];
    let (alone, with) = (profile(&run(1.0, 5), &[]), profile(&run(1.0, 5), &earlier));
    // Within the run the level is constant, and the intervals are those of the cells.
    assert!(alone.level_se_rel.is_some_and(|se| se < 0.01), "{:?}", alone.level_se_rel);
    assert!((with.earlier_levels[0] - 0.1).abs() < 0.02 && with.earlier_levels.len() == 2);
    // Levels of 0, 0.1 and -0.1: standard deviation 0.1, t(0.975, 2) = 4.303.
    let se = with.level_se_rel.unwrap();
    assert!((se - 0.1 * 4.303 / 1.96).abs() < 0.03, "{se}");
    for (cell, other) in with.cells.iter().zip(&alone.cells) {
        assert_eq!(cell.iops, other.iops);
        // The level is a factor, so that a wide interval stays above zero.
        let ends =
            [cell.rerun_iops.low, cell.rerun_iops.high].map(|end| (end / cell.iops.value).ln());
        let expected = 1.96 * (cell.iops.se / cell.iops.value).hypot(se);
        assert!(ends[0] < 0.0 && (ends[1] / expected - 1.0).abs() < 0.05, "{ends:?} {expected}");
    }
}

#[test]
fn one_earlier_profile_says_nothing_of_a_spread() {
    assert_eq!(level_se_between(&[0.1]), None);
    assert_eq!(level_se_between(&[]), None);
    assert_eq!(level_se_between(&[0.0, 0.0]), Some(0.0));
}

#[test]
fn noise_that_lasts_for_seconds_is_in_the_error_of_a_short_run() {
    // Visits of 50 ms; the level changes every two seconds by 10 %, or with each visit.
    let check = |lasting: bool| {
        let (mut noise, mut level) = (Noise(11), 0.0);
        let visits = (0..CELLS as usize * VISITS).map(|at| {
            if at % 40 == 0 {
                level = 0.1 * noise.next();
            }
            let own = if lasting { level } else { 0.1 * noise.next() };
            let depth = (at % CELLS as usize) as u32 + 1;
            let shape = workload(OpKind::Read, Pattern::Random, 4096, depth);
            let mut visit = trial(&shape, 1e5 * f64::from(depth) * own.exp());
            (visit.result.duration_ns, visit.workload.ramp_ns) =
                (Nanos(45_000_000), Nanos(5_000_000));
            visit
        });
        let trials: Vec<Trial> = visits.collect();
        profile(&trials, &[]).run_spread.expect("enough windows").rate_se
    };
    // Twelve windows give a deviation with an error of a fifth.
    let lasting = check(true);
    assert!((0.06..0.15).contains(&lasting), "{lasting}");
    // The mean of 40 independent visits is 6.3 times as precise as a single one.
    let passing = check(false);
    assert!((0.013..0.02).contains(&passing), "{passing}");
}

//! Steps in a row of levels.

use halfpower_stats::{SplitMix64, Steps, steps};

const LEAST: f64 = 0.005;

fn found(levels: &[f64], random: &mut SplitMix64) -> Steps {
    steps(levels, LEAST, |bound| random.below(bound))
}

fn row(parts: &[(usize, f64)], noise: f64, random: &mut SplitMix64) -> Vec<f64> {
    parts
        .iter()
        .flat_map(|&(count, level)| std::iter::repeat_n(level, count))
        .map(|level| level + noise * (random.unit() - 0.5))
        .collect()
}

#[test]
fn steps_are_found_where_they_are() {
    let mut random = SplitMix64::new(5);
    let levels = row(&[(20, 0.0), (20, -0.1), (20, -0.3)], 0.04, &mut random);
    let found = found(&levels, &mut random);
    assert_eq!(found.starts, [20, 40]);
    assert!(found.p_value <= 0.001, "{}", found.p_value);
}

#[test]
fn a_row_without_noise_gives_its_steps_and_a_flat_one_none() {
    let mut random = SplitMix64::new(5);
    let levels = row(&[(30, 0.0), (30, -0.2)], 0.0, &mut random);
    assert_eq!(found(&levels, &mut random).starts, [30]);
    assert_eq!(found(&[0.7; 60], &mut random), Steps { starts: Vec::new(), p_value: 1.0 });
    assert!(found(&[0.1, 0.2, 0.3], &mut random).starts.is_empty());
    let trifle = row(&[(30, 0.0), (30, -0.004)], 0.0, &mut random);
    assert!(found(&trifle, &mut random).starts.is_empty());
}

/// Noise like a disk's: skewed, with rare slow positions.
#[test]
fn noise_of_any_shape_gives_a_step_no_more_often_than_stated() {
    let rows = 600;
    let mut alarms = 0;
    for seed in 0..rows {
        let mut random = SplitMix64::new(seed);
        let levels: Vec<f64> = (0..40)
            .map(|_| {
                let slow = if random.unit() < 0.05 { 0.6 } else { 0.0 };
                0.05 * libm::log(random.unit()) - slow
            })
            .collect();
        alarms += u64::from(!found(&levels, &mut random).starts.is_empty());
    }
    // The stated share is 1 %. At 1 %, more than 14 of 600 rows occur once in two thousand times.
    assert!(alarms <= 14, "{alarms} of {rows}");
}

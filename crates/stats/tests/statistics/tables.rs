//! False alarms and detections in whole tables of comparisons.

use crate::source::Source;
use crate::{assert_share, share};
use halfpower_stats::{Level, LogRatio, Look, common_level, holm, look, visits_mean, visits_se};

/// Number of rows in a table.
const ROWS: usize = 12;
/// Nominal probability of any false alarm in a table.
const ASKED: f64 = 0.05;

/// Observations of one side with noise.
fn observations(source: &mut Source, count: usize, level: f64, noise: f64) -> Vec<f64> {
    (0..count).map(|_| level * libm::exp(noise * source.normal())).collect()
}

/// Adjusted p-values of a table.
fn table(rows: &[LogRatio]) -> Vec<f64> {
    holm(&rows.iter().map(LogRatio::p_value).collect::<Vec<f64>>())
}

fn alarm(rows: &[LogRatio]) -> bool {
    table(rows).iter().any(|&p| p <= ASKED)
}

/// A row with two sides that do not differ.
fn row(source: &mut Source, count: usize, noise_a: f64, noise_b: f64) -> LogRatio {
    let a = Level::of(&observations(source, count, 100.0, noise_a)).unwrap();
    let b = Level::of(&observations(source, count, 100.0, noise_b)).unwrap();
    LogRatio::between(a, b, 0.0)
}

#[test]
fn a_table_without_a_difference_raises_an_alarm_in_at_most_a_twentieth() {
    for count in [3, 5, 10] {
        for (name, noise_b) in [("equal noise", 0.03), ("one side noisier", 0.09)] {
            let alarms = share(|source| {
                let rows: Vec<LogRatio> =
                    (0..ROWS).map(|_| row(source, count, 0.03, noise_b)).collect();
                alarm(&rows)
            });
            assert_share(&format!("{count} observations, {name}"), alarms, 0.0..=0.06);
        }
    }
}

#[test]
fn rows_tested_one_by_one_raise_an_alarm_in_half_of_all_tables() {
    let alarms = share(|source| {
        let rows: Vec<LogRatio> = (0..ROWS).map(|_| row(source, 5, 0.03, 0.03)).collect();
        rows.iter().any(|row| row.p_value() <= ASKED)
    });
    assert_share("no correction", alarms, 0.3..=0.6);
}

#[test]
fn intervals_hold_together_as_often_as_they_say() {
    for count in [3, 5] {
        let missed = share(|source| {
            let miss = ASKED / ROWS as f64;
            (0..ROWS).any(|_| {
                let (low, high) = row(source, count, 0.03, 0.05).interval(miss);
                low > 1.0 || high < 1.0
            })
        });
        assert_share(&format!("{count} observations"), missed, 0.0..=0.06);
    }
}

#[test]
fn one_row_that_is_a_tenth_slower_is_found_among_twelve_with_five_observations() {
    for (noise, least) in [(0.01, 0.99), (0.02, 0.9), (0.025, 0.8)] {
        let found = share(|source| {
            let mut rows: Vec<LogRatio> = (1..ROWS).map(|_| row(source, 5, noise, noise)).collect();
            let a = Level::of(&observations(source, 5, 100.0, noise)).unwrap();
            let b = Level::of(&observations(source, 5, 90.0, noise)).unwrap();
            rows.push(LogRatio::between(a, b, 0.0));
            table(&rows)[ROWS - 1] <= ASKED
        });
        assert_share(&format!("noise {noise}"), found, least..=1.0);
    }
}

/// A cell of a profile, visited until it is precise, at most 24 times.
fn visited(source: &mut Source, noise: f64) -> Level {
    let mut visits = Vec::new();
    loop {
        visits.push(100.0 * (1.0 + noise * source.normal()));
        if look(&visits, 0.05) == Look::Precise || visits.len() == 24 {
            let estimate = visits_mean(&visits).unwrap();
            return Level::of_mean(estimate.value, visits_se(&estimate), estimate.n).unwrap();
        }
    }
}

#[test]
fn cells_that_were_visited_until_they_were_precise_raise_no_more_alarms() {
    for rows in [12, 40] {
        for noise in [0.01, 0.04, 0.1] {
            let alarms = share(|source| {
                let rows: Vec<LogRatio> = (0..rows)
                    .map(|_| {
                        let (a, b) = (visited(source, noise), visited(source, noise));
                        LogRatio::between(a, b, 0.0)
                    })
                    .collect();
                alarm(&rows)
            });
            assert_share(&format!("{rows} cells, noise {noise}"), alarms, 0.0..=0.06);
        }
    }
}

/// Two runs of several cells whose common level is a random walk, with equally spaced blocks and a pause of a
/// run's length between the runs.
fn wandering_runs(source: &mut Source, walk: f64, blocks: usize) -> [Vec<Vec<f64>>; 2] {
    let mut level = 0.0;
    let mut run = || {
        let levels: Vec<f64> = (0..blocks)
            .map(|_| {
                // Fine steps, because a block's level is the mean over the block.
                let steps: Vec<f64> = (0..16)
                    .map(|_| {
                        level += walk / libm::sqrt(16.0 * blocks as f64) * source.normal();
                        level
                    })
                    .collect();
                steps.iter().sum::<f64>() / 16.0
            })
            .collect();
        level += walk * source.normal();
        let cell = |source: &mut Source| -> Vec<f64> {
            levels.iter().map(|level| 100.0 * libm::exp(level + 0.01 * source.normal())).collect()
        };
        (0..ROWS).map(|_| cell(source)).collect()
    };
    [run(), run()]
}

#[test]
fn a_level_that_wanders_is_seen_in_the_blocks_and_kept_from_raising_alarms() {
    let compared = |runs: &[Vec<Vec<f64>>; 2], with_level: bool| {
        let level = |run: &[Vec<f64>], cell: &[f64]| {
            let level = Level::of(cell).unwrap();
            match common_level(run) {
                Some(se) if with_level && se > 0.0 => level.with_error(se, 4.0),
                _ => level,
            }
        };
        let [a, b] = runs;
        let rows: Vec<LogRatio> = a
            .iter()
            .zip(b)
            .map(|(first, second)| LogRatio::between(level(a, first), level(b, second), 0.0))
            .collect();
        alarm(&rows)
    };
    for walk in [0.05, 0.2] {
        let with = share(|source| compared(&wandering_runs(source, walk, 5), true));
        assert_share(&format!("walk {walk}, level in the error"), with, 0.0..=0.1);
        let without = share(|source| compared(&wandering_runs(source, walk, 5), false));
        assert_share(&format!("walk {walk}, blocks alone"), without, 0.1..=1.0);
    }
    let none = share(|source| compared(&wandering_runs(source, 0.0, 5), true));
    assert_share("no walk", none, 0.0..=0.06);
}

#[test]
fn welchs_test_agrees_with_a_published_example() {
    // Welch (1947) with common textbook data, on logarithms: means 20.82 and 22.98 (A1 and A2 of
    // https://en.wikipedia.org/wiki/Welch%27s_t-test, example 1): t = -2.46, df = 24.9.
    let a =
        [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
    let b =
        [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
    let level = |values: &[f64]| {
        let exponentials: Vec<f64> = values.iter().map(|&value| libm::exp(value)).collect();
        Level::of(&exponentials).unwrap()
    };
    let ratio = LogRatio::between(level(&a), level(&b), 0.0);
    assert!((ratio.log / ratio.se - 2.46).abs() < 0.005, "{ratio:?}");
    assert!((ratio.df - 23.9).abs() < 0.1, "one less: {ratio:?}");
    assert!((ratio.p_value() - 0.0215).abs() < 0.0005, "{}", ratio.p_value());
}

#[test]
fn an_interval_excludes_one_exactly_where_its_p_value_is_below_what_it_misses() {
    for log in [-0.3, -0.05, 0.01, 0.2] {
        for slack in [0.0, 0.02, 0.1] {
            let ratio = LogRatio { log, se: 0.03, df: 4.0, slack };
            for miss in [0.2, 0.05, 0.001] {
                let (low, high) = ratio.interval(miss);
                let excluded = low > 1.0 || high < 1.0;
                assert_eq!(excluded, ratio.p_value() < miss, "{ratio:?} {miss}");
            }
        }
    }
}

#[test]
fn a_side_against_itself_has_no_difference() {
    let level = Level::of(&[7.0, 7.0, 7.0]).unwrap();
    let ratio = LogRatio::between(level, level, 0.0);
    assert_eq!((ratio.ratio(), ratio.p_value(), ratio.interval(0.05)), (1.0, 1.0, (1.0, 1.0)));
    let pairs = LogRatio::of_pairs(&[3.0, 4.0, 5.0], &[3.0, 4.0, 5.0], 0.0).unwrap();
    assert_eq!((pairs.ratio(), pairs.p_value()), (1.0, 1.0));
}

#[test]
fn pairs_cancel_what_moved_both() {
    let (a, b) = ([100.0, 150.0, 80.0, 120.0], [90.0, 136.0, 72.0, 107.0]);
    let pairs = LogRatio::of_pairs(&a, &b, 0.0).unwrap();
    assert!(pairs.p_value() < 0.001, "{pairs:?}");
    let apart = LogRatio::between(Level::of(&a).unwrap(), Level::of(&b).unwrap(), 0.0);
    assert!(apart.p_value() > 0.3, "{apart:?}");
}

#[test]
fn holms_values_rise_with_the_p_values_and_are_at_least_bonferronis_for_the_smallest() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    let expected = [0.03, 0.06, 0.06, 0.02];
    for (value, expected) in adjusted.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12, "{adjusted:?}");
    }
    assert_eq!(holm(&[]), [0.0; 0]);
    assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
}

#[test]
fn what_has_no_logarithm_has_no_level() {
    assert!(Level::of(&[1.0, 0.0, 2.0]).is_none());
    assert!(Level::of(&[1.0]).is_none() && Level::of_mean(5.0, 1.0, 1).is_none());
    assert!(Level::of_mean(0.0, 1.0, 3).is_none());
    assert!(LogRatio::of_pairs(&[1.0, 2.0], &[1.0, -2.0], 0.0).is_none());
}

#[test]
fn blocks_that_move_together_have_a_level_and_others_have_none() {
    let noise = [0.3, -0.1, 0.2, -0.4, 0.1, -0.2, 0.4, -0.3, 0.0, 0.25, -0.25, 0.15];
    let cells = |levels: [f64; 4]| -> Vec<Vec<f64>> {
        (0..6)
            .map(|cell| {
                (0..4)
                    .map(|block| 100.0 * (1.0 + levels[block]) + noise[(cell * 5 + block * 7) % 12])
                    .collect()
            })
            .collect()
    };
    assert_eq!(common_level(&cells([0.0; 4])), Some(0.0));
    let moved = common_level(&cells([0.05, -0.05, 0.02, -0.02])).unwrap();
    // The standard deviation between the blocks is 4.4 %, times the root of five.
    assert!((moved - 0.044 * libm::sqrt(5.0)).abs() < 0.005, "{moved}");
    assert!(common_level(&cells([0.0; 4])[..2]).is_none());
    assert!(common_level(&[vec![1.0; 3], vec![1.0; 3], vec![1.0; 2]]).is_none());
}

//! False alarms and detections over whole tables of comparisons.

use crate::source::Source;
use crate::{assert_share, share};
use halfpower_stats::{Level, LogRatio, Look, common_level, holm, look, visits_mean, visits_se};

/// Rows of a table.
const ROWS: usize = 12;
/// The probability of any false alarm in it.
const ASKED: f64 = 0.05;

/// Noise of one side, one row after the other.
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

/// A row of two sides without a difference.
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

/// A cell of a profile: visited until it is precise, at most 24 times.
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

/// Two runs of some cells whose common level is a random walk, blocks at equal distances, with a
/// pause of a run's length between them.
fn wandering_runs(source: &mut Source, walk: f64, blocks: usize) -> [Vec<Vec<f64>>; 2] {
    let mut level = 0.0;
    let mut run = || {
        let levels: Vec<f64> = (0..blocks)
            .map(|_| {
                // Fine steps: a block's level is the mean over the block.
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

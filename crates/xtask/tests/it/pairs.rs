//! What pairs of runs say, against tables and simulations whose truth is known.

use xtask::pairs::{LOOKS, Ratio, Verdict, signed_rank};

/// Pairs whose ratios spread by up to ±`spread` around `ratio`, evenly.
fn pairs(ratio: f64, spread: f64, n: usize) -> Vec<(f64, f64)> {
    let off = |i: usize| 2.0 * i as f64 / (n - 1).max(1) as f64 - 1.0;
    (0..n)
        .map(|i| (1000.0 + i as f64, (1000.0 + i as f64) * ratio * (1.0 + spread * off(i))))
        .collect()
}

#[test]
fn equal_sides_are_equivalent_a_tenth_less_is_different_and_noise_is_undecided() {
    assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.01, 8)).verdict(), Verdict::Equivalent);
    assert_eq!(Ratio::of_pairs(&pairs(0.9, 0.01, 8)).verdict(), Verdict::Different);
    assert_eq!(Ratio::of_pairs(&pairs(1.1, 0.01, 8)).verdict(), Verdict::Different);
    assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.2, 8)).verdict(), Verdict::Undecided);
    assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.01, 6)).verdict(), Verdict::Undecided);
    assert_eq!(Ratio::of_pairs(&pairs(0.95, 0.02, 40)).verdict(), Verdict::Undecided);
    assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.0, 1)).verdict(), Verdict::Undecided);
    assert_eq!(Ratio::of_pairs(&[]).verdict(), Verdict::Undecided);
}

#[test]
fn the_ranks_of_the_signed_rank_test_are_those_of_the_tables() {
    // One-sided 2.5 % critical values of T+, one less than the rank, e.g. Hollander and Wolfe,
    // table A.4, and Wilcoxon and Wilcox 1964.
    let tables = [
        (5, None),
        (6, Some(1)),
        (8, Some(4)),
        (10, Some(9)),
        (12, Some(14)),
        (20, Some(53)),
        (25, Some(90)),
    ];
    for (n, rank) in tables {
        assert_eq!(signed_rank(n, 0.025), rank, "{n}");
    }
}

#[test]
fn an_interval_misses_no_more_often_than_it_says_even_where_one_pair_in_ten_is_off_by_half() {
    let mut dice = workload::Rng::new(7);
    let (mut missed, mut width, mut all) = (0, 0.0, 0);
    for _ in 0..testkit::draws(500, 2_000) {
        let pairs: Vec<(f64, f64)> = (0..LOOKS[2])
            .map(|_| {
                let spread = if dice.unit() < 0.1 { 0.5 } else { 0.03 };
                (1.0, (0.02 + spread * (2.0 * dice.unit() - 1.0)).exp())
            })
            .collect();
        let ratio = Ratio::of_pairs(&pairs);
        missed += u32::from(!(ratio.low..=ratio.high).contains(&0.02f64.exp()));
        width += (ratio.high / ratio.low).ln() / 2.0;
        all += 1;
    }
    // 2 x 1.25 % for each look; 4 % is two standard errors more in 500, and four in 2,000.
    assert!(f64::from(missed) < 0.04 * f64::from(all), "{missed} of {all}");
    // Within the margin on average, which the standard deviation of 0.09 would not allow.
    assert!(width / f64::from(all) < 0.03, "{}", width / f64::from(all));
}

#[test]
fn the_ranks_of_the_sign_test_are_those_of_the_tables() {
    // Two-sided 5 % critical values of the sign test, e.g. Hollander and Wolfe, table A.2.
    let tables = [
        (5, None),
        (6, Some(1)),
        (8, Some(1)),
        (9, Some(2)),
        (15, Some(4)),
        (20, Some(6)),
        (40, Some(14)),
    ];
    for (n, rank) in tables {
        let found = Ratio::median_of((1..=n).map(|value| value as f64).collect());
        let rank = rank.map(|rank: usize| (rank as f64, (n + 1 - rank) as f64));
        assert_eq!((found.low, found.high), rank.unwrap_or((0.0, f64::INFINITY)), "{n}");
    }
}

#[test]
fn a_wild_pair_does_not_move_the_median() {
    let mut many = pairs(0.9, 0.01, 15);
    many[3].1 *= 100.0;
    let ratio = Ratio::median_of_pairs(&many);
    assert!(ratio.low > 0.88 && ratio.high < 0.92, "{ratio}");
    assert_eq!(Ratio::median_of_pairs(&many[..5]).high, f64::INFINITY);
}

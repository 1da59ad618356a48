//! Ratios of pairs of runs, compared with tables and with simulations of known truth.

use xtask::pairs::Ratio;

/// Pairs whose ratios are evenly spread by up to ±`spread` around `ratio`.
fn pairs(ratio: f64, spread: f64, n: usize) -> Vec<(f64, f64)> {
    let off = |i: usize| 2.0 * i as f64 / (n - 1).max(1) as f64 - 1.0;
    (0..n)
        .map(|i| (1000.0 + i as f64, (1000.0 + i as f64) * ratio * (1.0 + spread * off(i))))
        .collect()
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

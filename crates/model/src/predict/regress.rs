//! Least squares with a penalty on large coefficients (ridge regression; Hoerl, Kennard 1970).
//!
//! The interference of mixes is fitted to a dozen or two trials. The penalty keeps coefficients that the
//! trials do not determine near zero, where plain least squares would invent them.

use super::cholesky::{inverse_factor, solved};

/// The coefficients `c` that minimise the sum of `(y - x c)²` plus `price` times the sum of `c²`. The
/// caller scales the rows so that their errors are of similar size. Zeros without data.
pub(crate) fn ridge(rows: &[(Vec<f64>, f64)], columns: usize, price: f64) -> Vec<f64> {
    let product =
        |at: usize, other: usize| -> f64 { rows.iter().map(|(xs, _)| xs[at] * xs[other]).sum() };
    let line = |at: usize| {
        let mut line: Vec<f64> = (0..=at).map(|other| product(at, other)).collect();
        line[at] += price;
        line
    };
    let right = |at: usize| -> f64 { rows.iter().map(|(xs, y)| xs[at] * y).sum() };
    let right: Vec<f64> = (0..columns).map(right).collect();
    inverse_factor((0..columns).map(line).collect())
        .map_or_else(|| vec![0.0; columns], |inverse| solved(&inverse, &right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_price_it_is_least_squares_and_with_a_large_one_nothing() {
        let rows: Vec<(Vec<f64>, f64)> = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
            .map(|(a, b)| (vec![a, b], 3.0 * a - 2.0 * b))
            .into();
        let found = ridge(&rows, 2, 0.0);
        assert!((found[0] - 3.0).abs() < 1e-9 && (found[1] + 2.0).abs() < 1e-9, "{found:?}");
        assert!(ridge(&rows, 2, 1e9).iter().all(|value| value.abs() < 1e-6));
    }

    #[test]
    fn what_the_rows_do_not_show_is_zero() {
        let found = ridge(&[(vec![1.0, 0.0], 2.0)], 2, 1e-6);
        assert!((found[0] - 2.0).abs() < 1e-3 && found[1] == 0.0, "{found:?}");
        assert_eq!(ridge(&[], 2, 0.0), [0.0, 0.0]);
    }
}

//! Least squares with a price on large coefficients (ridge regression; Hoerl, Kennard 1970).
//!
//! What mixes do beyond the sum of their parts is fitted to a dozen or two trials. The price keeps
//! what they do not show at zero, where plain least squares would make it up.

/// The coefficients `c` that minimise the sum of `(y - x c)²` plus `price` times that of `c²`.
/// Rows are scaled by the caller so that their errors are alike. Zeros where nothing is known.
pub(crate) fn ridge(rows: &[(Vec<f64>, f64)], columns: usize, price: f64) -> Vec<f64> {
    let mut matrix = vec![vec![0.0; columns + 1]; columns];
    for (xs, y) in rows {
        for (at, line) in matrix.iter_mut().enumerate() {
            for (other, value) in line[..columns].iter_mut().enumerate() {
                *value += xs[at] * xs[other];
            }
            line[columns] += xs[at] * y;
        }
    }
    for (at, line) in matrix.iter_mut().enumerate() {
        line[at] += price;
    }
    solve(matrix).unwrap_or_else(|| vec![0.0; columns])
}

/// Gauss's elimination with the largest pivot; `None` where the matrix is singular.
fn solve(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = matrix.len();
    for at in 0..size {
        let pivot =
            (at..size).max_by(|&a, &b| matrix[a][at].abs().total_cmp(&matrix[b][at].abs()))?;
        matrix.swap(at, pivot);
        let line = matrix[at].clone();
        if line[at].abs() < 1e-12 {
            return None;
        }
        for other in &mut matrix[at + 1..] {
            let share = other[at] / line[at];
            for (value, above) in other.iter_mut().zip(&line) {
                *value -= share * above;
            }
        }
    }
    let mut found = vec![0.0; size];
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|other| matrix[at][other] * found[other]).sum();
        found[at] = (matrix[at][size] - known) / matrix[at][at];
    }
    Some(found)
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

//! Solves systems of equations with a symmetric positive definite matrix, by its Cholesky factor.

/// The inverse of the Cholesky factor of a symmetric matrix. Both are given by their rows up to the
/// diagonal. The noise on the diagonal keeps the matrix from being singular.
pub(super) fn inverse_factor(mut lower: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = lower.len();
    for at in 0..size {
        let (above, rest) = lower.split_at_mut(at);
        let line = &mut rest[0];
        for (column, other) in above.iter().enumerate() {
            let known: f64 = line[..column].iter().zip(other).map(|(a, b)| a * b).sum();
            line[column] = (line[column] - known) / other[column];
        }
        let known: f64 = line[..at].iter().map(|part| part * part).sum();
        let pivot = line[at] - known;
        if pivot < 1e-12 {
            return None;
        }
        line[at] = libm::sqrt(pivot);
    }
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(size);
    for (at, line) in lower.iter().enumerate() {
        let mut found = vec![0.0; at + 1];
        for (part, known) in line[..at].iter().zip(&inverse) {
            for (value, other) in found.iter_mut().zip(known) {
                *value -= part * other;
            }
        }
        found[at] = 1.0;
        for value in &mut found {
            *value /= line[at];
        }
        inverse.push(found);
    }
    Some(inverse)
}

/// The solution for a right-hand side, from the inverse factor: the inverse of the matrix is the transposed
/// inverse factor times the inverse factor.
pub(super) fn solved(inverse: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut found = vec![0.0; right.len()];
    for line in inverse {
        let half: f64 = line.iter().zip(right).map(|(part, value)| part * value).sum();
        for (part, value) in line.iter().zip(&mut found) {
            *value += part * half;
        }
    }
    found
}

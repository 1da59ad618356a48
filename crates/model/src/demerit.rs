//! How far a simulated drive is off the real one: the distance between the distributions of their times.
//!
//! The demerit is the root of the mean square of that distance at equal ranks, over the mean measured time
//! (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994).

use record::{DriveRow, OpKind};
use stats::mean;

const PERCENTILES: [(&str, f64); 3] =
    [("latency_p50_ns", 0.5), ("latency_p90_ns", 0.9), ("latency_p99_ns", 0.99)];

/// Distance in nanoseconds, demerit, and the statistics of both, of requests with what they took on the
/// real drive and on the simulated one. There is at least one.
#[must_use]
pub fn demerit(requests: &[(OpKind, f64, f64)]) -> (f64, f64, Vec<DriveRow>) {
    let (measured, simulated) = both(requests, None);
    let squares = measured.iter().zip(&simulated).map(|(a, b)| (a - b) * (a - b));
    let rms = (squares.sum::<f64>() / measured.len() as f64).sqrt();
    let kinds = [("all", None), ("reads", Some(OpKind::Read)), ("writes", Some(OpKind::Write))];
    let rows = kinds.iter().flat_map(|(of, op)| rows(of, &both(requests, *op))).collect();
    (rms, rms / mean(&measured), rows)
}

/// The times of both, sorted.
fn both(requests: &[(OpKind, f64, f64)], op: Option<OpKind>) -> (Vec<f64>, Vec<f64>) {
    let of_op = requests.iter().filter(|(own, ..)| op.is_none_or(|op| op == *own));
    let (mut measured, mut simulated): (Vec<f64>, Vec<f64>) =
        of_op.map(|(_, measured, simulated)| (*measured, *simulated)).unzip();
    measured.sort_by(f64::total_cmp);
    simulated.sort_by(f64::total_cmp);
    (measured, simulated)
}

fn rows(of: &str, (measured, simulated): &(Vec<f64>, Vec<f64>)) -> Vec<DriveRow> {
    let Some(last) = measured.len().checked_sub(1) else { return Vec::new() };
    let row = |quantity: &str, measured, simulated| DriveRow {
        of: of.to_owned(),
        quantity: quantity.to_owned(),
        measured,
        simulated,
    };
    let percentile = |(quantity, share): &(&str, f64)| {
        let rank = (last as f64 * share) as usize;
        row(quantity, measured[rank], simulated[rank])
    };
    let mean = row("latency_mean_ns", mean(measured), mean(simulated));
    std::iter::once(mean).chain(PERCENTILES.iter().map(percentile)).collect()
}

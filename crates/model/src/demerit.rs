//! How far a simulated drive is off the real one: the distance between the distributions of their times.
//!
//! The demerit is the root of the mean square of that distance at equal ranks, over the mean measured time
//! (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994).

use record::{DriveRank, DriveRow, OpKind};
use stats::mean;

const PERCENTILES: [(&str, f64); 3] =
    [("latency_p50_ns", 0.5), ("latency_p90_ns", 0.9), ("latency_p99_ns", 0.99)];

/// Ranks of a distribution that are kept: enough for a drawing, and for its tail.
const RANKS: usize = 200;

/// How far one drive is off the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Demerit {
    /// Root of the mean square of the distance, in nanoseconds.
    pub rms_ns: f64,
    /// That over the mean measured time.
    pub demerit: f64,
    /// Mean and percentiles, of all requests and of each direction.
    pub rows: Vec<DriveRow>,
    /// Both distributions.
    pub ranks: Vec<DriveRank>,
}

/// The distance, of requests with what they took on the real drive and on the simulated one. There is at
/// least one.
#[must_use]
pub fn demerit(requests: &[(OpKind, f64, f64)]) -> Demerit {
    let (measured, simulated) = both(requests, None);
    let squares = measured.iter().zip(&simulated).map(|(a, b)| (a - b) * (a - b));
    let rms = (squares.sum::<f64>() / measured.len() as f64).sqrt();
    let kinds = [("all", None), ("reads", Some(OpKind::Read)), ("writes", Some(OpKind::Write))];
    let rows = kinds.iter().flat_map(|(of, op)| rows(of, &both(requests, *op))).collect();
    let ranks = ranks(&measured, &simulated);
    Demerit { rms_ns: rms, demerit: rms / mean(&measured), rows, ranks }
}

/// The times at equal distances of rank, the least and the largest among them.
fn ranks(measured: &[f64], simulated: &[f64]) -> Vec<DriveRank> {
    let last = measured.len() - 1;
    let steps = RANKS.min(last).max(1);
    let mut places: Vec<usize> = (0..=steps).map(|step| step * last / steps).collect();
    places.dedup();
    let rank = |place: usize| DriveRank {
        share: place as f64 / measured.len() as f64,
        measured_ns: measured[place],
        simulated_ns: simulated[place],
    };
    places.into_iter().map(rank).collect()
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

//! Tests whether tasks wait for I/O mainly in those intervals in which the device has less to do.
//!
//! The time that tasks wait for I/O covers this device and everything else. Its mean does not separate the
//! two if requests are so fast that waiting hardly shows: a limit that held a program for a fifth of the time
//! left the device busy 68 % and tasks waiting 27 %. The variation between intervals does. Tasks that wait
//! for the device wait longer the more it does. If the same kind of load waits longer while the device does
//! less, something else delays it. The kind of load is identified by latency and by concurrency while busy: a
//! deep queue of one program next to lone reads of another changes both. Rejected: a regression over all
//! intervals, which a few outliers distort.

use super::interval_totals::IntervalTotals;

/// Fewest intervals on each side.
const SIDE_MIN: usize = 3;
/// Least drop of utilization (absolute, and relative to the busier intervals) and least increase of waiting.
const LESS_BUSY: f64 = 0.1;
const OF_ITSELF: f64 = 0.7;
const LONGER_WAITS: f64 = 0.05;
/// Least difference in standard errors.
const ERRORS: f64 = 4.0;
/// Latencies and concurrencies while busy within this factor belong to the same kind of load.
const ALIKE: f64 = 1.4;

/// The quieter third of the intervals compared with the busier third, as shares of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IdleWaits {
    /// Utilization and share of waiting.
    pub(super) quiet: (f64, f64),
    pub(super) busy: (f64, f64),
    /// How much longer tasks wait, over all intervals, than they wait for the device.
    pub(super) beyond: f64,
}

/// An interval: utilization, share of waiting, latency, concurrency while busy.
type Row = [f64; 4];

impl IdleWaits {
    /// From intervals and the share of each in which some task waited for I/O.
    pub(super) fn of(series: &[IntervalTotals], waited: &[Option<f64>]) -> Option<Self> {
        let row = |(one, waited): (&IntervalTotals, &Option<f64>)| -> Option<Row> {
            let busy = one.utilization().filter(|busy| *busy > 0.0)?;
            Some([busy, (*waited)?, one.latency_ns()?, one.concurrency()? / busy])
        };
        let mut rows: Vec<Row> = series.iter().zip(waited).filter_map(row).collect();
        rows.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let side = rows.len() / 3;
        if side < SIDE_MIN {
            return None;
        }
        let (quiet, busy) = (&rows[..side], &rows[rows.len() - side..]);
        let mean =
            |rows: &[Row], at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / side as f64;
        let [low, high] = [quiet, busy].map(|rows| [0, 1, 2, 3].map(|at| mean(rows, at)));
        let square_error = |rows: &[Row], mean: f64| {
            let squares: f64 = rows.iter().map(|row| (row[1] - mean).powi(2)).sum();
            squares / ((side - 1) * side) as f64
        };
        let error = (square_error(quiet, low[1]) + square_error(busy, high[1])).sqrt();
        let alike = |at: usize| (1.0 / ALIKE..=ALIKE).contains(&(low[at] / high[at]));
        let waits = low[1] - high[1];
        if high[0] - low[0] < LESS_BUSY
            || low[0] > OF_ITSELF * high[0]
            || waits < LONGER_WAITS.max(ERRORS * error)
            || !(alike(2) && alike(3))
        {
            return None;
        }
        let for_device = high[1] / high[0];
        let beyond: f64 = rows.iter().map(|row| row[1] - for_device * row[0]).sum();
        let beyond = (beyond / rows.len() as f64).max(0.0);
        Some(Self { quiet: (low[0], low[1]), busy: (high[0], high[1]), beyond })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Figure, Interval, OpInterval};

    /// A second at this rate, at 10 µs per request, with this concurrency while busy.
    fn second(per_s: f64, deep: f64) -> IntervalTotals {
        let figure = |value| Some(Figure::measured(value, 0.0));
        let latency_ns = 10_000.0 * deep;
        let busy = per_s * latency_ns / 1e9 / deep;
        IntervalTotals::of(&Interval {
            duration_ns: 1_000_000_000,
            read: OpInterval {
                per_s: figure(per_s),
                bytes_per_s: figure(per_s * 4096.0),
                latency_ns: figure(latency_ns),
                ..OpInterval::default()
            },
            write: OpInterval {
                per_s: figure(0.0),
                bytes_per_s: figure(0.0),
                ..OpInterval::default()
            },
            busy_share: figure(busy),
            ..Interval::default()
        })
    }

    fn found(seconds: &[(f64, f64, f64)]) -> Option<IdleWaits> {
        let series: Vec<_> = seconds.iter().map(|&(rate, deep, _)| second(rate, deep)).collect();
        let waited: Vec<_> = seconds.iter().map(|&(_, _, waited)| Some(waited)).collect();
        IdleWaits::of(&series, &waited)
    }

    #[test]
    fn who_waits_longer_while_the_device_does_less_waits_for_something_else() {
        let held: Vec<_> = (0..12)
            .map(|at| {
                if at % 2 == 0 {
                    (90e3, 1.0, 0.2)
                } else {
                    (54e3, 1.0, 0.35 + 0.001 * f64::from(at))
                }
            })
            .collect();
        let found = found(&held).unwrap();
        assert!((found.busy.0 - 0.9).abs() < 1e-9 && (found.quiet.0 - 0.54).abs() < 1e-9);
        // Of 0.35, the device's own requests explain 0.12.
        assert!((0.1..0.14).contains(&found.beyond), "{found:?}");
    }

    #[test]
    fn who_waits_for_the_device_is_not_held() {
        let longer_with_load: Vec<_> = (0..12)
            .map(|at| (40e3 + 4e3 * f64::from(at), 1.0, 0.3 + 0.03 * f64::from(at)))
            .collect();
        assert_eq!(found(&longer_with_load), None);
        // Deep queues, during which tasks hardly wait, alternate with lone reads, during which they do.
        let mixed: Vec<_> = (0..12)
            .map(|at| if at % 2 == 0 { (95e3, 16.0, 0.05) } else { (60e3, 1.0, 0.55) })
            .collect();
        assert_eq!(found(&mixed), None);
        // Waits that vary for unrelated reasons.
        let scattered: Vec<_> = (0..12)
            .map(|at| {
                (
                    if at % 2 == 0 { 90e3 } else { 54e3 },
                    1.0,
                    [0.1, 0.1, 0.6, 0.5, 0.05, 0.2][at % 6],
                )
            })
            .collect();
        assert_eq!(found(&scattered), None);
        assert_eq!(found(&[(90e3, 1.0, 0.2), (54e3, 1.0, 0.4)]), None);
    }
}

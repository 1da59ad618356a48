//! Detects intervals in which programs stall while the device is idle.

use super::interval_totals::IntervalTotals;
use std::ops::Range;

/// An interval is a stall if it is below these shares of the usual rate and of utilization.
const RATE: f64 = 0.2;
const BUSY: f64 = 0.2;
/// Share of a stall that tasks wait for I/O, and the least ratio to the other intervals.
const WAITED: f64 = 0.3;
const LONGER: f64 = 1.2;
/// Maximum share of intervals that are stops, and the minimum number of intervals.
const SELDOM: f64 = 0.4;
const INTERVALS_MIN: usize = 6;

/// Intervals in which the programs were stalled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stops {
    pub(super) intervals: usize,
    pub(super) usual_per_s: f64,
    /// Share of the whole time that tasks waited in them.
    pub(super) waited: f64,
}

impl Stops {
    /// Stalls in a `range` of the series, compared with the whole series: a stall often marks the
    /// boundary between two uses of the device. `waits` returns the share of each interval in which
    /// tasks waited. It is called only if the device was idle in the range.
    pub(crate) fn of(
        series: &[IntervalTotals],
        range: &Range<usize>,
        waits: impl FnOnce() -> Vec<Option<f64>>,
    ) -> Option<Self> {
        let usual_per_s = stats::median(series.iter().map(IntervalTotals::iops).collect());
        let still = |one: &IntervalTotals| {
            let busy = one.utilization().unwrap_or(1.0);
            one.iops() < RATE * usual_per_s && busy < BUSY
        };
        let (stopped, going): (Vec<usize>, Vec<usize>) =
            (0..series.len()).partition(|at| still(&series[*at]));
        let seldom = (stopped.len() as f64) < SELDOM * series.len() as f64;
        let here: Vec<usize> = stopped.into_iter().filter(|at| range.contains(at)).collect();
        if series.len() < INTERVALS_MIN || !seldom || here.is_empty() {
            return None;
        }
        let waited: Vec<f64> = waits().into_iter().collect::<Option<_>>()?;
        let usual = stats::median(going.iter().map(|at| waited[*at]).collect());
        // A program that sleeps voluntarily waits less for I/O than while it works.
        let longer = |at: &usize| waited[*at] >= WAITED.max(LONGER * usual);
        here.iter().all(longer).then(|| Self {
            intervals: here.len(),
            usual_per_s,
            waited: here.iter().map(|at| waited[*at]).sum::<f64>() / range.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds, each with a rate, a utilization, and the share in which tasks waited.
    fn found(seconds: &[(f64, f64, f64)]) -> Option<Stops> {
        let series: Vec<_> = seconds
            .iter()
            .map(|&(rate, busy, _)| IntervalTotals {
                busy_s: Some(busy),
                ..IntervalTotals::second(rate, rate * 4096.0, busy * 1e9)
            })
            .collect();
        let waited: Vec<_> = seconds.iter().map(|&(_, _, waited)| Some(waited)).collect();
        Stops::of(&series, &(0..series.len()), || waited)
    }

    #[test]
    fn a_program_that_stands_still_and_waits_was_stopped() {
        // As measured: a limit of one request per second for two seconds.
        let mut seconds = vec![(22e3, 0.58, 0.27); 12];
        seconds.insert(5, (1.0, 0.0, 0.51));
        seconds.insert(6, (0.0, 0.08, 0.51));
        let stops = found(&seconds).unwrap();
        assert_eq!(stops.intervals, 2);
        assert!((stops.usual_per_s - 22e3).abs() < 1.0);
    }

    #[test]
    fn a_program_that_sleeps_and_a_device_that_stands_still_were_not() {
        let mut sleeps = vec![(22e3, 0.58, 0.27); 12];
        sleeps[5] = (0.0, 0.0, 0.01);
        assert_eq!(found(&sleeps), None);
        let mut device = vec![(22e3, 0.58, 0.27); 12];
        device[5] = (1.0, 1.0, 0.98);
        assert_eq!(found(&device), None);
        assert_eq!(found(&[(22e3, 0.58, 0.27); 12]), None);
    }
}

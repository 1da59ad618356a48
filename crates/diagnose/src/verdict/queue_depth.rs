//! Decides from the variation of the queue depth whether it stays constant, as in a closed loop.

use super::constant_rate::moves;
use super::interval_totals::IntervalTotals;

/// The queue depth is constant if its coefficient of variation is below `CONSTANT_MAX`, and below
/// `CONSTANT_CHANCE` times the variation that independent arrivals would cause.
const CONSTANT_MAX: f64 = 0.1;
const CONSTANT_CHANCE: f64 = 0.5;
/// The same limit if programs may keep up a part of the queue.
const PARTLY_CHANCE: f64 = 0.9;
/// The same limit if programs keep up all of the queue.
const KEPT_UP_CHANCE: f64 = 0.05;
/// Least utilization of a device whose queue programs keep up all the time.
pub(super) const CONSTANT_BUSY: f64 = 0.95;
/// Fewest samples to conclude that a device is never idle. If it were idle a third of the time,
/// this many samples would miss that once in fifty times.
const MOMENTS_MIN: usize = 10;
/// Mean number in flight from which a device that is never empty is the likelier reason than even bursts.
const MANY: f64 = 8.0;

/// Confirms a doubtful busy counter that reads always busy: every one of many samples found a request in
/// flight, or many requests were in flight in every interval, about as many each time. The counting error of
/// kernels 4.17 to 6.9 affects devices that are idle in between.
pub(crate) fn never_idle(series: &[IntervalTotals]) -> bool {
    let busy = IntervalTotals::sum(series).utilization().is_some_and(|busy| busy >= CONSTANT_BUSY);
    let samples: Vec<f64> = series.iter().filter_map(|one| one.in_flight).collect();
    let sampled = samples.len() >= MOMENTS_MIN && samples.iter().all(|in_flight| *in_flight > 0.0);
    let depths: Option<Vec<f64>> = series.iter().map(IntervalTotals::concurrency).collect();
    let steady = depths.is_some_and(|depths| {
        let mean = stats::mean(&depths);
        let near = |depth: &f64| (mean / 2.0..=2.0 * mean).contains(depth);
        samples.is_empty() && depths.len() >= MOMENTS_MIN && mean >= MANY && depths.iter().all(near)
    });
    busy && (sampled || steady)
}

/// A figure of each interval divided by the device's utilization in it.
pub(super) fn while_busy(
    series: &[IntervalTotals],
    of: impl Fn(&IntervalTotals) -> Option<f64>,
) -> Vec<f64> {
    let one = |one: &IntervalTotals| {
        let busy = one.utilization().filter(|busy| *busy > 0.0)?;
        Some(of(one)? / busy)
    };
    series.iter().filter_map(one).collect()
}

/// Whether the queue depth stays constant, as in a closed loop, apart from a few independent requests.
pub(crate) fn constant_depth(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).as_ref().is_some_and(is_constant)
}

pub(super) fn is_constant(&(cv, share): &(f64, f64)) -> bool {
    cv < CONSTANT_MAX && share < CONSTANT_CHANCE
}

/// Whether a program may keep up a part of the queue, besides independent arrivals.
pub(crate) fn partly_kept_up(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).is_some_and(|(_, share)| share < PARTLY_CHANCE)
}

/// Whether programs that wait for their requests keep up all of the queue.
pub(crate) fn kept_up(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).is_some_and(|(_, share)| share < KEPT_UP_CHANCE)
}

/// Variation of the mean queue depth over the variation that chance would cause, if the device was
/// busy all the time.
pub(crate) fn chance_of_busy(series: &[IntervalTotals]) -> Option<f64> {
    moves_of_busy(series).map(|(_, share)| share)
}

/// The coefficient of variation of the queue depth, and its ratio to that of Poisson arrivals, if
/// the device was busy all the time. The mean of Poisson arrivals over a time T varies by about
/// sqrt(2 R / (L T)), where R is the latency. A queue that a program keeps up varies less on
/// any device. Within an interval the program may start late; the device is idle until then.
pub(super) fn moves_of_busy(series: &[IntervalTotals]) -> Option<(f64, f64)> {
    let total = IntervalTotals::sum(series);
    if total.utilization().is_some_and(|busy| busy < CONSTANT_BUSY) {
        return None;
    }
    let present = match total.utilization() {
        Some(_) => while_busy(series, IntervalTotals::concurrency),
        None => series.iter().filter_map(IntervalTotals::concurrency).collect(),
    };
    if present.len() < 4 {
        return None;
    }
    let (latency, mean) = (total.latency_ns()?, total.concurrency()?);
    let length_ns = total.seconds * 1e9 / series.len() as f64;
    let chance = (2.0 * latency / (mean * length_ns).max(1.0)).sqrt();
    let cv = moves(&present)?;
    Some((cv, cv / chance.max(1e-12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_begins_within_an_interval_is_constant_and_one_that_grows_is_not() {
        let second = |done: f64, present: f64, busy: f64| IntervalTotals {
            busy_s: Some(busy),
            ..IntervalTotals::second(done, done * 4096.0, present * 1e9)
        };
        let mut seconds = [second(400.0, 32.0, 1.0); 20];
        seconds[0] = second(307.0, 24.5, 0.768);
        assert!(constant_depth(&seconds) && kept_up(&seconds));
        seconds[0] = second(307.0, 24.5, 1.0);
        assert!(!constant_depth(&seconds));
    }
}

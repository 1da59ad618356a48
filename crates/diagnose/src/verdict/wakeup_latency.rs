//! Estimates the latency that sleeping CPUs add. It averages wake-up latencies, measured after
//! sleeps of several lengths, over idle times, which are exponential between independent requests.
//! The delay after the shortest sleep is not caused by CPU sleep and is subtracted. Back-to-back
//! requests, which profiles are made of, find the CPU awake.

use super::interval_totals::IntervalTotals;
use record::{DeviceFacts, WakeUp};

/// Number of steps in the average over idle times.
const STEPS: u32 = 64;

/// Wake-ups in the path of a request: one, and for a loop device another one of the kernel thread that
/// carries out the request, mostly on another processor. (On one host a twentieth of a loop device's capacity
/// took 27 to 51 us within two minutes without any change, while a wake-up took 10 to 20.)
pub(crate) fn woken(facts: Option<&DeviceFacts>) -> f64 {
    if facts.is_some_and(|facts| facts.loop_file.is_some()) { 2.0 } else { 1.0 }
}

/// Extra latency of a request in nanoseconds if the device is as idle as in this segment; 0 without
/// measurements.
pub(crate) fn added_ns(wake_ups: &[WakeUp], tally: &IntervalTotals) -> f64 {
    let (Some(shortest), Some(busy)) = (wake_ups.first(), tally.utilization()) else { return 0.0 };
    if tally.iops() <= 0.0 {
        return 0.0;
    }
    let idle_ns = (1.0 - busy) * 1e9 / tally.iops();
    let more = |slept_ns: f64| (late_ns(wake_ups, slept_ns) - shortest.late_ns as f64).max(0.0);
    // Idle times, each for an equal share of all requests.
    let of_share = |step: u32| -libm::log1p(-(f64::from(step) + 0.5) / f64::from(STEPS)) * idle_ns;
    (0..STEPS).map(|step| more(of_share(step))).sum::<f64>() / f64::from(STEPS) * (1.0 - busy)
}

/// Wake-up latency after a sleep of this length, interpolated between the measured ones.
fn late_ns(wake_ups: &[WakeUp], slept_ns: f64) -> f64 {
    let after = wake_ups.iter().position(|one| one.slept_ns as f64 >= slept_ns);
    let after = after.unwrap_or(wake_ups.len());
    let at = |index: usize| (wake_ups[index].slept_ns as f64, wake_ups[index].late_ns as f64);
    if after == 0 || after == wake_ups.len() {
        return at(after.saturating_sub(1)).1;
    }
    let ((from, low), (to, high)) = (at(after - 1), at(after));
    low + (high - low) * (slept_ns - from) / (to - from).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: [WakeUp; 3] = [
        WakeUp { slept_ns: 100_000, late_ns: 5_000 },
        WakeUp { slept_ns: 400_000, late_ns: 20_000 },
        WakeUp { slept_ns: 1_600_000, late_ns: 40_000 },
    ];

    fn second(requests: f64, busy: f64) -> IntervalTotals {
        IntervalTotals { busy_s: Some(busy), ..IntervalTotals::second(requests, 0.0, 0.0) }
    }

    #[test]
    fn the_longer_nothing_is_asked_the_later_a_request_ends_and_never_by_more_than_was_measured() {
        let added = [50_000.0, 5_000.0, 1_600.0, 300.0, 10.0]
            .map(|rate| added_ns(&MEASURED, &second(rate, rate * 40e-9)));
        assert!(added.windows(2).all(|pair| pair[0] <= pair[1]), "{added:?}");
        assert!(added[0] < 100.0 && (34_000.0..35_001.0).contains(&added[4]), "{added:?}");
        // About 0.4 ms asleep at a time: near the value measured there.
        let at_once = added_ns(&MEASURED, &second(2_500.0, 0.0));
        assert!((9_000.0..17_000.0).contains(&at_once), "{at_once}");
    }

    #[test]
    fn a_busy_device_and_a_machine_that_was_not_measured_add_nothing() {
        assert_eq!(added_ns(&MEASURED, &second(1_000.0, 1.0)), 0.0);
        assert_eq!(added_ns(&[], &second(1_000.0, 0.1)), 0.0);
        assert_eq!(added_ns(&MEASURED, &second(0.0, 0.0)), 0.0);
    }
}

//! Whether a first report of iostat covers an interval, or averages all time since boot.
//!
//! iostat begins with averages since boot unless `-y` is given, and the file does not say which.
//! The figures do: over an interval of a few seconds every rate is a whole number of requests
//! divided by the interval's length, while an average over days is any number at all. If all rates
//! of the report fit one length near that of the other reports, and that would hardly happen by
//! chance, it is an interval. Rejected: dropping the first report always (it loses all of a
//! recording of one report), and a size rule on its figures (a disk may be as busy as its average).

use crate::number::Reading;

/// Chance below which a fit is not taken for chance.
const CHANCE: f64 = 0.01;
/// Lengths around the nominal one that iostat measures, in hundredths of a second: it wakes up late.
const LATE_CS: std::ops::RangeInclusive<i32> = -1..=20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Interval,
    SinceBoot,
    /// The figures fit both.
    Unsure,
}

/// Judges a first report by its rates, given the length of the other intervals in seconds.
pub(crate) fn judge(rates: &[Reading], interval_s: f64) -> First {
    let some: Vec<&Reading> = rates.iter().filter(|rate| rate.value > 0.0).collect();
    let mut fits = false;
    let mut chance = 0.0;
    for late in LATE_CS {
        let length = interval_s + f64::from(late) / 100.0;
        // Half a step of rounding either way, over this length.
        let margin = |rate: &Reading| rate.step / 2.0 * length + 1e-9 * rate.value * length;
        let is_count = |rate: &&Reading| {
            let requests = rate.value * length;
            (requests - requests.round()).abs() <= margin(rate) && requests > 0.5
        };
        fits |= some.iter().all(is_count);
        chance += some.iter().map(|rate| (2.0 * margin(rate)).min(1.0)).product::<f64>();
    }
    match (fits, chance < CHANCE) {
        (true, true) => First::Interval,
        (false, _) => First::SinceBoot,
        (true, false) => First::Unsure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(values: &[f64]) -> Vec<Reading> {
        let rounded = |value: &f64| Reading { value: (value * 100.0).round() / 100.0, step: 0.01 };
        values.iter().map(rounded).collect()
    }

    #[test]
    fn counts_over_an_interval_are_told_from_averages() {
        // 7, 19 and 4 requests in 1.01 s and in 5 s; then rates of many days.
        let counts = |length: f64| rates(&[7.0 / length, 19.0 / length, 4.0 / length]);
        assert_eq!(judge(&counts(1.01), 1.0), First::Interval);
        assert_eq!(judge(&counts(5.0), 5.0), First::Interval);
        assert_eq!(judge(&rates(&[6.37, 1.69, 0.18]), 1.0), First::SinceBoot);
        assert_eq!(judge(&rates(&[6.37, 1.69, 0.18]), 5.0), First::SinceBoot);
    }

    #[test]
    fn without_figures_or_over_long_intervals_it_is_unsure() {
        assert_eq!(judge(&rates(&[0.0, 0.0]), 1.0), First::Unsure);
        assert_eq!(judge(&rates(&[6.37, 1.69]), 300.0), First::Unsure);
    }
}

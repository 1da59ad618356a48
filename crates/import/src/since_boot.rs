//! Infers the length of a report from its rates: whether a first report of iostat covers an interval or
//! averages all time since boot, and how long intervals without times are.
//!
//! iostat begins with averages since boot unless `-y` is given, and the file does not show which. The
//! figures do: over an interval of a few seconds every rate is a whole number of requests divided by the
//! interval's length, while an average over days may have any value. The report is an interval if all its
//! rates fit one length near that of the other reports, and chance hardly explains the fit. Rejected:
//! dropping the first report always (it loses all of a recording of one report), and a size rule on its
//! figures (a disk may be as busy as its average).

use crate::moment::SECOND_NS;
use crate::number::Reading;
use std::ops::RangeInclusive;

/// Maximum probability of a chance fit.
const CHANCE: f64 = 0.01;
/// Deviations from the nominal length that iostat measures, in hundredths of a second: it wakes up late.
const LATE_CS: RangeInclusive<i32> = -1..=20;
/// The same if the nominal length is unknown: none, or else little. With more, rates of an arbitrary length
/// fit some common one.
const LITTLE_LATE_CS: [RangeInclusive<i32>; 2] = [0..=0, -1..=2];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Interval,
    SinceBoot,
    /// The figures fit both.
    Unsure,
}

/// Common interval lengths, in seconds.
const USUAL_S: [u32; 17] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45, 60, 120, 300, 600];
/// Minimum share of the reports with requests that must fit a length; the rest are damaged.
const FITTING: f64 = 0.9;

/// The shortest common length that the rates of reports fit, in nanoseconds; `None` if they fit none, or if
/// the fit may be chance.
pub(crate) fn implied(reports: &[Vec<Reading>]) -> Option<i128> {
    let fits = |seconds: u32, late: &RangeInclusive<i32>| {
        let fit = |rates: &Vec<Reading>| fit(rates, f64::from(seconds), late);
        let fits: Vec<(bool, f64)> = reports.iter().map(fit).collect();
        let fitting = fits.iter().filter(|(fits, _)| *fits);
        let chance: f64 = fitting.clone().map(|(_, chance)| chance.min(1.0)).product();
        chance < CHANCE && fitting.count() as f64 >= FITTING * fits.len() as f64
    };
    let first = |late| USUAL_S.into_iter().find(|seconds| fits(*seconds, late));
    LITTLE_LATE_CS.iter().find_map(first).map(|seconds| i128::from(seconds) * SECOND_NS)
}

/// Judges a first report by its rates, given the length of the other intervals in seconds.
pub(crate) fn judge(rates: &[Reading], interval_s: f64) -> First {
    let (fits, chance) = fit(rates, interval_s, &LATE_CS);
    match (fits, chance < CHANCE) {
        (true, true) => First::Interval,
        (false, _) => First::SinceBoot,
        (true, false) => First::Unsure,
    }
}

/// Whether all rates are whole counts divided by a length, and the probability of this for arbitrary rates.
fn fit(rates: &[Reading], interval_s: f64, late: &RangeInclusive<i32>) -> (bool, f64) {
    let some: Vec<&Reading> = rates.iter().filter(|rate| rate.value > 0.0).collect();
    let mut fits = false;
    let mut chance = 0.0;
    for late in late.clone() {
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
    (fits, chance)
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
    fn a_common_length_is_implied_only_if_every_rate_fits_it() {
        let reports = [[20.4], [30.6], [30.8]].map(|values| rates(&values));
        assert_eq!(implied(&reports), Some(5 * SECOND_NS));
        // Of 0.31 s: 8.1 s would fit, but iostat is not that late.
        assert_eq!(implied(&[rates(&[6.42, 3.21, 1.6, 3.21])]), None);
    }

    #[test]
    fn without_figures_or_over_long_intervals_it_is_unsure() {
        assert_eq!(judge(&rates(&[0.0, 0.0]), 1.0), First::Unsure);
        assert_eq!(judge(&rates(&[6.37, 1.69]), 300.0), First::Unsure);
    }
}

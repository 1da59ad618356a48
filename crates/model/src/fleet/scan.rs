//! Finds the segment of windows in which a series is highest, and how far this exceeds chance.
//!
//! The segment is the one with the largest likelihood ratio against the noise. The score is not used for
//! this, because it includes the spread between healthy devices: the three highest windows of a long
//! segment would win, and the rest of it would remain unexplained.

/// Spread of a healthy series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Healthy {
    /// Standard deviation of the level between devices.
    pub(crate) level: f64,
    /// Standard deviation of a window around the level.
    pub(crate) noise: f64,
    /// Number of windows that contain as much information as one independent window.
    pub(crate) dependence: f64,
    /// Standard deviation of the level's change over time, within one device.
    pub(crate) drift: f64,
    /// Degrees of freedom of these deviations.
    pub(crate) degrees: f64,
}

impl Healthy {
    /// Standard deviation of a mean over this number of windows.
    pub(crate) fn deviation(&self, windows: f64) -> f64 {
        let noise = self.noise * self.noise * (self.dependence / windows).min(1.0);
        (self.level * self.level + noise).sqrt()
    }

    /// Standard deviation of the difference between a mean over `windows` windows and one over `others`
    /// windows.
    fn change_deviation(&self, windows: f64, others: f64) -> f64 {
        let share = |windows: f64| (self.dependence / windows).min(1.0);
        let noise = self.noise * self.noise * (share(windows) + share(others));
        (self.drift * self.drift + noise).sqrt()
    }
}

/// A segment of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    /// First window, and the one after the last.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// Whether no later window has a value.
    pub(crate) lasts: bool,
    /// Number of its windows that have a value.
    pub(crate) windows: usize,
    /// Mean logarithm of the ratio.
    pub(crate) mean: f64,
    /// Standard deviation of the mean in a healthy series.
    pub(crate) deviation: f64,
    /// The mean in standard deviations, without the most extreme window: a single one is an incident.
    pub(crate) score: f64,
}

/// Minimum number of windows: fewer are an incident, not a state.
pub(crate) const WINDOWS_MIN: usize = 3;

/// The known values of a series, times the sign, and their cumulative sums.
struct Sums {
    there: Vec<(usize, f64)>,
    sums: Vec<f64>,
}

impl Sums {
    fn of(series: &[f32], sign: f64) -> Self {
        let there: Vec<(usize, f64)> = series
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_nan())
            .map(|(at, &value)| (at, sign * f64::from(value)))
            .collect();
        let mut sums = Vec::with_capacity(there.len() + 1);
        sums.push(0.0);
        for (at, (_, value)) in there.iter().enumerate() {
            sums.push(sums[at] + value);
        }
        Self { there, sums }
    }

    /// The segment of these windows; its mean exceeds `rest` by this much.
    fn run(&self, begin: usize, end: usize, mean: f64, rest: f64, healthy: (f64, f64)) -> Run {
        let most = self.there[begin..end].iter().map(|(_, value)| *value).fold(f64::MIN, f64::max);
        let others = (self.sums[end] - self.sums[begin] - most) / (end - begin - 1) as f64;
        let (deviation, degrees) = healthy;
        Run {
            begin: self.there[begin].0,
            end: self.there[end - 1].0 + 1,
            lasts: end == self.there.len(),
            windows: end - begin,
            mean,
            deviation,
            score: as_normal((others - rest) / deviation, degrees),
        }
    }
}

/// The normal value that is as rare as this score, whose standard deviation is an estimate with `degrees`
/// degrees of freedom (Wallace 1959, for Student's t).
fn as_normal(score: f64, degrees: f64) -> f64 {
    let size = (degrees * (score * score / degrees).ln_1p()).sqrt();
    size.copysign(score) * (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0)
}

/// The segment that rises most above the rest of the same series; `None` if too few windows are inside or
/// outside it. Its mean is the rise over the rest, or over the peers if that is smaller: a device that was
/// fast before is not slow now.
pub(crate) fn risen(series: &[f32], sign: f64, healthy: &Healthy) -> Option<Run> {
    let all = Sums::of(series, sign);
    let count = all.there.len();
    if count < 2 * WINDOWS_MIN {
        return None;
    }
    let whole = all.sums[count];
    let mut best = (f64::NEG_INFINITY, 0, 0);
    for begin in 0..=count - WINDOWS_MIN {
        for end in begin + WINDOWS_MIN..=count {
            let (within, beside) = ((end - begin) as f64, (count - end + begin) as f64);
            if beside < WINDOWS_MIN as f64 {
                continue;
            }
            let sum = all.sums[end] - all.sums[begin];
            let step = sum / within - (whole - sum) / beside;
            let clear = step * (within * beside).sqrt();
            if clear > best.0 {
                best = (clear, begin, end);
            }
        }
    }
    let (_, begin, end) = best;
    let (within, beside) = ((end - begin) as f64, (count - end + begin) as f64);
    let sum = all.sums[end] - all.sums[begin];
    let rest = ((whole - sum) / beside).max(0.0);
    let deviation = healthy.change_deviation(within, beside);
    Some(all.run(begin, end, sum / within - rest, rest, (deviation, healthy.degrees)))
}

/// The highest segment; `None` if there are too few windows. NaN values are missing. `sign` -1 finds the
/// lowest.
pub(crate) fn highest(series: &[f32], sign: f64, healthy: &Healthy) -> Option<Run> {
    let all = Sums::of(series, sign);
    let (there, sums) = (&all.there, &all.sums);
    if there.len() < WINDOWS_MIN {
        return None;
    }
    let roots: Vec<f64> = (0..=there.len()).map(|windows| (windows as f64).sqrt()).collect();
    let mut best = (f64::NEG_INFINITY, 0, 0);
    for begin in 0..=there.len() - WINDOWS_MIN {
        for end in begin + WINDOWS_MIN..=there.len() {
            let clear = (sums[end] - sums[begin]) / roots[end - begin];
            if clear > best.0 {
                best = (clear, begin, end);
            }
        }
    }
    let (_, begin, end) = best;
    let windows = (end - begin) as f64;
    let mean = (sums[end] - sums[begin]) / windows;
    Some(all.run(begin, end, mean, 0.0, (healthy.deviation(windows), healthy.degrees)))
}

/// The known values.
pub(crate) fn known(series: &[f32]) -> Vec<f64> {
    series.iter().filter(|value| !value.is_nan()).map(|&value| f64::from(value)).collect()
}

/// Mean of another series over the same segment, if at least half of the windows have values.
pub(crate) fn mean_within(series: &[f32], run: &Run) -> Option<f64> {
    let within = &series[run.begin..run.end];
    let there = known(within);
    (2 * there.len() >= run.windows.min(within.len()) && !there.is_empty())
        .then(|| stats::mean(&there))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEALTHY: Healthy =
        Healthy { level: 0.1, noise: 0.1, dependence: 1.0, drift: 0.02, degrees: 100.0 };

    #[test]
    fn the_stretch_that_is_high_is_found_with_its_ends_and_gaps_do_not_matter() {
        let mut series = vec![0.0f32; 40];
        series[10..20].fill(0.7);
        series[14] = f32::NAN;
        let run = highest(&series, 1.0, &HEALTHY).unwrap();
        assert_eq!((run.begin, run.end, run.windows), (10, 20, 9));
        assert!((run.mean - 0.7).abs() < 1e-6, "{run:?}");
        assert!(run.score > 6.0, "{run:?}");
        let low = highest(&series, -1.0, &HEALTHY).unwrap();
        assert!(low.score <= 0.0, "{low:?}");
    }

    #[test]
    fn one_window_alone_is_an_incident_and_few_devices_make_a_score_smaller() {
        let mut series = vec![0.0f32; 40];
        series[10] = 3.0;
        assert!(highest(&series, 1.0, &HEALTHY).unwrap().score < 0.1);
        series[10..13].fill(1.0);
        let many = highest(&series, 1.0, &HEALTHY).unwrap().score;
        let few = highest(&series, 1.0, &Healthy { degrees: 5.0, ..HEALTHY }).unwrap().score;
        assert!(many > 7.0 && few < 4.5, "{many} {few}");
        // Student's t above 4.032 at five degrees of freedom has a tail of 0.005, like the normal value
        // 2.576.
        assert!((as_normal(4.032, 5.0) - 2.576).abs() < 0.02);
        assert!((as_normal(-1.0, 1e6) + 1.0).abs() < 1e-4);
    }

    #[test]
    fn too_few_windows_have_no_stretch() {
        assert_eq!(highest(&[0.5, f32::NAN, 0.5], 1.0, &HEALTHY), None);
        assert_eq!(risen(&[0.5, 0.5, 0.0, 0.0, f32::NAN], 1.0, &HEALTHY), None);
    }

    #[test]
    fn what_rises_over_its_own_past_is_found_and_what_only_comes_back_to_its_peers_is_not() {
        let mut series = vec![0.0f32; 40];
        series[25..].fill(0.3);
        let run = risen(&series, 1.0, &HEALTHY).unwrap();
        assert_eq!((run.begin, run.end), (25, 40));
        assert!((run.mean - 0.3).abs() < 1e-6 && run.score > 5.0, "{run:?}");
        // The same device from the fast side: its healthy part does not count as fast.
        assert!(risen(&series, -1.0, &HEALTHY).unwrap().score < 0.1);
        let mut fast_before = vec![0.0f32; 40];
        fast_before[..25].fill(-0.3);
        assert!(risen(&fast_before, 1.0, &HEALTHY).unwrap().score < 0.1);
    }
}

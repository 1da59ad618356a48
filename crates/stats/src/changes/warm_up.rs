//! Finds how much of the start of a series is warm-up.
//!
//! *Where a warm-up would end*: MSER-5 (White 1997; White, Cobb, Spratt 2000) averages in groups of five and
//! cuts where the standard error of the rest is smallest, in the first half only. It needs no parameter and
//! no model of the transient (Hoad, Robinson and Davies 2010 settled on it). Rejected: only a fixed ramp
//! time, Welch's plots (an eye must read them), tests against the end of the series.
//!
//! *Whether it is a warm-up*: MSER-5 cuts two of five windows of independent noise, so a t test decides.
//!
//! # One run
//!
//! [`warm_up_of_run`] compares the part before the cut with the part after it, using the noise of the latter
//! (batch means). The test is Student's t at 1 %, divided among the positions that the search can choose. The
//! cut moves to the next edge of a segment and is always less than half of the run. A cut at the half is where
//! the search had to stop: the level changed in the middle of the run, and the first half is no warm-up.
//!
//! The series of an open loop is skewed: most of it comes in rare busy periods. The search cuts after the
//! last large one, so the rest looks too quiet. For open loops, the noise is therefore the larger of that of
//! the rest and that of both parts, and the difference must be half as large again. False cuts of steady runs
//! (the tests of `trial` print them): none in a thousand with independent slices, at most 7 with M/M/1 in a
//! closed loop, 0 to 16 in an open loop (up to 106 by the rule of closed loops).
//!
//! If the rest is shorter than 25 correlation times, its noise is unknown and nothing is cut, with one
//! exception. A flash drive ran at twelve times its later rate for a twentieth of the run, and the wandering
//! rest hid that. So the start of a closed loop is also cut if it differs from all later segments by more
//! than three times the range of these segments (none of 3,000 wandering runs passes that).
//!
//! Rejected: the verdict of [`crate::steadiness`] as the condition (a short start does not show in eighths),
//! and the noise of both parts in closed loops too (a decaying start hides itself).
//!
//! # Several visits
//!
//! [`warm_up_of_visits`] searches the average of the visits, as Hoad, Robinson and Davies do with
//! replications. A cut needs two signs. The difference between start and rest, one value per visit, must differ
//! from zero at 1 % by Student's t. It must also exceed the noise within the visits: that of groups of five values around the mean of their part, again at 1 %, divided among the positions of the
//! search. The second sign is for short visits of a variable device, whose values agree by chance at the cut
//! that the search chose because of them. With 57 exponential requests in each of three visits, the first
//! sign alone cut up to 2 % of the cells, whose rates then were 9 % off (root mean square) within intervals
//! far too narrow. Both together cut 0.05 %. They remove a start that is 40 % slower for a fifth of the
//! window completely with six visits and almost completely with three. Rejected: a cut in each visit by
//! itself (1.3 % of bias), the bare search on the average (0.2 to 0.4 % of bias if a device stalls
//! occasionally), the first sign alone.

use super::PartialSums;
use crate::{
    UPPER_95, all_finite, batch_means, long_enough, mean, mean_and_variance, student_t_quantile,
};
use record::Estimate;

/// Number of values averaged before the search.
const GROUP: usize = 5;
/// Minimum number of groups for a cut. With fewer, the search would follow noise.
const GROUPS_MIN: usize = 6;
/// Minimum difference for a cut, as a share of the rest.
const CHANGE_REL_MIN: f64 = 0.03;
/// Probability of a cut in steady data; for one run, divided among the segments.
const FALSE_ALARM_SHARE: f64 = 0.01;
/// Minimum distance of a start that needs no test, as a multiple of the range of the other segments.
const FAR_OFF: f64 = 3.0;
/// Factor by which a difference must exceed its limit in an open loop.
const OPEN_MARGIN: f64 = 1.5;

/// Number of leading values to drop, a multiple of five and at most half of the series; 0 for series that are
/// too short (below 30) or not finite.
#[must_use]
pub fn warm_up_cut(series: &[f64]) -> usize {
    let groups: Vec<f64> = series.chunks_exact(GROUP).map(mean).collect();
    if groups.len() < GROUPS_MIN || !all_finite(series) {
        return 0;
    }
    let sums = PartialSums::new(groups.iter().copied().map(Some));
    let mut best = (f64::INFINITY, 0);
    for cut in 0..=groups.len() / 2 {
        let kept = (groups.len() - cut) as f64;
        let error = sums.cost(cut, groups.len()) / (kept * kept);
        // For equal errors, prefer the smaller cut.
        if error < best.0 {
            best = (error, cut);
        }
    }
    best.1 * GROUP
}

/// Number of segments of `per_segment` values to drop at the start of one run. `open` means that the series
/// is from an open loop.
#[must_use]
pub fn warm_up_of_run(series: &[f64], per_segment: usize, open: bool) -> usize {
    let cut = warm_up_cut(series);
    let segments = cut.div_ceil(per_segment);
    let places = (series.len() / per_segment) as f64;
    if cut > 0 && 2 * segments * per_segment < series.len() && differs(series, cut, places, open) {
        segments
    } else if open {
        0
    } else {
        far_off(series, per_segment)
    }
}

/// Leading values that are warm-up in all visits, whose series have the same length; 0 without a warm-up.
/// Also 0 for a single visit, which cannot distinguish a warm-up from chance.
#[must_use]
pub fn warm_up_of_visits(visits: &[Vec<f64>]) -> usize {
    let length = visits.first().map_or(0, Vec::len);
    if visits.len() < 2 || visits.iter().any(|one| one.len() != length) {
        return 0;
    }
    let of_all = |at: usize| visits.iter().map(|one| one[at]).sum::<f64>() / visits.len() as f64;
    let cut = warm_up_cut(&(0..length).map(of_all).collect::<Vec<_>>());
    if cut == 0 {
        return 0;
    }
    // As a share of the whole, which no chance in the choice of the cut makes small.
    let difference = |one: &Vec<f64>| (mean(&one[..cut]) - mean(&one[cut..])) / mean(one);
    let differences: Vec<f64> = visits.iter().map(difference).collect();
    let (centre, variance) = mean_and_variance(&differences);
    let limit = |share: f64, freedom: f64| student_t_quantile(1.0 - share / 2.0, freedom);
    let by_visits = variance.sqrt() * limit(FALSE_ALARM_SHARE, differences.len() as f64 - 1.0);
    let (within, freedom) = group_variance(visits, cut);
    let (start, rest) = (cut as f64, (length - cut) as f64);
    let error = (GROUP as f64 * within * (1.0 / start + 1.0 / rest) / visits.len() as f64).sqrt();
    let places = (length / GROUP / 2) as f64;
    let by_noise = error * limit(FALSE_ALARM_SHARE / places, freedom);
    if centre.abs() > by_visits.max(by_noise) { cut } else { 0 }
}

/// Variance of the groups of a search, as a share of the square of their visit's mean, around the mean of
/// their part: before or after the cut. With its degrees of freedom.
fn group_variance(visits: &[Vec<f64>], cut: usize) -> (f64, f64) {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for visit in visits {
        let level = mean(visit);
        for part in [&visit[..cut], &visit[cut..]] {
            let groups: Vec<f64> = part.chunks_exact(GROUP).map(|it| mean(it) / level).collect();
            let (_, of_mean) = mean_and_variance(&groups);
            let count = groups.len() as f64;
            if count > 1.0 {
                squares += of_mean * count * (count - 1.0);
                freedom += count - 1.0;
            }
        }
    }
    (squares / freedom, freedom)
}

/// Number of segments at the start that differ from all others by more than [`FAR_OFF`] times the range of
/// the others, for series that wander too slowly to show their noise. Of several such numbers, it takes the
/// first that is half as clear as the clearest, because any rest of the start in the next segment is then
/// within the wandering. At most a quarter of all segments: a longer start is a change of level.
fn far_off(series: &[f64], per_segment: usize) -> usize {
    let levels: Vec<f64> = series.chunks_exact(per_segment).map(|part| part.iter().sum()).collect();
    let longest = levels.len() / 4;
    let distances: Vec<f64> = (1..=longest)
        .map(|cut| {
            let (start, rest) = levels.split_at(cut);
            let level = mean(start);
            let low = rest.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (level - high).max(low - level) / (high - low).max(f64::MIN_POSITIVE)
        })
        .collect();
    let clearest = distances.iter().copied().fold(0.0, f64::max);
    let first = distances.iter().position(|&it| it > FAR_OFF && it >= clearest / 2.0);
    first
        .map(|index| (index + 1) * per_segment)
        .filter(|&cut| !long_enough(&series[cut..]) && matters(&series[..cut], &series[cut..]))
        .map_or(0, |cut| cut / per_segment)
}

/// Whether two levels differ enough for a cut.
fn matters(start: &[f64], rest: &[f64]) -> bool {
    (mean(start) - mean(rest)).abs() > CHANGE_REL_MIN * mean(rest).abs()
}

/// Whether the mean of the first `cut` values differs from that of the others.
fn differs(series: &[f64], cut: usize, places: f64, open: bool) -> bool {
    let (start, rest) = series.split_at(cut);
    let (before, level) = (mean(start), mean(rest));
    let Some(mut noise) = batch_means(rest).map(|steady| Noise::of(&steady, rest.len())) else {
        return false;
    };
    if open {
        let around = |part: &'_ [f64], level: f64| -> Vec<f64> {
            part.iter().map(|value| value - level).collect()
        };
        let both = [around(start, before), around(rest, level)].concat();
        let Some(spread) = batch_means(&both) else { return false };
        let spread = Noise::of(&spread, both.len());
        if spread.variance > noise.variance {
            noise = spread;
        }
    } else if !long_enough(rest) {
        return false;
    }
    // If the start were like the rest, its mean would vary like that of as many values there.
    let error = (noise.variance * (1.0 / cut as f64 + 1.0 / rest.len() as f64)).sqrt();
    let limit = student_t_quantile(1.0 - FALSE_ALARM_SHARE / places / 2.0, noise.freedom);
    let margin = if open { OPEN_MARGIN } else { 1.0 };
    matters(start, rest) && (before - level).abs() > margin * limit * error
}

/// Variability of the mean of a series.
struct Noise {
    /// Variance of the mean, times the number of values.
    variance: f64,
    /// Degrees of freedom of that variance.
    freedom: f64,
}

impl Noise {
    /// The noise for a mean of `values` values.
    fn of(mean: &Estimate, values: usize) -> Self {
        let freedom = f64::from(mean.n.max(2)) - 1.0;
        let error = mean.half_width() / student_t_quantile(UPPER_95, freedom);
        Self { variance: error * error * values as f64, freedom }
    }
}

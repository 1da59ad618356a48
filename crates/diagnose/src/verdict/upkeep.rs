//! Decides what keeps a deep queue up: programs, or independent arrivals.

use super::constant_rate::moves;
use super::interval_totals::IntervalTotals;
use super::queue_depth::{is_constant, moves_of_busy, while_busy};
use crate::words::percent;
use record::format_count;

/// Programs keep up a deep queue whose samples vary by less than this share of what an open queue's would.
const QUEUE_KEPT: f64 = 0.3;
/// They also keep it up if its interval means vary by at most this share of an open queue's
/// variation, and by at most what chance yields with probability `KEPT_BY_CHANCE`.
const MEANS_KEPT: f64 = 0.5;
const KEPT_BY_CHANCE: f64 = 0.001;
/// Probability that all samples of an open queue are as short as those of a bounded one.
const BOUNDED_BY_CHANCE: f64 = 0.003;
/// A load is open if the variation of its interval means, over that of an open queue, is within this range.
const QUEUE_CHANCE: (f64, f64) = (0.5, 3.0);
/// Standard deviation of a normal distribution over its median absolute deviation.
const NORMAL_SPREAD: f64 = 1.4826;
/// A closed loop's queue depth varies by at most this share of the rate's variation, if the latter
/// is at least `RATE_MOVES_MIN`.
const RATE_MOVES: f64 = 0.5;
const RATE_MOVES_MIN: f64 = 0.02;
/// A ceiling is the largest sampled queue depth, if it is at least `CEILING_MIN` and this share of
/// all nonzero samples equals it. In an open queue of this mean length the two longest samples are
/// equal once in thirty times.
const CEILING_MIN: f64 = 16.0;
const CEILING_SHARE: f64 = 0.25;
pub(super) const INTERVALS_MIN: usize = 5;

/// A queue depth that suffices for a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SufficientDepth {
    pub(crate) depth: f64,
    /// IOPS at this depth as a share of the IOPS at the largest depth considered. `None` without a profile.
    pub(crate) rate_share: Option<f64>,
    /// The same as a share of the maximum IOPS of the mix.
    pub(crate) max_share: Option<f64>,
    /// Exponent with which IOPS still grow with queue depth there.
    pub(crate) growth: f64,
}

impl SufficientDepth {
    /// The rate at this depth in words, as shares of the two rates above.
    pub(crate) fn words(&self, present: f64) -> String {
        let Self { depth, rate_share, max_share, .. } = self;
        let Some(rate_share) = rate_share else {
            // Without a profile, the parallelism is only that of the device's class.
            return "the device probably serves fewer requests in parallel".to_owned();
        };
        let of_max = max_share.map_or(String::new(), |share| {
            format!(" ({} of the maximum of this mix)", percent(share))
        });
        format!(
            "queue depth {depth:.0} would give {} of the rate at QD {}{of_max}",
            percent(*rate_share),
            format_count(present)
        )
    }
}

/// What keeps a deep queue up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoopKind {
    /// Closed loop, observed in the programs: the largest number of requests that they waited for,
    /// the number of samples with exactly that number, and the number of samples.
    Seen(f64, u32, u32),
    /// Closed loop: the variation of the queue depth, and the variation that independent arrivals
    /// would cause.
    Steady(f64, f64),
    /// Closed loop: the variation of the queue depth, and that of the device's rate.
    FollowsRate(f64, f64),
    /// Closed loop: the largest queue depth, the number of samples that reach it, and the number of
    /// nonzero samples.
    Ceiling(f64, u32, u32),
    /// Closed loop: the largest queue depth and the number of samples. An open queue would have
    /// been longer in one of them.
    Bounded(f64, usize),
    /// All tags of the device are in use and this many requests wait for one on average. More
    /// requests are outstanding than the device accepts; their number is unknown.
    BeyondTags(f64),
    /// Open load: the queue depth varies as with independent arrivals.
    Chance,
    /// Unknown.
    Untold,
}

impl LoopKind {
    /// The reason for it, as a sentence.
    pub(crate) fn because(&self) -> String {
        match *self {
            Self::Seen(most, times, of) => format!(
                "The programs never waited for more than {most:.0} requests, and in {times} of \
                 {of} samples they waited for exactly that many."
            ),
            Self::Steady(moves, chance) => format!(
                "The queue depth varies by {}; with independent arrivals it would vary by {}.",
                percent(moves),
                percent(chance)
            ),
            Self::FollowsRate(moves, rate) => format!(
                "The queue depth varies by {} and the rate by {}, as with a program that waits for \
                 completions before it submits more.",
                percent(moves),
                percent(rate)
            ),
            Self::Ceiling(most, times, of) => {
                format!(
                    "The queue depth never exceeded {most:.0}, and {times} of {of} samples had \
                     exactly that queue depth."
                )
            }
            Self::Bounded(most, moments) => format!(
                "In {moments} samples the queue depth never exceeded {most:.0}; independent \
                 arrivals would have exceeded it at least once."
            ),
            Self::BeyondTags(waiting) => format!(
                "On average, {} more requests wait for a device tag; no counter shows requests \
                 that a program has not submitted yet.",
                format_count(waiting)
            ),
            Self::Chance => "The queue depth varies as with independent arrivals.".to_owned(),
            Self::Untold => {
                "These counters do not show whether a program keeps the requests in flight or they \
                 arrive independently."
                    .to_owned()
            }
        }
    }
}

/// What keeps up a queue of `present` requests while the device is busy.
pub(super) fn upkeep(
    series: &[IntervalTotals],
    total: &IntervalTotals,
    present: f64,
    enough: &SufficientDepth,
) -> LoopKind {
    let depths = while_busy(series, IntervalTotals::concurrency);
    let rates = while_busy(series, |one| Some(one.iops()));
    if let Some((moved, share)) = moves_of_busy(series).filter(is_constant) {
        return LoopKind::Steady(moved, moved / share.max(1e-12));
    }
    let (Some(moved), Some(rate_moved)) = (moves(&depths), moves(&rates)) else {
        return LoopKind::Untold;
    };
    if depths.len() < INTERVALS_MIN {
        return LoopKind::Untold;
    }
    let busy_s = total.busy_s.unwrap_or(total.seconds);
    let (count, step_s) = (depths.len() as f64, busy_s / depths.len() as f64);
    let moments: Vec<f64> = series.iter().filter_map(|one| one.in_flight).collect();
    let seen = moves(&moments).filter(|_| moments.len() == depths.len());
    let open = OpenQueue::new(present, enough, total.all.count() / busy_s.max(1e-9));
    let chance = open.as_wide_as(seen).moves(step_s, busy_s, count);
    let calm = moves_mostly(&depths).unwrap_or(moved);
    // For this few intervals, chance gives less than this share once in a thousand times.
    let by_chance = stats::chi_square_per_degree(KEPT_BY_CHANCE, depths.len() - 1).sqrt();
    if calm <= by_chance.min(MEANS_KEPT) * chance {
        return LoopKind::Steady(calm, chance);
    }
    let apart = (busy_s / (2.0 * open.memory_s).max(1e-9)).min(moments.len() as f64);
    if let Some(most) = bounded(&moments, apart, present, enough) {
        return LoopKind::Bounded(most, moments.len());
    }
    let at_moments = open.moves(0.0, busy_s, count);
    if let Some(seen) = seen.filter(|seen| *seen <= QUEUE_KEPT * at_moments) {
        return LoopKind::Steady(seen, at_moments);
    }
    if let Some((most, times, of)) = ceiling(&moments).filter(|_| seen.is_some()) {
        return LoopKind::Ceiling(most, times, of);
    }
    // Excess over the counting noise, with a margin for few intervals.
    let by_chance = 4.0 * count / total.all.count().max(1.0);
    let device = (rate_moved * rate_moved - by_chance).max(0.0).sqrt();
    // Within one step, arrivals change the queue by no more than the completions of a step.
    let reach = (step_s * open.rate_per_s / present).min(1.0);
    if device >= RATE_MOVES_MIN && moved <= RATE_MOVES * device * reach {
        return LoopKind::FollowsRate(moved, rate_moved);
    }
    if (QUEUE_CHANCE.0..=QUEUE_CHANCE.1).contains(&(moved / chance.max(1e-12))) {
        return LoopKind::Chance;
    }
    LoopKind::Untold
}

/// The robust variation of these numbers, from the median absolute deviation, but at least half of their
/// overall variation. An interval or two in which a program could not submit do not describe the queue.
fn moves_mostly(values: &[f64]) -> Option<f64> {
    let all = moves(values)?;
    let middle = stats::median(values.to_vec());
    let off = values.iter().map(|value| (value - middle).abs()).collect();
    Some((NORMAL_SPREAD * stats::median(off) / middle).max(all / 2.0).min(all))
}

/// The largest sampled number if it recurs, the number of samples equal to it, and the number of
/// nonzero samples.
pub(super) fn ceiling(moments: &[f64]) -> Option<(f64, u32, u32)> {
    let most = moments.iter().copied().fold(0.0, f64::max);
    let times = moments.iter().filter(|present| **present >= most).count() as u32;
    let of = moments.iter().filter(|present| **present > 0.0).count() as u32;
    let again = times >= 2 && f64::from(times) >= CEILING_SHARE * f64::from(of);
    (again && most >= CEILING_MIN).then_some((most, times, of))
}

/// The largest sampled number, if an open queue would hardly ever have stayed below it in all
/// samples. The part of such a queue beyond what the device works on has an exponential length.
/// `apart` is the number of independent samples.
fn bounded(moments: &[f64], apart: f64, present: f64, enough: &SufficientDepth) -> Option<f64> {
    let most = moments.iter().copied().fold(0.0, f64::max);
    let behind = (present - enough.depth).max(1.0);
    let below = -libm::expm1(-(most - enough.depth).max(0.0) / behind);
    (most > 0.0 && libm::pow(below, apart) < BOUNDED_BY_CHANCE).then_some(most)
}

/// The variation of an open queue's length.
struct OpenQueue {
    present: f64,
    rate_per_s: f64,
    /// Variance of the number in flight.
    variance: f64,
    /// Correlation time of the queue length.
    memory_s: f64,
}

impl OpenQueue {
    /// For a mean number in flight and a completion rate.
    fn new(present: f64, enough: &SufficientDepth, rate_per_s: f64) -> Self {
        let behind = (present - enough.depth).max(1.0);
        // The standard deviation of a queue equals its mean length. A device that speeds up with
        // queue depth reduces it.
        let pull = enough.growth.max(0.0) / present;
        let variance = 1.0 / (1.0 / (behind * behind) + pull);
        Self { present, rate_per_s, variance, memory_s: variance / rate_per_s.max(1e-9) }
    }

    /// The same queue with the variance of the samples, if that is larger. The correlation time
    /// grows in proportion.
    fn as_wide_as(&self, seen: Option<f64>) -> Self {
        let variance = self.variance.max((seen.unwrap_or(0.0) * self.present).powi(2));
        Self { variance, memory_s: self.memory_s * variance / self.variance, ..*self }
    }

    /// The coefficient of variation of `count` means over steps of `step_s` seconds each, or of
    /// samples if the step is 0. A total time of `whole_s` may be too short to show all of it.
    fn moves(&self, step_s: f64, whole_s: f64, count: f64) -> f64 {
        let kept = |time_s: f64| {
            let x = time_s / self.memory_s;
            if x < 1e-6 { 1.0 } else { 2.0 / x * (1.0 + libm::expm1(-x) / x) }
        };
        let shown = (kept(step_s) - kept(whole_s)).max(0.0) * count / (count - 1.0).max(1.0);
        (self.variance * shown).sqrt() / self.present
    }
}

//! Decides whether programs keep the queue full (a closed loop; the fix is fewer requests) or the requests
//! arrive independently (an open load; the fix is a faster device). The variation of the queue depth
//! distinguishes the two.
//!
//! - Independent arrivals make the queue depth vary. Behind a busy device its standard deviation is about the
//!   queue length, over the time that the queue takes to drain (the diffusion of M/M/1 near saturation, e.g.
//!   Kleinrock 1976, chapter 2). If the queue depth varies far less, programs keep it up. If the samples vary
//!   more than theory says, their own variation is used.
//! - In samples, an open queue is anywhere between empty and several times its mean. A closed loop reaches
//!   exactly the same maximum again and again.
//! - If the number of requests that the programs wait for is known, nothing has to be inferred. Requests that
//!   have not reached the device count too: a device with 128 tags never shows the 230 requests of a program.
//! - If that number is unknown, the tracer may see requests that always wait for a device tag. Then more
//!   requests are outstanding than the device accepts. Their number and their issuer stay unknown.
//! - If the device's rate varies, an open queue varies at least as much. A closed loop submits less when the
//!   device completes less. This needs no model.
//!
//! A queue depth that varies as chance would make it vary comes from independent arrivals. Otherwise both
//! explanations remain. All tests use the queue depth while the device was busy, because a program that gets
//! its processor late leaves the device idle in between. Rejected: a fixed limit on the variation. Thirty
//! outstanding requests on a fast device hardly vary within a second, with either kind of load.

use super::constant_rate::moves;
use super::interval_totals::IntervalTotals;
use crate::words::percent;
use record::format_count;

/// The queue depth is constant if its coefficient of variation is below `CONSTANT_MAX`, and below
/// `CONSTANT_CHANCE` times the variation that independent arrivals would cause.
const CONSTANT_MAX: f64 = 0.1;
const CONSTANT_CHANCE: f64 = 0.5;
/// The same limit if programs may keep up a part of the queue.
const PARTLY_CHANCE: f64 = 0.9;
/// The same limit if programs keep up all of the queue.
const KEPT_UP_CHANCE: f64 = 0.05;
/// Least utilization of a device whose queue programs keep up all the time.
const CONSTANT_BUSY: f64 = 0.95;
/// The same if the program waits for a processor.
const LATE_BUSY: f64 = 0.25;
/// Least utilization if programs submit in bursts, as one that waits for several requests at once
/// does; the device is idle between bursts. The queue must then be at least `BEYOND_CHANCE` times
/// the queue that independent arrivals would build at this utilization. Independent arrivals cannot
/// explain such a queue, however it varies.
const BURSTS_BUSY: f64 = 0.8;
const BEYOND_CHANCE: f64 = 2.0;
/// A queue this many times the sufficient depth is too deep: shortening it saves a third of the
/// wait and costs at most a fifth of the rate.
const DEEP: f64 = 1.5;
/// The same if the kind of load is unknown: near its maximum rate a device has a queue anyway.
const DEEP_UNTOLD: f64 = 3.0;
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
const INTERVALS_MIN: usize = 5;
/// Fewest samples to conclude that a device is never idle. If it were idle a third of the time,
/// this many samples would miss that once in fifty times.
const MOMENTS_MIN: usize = 10;
/// Mean number of requests waiting for a tag from which one nearly always waits: a program that
/// submits one request after another stops at the first that waits.
pub(super) const WAITING_MIN: f64 = 0.5;

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
            return format!(
                "the device serves about {depth:.0} in parallel, judging by these \
                            counters alone"
            );
        };
        let of_max = max_share.map_or(String::new(), |share| {
            format!(" ({} of the maximum of this mix)", percent(share))
        });
        format!(
            "queue depth {depth:.0} would give {} of the rate at {}{of_max}",
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

/// A number of outstanding requests, by where it was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outstanding {
    /// From the device's counters, while it is busy.
    AtDevice(f64),
    /// In the programs.
    InPrograms(f64),
}

impl Outstanding {
    pub(crate) fn value(self) -> f64 {
        let (Self::AtDevice(number) | Self::InPrograms(number)) = self;
        number
    }

    /// Another number counted in the same place.
    pub(crate) fn with(self, number: f64) -> Self {
        match self {
            Self::AtDevice(_) => Self::AtDevice(number),
            Self::InPrograms(_) => Self::InPrograms(number),
        }
    }
}

/// A queue that is deeper than the device can use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExcessQueue {
    pub(crate) present: Outstanding,
    /// Counted in the same place as `present`.
    pub(crate) enough: SufficientDepth,
    pub(crate) upkeep: LoopKind,
}

impl ExcessQueue {
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.upkeep, LoopKind::BeyondTags(_) | LoopKind::Chance | LoopKind::Untold)
    }

    /// Whether programs may keep the queue up.
    pub(crate) fn may_be_kept(&self) -> bool {
        self.upkeep != LoopKind::Chance
    }

    /// The reason for the loop kind, as a sentence.
    pub(crate) fn because(&self) -> String {
        match self.upkeep {
            LoopKind::Seen(most, times, of) => format!(
                "The programs never waited for more than {most:.0} requests, and in {times} of \
                 {of} samples they waited for exactly that many."
            ),
            LoopKind::Steady(moves, chance) => format!(
                "The queue depth varies by {}; with independent arrivals it would vary by {}.",
                percent(moves),
                percent(chance)
            ),
            LoopKind::FollowsRate(moves, rate) => format!(
                "The queue depth varies by {} and the rate by {}, as with a program that waits for \
                 completions before it submits more.",
                percent(moves),
                percent(rate)
            ),
            LoopKind::Ceiling(most, times, of) => {
                format!(
                    "The queue depth never exceeded {most:.0}, and {times} of {of} samples had \
                         exactly that queue depth."
                )
            }
            LoopKind::Bounded(most, moments) => format!(
                "In {moments} samples the queue depth never exceeded {most:.0}; with independent \
                 arrivals it would have done so at least once."
            ),
            LoopKind::BeyondTags(waiting) => format!(
                "On average, {} more requests wait for a device tag; no counter shows requests \
                 that a program has not submitted yet.",
                format_count(waiting)
            ),
            LoopKind::Chance => "The queue depth varies as with independent arrivals.".to_owned(),
            LoopKind::Untold => {
                "These counters do not show whether a program keeps the requests in flight or they \
                 arrive independently."
                    .to_owned()
            }
        }
    }
}

/// Confirms a doubtful busy counter that reads always busy: every one of many samples found a request in
/// flight. The counting error of kernels 4.17 to 6.9 affects devices that are idle in between.
pub(crate) fn never_idle(series: &[IntervalTotals]) -> bool {
    let busy = IntervalTotals::sum(series).utilization().is_some_and(|busy| busy >= CONSTANT_BUSY);
    let each = || series.iter().filter_map(|one| one.in_flight);
    busy && each().count() >= MOMENTS_MIN && each().all(|in_flight| in_flight > 0.0)
}

/// The queue of a segment if it is deeper than the device can use whenever it is busy. `waited_for`
/// holds samples of the number of requests that programs waited for. `late` means that programs
/// wait for a processor. `enough_of` returns the sufficient depth, up to the given number.
pub(crate) fn deep(
    series: &[IntervalTotals],
    waited_for: &[f64],
    late: bool,
    enough_of: impl Fn(Outstanding) -> Option<SufficientDepth>,
) -> Option<ExcessQueue> {
    let total = IntervalTotals::sum(series);
    let busy = total.utilization().filter(|busy| *busy >= LATE_BUSY)?;
    let present = total.concurrency()? / busy;
    let kept = if waited_for.len() < INTERVALS_MIN { None } else { ceiling(waited_for) };
    if let Some((most, times, of)) = kept.filter(|(most, ..)| *most >= present) {
        let (present, upkeep) = (Outstanding::InPrograms(most), LoopKind::Seen(most, times, of));
        let enough = enough_of(present)?;
        return (most >= DEEP * enough.depth).then_some(ExcessQueue { present, enough, upkeep });
    }
    if present < DEEP {
        return None;
    }
    let enough = enough_of(Outstanding::AtDevice(present))?;
    // M/M/1 queue length while busy, on top of the requests in service.
    let by_chance = enough.depth + 1.0 / (1.0 - busy).max(1e-9);
    let beyond_chance = present >= BEYOND_CHANCE * by_chance;
    let in_bursts = busy >= BURSTS_BUSY && beyond_chance;
    let all_the_time = late || busy >= CONSTANT_BUSY || in_bursts;
    if present < DEEP * enough.depth || !all_the_time {
        return None;
    }
    let upkeep = match upkeep(series, &total, present, &enough) {
        LoopKind::Chance if beyond_chance => LoopKind::Untold,
        told => told,
    };
    let told = upkeep != LoopKind::Untold || present >= DEEP_UNTOLD * enough.depth;
    told.then_some(ExcessQueue { present: Outstanding::AtDevice(present), enough, upkeep })
}

/// The queue of a device whose tags are all in use, where `waiting` requests wait for a tag on
/// average. `tags_in_use` is the mean while the device is busy.
pub(crate) fn beyond_tags(
    tags_in_use: f64,
    waiting: f64,
    enough_of: impl Fn(Outstanding) -> Option<SufficientDepth>,
) -> Option<ExcessQueue> {
    let present = Outstanding::AtDevice(tags_in_use);
    let enough = enough_of(present).filter(|_| waiting >= WAITING_MIN)?;
    Some(ExcessQueue { present, enough, upkeep: LoopKind::BeyondTags(waiting) })
}

fn upkeep(
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

/// A figure of each interval divided by the device's utilization in it.
fn while_busy(series: &[IntervalTotals], of: impl Fn(&IntervalTotals) -> Option<f64>) -> Vec<f64> {
    let one = |one: &IntervalTotals| {
        let busy = one.utilization().filter(|busy| *busy > 0.0)?;
        Some(of(one)? / busy)
    };
    series.iter().filter_map(one).collect()
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
fn ceiling(moments: &[f64]) -> Option<(f64, u32, u32)> {
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

/// Whether the queue depth stays constant, as in a closed loop, apart from a few independent requests.
pub(crate) fn constant_depth(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).as_ref().is_some_and(is_constant)
}

fn is_constant(&(cv, share): &(f64, f64)) -> bool {
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
/// sqrt(2 R / (L T)), where R is the latency. A queue that a program keeps up varies less, whatever
/// the device does. Within an interval the program may start late; the device is idle until then.
fn moves_of_busy(series: &[IntervalTotals]) -> Option<(f64, f64)> {
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

    /// Four are enough, and the rate does not grow beyond.
    fn four(_: Outstanding) -> Option<SufficientDepth> {
        Some(SufficientDepth { depth: 4.0, rate_share: Some(0.95), max_share: None, growth: 0.0 })
    }

    /// One second: completed requests, mean queue depth, queue depth at its end, and utilization.
    fn second(done: f64, present: f64, at_end: f64, busy: f64) -> IntervalTotals {
        let one = IntervalTotals::second(done, done * 4096.0, present * 1e9);
        IntervalTotals { busy_s: Some(busy), in_flight: Some(at_end), ..one }
    }

    fn upkeep_of(seconds: &[(f64, f64, f64, f64)], late: bool) -> Option<LoopKind> {
        let of = |&(done, present, at_end, busy): &(f64, f64, f64, f64)| {
            second(done, present, at_end, busy)
        };
        let series: Vec<IntervalTotals> = seconds.iter().map(of).collect();
        Some(deep(&series, &[], late, four)?.upkeep)
    }

    #[test]
    fn what_programs_wait_for_says_who_keeps_a_queue_that_the_device_does_not_show() {
        // The program keeps 230 outstanding; the device shows a queue that an open load could build.
        let wanders = [40.0, 95.0, 60.0, 110.0, 80.0, 60.0, 70.0, 50.0];
        let series = wanders.map(|present| second(100_000.0, present, 0.7 * present, 1.0));
        let found = |waited_for: &[f64]| deep(&series, waited_for, false, four).unwrap();
        let seen = found(&[230.0, 230.0, 198.0, 230.0, 230.0, 230.0, 117.0, 230.0]);
        assert_eq!(seen.present, Outstanding::InPrograms(230.0));
        assert_eq!(seen.upkeep, LoopKind::Seen(230.0, 6, 8));
        // With independent arrivals the largest number does not recur.
        for moves in [&[41.0, 230.0, 12.0, 88.0, 140.0, 7.0, 61.0, 95.0][..], &[230.0; 4]] {
            let other = found(moves);
            assert!(matches!(other.present, Outstanding::AtDevice(_)), "{other:?}");
        }
        // The number in programs is below the one at the device: one of two programs is unknown, or
        // it counts other disks.
        assert!(matches!(found(&[17.0; 8]).present, Outstanding::AtDevice(_)));
        let enough = |_| {
            Some(SufficientDepth {
                depth: 200.0,
                rate_share: Some(0.95),
                max_share: None,
                growth: 0.0,
            })
        };
        assert!(deep(&series, &[230.0; 8], false, enough).is_none(), "no more than helps");
    }

    #[test]
    fn a_loop_that_begins_within_an_interval_is_constant_and_one_that_grows_is_not() {
        let mut seconds = [second(400.0, 32.0, 32.0, 1.0); 20];
        seconds[0] = second(307.0, 24.5, 32.0, 0.768);
        assert!(constant_depth(&seconds) && kept_up(&seconds));
        seconds[0] = second(307.0, 24.5, 32.0, 1.0);
        assert!(!constant_depth(&seconds));
    }

    #[test]
    fn a_loop_that_wanders_less_than_a_queue_would_is_kept_up() {
        let wanders = [190.0, 196.0, 184.0, 199.0, 188.0, 193.0, 181.0, 197.0];
        let seconds = wanders.map(|present| (100_000.0, present, 30.0 + present / 2.0, 1.0));
        assert!(matches!(upkeep_of(&seconds, false), Some(LoopKind::Steady(..))));
    }

    #[test]
    fn a_queue_that_is_bounded_at_many_moments_is_kept_up_and_one_with_a_tail_is_not() {
        // Eighty outstanding in a program that shares its processors: the means vary as by chance,
        // and the samples are anywhere below eighty.
        let means = [55.0, 68.0, 49.0, 72.0, 61.0, 52.0, 70.0, 58.0, 66.0, 47.0];
        let moments = [80.0, 34.0, 71.0, 12.0, 79.0, 55.0, 66.0, 20.0, 78.0, 43.0];
        let twice = || means.iter().zip(moments).cycle().take(20);
        let seconds: Vec<_> =
            twice().map(|(&mean, moment)| (200_000.0, mean, moment, 1.0)).collect();
        let found = upkeep_of(&seconds, false);
        assert!(matches!(found, Some(LoopKind::Bounded(most, 20)) if most == 80.0), "{found:?}");
        // The same with one sample in the tail of an exponential queue; then on a device so slow
        // that all samples see the same queue.
        let mut tail = seconds.clone();
        tail[7].2 = 210.0;
        assert!(!matches!(upkeep_of(&tail, false), Some(LoopKind::Bounded(..))));
        let slow: Vec<_> =
            seconds.iter().map(|&(_, mean, at, busy)| (30.0, mean, at, busy)).collect();
        assert!(!matches!(upkeep_of(&slow, false), Some(LoopKind::Bounded(..))));
    }

    #[test]
    fn bursts_that_leave_the_device_idle_are_a_deep_queue_only_where_chance_makes_none_so_long() {
        let bursts = |present: f64, busy: f64| {
            let at = [0.9, 0.2, 1.6, 0.5, 2.9, 0.1, 0.7, 1.2];
            let seconds = at.map(|at| (200_000.0, present * busy, at * present, busy));
            upkeep_of(&seconds, false)
        };
        // At 90 % utilization, chance builds a queue of ten behind the four in service.
        assert!(bursts(80.0, 0.9).is_some());
        assert!(bursts(20.0, 0.9).is_none());
        assert!(bursts(80.0, 0.7).is_none());
    }

    #[test]
    fn a_loop_whose_requests_end_many_at_once_is_kept_up_though_the_rate_seems_to_grow_with_it() {
        // The program keeps 250 outstanding; a loop device in memory takes at most 128 of them.
        let moments = [
            128.0, 0.0, 128.0, 81.0, 99.0, 113.0, 20.0, 63.0, 127.0, 24.0, 104.0, 128.0, 39.0,
            61.0, 28.0, 9.0, 101.0, 1.0, 20.0, 128.0,
        ];
        let means = [
            101.0, 106.0, 106.0, 99.0, 97.0, 101.0, 99.0, 99.0, 100.0, 98.0, 102.0, 102.0, 100.0,
            102.0, 103.0, 100.0, 99.0, 101.0, 101.0, 99.0,
        ];
        let rates = [
            409.0, 457.0, 425.0, 429.0, 406.0, 412.0, 392.0, 406.0, 416.0, 409.0, 407.0, 413.0,
            408.0, 401.0, 397.0, 430.0, 396.0, 417.0, 424.0, 435.0,
        ];
        let seconds = means.iter().zip(rates).zip(moments);
        let series: Vec<IntervalTotals> = seconds
            .map(|((&present, rate), at_end)| second(1e3 * rate, present, at_end, 0.995))
            .collect();
        let enough = |_| {
            Some(SufficientDepth {
                depth: 32.0,
                rate_share: Some(0.8),
                max_share: None,
                growth: 0.27,
            })
        };
        let upkeep = deep(&series, &[], false, enough).unwrap().upkeep;
        assert!(matches!(upkeep, LoopKind::Steady(..)), "{upkeep:?}");
    }

    #[test]
    fn a_queue_that_drains_and_fills_came_by_itself() {
        let wanders = [40.0, 95.0, 260.0, 420.0, 180.0, 60.0, 130.0, 330.0];
        let seconds = wanders.map(|present| (100_000.0, present, 0.7 * present, 1.0));
        assert_eq!(upkeep_of(&seconds, false), Some(LoopKind::Chance));
    }

    #[test]
    fn a_rate_that_wanders_more_than_what_waits_for_it_is_that_of_a_loop() {
        let wanders = [1.0, 1.3, 0.8, 1.1, 0.7, 1.25, 0.9, 1.05];
        let less = |share: f64| 24.0 * (1.0 + 0.2 * (share - 1.0));
        let seconds = wanders.map(|share| (1e5 * share, less(share), 40.0 * share - 20.0, 1.0));
        assert!(matches!(upkeep_of(&seconds, false), Some(LoopKind::FollowsRate(..))));
        let as_much = wanders.map(|share| (1e5 * share, 24.0 * share, 40.0 * share - 20.0, 1.0));
        assert_eq!(upkeep_of(&as_much, false), Some(LoopKind::Chance));
    }

    #[test]
    fn a_number_that_comes_back_to_its_largest_again_and_again_has_a_ceiling() {
        let moments = [128.0, 3.0, 128.0, 60.0, 0.0, 128.0, 97.0, 128.0];
        let present = [50.0, 61.0, 34.0, 55.0, 66.0, 28.0, 49.0, 58.0];
        let seconds: Vec<_> = moments
            .iter()
            .zip(present)
            .map(|(&at_end, present)| (9e4, present, at_end, 0.5))
            .collect();
        assert_eq!(upkeep_of(&seconds, true), Some(LoopKind::Ceiling(128.0, 4, 7)));
        // A device that is idle half of the time has no queue, unless programs wait for processors.
        assert_eq!(upkeep_of(&seconds, false), None);
    }

    #[test]
    fn a_queue_that_is_little_more_than_what_is_enough_is_not_deep() {
        assert!(upkeep_of(&[(1e5, 6.5, 8.0, 1.0); 8], false).is_some());
        assert_eq!(upkeep_of(&[(1e5, 5.5, 8.0, 1.0); 8], false), None);
    }
}

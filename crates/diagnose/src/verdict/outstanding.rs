//! Who keeps requests outstanding: programs that wait for their answers (cure: fewer), or work that
//! comes by itself (cure: a larger device). What tells them apart is how the number in progress
//! moves.
//!
//! - Work by chance makes it move: by the chance of arrivals, and in a queue behind a busy device
//!   by as much as the queue is long, over the time that it takes to drain (the diffusion of M/M/1
//!   near saturation, e.g. Kleinrock 1976, chapter 2). A number that moves far less is kept up.
//!   Where its moments lie further apart than theory says, they are believed.
//! - Seen at single moments a queue is anywhere between empty and several times its mean; a loop is
//!   at its ceiling, again and again at exactly that number.
//! - Where it is known how many requests the programs wait for, nothing is left to infer, and those that
//!   have not reached the device count as well: a device of 128 tags never shows the 230 of a program.
//! - Where it is not known, the tracer may see requests that wait for one of the device's tags all the
//!   time. Then more is outstanding than the device takes, however many; who keeps them is not told.
//! - A device whose rate moves changes a queue by at least as much; a loop asks less where the
//!   device does less. This needs no model.
//!
//! A number that moves as chance would make it came by itself; else both explanations stand. All
//! compare numbers while the device was busy, since a program that gets its processor late leaves
//! it idle between. Rejected: a fixed share of variation. Thirty outstanding on a fast device
//! hardly move within a second, whoever asks.

use super::constant_rate::moves;
use super::interval_totals::IntervalTotals;
use crate::words::percent;
use record::format_count;

/// A number in progress that varies less than this, and less than this share of what arrivals by
/// chance would make of it, stays the same.
const CONSTANT_MAX: f64 = 0.1;
const CONSTANT_CHANCE: f64 = 0.5;
/// The same where a part may be kept up.
const PARTLY_CHANCE: f64 = 0.9;
/// The same where nothing comes by itself.
const KEPT_UP_CHANCE: f64 = 0.05;
/// Who keeps some outstanding all the time keeps the device busy.
const CONSTANT_BUSY: f64 = 0.95;
/// The same of a program that waits for a processor.
const LATE_BUSY: f64 = 0.25;
/// Who asks in bursts, as a program that waits for several answers at once, leaves it idle between. Then
/// the queue is at least this many times what arrivals by chance would leave on a device that is idle
/// so much, and however it moves, these did not make it.
const BURSTS_BUSY: f64 = 0.8;
const BEYOND_CHANCE: f64 = 2.0;
/// A queue that is at least this many times the depth that is enough: a third of the waiting for a
/// fifth of the rate at most.
const DEEP: f64 = 1.5;
/// The same where it is not told who keeps it up: near its largest rate a device has a queue anyway.
const DEEP_UNTOLD: f64 = 3.0;
/// A deep queue is kept up whose moments vary by less than this share of what those of an open one
/// would.
const QUEUE_KEPT: f64 = 0.3;
/// Or whose means over intervals vary by less than this share at most, and than what chance makes so
/// seldom.
const MEANS_KEPT: f64 = 0.5;
const KEPT_BY_CHANCE: f64 = 0.001;
/// How seldom a line of work that comes by itself is as short at all moments as one that is bounded.
const BOUNDED_BY_CHANCE: f64 = 0.003;
/// It comes by itself where its means vary by more than the first and by less than the second of these
/// times that.
const QUEUE_CHANCE: (f64, f64) = (0.5, 3.0);
/// Standard deviation of normal numbers over their median distance from the middle.
const NORMAL_SPREAD: f64 = 1.4826;
/// Or by less than this share of the rate's own variation, where that is at least so much.
const RATE_MOVES: f64 = 0.5;
const RATE_MOVES_MIN: f64 = 0.02;
/// A ceiling is the largest number seen at a moment, of at least so many, if so many moments that
/// found any in progress found that one: the two longest of some open queues that are as long on
/// average are the same once in thirty times.
const CEILING_MIN: f64 = 16.0;
const CEILING_SHARE: f64 = 0.25;
const INTERVALS_MIN: usize = 5;
/// So many moments find a device that is idle for a third of the time idle at one of them, but for once
/// in fifty times.
const MOMENTS_MIN: usize = 10;
/// So many requests that wait for a tag on average are one nearly all the time: a program that hands
/// over one after the other is stopped at the first.
pub(super) const WAITING_MIN: f64 = 0.5;

/// A queue depth that is enough for a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SufficientDepth {
    pub(crate) depth: f64,
    /// The rate that they give, as a share of that of the largest number asked about. `None` where
    /// no profile says.
    pub(crate) rate_share: Option<f64>,
    /// The same as a share of the largest rate of the mix.
    pub(crate) max_share: Option<f64>,
    /// By what power of the number the rate still grows there.
    pub(crate) growth: f64,
}

impl SufficientDepth {
    /// The rate at this depth, as shares of the two rates that it is compared with.
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

/// Who keeps a deep queue up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoopKind {
    /// Programs, which were looked at: at that many moments out of so many they waited for exactly so many
    /// requests, and never for more.
    Seen(f64, u32, u32),
    /// Programs: the number varies by this share, where work that comes by itself would make it vary by
    /// the other.
    Steady(f64, f64),
    /// Programs: it varies by the first share, while the rate of the device varies by the second.
    FollowsRate(f64, f64),
    /// Programs: at that many moments out of so many it was the same number, and never more.
    Ceiling(f64, u32, u32),
    /// Programs: there were never more than that at so many moments, where a queue of work that comes by
    /// itself would be longer at one of them.
    Bounded(f64, usize),
    /// All tags of the device are in use, and that many requests wait for one on average: more are
    /// outstanding than it takes, and how many is not seen.
    BeyondTags(f64),
    /// It varies as work that comes by itself makes it vary.
    Chance,
    /// Neither shows.
    Untold,
}

/// A number of requests outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outstanding {
    /// As the device's counters show it while it is busy.
    AtDevice(f64),
    /// As the programs keep it.
    InPrograms(f64),
}

impl Outstanding {
    pub(crate) fn value(self) -> f64 {
        let (Self::AtDevice(number) | Self::InPrograms(number)) = self;
        number
    }

    /// Another number, counted in the same place.
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
    /// Counted in the same place.
    pub(crate) enough: SufficientDepth,
    pub(crate) upkeep: LoopKind,
}

impl ExcessQueue {
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.upkeep, LoopKind::BeyondTags(_) | LoopKind::Chance | LoopKind::Untold)
    }

    /// Whether nothing excludes that they do.
    pub(crate) fn may_be_kept(&self) -> bool {
        self.upkeep != LoopKind::Chance
    }

    /// How that shows, as a sentence.
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

/// Whether a busy counter in doubt is right that the device is busy all the time: requests were in
/// progress at each of many moments as well. What kernels of 4.17 to 6.9 count too much is of devices that
/// are idle in between.
pub(crate) fn never_idle(series: &[IntervalTotals]) -> bool {
    let busy = IntervalTotals::sum(series).utilization().is_some_and(|busy| busy >= CONSTANT_BUSY);
    let each = || series.iter().filter_map(|one| one.in_flight);
    busy && each().count() >= MOMENTS_MIN && each().all(|in_flight| in_flight > 0.0)
}

/// The queue of a segment, if it is deeper than the device can use all the time that it is busy.
/// `waited_for` has how many requests the programs waited for at moments, `late` says that they wait for
/// a processor; `enough_of` how many are enough, at most so many.
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
    // What M/M/1 has in progress while it is busy, behind what the device works on.
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

/// The queue of a device whose tags are all in use, where so many requests wait for one on average.
/// `tags_in_use` while it is busy.
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
    // Chance makes less than this share of so few intervals once in a thousand times.
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
    // Beyond the chance of counts, with room for that of few intervals.
    let by_chance = 4.0 * count / total.all.count().max(1.0);
    let device = (rate_moved * rate_moved - by_chance).max(0.0).sqrt();
    // What comes changes a queue within a step by no more than what is done in a step.
    let reach = (step_s * open.rate_per_s / present).min(1.0);
    if device >= RATE_MOVES_MIN && moved <= RATE_MOVES * device * reach {
        return LoopKind::FollowsRate(moved, rate_moved);
    }
    if (QUEUE_CHANCE.0..=QUEUE_CHANCE.1).contains(&(moved / chance.max(1e-12))) {
        return LoopKind::Chance;
    }
    LoopKind::Untold
}

/// A figure of each interval over the share of it in which the device was busy.
fn while_busy(series: &[IntervalTotals], of: impl Fn(&IntervalTotals) -> Option<f64>) -> Vec<f64> {
    let one = |one: &IntervalTotals| {
        let busy = one.utilization().filter(|busy| *busy > 0.0)?;
        Some(of(one)? / busy)
    };
    series.iter().filter_map(one).collect()
}

/// How much the middle half of these numbers vary, at least half of how much all do: an interval or two
/// in which a program was kept from asking are no matter of the queue.
fn moves_mostly(values: &[f64]) -> Option<f64> {
    let all = moves(values)?;
    let middle = stats::median(values.to_vec());
    let off = values.iter().map(|value| (value - middle).abs()).collect();
    Some((NORMAL_SPREAD * stats::median(off) / middle).max(all / 2.0).min(all))
}

/// The largest number at a moment, where it comes again; how often, and at how many moments there were
/// any.
fn ceiling(moments: &[f64]) -> Option<(f64, u32, u32)> {
    let most = moments.iter().copied().fold(0.0, f64::max);
    let times = moments.iter().filter(|present| **present >= most).count() as u32;
    let of = moments.iter().filter(|present| **present > 0.0).count() as u32;
    let again = times >= 2 && f64::from(times) >= CEILING_SHARE * f64::from(of);
    (again && most >= CEILING_MIN).then_some((most, times, of))
}

/// The most at any moment, where a line behind what the device works on, whose length is exponential,
/// would hardly ever have stayed below that at all of them, of which `apart` tell something new.
fn bounded(moments: &[f64], apart: f64, present: f64, enough: &SufficientDepth) -> Option<f64> {
    let most = moments.iter().copied().fold(0.0, f64::max);
    let behind = (present - enough.depth).max(1.0);
    let below = -libm::expm1(-(most - enough.depth).max(0.0) / behind);
    (most > 0.0 && libm::pow(below, apart) < BOUNDED_BY_CHANCE).then_some(most)
}

/// How a queue moves to which work comes by chance.
struct OpenQueue {
    present: f64,
    rate_per_s: f64,
    /// Of the number in progress.
    variance: f64,
    /// Over which it is remembered.
    memory_s: f64,
}

impl OpenQueue {
    /// With this many in progress on average, done at a rate.
    fn new(present: f64, enough: &SufficientDepth, rate_per_s: f64) -> Self {
        let behind = (present - enough.depth).max(1.0);
        // A line is as long as its mean, give or take; a device that does more the more there are
        // holds it back.
        let pull = enough.growth.max(0.0) / present;
        let variance = 1.0 / (1.0 / (behind * behind) + pull);
        Self { present, rate_per_s, variance, memory_s: variance / rate_per_s.max(1e-9) }
    }

    /// A queue whose moments lie further apart than that: what comes by itself and is so much now and
    /// so little then takes the longer to become so.
    fn as_wide_as(&self, seen: Option<f64>) -> Self {
        let variance = self.variance.max((seen.unwrap_or(0.0) * self.present).powi(2));
        Self { variance, memory_s: self.memory_s * variance / self.variance, ..*self }
    }

    /// The variation of `count` means over a step of time each, as a share, within a time that may be
    /// too short to show all of it; of moments where the step is none.
    fn moves(&self, step_s: f64, whole_s: f64, count: f64) -> f64 {
        let kept = |time_s: f64| {
            let x = time_s / self.memory_s;
            if x < 1e-6 { 1.0 } else { 2.0 / x * (1.0 + libm::expm1(-x) / x) }
        };
        let shown = (kept(step_s) - kept(whole_s)).max(0.0) * count / (count - 1.0).max(1.0);
        (self.variance * shown).sqrt() / self.present
    }
}

/// Whether the number in progress stays the same, as in a closed loop, but for a few requests that
/// come by themselves.
pub(crate) fn constant_depth(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).as_ref().is_some_and(is_constant)
}

fn is_constant(&(cv, share): &(f64, f64)) -> bool {
    cv < CONSTANT_MAX && share < CONSTANT_CHANCE
}

/// Whether a part of it may be kept up by a program, beside what comes by itself.
pub(crate) fn partly_kept_up(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).is_some_and(|(_, share)| share < PARTLY_CHANCE)
}

/// Whether all of it is kept up by programs that wait for their requests.
pub(crate) fn kept_up(series: &[IntervalTotals]) -> bool {
    moves_of_busy(series).is_some_and(|(_, share)| share < KEPT_UP_CHANCE)
}

/// How much the means of the number in progress vary over how much chance would make them vary, of a device that
/// was busy all the time.
pub(crate) fn chance_of_busy(series: &[IntervalTotals]) -> Option<f64> {
    moves_of_busy(series).map(|(_, share)| share)
}

/// How much the number in progress varies, of a device that was busy all the time, where that is known:
/// as a share of it and of what it would with Poisson arrivals. Their mean over a time T varies by about
/// sqrt(2 R / (L T)), R being how long requests are remembered. What a program keeps up varies by less,
/// whatever the device does; within an interval it may begin late, and the device is idle before.
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

    /// Four of them are enough, and beyond those the rate does not grow.
    fn four(_: Outstanding) -> Option<SufficientDepth> {
        Some(SufficientDepth { depth: 4.0, rate_share: Some(0.95), max_share: None, growth: 0.0 })
    }

    /// A second with so many requests done, in progress and in progress at its end, of a device that
    /// was busy for a share of it.
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
        // 230 in a program; the device shows what a queue of work that comes by itself would be.
        let wanders = [40.0, 95.0, 60.0, 110.0, 80.0, 60.0, 70.0, 50.0];
        let series = wanders.map(|present| second(100_000.0, present, 0.7 * present, 1.0));
        let found = |waited_for: &[f64]| deep(&series, waited_for, false, four).unwrap();
        let seen = found(&[230.0, 230.0, 198.0, 230.0, 230.0, 230.0, 117.0, 230.0]);
        assert_eq!(seen.present, Outstanding::InPrograms(230.0));
        assert_eq!(seen.upkeep, LoopKind::Seen(230.0, 6, 8));
        // Of work that comes by itself the largest number does not come again.
        for moves in [&[41.0, 230.0, 12.0, 88.0, 140.0, 7.0, 61.0, 95.0][..], &[230.0; 4]] {
            let other = found(moves);
            assert!(matches!(other.present, Outstanding::AtDevice(_)), "{other:?}");
        }
        // Of two programs, one of which is not known, or of other disks: it is less than what is here.
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
        // Eighty in a program whose processors are shared: the means move as by chance, the moments
        // lie anywhere below eighty.
        let means = [55.0, 68.0, 49.0, 72.0, 61.0, 52.0, 70.0, 58.0, 66.0, 47.0];
        let moments = [80.0, 34.0, 71.0, 12.0, 79.0, 55.0, 66.0, 20.0, 78.0, 43.0];
        let twice = || means.iter().zip(moments).cycle().take(20);
        let seconds: Vec<_> =
            twice().map(|(&mean, moment)| (200_000.0, mean, moment, 1.0)).collect();
        let found = upkeep_of(&seconds, false);
        assert!(matches!(found, Some(LoopKind::Bounded(most, 20)) if most == 80.0), "{found:?}");
        // The same with one moment in the tail of an exponential queue, and over so slow a device that
        // all moments see the same queue.
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
        // Idle for a tenth of the time, chance has ten in a line behind four.
        assert!(bursts(80.0, 0.9).is_some());
        assert!(bursts(20.0, 0.9).is_none());
        assert!(bursts(80.0, 0.7).is_none());
    }

    #[test]
    fn a_loop_whose_requests_end_many_at_once_is_kept_up_though_the_rate_seems_to_grow_with_it() {
        // 250 outstanding in a program, of which a loop device over memory takes 128 at most.
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

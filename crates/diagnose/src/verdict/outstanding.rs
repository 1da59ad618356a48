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

use super::interval_totals::IntervalTotals;
use super::queue_depth::CONSTANT_BUSY;
use super::upkeep::{INTERVALS_MIN, LoopKind, SufficientDepth, ceiling, upkeep};

/// Least utilization of a device with a deep queue: less only if the program waits for a processor.
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
/// Mean number of requests waiting for a tag from which one nearly always waits: a program that
/// submits one request after another stops at the first that waits.
pub(super) const WAITING_MIN: f64 = 0.5;

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

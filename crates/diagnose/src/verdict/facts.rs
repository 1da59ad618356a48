//! The facts of one segment of time of a device: what the counters, the tracer, the system and an expectation
//! say of it, and the questions that more than one hypothesis asks about them. Thresholds are shares, never
//! times: a device is slow against what is expected of it.

use super::classes::Class;
pub(crate) use super::classes::is_hosted;
use super::constant_rate::{ConstantRate, moves};
use super::expected::{Expectation, SegmentFacts, nearest};
use super::interval_totals::{IntervalTotals, latency_error};
use super::judgement::Judgement;
pub(crate) use super::odds::{MUCH_TO_SPARE, NEAR_MAXIMUM, SLOW_FROM, WAITS_FROM};
use super::outstanding::{ExcessQueue, Outstanding, WAITING_MIN};
use super::starved::Starved;
use super::stops::Stops;
use super::system_context::{SystemContext, TracedSums};
use crate::causes::{self, Machine};
use record::{
    CachePoint, Calibrated, Cap, Cause, ComparedCondition, Demand, DeviceFacts, Doubt, FileLayout,
    Tail,
};
use std::ops::Range;

/// Fewest requests of a verdict on latencies: their mean is then known to some 15 % even where
/// single times vary as much as their mean.
pub(crate) const REQUESTS_MIN: f64 = 50.0;
/// Coarsest step of a latency, as a share of it.
pub(crate) const STEP_MAX_REL: f64 = 0.25;
/// Below this many times the expectation a latency is as expected.
pub(crate) const HARDLY_SLOW: f64 = 1.12;
/// Faster than this share of all expectations: it is another device, or a cache.
pub(crate) const FIT_FROM: f64 = 0.67;
/// A device that does fewer than this at once gains nothing from a second request.
pub(crate) const ONE_AT_A_TIME: f64 = 1.25;
/// Fewer times the latency of a lone request: requests hardly wait.
pub(crate) const HARDLY_WAITS: f64 = 2.0;
/// Share of time that tasks wait for I/O beyond the device's busy time: something else holds them.
pub(crate) const PRESSURE_BEYOND: f64 = 0.2;
/// From which on that leaves a limit open, and from which on no other sign is needed.
pub(crate) const PRESSURE_AT_ALL: f64 = 0.1;
pub(crate) const PRESSURE_ALONE: f64 = 0.5;
/// Share of requests that wait before any counter starts, and how long against the latency.
const HELD_SHARE: f64 = 0.1;
pub(crate) const HELD_TIMES: f64 = 0.5;
/// How long requests wait there.
pub(crate) const IN_SCHEDULER: &str = "wait in the scheduler";
/// Schedulers that divide a device by weight or class.
const BY_SHARE: [&str; 2] = ["bfq", "cfq"];
/// Expectations this far apart depend on whether requests were sequential.
pub(crate) const PLACE_MATTERS: f64 = 1.25;
/// Share of the time over a provider's limit below which that does not matter.
pub(crate) const OVER_AT_ALL: f64 = 0.01;
/// Waking up for an interrupt takes at most so many times as long as for a timer.
pub(crate) const WAKING_TIMES: f64 = 4.0;
/// Share of the time from which on a device has a request always.
pub(crate) const NEVER_IDLE: f64 = 0.95;
/// Steal that can explain slowness.
pub(crate) const STEAL_MATTERS: f64 = 0.05;

/// Share of a device's tags in use on average from which on requests wait for one: whoever waits has to
/// wake up before it uses the next, which leaves some free.
const TAGS_FULL: f64 = 0.75;
/// A wait in the scheduler, or above the device, of a smaller share of the latency is none that matters.
const WAITS_LEAST: f64 = 0.1;
/// A program waits longer than the device takes from this many times on.
pub(crate) const LONGER: f64 = 1.5;
/// Moments of which what programs keep outstanding is averaged, at least.
const MOMENTS_MIN: usize = 5;
/// Shorter waits are ignored, because sampling itself delays the program. (Measured: an undisturbed program at 29,200 IOPS
/// had 28 requests outstanding right after all counters were read.)
const LOOK_NS: f64 = 200e3;
/// Requests count as split if their mean size is this share of the device's maximum.
const PIECES: f64 = 0.9;
/// Share of the requests by kernel threads at which the load counts as write-back.
const MOSTLY: f64 = 0.5;
/// Mean concurrency below which the device is never called overloaded, even if requests come in bursts.
const HARDLY_IN_USE: f64 = 0.2;
/// Programs that wait for I/O for a smaller share of the time lose little.
const WAIT_MATTERS: f64 = 0.05;
/// Utilization from which tick-based busy time is accurate enough to divide by.
const ACCURATE_BUSY: f64 = 0.3;
/// Longest kernel tick, and the largest factor by which tick-based busy time is corrected. (Measured: ticks counted 20 %,
/// random arrivals imply 35 %.)
const TICK_NS: f64 = 4e6;
const TICKS_MISS: f64 = 2.0;
/// Standard errors that their mean may be off.
const ERRORS: f64 = 2.0;

/// What programs wait for a request, beside what the device takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) times: f64,
    pub(crate) device_ns: f64,
    pub(crate) program_ns: f64,
}

/// A segment of time of one device, with all that is known of it.
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    /// Its place in the device's series.
    pub(crate) range: Range<usize>,
    /// From its beginning to its end, in nanoseconds.
    pub(crate) time: Range<u64>,
    pub(crate) tally: IntervalTotals,
    pub(crate) series: &'a [IntervalTotals],
    pub(crate) around: SystemContext,
    /// What the profile expects, or why it expects nothing.
    pub(crate) looks: Result<Vec<Expectation>, String>,
    pub(crate) known: SegmentFacts,
    pub(crate) facts: Option<&'a DeviceFacts>,
    /// What kind of device it is.
    pub(crate) class: Class,
    /// Whether the source tells nothing of the device, which is no simulated one.
    pub(crate) unknown: bool,
    /// Its queue, where that is deeper than the device can use.
    pub(crate) deep: Option<ExcessQueue>,
    /// What processors that sleep between requests add to a latency at most.
    pub(crate) waking_ns: f64,
    /// How files lie on the device, where the user named a path to them.
    pub(crate) layout: Option<&'a FileLayout>,
    /// What a page cache of each size would serve; empty where no requests were recorded.
    pub(crate) reuse: &'a [CachePoint],
    /// Conditions that are others than when the profile was made.
    pub(crate) changed: &'a [ComparedCondition],
    /// Its slowest requests beside those of the profile, where single ones were timed.
    pub(crate) tail: Option<Tail>,
    /// Stops of the programs.
    pub(crate) stops: Option<Stops>,
    /// What its rate or throughput stays at, whoever holds it.
    pub(crate) constant: Option<ConstantRate>,
    /// The largest throughput of the device, seen at any time or measured.
    pub(crate) most_bytes_per_s: f64,
    /// Caps that the check of the device met.
    pub(crate) caps: &'a [Cap],
    /// The profile that stands for the device, as far as it may not.
    pub(crate) profile_doubts: &'a [(Doubt, String)],
    /// Whether the device is simulated, in a time in which nothing sleeps.
    pub(crate) simulated: bool,
    /// Whether the counters are those of Windows, where there is no tracer.
    pub(crate) of_windows: bool,
    /// Whether writes are left out because the profile knows none.
    pub(crate) reads_alone: bool,
    /// Why a profile that fits the device does not serve here.
    pub(crate) unserved: Option<String>,
    /// The machine as its checks read it now, and when the profile was made.
    pub(crate) machines: (Machine<'a>, Option<Machine<'a>>),
}

/// Whether anybody waits for requests that the device has not got, or not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// Somebody does: tasks, a queue that never empties, requests that are held.
    Seen,
    /// It was looked for, and nobody does.
    Nobody,
    /// This source does not show who waits above the device.
    OutOfSight,
}

#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) segment: Segment<'a>,
    pub(crate) judgement: Judgement,
    pub(crate) causes: Vec<Cause>,
    /// What the checks of the system claim.
    pub(crate) claims: Vec<causes::Judged>,
    /// The volume above the device that holds requests.
    pub(crate) holder: Option<String>,
}

/// A rate from this share of a cap on has reached it.
pub(crate) const AT_CAP: f64 = 0.95;

impl Segment<'_> {
    /// The caps of the profile whose rate the counters tell, and this load's rate as a share of each.
    pub(crate) fn cap_shares(&self) -> impl Iterator<Item = (f64, &Cap)> {
        let share = |cap: &Cap| Some(self.tally.counted_by(cap)? / cap.per_s.value);
        self.caps.iter().filter_map(move |cap| Some((share(cap)?, cap)))
    }

    /// Whether it has reached a cap of the profile: the profile knows nothing of the disk above it.
    pub(crate) fn is_at_cap(&self) -> bool {
        self.cap_shares().any(|(share, _)| share >= AT_CAP)
    }

    /// The latency and the look that explains it best.
    pub(crate) fn best_look(&self) -> Option<(&Expectation, f64)> {
        let latency = self.tally.latency_ns()?;
        let looks = self.looks.as_ref().ok()?;
        Some((nearest(looks, latency, self.by_rate())?, latency))
    }

    /// What whoever asks waits for a request, where it is told: by Little's law on what the programs keep
    /// outstanding, else what the device's counters say.
    pub(crate) fn latency_of_load_ns(&self) -> Option<f64> {
        match self.deep.map(|deep| deep.present) {
            Some(Outstanding::InPrograms(kept)) if self.tally.iops() > 0.0 => {
                Some(kept / self.tally.iops() * 1e9)
            }
            _ => self.tally.latency_ns(),
        }
    }

    /// Share of time with a request in flight, where the counter of that can be believed.
    pub(crate) fn busy(&self) -> Option<f64> {
        self.tally.utilization().filter(|_| self.known.busy)
    }

    /// Mean concurrency while the device is busy.
    pub(crate) fn present(&self) -> Option<f64> {
        Some(self.tally.concurrency()? / self.busy().unwrap_or(1.0).max(1e-9))
    }

    /// Whether programs lose next to nothing to the device: requests are in flight, and tasks wait for I/O of any
    /// kind, for a few percent of the time. A queue or a limit that is there does no harm then; a wait for an
    /// asynchronous request is no pressure, and shows as concurrency.
    pub(crate) fn programs_hardly_wait(&self) -> bool {
        let rare = |share: f64| share < WAIT_MATTERS;
        self.tally.concurrency().is_some_and(rare) && self.around.io_some.is_some_and(rare)
    }

    /// Whether mean concurrency is too low for a queue.
    pub(crate) fn hardly_in_use(&self) -> bool {
        self.tally.concurrency().is_some_and(|present| present < HARDLY_IN_USE)
    }

    /// The concurrency in words: `while_busy` if the busy time is accurate, otherwise the mean over the whole time.
    pub(crate) fn in_progress(&self, while_busy: &str) -> String {
        let ticks = self.tally.latency_ns().is_some_and(|latency| latency < TICK_NS);
        let accurate = self.busy().is_some_and(|busy| busy >= ACCURATE_BUSY);
        match self.tally.concurrency().filter(|_| ticks && !accurate) {
            Some(present) => format!("{} in flight on average", record::format_count(present)),
            None => format!("{while_busy} in flight while the device is busy"),
        }
    }

    /// The device's maximum request size, if the kernel seems to split the programs' requests to fit it. The queue depth
    /// is then not that of the programs.
    pub(crate) fn cut_to(&self) -> Option<u64> {
        let most = self.facts?.max_request_bytes.filter(|bytes| *bytes > 0)?;
        (self.tally.all.request_bytes()? >= PIECES * most as f64).then_some(most)
    }

    /// Whether kernel threads issue most of the requests, as in write-back.
    pub(crate) fn written_back(&self) -> bool {
        self.around.users.as_ref().is_some_and(|users| users.by_kernel() >= MOSTLY)
    }

    /// Whether expectations at the rate count: without a busy counter to believe, bursts and rest
    /// cannot be told apart.
    pub(crate) fn by_rate(&self) -> bool {
        self.busy().is_none()
    }

    /// The calibrated split of a latency at a rate, of all of it or of an interval.
    pub(crate) fn calibrated(&self, look: &Expectation, latency_ns: f64, iops: f64) -> Calibrated {
        Calibrated {
            unloaded_ns: look.unloaded_ns,
            expected_ns: look.at_concurrency,
            expected_at_rate_ns: look.at_rate,
            queue_ns: (latency_ns - look.unloaded_ns).max(0.0),
            latency_ratio: latency_ns / look.expected_ns(self.by_rate()).max(1.0),
            saturation: iops / look.max_iops,
            max_iops: look.max_iops,
            sequential_share: look.sequential_share,
            sequential_traced: self.known.sequential.is_some(),
        }
    }

    /// Half-width of the 95 % interval of the latency as a share of it.
    pub(crate) fn latency_error(&self) -> Option<f64> {
        latency_error(self.series)
    }

    /// A latency over an expectation, without what processors take to wake up: what takes longer than
    /// expected may take as much longer as that.
    pub(crate) fn over(&self, latency_ns: f64, expected_ns: f64) -> f64 {
        let expected_ns = expected_ns.max(1.0);
        (latency_ns - self.waking_ns).max(expected_ns.min(latency_ns)) / expected_ns
    }

    /// Share of time that tasks wait for I/O beyond the time that the device is busy. Ticks undercount the busy time of
    /// requests shorter than a tick, so it is raised to that of random arrivals.
    pub(crate) fn pressure_beyond(&self) -> Option<f64> {
        let (some, busy) = self.around.io_some.zip(self.tally.utilization())?;
        let short = self.tally.latency_ns().is_some_and(|latency| latency < TICK_NS);
        let present = self.tally.concurrency().filter(|_| short);
        let random = |present: f64| (-libm::expm1(-present)).min(TICKS_MISS * busy);
        Some(some - present.map_or(busy, |present| busy.max(random(present))))
    }

    /// Whether the tracer saw that requests were held before they were started.
    pub(crate) fn waits_before(&self) -> bool {
        let (Some(traced), Some(latency)) = (&self.around.traced, self.tally.latency_ns()) else {
            return false;
        };
        let requests = traced.requests.max(self.tally.all.count());
        traced.held.0 >= HELD_SHARE * requests && traced.held.1 >= HELD_TIMES * latency
    }

    /// Whether no profile serves here, so that another rung of the ladder does.
    pub(crate) fn is_unprofiled(&self) -> bool {
        self.best_look().is_none_or(|(look, _)| look.own.is_some())
    }

    /// Requests at the device while it has any, where they have all of its tags.
    pub(crate) fn full_tags(&self) -> Option<f64> {
        let tags = self.facts?.nr_requests? as f64;
        let present = self.present()?;
        if present < TAGS_FULL * tags {
            return None;
        }
        // Each hardware queue of several has so many.
        Some(present.max(tags))
    }

    /// Requests that wait above the device on average, by what the programs keep outstanding or by the tracer.
    pub(crate) fn waiting_above(&self) -> Option<f64> {
        let at_device = self.tally.concurrency()?;
        let kept = &self.around.waited_for;
        // Seen at few moments, of which chance picks those with more.
        let chance = moves(kept).unwrap_or(0.0) / (kept.len() as f64).sqrt();
        let surely = stats::mean(kept) * (1.0 - ERRORS * chance);
        // A part of one request is the time in which a thread is woken up.
        let above = Some(surely - at_device).filter(|above| *above >= WAITING_MIN);
        let by_programs = (kept.len() >= MOMENTS_MIN).then(|| above.unwrap_or(0.0));
        let by_tracer = self.around.traced.as_ref().map(|traced| traced.waiting);
        by_programs.into_iter().chain(by_tracer).reduce(f64::max)
    }

    /// How much longer programs wait for a request than the device takes, by Little's law on what they keep
    /// outstanding.
    pub(crate) fn waited_beyond(&self) -> Option<Waited> {
        let (waiting, at_device) = (self.waiting_above()?, self.tally.concurrency()?);
        let device_ns = self.tally.latency_ns().filter(|_| at_device > 0.0)?;
        let times = (waiting + at_device) / at_device;
        let waited = Waited { times, device_ns, program_ns: times * device_ns };
        Some(waited).filter(|waited| waited.program_ns - waited.device_ns >= LOOK_NS)
    }

    /// Whether requests may wait somewhere: where the tracer sees that they do not, they do not.
    pub(crate) fn may_wait(&self, waited_ns: fn(&TracedSums) -> f64) -> bool {
        let waited = self.around.traced.as_ref().map(waited_ns);
        waited
            .zip(self.tally.latency_ns())
            .is_none_or(|(waited, latency)| waited >= WAITS_LEAST * latency)
    }

    /// What the rate stays at; a provider's limit that the volume's own log does not count is none.
    pub(crate) fn pin(&self) -> Option<ConstantRate> {
        let counted = self.around.over_limit.is_none_or(|over| over.largest().1 >= OVER_AT_ALL);
        self.constant.filter(|_| counted)
    }

    /// Whether the device always has a request: what a limit inside it lets through is then all that it does.
    pub(crate) fn never_empties(&self) -> bool {
        self.busy().is_none_or(|busy| busy >= NEVER_IDLE)
    }

    /// Whether somebody waits above the device.
    pub(crate) fn waiter_above(&self) -> Waiter {
        let by_log = self.around.over_limit.is_some_and(|over| over.largest().1 >= OVER_AT_ALL);
        match self.pressure_beyond() {
            Some(beyond) if beyond > PRESSURE_BEYOND => Waiter::Seen,
            _ if by_log || self.waits_before() => Waiter::Seen,
            Some(_) => Waiter::Nobody,
            None => Waiter::OutOfSight,
        }
    }

    /// Whether programs get what they ask for.
    pub(crate) fn demand(&self) -> Demand {
        let longer = self.waited_beyond().is_some_and(|waited| waited.times >= LONGER);
        match self.waiter_above() {
            Waiter::Seen => Demand::Unmet,
            _ if longer => Demand::Unmet,
            Waiter::Nobody => Demand::Met,
            Waiter::OutOfSight => Demand::Unknown,
        }
    }

    /// The I/O scheduler that orders requests, where there is one.
    pub(crate) fn scheduler(&self) -> Option<&str> {
        self.facts?.scheduler.as_deref().filter(|scheduler| *scheduler != "none")
    }

    /// The same where it serves by class and weight.
    pub(crate) fn scheduler_by_share(&self) -> Option<&str> {
        self.scheduler().filter(|scheduler| BY_SHARE.contains(scheduler))
    }

    /// The requests that a scheduler by class and weight keeps, with its name.
    pub(crate) fn starved(&self) -> Option<(Starved, &str)> {
        let scheduler = self.scheduler_by_share()?;
        Some((self.around.traced.as_ref()?.starved?, scheduler))
    }
}

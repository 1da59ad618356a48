//! Collects the facts of one time segment of a device: counters, trace, system context and
//! expectation. It also answers the questions that several hypotheses ask about them. Thresholds
//! are shares, never times: a device is slow compared with its expectation.

use super::classes::Class;
pub(crate) use super::classes::is_hosted;
use super::constant_rate::{ConstantRate, moves};
use super::expected::{Expectation, SegmentFacts, nearest};
use super::flush_times::SlowFlushes;
use super::hang::Hang;
use super::interval_totals::{IntervalTotals, OpTally, latency_error};
use super::judgement::Judgement;
pub(crate) use super::odds::{MUCH_TO_SPARE, NEAR_MAXIMUM, NEVER_IDLE, SLOW_FROM, WAITS_FROM};
use super::outstanding::{ExcessQueue, Outstanding, WAITING_MIN};
use super::starved::Starved;
use super::stops::Stops;
use super::system_context::{SystemContext, TracedSums};
use crate::causes::{self, Machine};
use record::{CachePoint, Calibrated, Cap, Cause, Demand, DeviceFacts, Doubt, FileLayout, Tail};
use std::ops::Range;

/// Fewest requests for a verdict on latencies. The mean is then known to about 15 %, even if the
/// standard deviation of single latencies equals their mean.
pub(crate) const REQUESTS_MIN: f64 = 50.0;
/// Coarsest resolution of a latency, as a share of it.
pub(crate) const STEP_MAX_REL: f64 = 0.25;
/// A latency below this many times the expectation is as expected.
pub(crate) const HARDLY_SLOW: f64 = 1.12;
/// A latency below this share of all expectations comes from another device or from a cache.
pub(crate) const FIT_FROM: f64 = 0.67;
/// A device that serves fewer requests than this in parallel gains nothing from a second one.
pub(crate) const ONE_AT_A_TIME: f64 = 1.25;
/// Requests hardly wait if the latency is below this many times that at queue depth 1.
pub(crate) const HARDLY_WAITS: f64 = 2.0;
/// Share of time that tasks wait for I/O beyond the device's busy time: something above the device
/// holds the requests.
pub(crate) const PRESSURE_BEYOND: f64 = 0.2;
/// Pressure beyond the busy time from which a limit is possible, and from which no other sign is needed.
pub(crate) const PRESSURE_AT_ALL: f64 = 0.1;
pub(crate) const PRESSURE_ALONE: f64 = 0.5;
/// Share of requests that wait before any counter starts, and their wait as a multiple of the latency.
const HELD_SHARE: f64 = 0.1;
pub(crate) const HELD_TIMES: f64 = 0.5;
/// Label of that wait in evidence.
pub(crate) const IN_SCHEDULER: &str = "wait in the scheduler";
/// Schedulers that divide a device by weight or class.
const BY_SHARE: [&str; 2] = ["bfq", "cfq"];
/// Expectations that differ by this factor depend on the sequential share.
pub(crate) const PLACE_MATTERS: f64 = 1.25;
/// Least share of the time over a provider's limit that matters.
pub(crate) const OVER_AT_ALL: f64 = 0.01;
/// Waking up for an interrupt takes at most this many times as long as for a timer.
pub(crate) const WAKING_TIMES: f64 = 4.0;
/// Share of CPU steal that can explain slowness.
pub(crate) const STEAL_MATTERS: f64 = 0.05;

/// Mean share of a device's tags in use from which requests wait for one. A waiter has to wake up
/// before it uses the next tag, so some stay free.
const TAGS_FULL: f64 = 0.75;
/// A wait in the scheduler or above the device below this share of the latency does not matter.
const WAITS_LEAST: f64 = 0.1;
/// Ratio of program latency to device latency from which programs count as waiting longer.
pub(crate) const LONGER: f64 = 1.5;
/// Fewest samples for a mean of what programs keep outstanding.
const MOMENTS_MIN: usize = 5;
/// Shorter waits are ignored, because sampling itself delays the program. (Measured: an undisturbed
/// program at 29,200 IOPS had 28 requests outstanding right after all counters were read.)
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
/// Longest kernel tick, and the largest factor by which tick-based busy time is corrected.
/// (Measured: ticks counted 20 %, random arrivals imply 35 %.)
const TICK_NS: f64 = 4e6;
const TICKS_MISS: f64 = 2.0;
/// Writes fill the queue from this mean number in flight and this share of all requests in flight. In an
/// interval with fewer in flight, reads do not wait for them.
pub(crate) const WRITES_IN_FLIGHT: f64 = 0.5;
pub(crate) const WRITES_WORK: f64 = 0.6;
const HARDLY_WRITES: f64 = 0.1;
/// Fewest reads whose mean latency counts.
pub(crate) const READS_MIN: f64 = 20.0;
/// Margin below a sampled mean, in standard errors.
const ERRORS: f64 = 2.0;

/// Latency as programs see it, compared with the device's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) times: f64,
    pub(crate) device_ns: f64,
    pub(crate) program_ns: f64,
}

/// A time segment of one device, with all that is known about it.
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    /// Indices of its intervals in the device's series.
    pub(crate) range: Range<usize>,
    /// Begin and end in nanoseconds.
    pub(crate) time: Range<u64>,
    pub(crate) tally: IntervalTotals,
    pub(crate) series: &'a [IntervalTotals],
    pub(crate) around: SystemContext,
    /// What the profile expects, or why it has no expectation.
    pub(crate) looks: Result<Vec<Expectation>, String>,
    pub(crate) known: SegmentFacts,
    pub(crate) facts: Option<&'a DeviceFacts>,
    pub(crate) class: Class,
    /// Whether the source does not describe the device, and it is not simulated.
    pub(crate) unknown: bool,
    /// Whether its figures are averages since boot.
    pub(crate) since_boot: bool,
    /// Its queue, if deeper than the device can use.
    pub(crate) deep: Option<ExcessQueue>,
    /// Upper bound of the latency that CPUs add when they sleep between requests, in nanoseconds.
    pub(crate) waking_ns: f64,
    /// Layout of the files on the device, if the user named a path to them.
    pub(crate) layout: Option<&'a FileLayout>,
    /// Hit rate of a page cache of each size; empty if no requests were recorded.
    pub(crate) reuse: &'a [CachePoint],
    /// Its slowest requests compared with the profile's, if single requests were timed.
    pub(crate) tail: Option<Tail>,
    /// Stalls of the programs.
    pub(crate) stops: Option<Stops>,
    /// The longest time without a completion, if requests were in flight.
    pub(crate) hang: Option<Hang>,
    /// All intervals of the device, in this segment and others.
    pub(crate) whole: &'a [IntervalTotals],
    /// Flushes that take, or may take, longer than they should.
    pub(crate) slow_flushes: Option<SlowFlushes>,
    /// The constant level of its rate or throughput, whatever its cause.
    pub(crate) constant: Option<ConstantRate>,
    /// The largest throughput of the device, observed or measured.
    pub(crate) most_bytes_per_s: f64,
    /// Caps that the check of the device found.
    pub(crate) caps: &'a [Cap],
    /// Reasons to doubt that the profile applies to this device.
    pub(crate) profile_doubts: &'a [(Doubt, String)],
    /// Whether the device is simulated, in a time in which no CPU sleeps.
    pub(crate) simulated: bool,
    /// Whether the counters come from Windows, which has no tracer.
    pub(crate) of_windows: bool,
    /// Whether writes are left out because the profile has none.
    pub(crate) reads_alone: bool,
    /// Why a profile of this device cannot be used here.
    pub(crate) unserved: Option<String>,
    /// The machine as the system checks read it now, and when the profile was made.
    pub(crate) machines: (Machine<'a>, Option<Machine<'a>>),
}

/// Whether a program waits for requests that have not reached the device or are not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A wait was found: waiting tasks, a queue that never empties, or held requests.
    Seen,
    /// No program waits, as measured.
    Nobody,
    /// This source does not show waits above the device.
    OutOfSight,
}

#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) segment: Segment<'a>,
    pub(crate) judgement: Judgement,
    pub(crate) causes: Vec<Cause>,
    /// Claims of the system checks.
    pub(crate) claims: Vec<causes::Judged>,
    /// The volume above the device that holds requests.
    pub(crate) holder: Option<String>,
}

/// A rate from this share of a cap on has reached the cap.
pub(crate) const AT_CAP: f64 = 0.95;

impl Segment<'_> {
    /// The text for the system that the counters come from.
    pub(crate) fn by_system(&self, windows: &'static str, other: &'static str) -> &'static str {
        if self.of_windows { windows } else { other }
    }

    /// The caps of the profile whose rate the counters show, with this load's rate as a share of each.
    pub(crate) fn cap_shares(&self) -> impl Iterator<Item = (f64, &Cap)> {
        let share = |cap: &Cap| Some(self.tally.per_s(cap.op, cap.bytes)? / cap.per_s.value);
        self.caps.iter().filter_map(move |cap| Some((share(cap)?, cap)))
    }

    /// Whether the load has reached a cap of the profile. The profile knows nothing of the disk above a cap.
    pub(crate) fn is_at_cap(&self) -> bool {
        self.cap_shares().any(|(share, _)| share >= AT_CAP)
    }

    /// The expectation nearest to the latency, and the latency.
    pub(crate) fn best_look(&self) -> Option<(&Expectation, f64)> {
        let latency = self.tally.latency_ns()?;
        let looks = self.looks.as_ref().ok()?;
        Some((nearest(looks, latency, self.by_rate())?, latency))
    }

    /// Latency as the programs see it: by Little's law if the number that they keep outstanding is
    /// known, otherwise from the device's counters.
    pub(crate) fn latency_of_load_ns(&self) -> Option<f64> {
        match self.deep.map(|deep| deep.present) {
            Some(Outstanding::InPrograms(kept)) if self.tally.iops() > 0.0 => {
                Some(kept / self.tally.iops() * 1e9)
            }
            _ => self.tally.latency_ns(),
        }
    }

    /// Utilization, if the busy counter is reliable.
    pub(crate) fn busy(&self) -> Option<f64> {
        self.tally.utilization().filter(|_| self.known.busy)
    }

    /// Mean concurrency while the device is busy.
    pub(crate) fn present(&self) -> Option<f64> {
        Some(self.tally.concurrency()? / self.busy().unwrap_or(1.0).max(1e-9))
    }

    /// Whether programs lose next to nothing to the device: requests are in flight, and tasks wait
    /// for any I/O, only a few percent of the time. A queue or a limit then does no harm. Waits for
    /// asynchronous requests do not count as pressure, but as concurrency.
    pub(crate) fn programs_hardly_wait(&self) -> bool {
        let rare = |share: f64| share < WAIT_MATTERS;
        self.tally.concurrency().is_some_and(rare) && self.around.io_some.is_some_and(rare)
    }

    /// Whether mean concurrency is too low for a queue.
    pub(crate) fn hardly_in_use(&self) -> bool {
        self.tally.concurrency().is_some_and(|present| present < HARDLY_IN_USE)
    }

    /// The concurrency in words: `while_busy` if the busy time is accurate, otherwise the mean over
    /// the whole time.
    pub(crate) fn in_progress(&self, while_busy: &str) -> String {
        let ticks = self.tally.latency_ns().is_some_and(|latency| latency < TICK_NS);
        let accurate = self.busy().is_some_and(|busy| busy >= ACCURATE_BUSY);
        match self.tally.concurrency().filter(|_| ticks && !accurate) {
            Some(present) => format!("{} in flight on average", record::format_count(present)),
            None => format!("{while_busy} in flight while the device is busy"),
        }
    }

    /// The device's maximum request size, if the kernel seems to split the programs' requests to
    /// fit it. The queue depth is then not that of the programs.
    pub(crate) fn cut_to(&self) -> Option<u64> {
        let most = self.facts?.max_request_bytes.filter(|bytes| *bytes > 0)?;
        (self.tally.all.request_bytes()? >= PIECES * most as f64).then_some(most)
    }

    /// Whether kernel threads issue most of the requests, as in write-back.
    pub(crate) fn written_back(&self) -> bool {
        self.around.users.as_ref().is_some_and(|users| users.by_kernel() >= MOSTLY)
    }

    /// Whether expectations at the rate count: without a reliable busy counter, bursts cannot be
    /// distinguished from idle time.
    pub(crate) fn by_rate(&self) -> bool {
        self.busy().is_none()
    }

    /// The calibrated split of a latency at a rate, for the segment or for one interval.
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

    /// Half-width of the 95 % interval of the latency, as a share of it.
    pub(crate) fn latency_error(&self) -> Option<f64> {
        latency_error(self.series)
    }

    /// Ratio of a latency to an expectation, excluding CPU wake-up time. The correction never
    /// lowers the ratio below 1.
    pub(crate) fn over(&self, latency_ns: f64, expected_ns: f64) -> f64 {
        let expected_ns = expected_ns.max(1.0);
        (latency_ns - self.waking_ns).max(expected_ns.min(latency_ns)) / expected_ns
    }

    /// Share of time that tasks wait for I/O beyond the time that the device is busy. Ticks undercount the
    /// busy time of requests shorter than a tick, so it is raised to that of random arrivals.
    pub(crate) fn pressure_beyond(&self) -> Option<f64> {
        let (some, busy) = self.around.io_some.zip(self.tally.utilization())?;
        let short = self.tally.latency_ns().is_some_and(|latency| latency < TICK_NS);
        let present = self.tally.concurrency().filter(|_| short);
        let random = |present: f64| (-libm::expm1(-present)).min(TICKS_MISS * busy);
        Some(some - present.map_or(busy, |present| busy.max(random(present))))
    }

    /// Whether the tracer saw requests held before they were started.
    pub(crate) fn waits_before(&self) -> bool {
        let (Some(traced), Some(latency)) = (&self.around.traced, self.tally.latency_ns()) else {
            return false;
        };
        let requests = traced.requests.max(self.tally.all.count());
        traced.held.0 >= HELD_SHARE * requests && traced.held.1 >= HELD_TIMES * latency
    }

    /// Latency of reads, and what they take without writes, if they wait for writes: writes fill the queue, a
    /// program waits for reads much of the time, and they take `times` as long as alone.
    pub(crate) fn reads_behind_writes(&self, times: f64) -> Option<(f64, f64)> {
        let (read, write) = (&self.tally.read, &self.tally.write);
        let seconds = self.tally.seconds.max(1e-9);
        let in_flight = |op: &OpTally| Some(op.time_ns? / 1e9 / seconds);
        let (reads, writes) = (in_flight(read)?, in_flight(write)?);
        let fill = writes >= WRITES_IN_FLIGHT && writes >= WRITES_WORK * (reads + writes);
        let waited = read.count() >= READS_MIN && reads >= WAIT_MATTERS;
        let read_ns = read.latency_ns().filter(|_| fill && waited)?;
        let alone_ns = self.read_alone_ns()?;
        (read_ns >= times * alone_ns).then_some((read_ns, alone_ns))
    }

    /// Latency of the same reads without writes: by the profile, otherwise in the device's intervals with
    /// hardly any writes, otherwise the longest that is usual for its class.
    fn read_alone_ns(&self) -> Option<f64> {
        let looks = self.looks.as_ref().ok()?;
        let profiled = looks.iter().filter_map(|look| look.read_alone_ns).reduce(f64::max);
        let is_quiet = |one: &&IntervalTotals| {
            one.write.time_ns.is_some_and(|time| time / 1e9 < HARDLY_WRITES * one.seconds)
        };
        let quiet = || {
            let reads = IntervalTotals::sum(self.whole.iter().filter(is_quiet)).read;
            reads.latency_ns().filter(|_| reads.count() >= READS_MIN)
        };
        let of_class = || {
            let class = looks.iter().find_map(|look| look.own)?.class;
            Some(class.usual_ns(self.tally.read.request_bytes()?)[1])
        };
        profiled.or_else(quiet).or_else(of_class)
    }

    /// Whether no profile applies, so that another rung of the ladder is used.
    pub(crate) fn is_unprofiled(&self) -> bool {
        self.best_look().is_none_or(|(look, _)| look.own.is_some())
    }

    /// Mean number in flight while the device is busy, if all of its tags are in use.
    pub(crate) fn full_tags(&self) -> Option<f64> {
        let tags = self.facts?.nr_requests? as f64;
        let present = self.present()?;
        if present < TAGS_FULL * tags {
            return None;
        }
        // With several hardware queues, each has this many tags.
        Some(present.max(tags))
    }

    /// Mean number of requests waiting above the device, from the programs' outstanding requests or
    /// from the tracer.
    pub(crate) fn waiting_above(&self) -> Option<f64> {
        let at_device = self.tally.concurrency()?;
        let kept = &self.around.waited_for;
        // A mean of few samples may be too high by chance.
        let chance = moves(kept).unwrap_or(0.0) / (kept.len() as f64).sqrt();
        let surely = stats::mean(kept) * (1.0 - ERRORS * chance);
        // A fraction of one request is the time in which a thread wakes up.
        let above = Some(surely - at_device).filter(|above| *above >= WAITING_MIN);
        let by_programs = (kept.len() >= MOMENTS_MIN).then(|| above.unwrap_or(0.0));
        let by_tracer = self.around.traced.as_ref().map(|traced| traced.waiting);
        by_programs.into_iter().chain(by_tracer).reduce(f64::max)
    }

    /// How much longer a request takes for the program than for the device, by Little's law on the
    /// outstanding requests.
    pub(crate) fn waited_beyond(&self) -> Option<Waited> {
        let (waiting, at_device) = (self.waiting_above()?, self.tally.concurrency()?);
        let device_ns = self.tally.latency_ns().filter(|_| at_device > 0.0)?;
        let times = (waiting + at_device) / at_device;
        let waited = Waited { times, device_ns, program_ns: times * device_ns };
        Some(waited).filter(|waited| waited.program_ns - waited.device_ns >= LOOK_NS)
    }

    /// Whether requests may wait at a place: yes, unless the tracer shows that they do not.
    pub(crate) fn may_wait(&self, waited_ns: fn(&TracedSums) -> f64) -> bool {
        let waited = self.around.traced.as_ref().map(waited_ns);
        waited
            .zip(self.tally.latency_ns())
            .is_none_or(|(waited, latency)| waited >= WAITS_LEAST * latency)
    }

    /// The constant level of the rate. A provider's limit does not count if the volume's own log
    /// shows no time over it.
    pub(crate) fn pin(&self) -> Option<ConstantRate> {
        let counted = self.around.over_limit.is_none_or(|over| over.largest().1 >= OVER_AT_ALL);
        self.constant.filter(|_| counted)
    }

    /// Whether the device always has a request. Then a limit inside it sets its whole rate.
    pub(crate) fn never_empties(&self) -> bool {
        self.busy().is_none_or(|busy| busy >= NEVER_IDLE)
    }

    /// Whether a program waits above the device.
    pub(crate) fn waiter_above(&self) -> Waiter {
        let by_log = self.around.over_limit.is_some_and(|over| over.largest().1 >= OVER_AT_ALL);
        match self.pressure_beyond() {
            Some(beyond) if beyond > PRESSURE_BEYOND => Waiter::Seen,
            _ if by_log || self.waits_before() => Waiter::Seen,
            Some(_) => Waiter::Nobody,
            None => Waiter::OutOfSight,
        }
    }

    /// Whether programs get the I/O that they request.
    pub(crate) fn demand(&self) -> Demand {
        let longer = self.waited_beyond().is_some_and(|waited| waited.times >= LONGER);
        match self.waiter_above() {
            Waiter::Seen => Demand::Unmet,
            _ if longer => Demand::Unmet,
            Waiter::Nobody => Demand::Met,
            Waiter::OutOfSight => Demand::Unknown,
        }
    }

    /// The I/O scheduler, unless it is `none`.
    pub(crate) fn scheduler(&self) -> Option<&str> {
        self.facts?.scheduler.as_deref().filter(|scheduler| *scheduler != "none")
    }

    /// The scheduler, if it serves by class and weight.
    pub(crate) fn scheduler_by_share(&self) -> Option<&str> {
        self.scheduler().filter(|scheduler| BY_SHARE.contains(scheduler))
    }

    /// Requests that such a scheduler delays, with its name.
    pub(crate) fn starved(&self) -> Option<(Starved, &str)> {
        let scheduler = self.scheduler_by_share()?;
        Some((self.around.traced.as_ref()?.starved?, scheduler))
    }
}

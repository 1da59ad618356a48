//! The verdict on one segment of time, and what else its evidence allows.
//!
//! In order: is the device held back from above; did it do enough to be judged; is there a profile
//! that fits; did requests take longer than it allows; did they mostly wait; was there a load at
//! all. Each further explanation is an alternative with its odds ([`super::odds`]). Thresholds are
//! shares, never times: a device is slow against its own profile.

use super::busy_time_test::BusyTimeTest;
use super::constant_rate::{ConstantRate, pinned};
use super::expected::{Expectation, SegmentFacts, nearest};
use super::interval_totals::{IntervalTotals, latency_error};
use super::judgement::Judgement;
use super::odds;
use super::outstanding::{ExcessQueue, Outstanding};
use super::system_context::SystemContext;
use crate::words::{percent, times};
use record::{
    CachePoint, Calibrated, Cause, ComparedCondition, DeviceFacts, Doubt, FileLayout, NORMAL_95,
    Tail, Verdict, format_nanos,
};
use std::ops::Range;

/// Fewest requests of a verdict on latencies: their mean is then known to some 15 % even where
/// single times vary as much as their mean.
pub(crate) const REQUESTS_MIN: f64 = 50.0;
/// Coarsest step of a latency, as a share of it.
const STEP_MAX_REL: f64 = 0.25;
/// Slow from this many times the expectation on.
pub(crate) const SLOW_FROM: f64 = 1.2;
/// Below this a latency is as expected.
pub(super) const HARDLY_SLOW: f64 = 1.12;
/// Faster than this share of all expectations: it is another device, or a cache.
const FIT_FROM: f64 = 0.67;
/// A device that does fewer than this at once gains nothing from a second request.
const ONE_AT_A_TIME: f64 = 1.25;
/// Overloaded where a request takes this many times what a lone one takes.
pub(super) const WAITS_FROM: f64 = 3.0;
/// Below this one hardly waits.
pub(super) const HARDLY_WAITS: f64 = 2.0;
/// Or where the rate reaches this share of the largest.
pub(super) const NEAR_MAXIMUM: f64 = 0.9;
/// Below this share of the largest rate there is no load worth the name.
pub(crate) const MUCH_TO_SPARE: f64 = 0.2;
/// Share of time that tasks wait for I/O beyond the device's busy time: something else holds them.
pub(super) const PRESSURE_BEYOND: f64 = 0.2;
/// From which on that leaves a limit open, and from which on no other sign is needed.
const PRESSURE_AT_ALL: f64 = 0.1;
pub(super) const PRESSURE_ALONE: f64 = 0.5;
/// Share of requests that wait before any counter starts, and how long against the latency.
const HELD_SHARE: f64 = 0.1;
pub(super) const HELD_TIMES: f64 = 0.5;
/// How long requests wait there.
pub(crate) const IN_SCHEDULER: &str = "wait in the scheduler";
/// Schedulers that divide a device by weight or class.
const BY_SHARE: [&str; 2] = ["bfq", "cfq"];
/// Expectations this far apart depend on whether requests were sequential.
const PLACE_MATTERS: f64 = 1.25;
/// Share of the time over a provider's limit below which that does not matter.
pub(super) const OVER_AT_ALL: f64 = 0.01;
/// Waking up for an interrupt takes at most so many times as long as for a timer.
const WAKING_TIMES: f64 = 4.0;
/// Steal that can explain slowness.
pub(crate) const STEAL_MATTERS: f64 = 0.05;

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
}

#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) segment: Segment<'a>,
    pub(crate) judgement: Judgement,
    pub(crate) causes: Vec<Cause>,
}

impl Segment<'_> {
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

    /// The verdict on this segment by itself.
    pub(crate) fn judge(&self) -> Judgement {
        let constant = pinned(self.series);
        // A provider's limit that the volume's own log does not count is none.
        let counted = self.around.over_limit.is_none_or(|over| over.largest().1 >= OVER_AT_ALL);
        let pin = constant.filter(|_| counted);
        let mut judgement = self
            .held_by_a_limit(constant.as_ref())
            .or_else(|| self.held_by_the_provider())
            .or_else(|| self.held_before_counting())
            .or_else(|| self.too_little())
            .or_else(|| self.held_in_the_scheduler())
            .unwrap_or_else(|| self.against_profile(pin.as_ref()));
        judgement.pin = pin;
        judgement
    }

    /// Share of time that tasks wait for I/O beyond the time that the device is busy.
    pub(super) fn pressure_beyond(&self) -> Option<f64> {
        let (some, busy) = self.around.io_some.zip(self.tally.utilization())?;
        Some(some - busy)
    }

    /// Whether the tracer saw that requests were held before they were started.
    pub(super) fn waits_before(&self) -> bool {
        let (Some(traced), Some(latency)) = (&self.around.traced, self.tally.latency_ns()) else {
            return false;
        };
        let requests = traced.requests.max(self.tally.all.count());
        traced.held.0 >= HELD_SHARE * requests && traced.held.1 >= HELD_TIMES * latency
    }

    /// The I/O scheduler that orders requests, where there is one.
    pub(crate) fn scheduler(&self) -> Option<&str> {
        self.facts?.scheduler.as_deref().filter(|scheduler| *scheduler != "none")
    }

    /// The same where it serves by class and weight.
    pub(super) fn scheduler_by_share(&self) -> Option<&str> {
        self.scheduler().filter(|scheduler| BY_SHARE.contains(scheduler))
    }

    fn too_little(&self) -> Option<Judgement> {
        let count = self.tally.all.count();
        let nothing = |claim: String| {
            Judgement::new(Verdict::NotEnoughEvidence, claim).with("requests", count, "")
        };
        if count < REQUESTS_MIN {
            let claim = if count < 1.0 {
                "Nothing was asked of the device.".to_owned()
            } else {
                format!("{count:.0} requests are too few to judge by (50 at least).")
            };
            return Some(nothing(claim));
        }
        if self.tally.latency_ns().is_none() {
            return Some(nothing("The source tells no latencies.".to_owned()));
        }
        let step = self.tally.step_rel();
        (step > STEP_MAX_REL).then(|| {
            nothing("The source tells latencies too coarsely for this device.".to_owned()).with(
                "step of the latency",
                step,
                "share",
            )
        })
    }

    /// All that takes a profile.
    fn against_profile(&self, pin: Option<&ConstantRate>) -> Judgement {
        let looks = match &self.looks {
            Ok(looks) => looks,
            Err(why) => return self.without_profile(why),
        };
        let Some((look, latency)) = self.best_look() else {
            return self.without_profile("the source tells no latencies");
        };
        let by_rate = self.by_rate();
        let over = |look: &Expectation| self.over(latency, look.expected_ns(by_rate));
        let least = looks.iter().map(over).fold(f64::INFINITY, f64::min);
        let most = looks.iter().map(over).fold(0.0, f64::max);
        let saturation = self.tally.iops() / look.max_iops;
        // What the profile does not know by itself, nothing is held against.
        let known_low = |look: &Expectation| latency < look.at_concurrency.low;
        if most < FIT_FROM && looks.iter().all(known_low) {
            return quicker(look, latency, most, saturation);
        }
        // Where the intervals are too few, times vary as their mean.
        let by_count = || NORMAL_95 / self.tally.all.count().max(1.0).sqrt();
        let scatter = look.scatter_rel.or_else(|| self.latency_error()).unwrap_or_else(by_count);
        let measure = Measure {
            look,
            latency,
            asleep: latency / look.expected_ns(by_rate).max(1.0),
            over: over(look),
            least,
            most,
            saturation,
            error: scatter.hypot(look.error_rel()),
            held: BusyTimeTest::of(self.series, looks).filter(|_| self.known.busy),
        };
        let mut judgement = self.conclude(&measure);
        self.alternatives_of_place(&mut judgement, &measure);
        self.alternatives_of_pin(&mut judgement, &measure, pin);
        self.alternatives_of_one_operation(&mut judgement);
        self.alternatives_of_counters(&mut judgement, saturation);
        self.alternatives_of_the_tail(&mut judgement);
        self.held_while_idle(&mut judgement);
        self.starved_in_the_scheduler(&mut judgement);
        self.alternatives_of_the_scheduler(&mut judgement);
        self.alternatives_of_shares(&mut judgement);
        self.alternatives_of_changes(&mut judgement);
        self.alternatives_of_neighbours(&mut judgement);
        self.alternatives_of_flushes(&mut judgement);
        self.alternatives_of_compression(&mut judgement);
        self.alternatives_of_the_provider(&mut judgement);
        self.alternatives_out_of_sight(&mut judgement);
        judgement
    }

    /// Neither too long nor too short, or too long.
    fn conclude(&self, measure: &Measure) -> Judgement {
        let Measure { look, latency, over, saturation, error, held, .. } = *measure;
        // Too long for every mix that the counters allow, by more than chance allows.
        let by_time = odds::slow(over, error);
        let holds = held.filter(|held| by_time < 1.0 && held.times >= SLOW_FROM);
        let by_busy = holds.map_or(0.0, |held| odds::slow(held.times, held.error_rel));
        let slow = by_time.max(by_busy);
        let beyond = slow >= 1.0;
        let over = holds.filter(|_| beyond).map_or(over, |held| over.max(held.times));
        // A device that is slower does less: what it does of what it can do now.
        let of_now = if beyond { saturation * over } else { saturation };
        // A light load of the profile takes as long by itself: threads and processors that wake up.
        let asleep = saturation < MUCH_TO_SPARE
            && look.at_rate.is_some_and(|open| latency < HARDLY_SLOW * open.value);
        let waits = if asleep { 1.0 } else { look.wait_ratio() };
        let overload = odds::overloaded(waits, look.error_rel(), of_now);
        let spare = odds::to_spare(saturation);
        let called = |slow: bool, overloaded: bool| match (slow, overloaded) {
            (true, true) => Verdict::SlowAndOverloaded,
            (true, false) => Verdict::Slow,
            (false, true) => Verdict::Overloaded,
            (false, false) if spare >= 1.0 => Verdict::NotTheDisk,
            (false, false) => Verdict::Healthy,
        };
        let overloaded = overload >= 1.0;
        let verdict = called(beyond, overloaded);
        let mut judgement = Judgement::new(verdict, self.claim(verdict, measure, holds))
            .with("latency", latency, "ns")
            .with("expected at this concurrency", look.at_concurrency.value, "ns")
            .with("expected at QD 1", look.unloaded_ns, "ns")
            .with("rate over the largest of this mix", saturation, "share");
        if let Some(held) = holds {
            judgement = judgement.with("busy, over what requests at QD 1 make", held.times, "");
        }
        if beyond {
            judgement.weighed(
                called(false, overloaded),
                (Doubt::NearSlow, 1.0 / slow),
                format!(
                    "{} what is expected is near what still counts as such, or known too little.",
                    times(over)
                ),
                "A longer observation, or a new profile.",
            );
            // What a processor takes to wake up is measured by its timer; for an interrupt it is longer
            // on some machines.
            let excess = (latency - look.expected_ns(self.by_rate())) / self.waking_ns.max(1.0);
            if excess <= WAKING_TIMES && measure.asleep >= SLOW_FROM {
                judgement.against(
                    called(false, overloaded),
                    Doubt::SlowToWake,
                    format!(
                        "Processors sleep between requests, and waking up takes them {} by their \
                         timer: what is missing is no more than some of these.",
                        format_nanos(self.waking_ns)
                    ),
                    "The same while a processor is kept awake.",
                );
            }
        } else {
            if over < HARDLY_SLOW && measure.asleep >= SLOW_FROM {
                let what = "what waking processors add at most";
                judgement = judgement.with(what, self.waking_ns, "ns");
            }
            let (doubt, because, decided_by) =
                self.may_be_slow(measure, holds.filter(|_| by_busy > by_time));
            let odds = if doubt == Doubt::WakeUps { slow + odds::of(doubt) } else { slow };
            judgement.weighed(called(true, overloaded), (doubt, odds), because, decided_by);
        }
        judgement.weighed(
            called(beyond, !overloaded),
            (Doubt::NearOverloaded, if overloaded { 1.0 / overload } else { overload }),
            format!(
                "A request takes {} what a lone one takes, and the rate is {} of the largest; from \
                 {WAITS_FROM:.0} times or {} on that is called overloaded.",
                times(look.wait_ratio()),
                percent(of_now),
                percent(NEAR_MAXIMUM)
            ),
            "What the program can bear.",
        );
        let other = match verdict {
            Verdict::NotTheDisk => Some((Verdict::Healthy, 1.0 / spare)),
            Verdict::Healthy => Some((Verdict::NotTheDisk, spare)),
            _ => None,
        };
        if let Some((other, odds)) = other {
            judgement.weighed(
                other,
                (Doubt::NearSpare, odds),
                format!(
                    "The rate is {} of the largest; below {} the device has much to spare.",
                    percent(saturation),
                    percent(MUCH_TO_SPARE)
                ),
                "What the device could do for another load.",
            );
        }
        judgement
    }

    /// Why requests that take no longer than expected may do so all the same, and what decides that;
    /// `holds` where the busy time says so more than the latency.
    fn may_be_slow(
        &self,
        measure: &Measure,
        holds: Option<BusyTimeTest>,
    ) -> (Doubt, String, &'static str) {
        let Measure { look, over, asleep, error, .. } = *measure;
        if over < HARDLY_SLOW && asleep >= SLOW_FROM {
            let because = format!(
                "Requests take {} what is expected of processors that are awake; here they sleep \
                 between requests, and waking up takes {} at most.",
                times(asleep),
                format_nanos(self.waking_ns)
            );
            return (Doubt::WakeUps, because, "The same while a processor is kept awake.");
        }
        if let Some(held) = holds {
            return (Doubt::BusyTime, held.sentence(), "A longer observation.");
        }
        if over >= HARDLY_SLOW {
            let over = times(over);
            let because = format!(
                "Requests take {over} what is expected, which is near what counts as slow."
            );
            let decided_by = "A longer observation, or a profile with narrower intervals.";
            return (Doubt::NearSlow, because, decided_by);
        }
        let because = if look.error_rel() >= 0.5 * error {
            format!(
                "The profile knows this time only to {} to {}.",
                format_nanos(look.at_concurrency.low.max(0.0)),
                format_nanos(look.at_concurrency.high)
            )
        } else {
            format!("The latency varies: its mean is known to ±{} only.", percent(error))
        };
        (
            Doubt::NearSlow,
            because,
            "A new profile, or a longer observation, while nothing else runs.",
        )
    }

    fn claim(&self, verdict: Verdict, measure: &Measure, holds: Option<BusyTimeTest>) -> String {
        let Measure { look, latency, over, saturation, .. } = *measure;
        let slow = verdict.is_slow();
        if let Some(held) = holds.filter(|_| slow) {
            return held.sentence();
        }
        let takes = format_nanos(latency);
        let expected = format_nanos(look.expected_ns(self.by_rate()));
        let alone = format_nanos(look.unloaded_ns);
        let share = percent(saturation);
        let waits = times(look.wait_ratio());
        let mut waiting = String::new();
        if verdict == Verdict::SlowAndOverloaded {
            waiting = format!(", and that is {waits} the {alone} of a lone request");
        }
        match verdict {
            Verdict::Slow | Verdict::SlowAndOverloaded => format!(
                "Requests take {takes}, {} the {expected} that the profile expects at this \
                 concurrency{waiting}.",
                times(over)
            ),
            Verdict::Overloaded if look.wait_ratio() >= WAITS_FROM => format!(
                "Requests take {takes}, as expected with so many in progress; a lone one takes \
                 {alone}. The rate is {share} of the largest."
            ),
            Verdict::Overloaded => format!(
                "The rate is {share} of the largest of this mix; requests take {takes}, as \
                 expected."
            ),
            Verdict::NotTheDisk => format!(
                "Requests take {takes}, as expected, and the rate is only {share} of the largest."
            ),
            _ => format!("Requests take {takes}, as expected; the rate is {share} of the largest."),
        }
    }

    /// Whether requests were sequential is not told by counters.
    fn alternatives_of_place(&self, judgement: &mut Judgement, measure: &Measure) {
        let spread = measure.most / measure.least.max(1e-9);
        let slow_already = judgement.verdict.is_slow();
        // At the slow end the random requests explain the time by themselves: a slower device whose
        // requests were sequential would have to hit that time by chance.
        let between = measure.least < 0.87;
        if slow_already || self.known.sequential.is_some() || spread < PLACE_MATTERS || !between {
            return;
        }
        if measure.most >= SLOW_FROM {
            judgement.against(
                Verdict::Slow,
                Doubt::SequentialUnknown,
                format!(
                    "The time fits {} sequential requests; were there more of them, it would be up \
                     to {} what is expected.",
                    percent(measure.look.sequential_share),
                    times(measure.most)
                ),
                "The tracer's share of sequential requests (watch as root).",
            );
        }
    }

    /// A rate that does not move.
    fn alternatives_of_pin(
        &self,
        judgement: &mut Judgement,
        measure: &Measure,
        pin: Option<&ConstantRate>,
    ) {
        let Some(pin) = pin else { return };
        let (doubt, means) = if judgement.verdict.is_slow() {
            let means = ", as behind a cap inside the device: slow or capped.";
            (Doubt::ConstantRateSlow, means)
        } else if measure.saturation < NEAR_MAXIMUM {
            let means = ": capped above the counters, or paced by the application.";
            let unpressed = self.pressure_beyond().is_some_and(|beyond| beyond <= PRESSURE_BEYOND);
            let below = Doubt::ConstantRateBelowMaximum;
            (if unpressed { Doubt::ConstantRateUnpressed } else { below }, means)
        } else if self.facts.is_some_and(is_hosted) {
            let means = ", and so is the largest of the profile: the device's limit may be a cap.";
            (Doubt::ConstantRateAtMaximum, means)
        } else {
            return;
        };
        let pressed = self.pressure_beyond().is_some_and(|beyond| beyond > PRESSURE_ALONE);
        if pressed && doubt == Doubt::ConstantRateBelowMaximum {
            let claim = format!(
                "The {} is the same in every interval ({}), and tasks wait {} of the time for I/O that \
                 this device does not do: a limit above it lets no more through.",
                pin.what(),
                pin.text(),
                percent(self.pressure_beyond().unwrap_or(0.0))
            );
            judgement.replaced(
                Verdict::Capped,
                claim,
                Doubt::ConstantRatePressed,
                "The tasks may wait for another device or a network file system, and the program \
                 that uses this one paces itself.",
                "Limits of the control groups and of the machine above; the tracer's waits before a \
                 request is started (as root).",
            );
            return;
        }
        judgement.against(
            Verdict::Capped,
            doubt,
            format!("The {} is the same in every interval ({}){means}", pin.what(), pin.text()),
            "A limit of the provider or of a control group at that rate, pressure stall \
             information, or a trial of our own at another rate.",
        );
    }

    /// What the counters hide or may hide.
    fn alternatives_of_counters(&self, judgement: &mut Judgement, saturation: f64) {
        let slow = judgement.verdict.is_slow();
        let discards = self.tally.discards.unwrap_or(0.0) > 0.05 * self.tally.all.count();
        let doubts = [
            (
                self.by_rate(),
                Doubt::NoBusyTime,
                Verdict::Overloaded,
                "Without a busy counter to believe, bursts look like slowness.",
                "A source with busy time, or shorter intervals.",
            ),
            (
                self.around.steal.is_some_and(|share| share > STEAL_MATTERS),
                Doubt::Steal,
                Verdict::NotTheDisk,
                "The host took CPU time from this machine, and requests end only when it \
                 runs.",
                "The same on a machine without steal.",
            ),
            (
                self.around.processors_full(),
                Doubt::ProcessorsFull,
                Verdict::NotTheDisk,
                "The processors were busy all the time, and requests end only when one attends to \
                 them.",
                "The same while the processors have time left.",
            ),
            (
                self.tally.times_may_hold_discards && discards,
                Doubt::Discards,
                Verdict::Healthy,
                "The source's latencies hold those of discards.",
                "A source that keeps them apart (iostat -x, node_exporter).",
            ),
        ];
        let doubts = doubts.into_iter().filter(|(there, ..)| slow && *there);
        for (_, doubt, verdict, because, decided_by) in doubts {
            judgement.against(verdict, doubt, because, decided_by);
        }
        let beyond = self.pressure_beyond().filter(|beyond| !slow && *beyond > PRESSURE_AT_ALL);
        if let Some(beyond) = beyond {
            // A device that is in use itself explains most of what tasks wait for.
            let spare = judgement.verdict == Verdict::NotTheDisk || saturation < 0.5;
            let most = if spare { 1.0 } else { 0.4 };
            let odds = odds::of(Doubt::IoPressure) * (beyond / PRESSURE_ALONE).min(most);
            judgement.weighed(
                Verdict::Capped,
                (Doubt::IoPressure, odds),
                format!(
                    "Tasks waited for I/O {} of the time, and this device was busy {}: a throttle \
                     above it, or another device or network file system.",
                    percent(self.around.io_some.unwrap_or(0.0)),
                    percent(self.tally.utilization().unwrap_or(0.0))
                ),
                "Limits of the control groups of the processes that wait.",
            );
        }
    }

    fn without_profile(&self, why: &str) -> Judgement {
        let judgement = Judgement::new(
            Verdict::NotEnoughEvidence,
            format!("No expectation to hold it against: {why}."),
        );
        let Some(split) = self.tally.utilization_law() else { return judgement };
        judgement.with("Friedman's service time", split.service_ns, "ns").with(
            "Friedman's queue time",
            split.queue_ns,
            "ns",
        )
    }
}

/// Requests that are quicker than the profile expects of any place: read-ahead or a cache, as far as
/// the profile holds requests that were as quick; beyond that it is of another device.
fn quicker(look: &Expectation, latency: f64, most: f64, saturation: f64) -> Judgement {
    let takes = format_nanos(latency);
    let served = look.quickest_ns.is_some_and(|least| latency >= FIT_FROM * least);
    // A limit of the rate holds closed loops at any depth, and not what comes more rarely.
    let open = look.at_rate.filter(|open| latency >= FIT_FROM * open.value);
    if !served && open.is_none() {
        let claim = format!(
            "Requests take {takes}, {} of the least that the profile expects: a cache serves them, \
             or the profile is of another device.",
            percent(most)
        );
        let mut judgement = Judgement::new(Verdict::NotEnoughEvidence, claim).with(
            "latency over the least expected",
            most,
            "share",
        );
        // Its closed loops met a limit at depth 1, and no open load of it says what lies below that.
        let limited = look.side_by_side() < ONE_AT_A_TIME && saturation < NEAR_MAXIMUM;
        let (because, decided_by) = if limited {
            (
                "The largest rate of the profile is that of lone requests: where that is a limit, they \
                 waited for it in the profile, and these do not. Or a cache below the counters serves them.",
                "A profile with open loads (`check --for-diagnosis`, with time enough for them).",
            )
        } else {
            (
                "A cache below the counters may serve them.",
                "A new profile, or a trial over more than any cache holds.",
            )
        };
        judgement.against(Verdict::Healthy, Doubt::Quicker, because, decided_by);
        return judgement;
    }
    let spare = saturation < MUCH_TO_SPARE;
    let verdict = if spare { Verdict::NotTheDisk } else { Verdict::Healthy };
    let why = match open {
        Some(open) => format!(
            "at this rate its open loads took {}. A limit of the rate holds only who asks for more",
            format_nanos(open.value)
        ),
        None => "read-ahead or a cache of the device serves them".to_owned(),
    };
    let claim = format!(
        "Requests take {takes}, {} of what the profile expects of requests one behind the other: \
         {why}. The rate is {} of the largest.",
        percent(most),
        percent(saturation)
    );
    let mut judgement = Judgement::new(verdict, claim)
        .with("latency", latency, "ns")
        .with("latency over the least expected", most, "share")
        .with("quickest request of the profile", look.quickest_ns.unwrap_or(0.0), "ns")
        .with("rate over the largest of this mix", saturation, "share");
    judgement.against(
        Verdict::NotEnoughEvidence,
        Doubt::Quicker,
        "The profile may be of another, slower device.",
        "A new profile.",
    );
    judgement
}

/// Whether a host and what it has lie below a device, out of sight of this kernel. Of a loop device
/// and of disks in memory the kernel itself is what lies below.
pub(crate) fn is_hosted(facts: &DeviceFacts) -> bool {
    const OWN: [&str; 4] = ["loop", "zram", "brd", "null_blk"];
    facts.virtual_disk && facts.driver.as_deref().is_none_or(|driver| !OWN.contains(&driver))
}

/// A segment held against its profile.
#[derive(Clone, Copy, Debug)]
struct Measure<'a> {
    look: &'a Expectation,
    latency: f64,
    /// Over the nearest expectation, with what processors take to wake up.
    asleep: f64,
    /// The same without it.
    over: f64,
    /// Over the slowest one.
    least: f64,
    /// Over the fastest one.
    most: f64,
    saturation: f64,
    error: f64,
    /// What keeps the device busy, where that is known.
    held: Option<BusyTimeTest>,
}

//! Computes the probability of each state of the device itself: healthy, slow, overloaded, or both.
//!
//! With a profile, the latency is compared with the curve at the concurrency while busy. The errors
//! of both give a probability for each side of each boundary ([`super::odds`]). Without a profile,
//! the posterior of [`super::own`] answers the same questions.

use super::busy_time_test::BusyTimeTest;
use super::expected::Expectation;
use super::facts::{FIT_FROM, HARDLY_SLOW, MUCH_TO_SPARE, SLOW_FROM, Segment};
use super::odds;
use crate::words::times;
use record::{NORMAL_95, Verdict, format_nanos};

/// The states. Of two with equal probability the first counts as the most probable.
pub(crate) const STATES: [Verdict; 5] = [
    Verdict::Slow,
    Verdict::SlowAndOverloaded,
    Verdict::Overloaded,
    Verdict::Healthy,
    Verdict::NotTheDisk,
];

/// Probabilities of a device's states, which sum to one; all are zero if nothing is expected of it.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) measure: Option<Measure>,
    slow: f64,
    /// Probability of overload, for a device that is not slow and for one that is slow.
    overloaded: [f64; 2],
    spare: f64,
}

/// A segment compared with its expectation.
#[derive(Clone, Debug)]
pub(crate) struct Measure {
    pub(crate) latency: f64,
    /// Latency over the nearest expectation, including CPU wake-up time.
    pub(crate) asleep: f64,
    /// The same excluding wake-up time.
    pub(crate) over: f64,
    /// Ratio to the slowest expectation.
    pub(crate) least: f64,
    /// Ratio to the fastest expectation.
    pub(crate) most: f64,
    pub(crate) saturation: f64,
    /// Relative half-width of the 95 % interval of latency over expectation.
    pub(crate) error: f64,
    /// Test on the busy time, if it is more conclusive than the latency.
    pub(crate) held: Option<BusyTimeTest>,
    /// Odds that the device is slow, by its latency and by its busy time.
    pub(crate) by_time: f64,
    pub(crate) by_busy: f64,
}

impl Measure {
    fn of(segment: &Segment<'_>, look: &Expectation, latency: f64) -> Self {
        let looks = segment.looks.as_deref().unwrap_or(&[]);
        let by_rate = segment.by_rate();
        let over = |look: &Expectation| segment.over(latency, look.expected_ns(by_rate));
        // With too few intervals, the standard deviation of latencies is taken as their mean.
        let by_count = || NORMAL_95 / segment.tally.all.count().max(1.0).sqrt();
        let scatter = look.scatter_rel.or_else(|| segment.latency_error()).unwrap_or_else(by_count);
        let (nearest, error) = (over(look), scatter.hypot(look.error_rel()));
        let by_time = odds::slow(nearest, error);
        let held = BusyTimeTest::of(segment.series, looks).filter(|_| segment.known.busy);
        let held = held.filter(|held| by_time < 1.0 && held.times >= SLOW_FROM);
        Self {
            latency,
            asleep: latency / look.expected_ns(by_rate).max(1.0),
            over: nearest,
            least: looks.iter().map(over).fold(f64::INFINITY, f64::min),
            most: looks.iter().map(over).fold(0.0, f64::max),
            saturation: segment.tally.iops() / look.max_iops,
            error,
            by_time,
            by_busy: held.map_or(0.0, |held| odds::slow(held.times, held.error_rel)),
            held,
        }
    }

    /// Odds that the device is slow.
    pub(crate) fn slow_odds(&self) -> f64 {
        self.by_time.max(self.by_busy)
    }

    /// Whether the device is more likely slow than not.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow_odds() >= 1.0
    }

    /// Whether it takes longer than expected only because CPUs sleep between requests.
    pub(crate) fn is_late_by_waking(&self) -> bool {
        self.over < HARDLY_SLOW && self.asleep >= SLOW_FROM
    }

    /// The sentence for that case.
    pub(crate) fn late_by_waking(&self, segment: &Segment<'_>) -> String {
        format!(
            "Requests take {} the latency predicted for CPUs that are awake. Here the CPUs sleep \
             between requests, and waking up takes up to {}.",
            times(self.asleep),
            format_nanos(segment.waking_ns)
        )
    }

    /// Ratio to the expectation, by latency or busy time, whichever is larger.
    pub(crate) fn slower(&self) -> f64 {
        self.held.map_or(self.over, |held| self.over.max(held.times))
    }
}

fn share(odds: f64) -> f64 {
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
}

impl States {
    pub(crate) fn of(segment: &Segment<'_>) -> Self {
        let Some((look, latency)) = segment.best_look() else { return Self::default() };
        let measure = Measure::of(segment, look, latency);
        let may_queue = if segment.hardly_in_use() { 0.0 } else { 1.0 };
        if let Some(posterior) = look.own {
            let measure = Measure {
                by_time: posterior.slow / (1.0 - posterior.slow).max(1e-9),
                by_busy: 0.0,
                held: None,
                ..measure
            };
            return Self {
                measure: Some(measure),
                slow: posterior.slow,
                overloaded: [may_queue * posterior.overloaded; 2],
                spare: posterior.spare,
            };
        }
        // Light loads of the profile take as long: threads and CPUs have to wake up.
        let asleep = measure.saturation < MUCH_TO_SPARE
            && look.at_rate.is_some_and(|open| latency < HARDLY_SLOW * open.value);
        let waits = if asleep { 1.0 } else { look.wait_ratio() };
        // A slower device has a lower maximum rate: saturation is relative to that.
        let overloaded = |slower: f64| {
            let odds = odds::overloaded(waits, look.error_rel(), measure.saturation * slower);
            may_queue * share(odds)
        };
        Self {
            slow: share(measure.slow_odds()),
            overloaded: [overloaded(1.0), overloaded(measure.slower().max(1.0))],
            spare: share(odds::to_spare(measure.saturation)),
            measure: Some(measure),
        }
    }

    /// Probability of a verdict on the device itself.
    pub(crate) fn weight(&self, verdict: Verdict) -> f64 {
        if self.measure.is_none() {
            return 0.0;
        }
        let [of_fine, of_slow] = self.overloaded;
        let fine = (1.0 - self.slow) * (1.0 - of_fine);
        match verdict {
            Verdict::SlowAndOverloaded => self.slow * of_slow,
            Verdict::Slow => self.slow * (1.0 - of_slow),
            Verdict::Overloaded => (1.0 - self.slow) * of_fine,
            Verdict::NotTheDisk => fine * self.spare,
            Verdict::Healthy => fine * (1.0 - self.spare),
            Verdict::Capped | Verdict::NotEnoughEvidence => 0.0,
        }
    }

    /// Probability that it is slow, overloaded or not.
    pub(crate) fn slow(&self) -> f64 {
        self.weight(Verdict::Slow) + self.weight(Verdict::SlowAndOverloaded)
    }

    /// Probability that it is not slow, overloaded or not.
    pub(crate) fn not_slow(&self) -> f64 {
        self.all() - self.slow()
    }

    /// Probability that it is neither slow nor overloaded.
    pub(crate) fn fine(&self) -> f64 {
        self.weight(Verdict::Healthy) + self.weight(Verdict::NotTheDisk)
    }

    /// Probability that it is slow or overloaded.
    pub(crate) fn harmed(&self) -> f64 {
        self.slow() + self.weight(Verdict::Overloaded)
    }

    /// Probability that it is overloaded but not slow.
    pub(crate) fn overloaded(&self) -> f64 {
        self.weight(Verdict::Overloaded)
    }

    /// Sum of all states: 1, or 0 if nothing is expected.
    pub(crate) fn all(&self) -> f64 {
        if self.measure.is_some() { 1.0 } else { 0.0 }
    }

    /// The most probable state.
    pub(crate) fn likeliest(&self) -> Option<Verdict> {
        self.measure.as_ref()?;
        STATES.into_iter().reduce(|a, b| if self.weight(b) > self.weight(a) { b } else { a })
    }

    /// The verdict for a healthy device at this rate.
    pub(crate) fn name_of_fine(&self) -> Verdict {
        match self.measure.as_ref().is_some_and(|measure| measure.saturation >= MUCH_TO_SPARE) {
            true => Verdict::Healthy,
            false => Verdict::NotTheDisk,
        }
    }
}

/// Whether the profile expects clearly slower requests in every mix. Unless a cache explains this
/// ([`served_by_a_cache`]), the profile describes another device.
pub(crate) fn profile_is_slower(segment: &Segment<'_>) -> bool {
    let (Some((look, latency)), Ok(looks)) = (segment.best_look(), &segment.looks) else {
        return false;
    };
    if look.own.is_some() {
        return false;
    }
    let by_rate = segment.by_rate();
    let over = |look: &Expectation| segment.over(latency, look.expected_ns(by_rate));
    // A mix outside of what the profile covers has no known lower bound to compare with.
    let known_low = |look: &Expectation| latency < look.at_concurrency.low;
    looks.iter().all(|look| over(look) < FIT_FROM && known_low(look))
}

/// Whether the profile has requests as fast as these: read-ahead or a cache then explains them. A
/// rate limit slows closed loops at any depth, but not sparse requests.
pub(crate) fn served_by_a_cache(look: &Expectation, latency: f64) -> bool {
    let served = look.quickest_ns.is_some_and(|least| latency >= FIT_FROM * least);
    served || look.at_rate.is_some_and(|open| latency >= FIT_FROM * open.value)
}

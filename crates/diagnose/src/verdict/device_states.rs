//! How probable each state of the device itself is: fine, slow, overloaded, or both.
//!
//! By a profile the latency is compared with the curve at the concurrency while busy, and the error of both
//! makes a probability of either side of each boundary ([`super::odds`]). Without one the posterior of
//! [`super::own`] is asked the same questions.

use super::busy_time_test::BusyTimeTest;
use super::expected::Expectation;
use super::facts::{FIT_FROM, HARDLY_SLOW, MUCH_TO_SPARE, SLOW_FROM, Segment};
use super::odds;
use record::{NORMAL_95, Verdict};

/// The states of a device, which sum to one; none where nothing is expected of it.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) measure: Option<Measure>,
    slow: f64,
    /// Overloaded, of a device that is slow and of one that is not.
    overloaded: [f64; 2],
    spare: f64,
}

/// A segment compared with what is expected of it.
#[derive(Clone, Debug)]
pub(crate) struct Measure {
    pub(crate) latency: f64,
    /// Over the nearest expectation, with what processors take to wake up.
    pub(crate) asleep: f64,
    /// The same without it.
    pub(crate) over: f64,
    /// Over the slowest one.
    pub(crate) least: f64,
    /// Over the fastest one.
    pub(crate) most: f64,
    pub(crate) saturation: f64,
    /// Half of the 95 % interval of the latency over the expectation, as a share.
    pub(crate) error: f64,
    /// What keeps the device busy, where that says more than the latency.
    pub(crate) held: Option<BusyTimeTest>,
    /// Odds that it is slow by its latency, and by its busy time.
    pub(crate) by_time: f64,
    pub(crate) by_busy: f64,
}

impl Measure {
    fn of(segment: &Segment<'_>, look: &Expectation, latency: f64) -> Self {
        let looks = segment.looks.as_deref().unwrap_or(&[]);
        let by_rate = segment.by_rate();
        let over = |look: &Expectation| segment.over(latency, look.expected_ns(by_rate));
        // Where the intervals are too few, times vary as their mean.
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

    /// Whether it is slow rather than not.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow_odds() >= 1.0
    }

    /// How many times as long as expected, by whichever figure says more.
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
        // A light load of the profile takes as long by itself: threads and processors that wake up.
        let asleep = measure.saturation < MUCH_TO_SPARE
            && look.at_rate.is_some_and(|open| latency < HARDLY_SLOW * open.value);
        let waits = if asleep { 1.0 } else { look.wait_ratio() };
        // A device that is slower does less: what it does of what it can do now.
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

    /// The weight of a verdict on the device itself.
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

    /// That it is slow, overloaded or not.
    pub(crate) fn slow(&self) -> f64 {
        self.weight(Verdict::Slow) + self.weight(Verdict::SlowAndOverloaded)
    }

    /// That it does what it should, and is not asked for too much.
    pub(crate) fn fine(&self) -> f64 {
        self.weight(Verdict::Healthy) + self.weight(Verdict::NotTheDisk)
    }

    /// That it is slow or overloaded.
    pub(crate) fn harmed(&self) -> f64 {
        self.slow() + self.weight(Verdict::Overloaded)
    }

    /// Those that are neither slow nor fine.
    pub(crate) fn overloaded(&self) -> f64 {
        self.weight(Verdict::Overloaded)
    }

    /// All of them: 1, or 0 where nothing is expected.
    pub(crate) fn all(&self) -> f64 {
        if self.measure.is_some() { 1.0 } else { 0.0 }
    }

    /// The most probable one.
    pub(crate) fn likeliest(&self) -> Option<Verdict> {
        const STATES: [Verdict; 5] = [
            Verdict::Slow,
            Verdict::SlowAndOverloaded,
            Verdict::Overloaded,
            Verdict::Healthy,
            Verdict::NotTheDisk,
        ];
        self.measure.as_ref()?;
        STATES.into_iter().reduce(|a, b| if self.weight(b) > self.weight(a) { b } else { a })
    }

    /// What a device that is fine is to be called at this rate.
    pub(crate) fn name_of_fine(&self) -> Verdict {
        match self.measure.as_ref().is_some_and(|measure| measure.saturation >= MUCH_TO_SPARE) {
            true => Verdict::Healthy,
            false => Verdict::NotTheDisk,
        }
    }
}

/// Whether requests are quicker than anything that a profile expects of them, and too quick for a cache of
/// this device: then it is not a profile of what is there.
pub(crate) fn profile_is_slower(segment: &Segment<'_>) -> bool {
    let (Some((look, latency)), Ok(looks)) = (segment.best_look(), &segment.looks) else {
        return false;
    };
    if look.own.is_some() {
        return false;
    }
    let by_rate = segment.by_rate();
    let over = |look: &Expectation| segment.over(latency, look.expected_ns(by_rate));
    // What the profile does not know by itself, nothing is compared with.
    let known_low = |look: &Expectation| latency < look.at_concurrency.low;
    looks.iter().all(|look| over(look) < FIT_FROM && known_low(look))
}

/// Whether the profile holds requests that were as quick as these: read-ahead or a cache then explains them.
/// A limit of the rate holds closed loops at any depth, and not what comes more rarely.
pub(crate) fn served_by_a_cache(look: &Expectation, latency: f64) -> bool {
    let served = look.quickest_ns.is_some_and(|least| latency >= FIT_FROM * least);
    served || look.at_rate.is_some_and(|open| latency >= FIT_FROM * open.value)
}

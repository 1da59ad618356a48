//! Weighs the states of the device itself: healthy, slow, overloaded, or both, compared with its expectation.

use super::{KEEP_AWAKE, TOLERATES};
use crate::verdict::device_states::{Measure, STATES, profile_is_slower, served_by_a_cache};
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::expected::Expectation;
use crate::verdict::facts::{
    HARDLY_SLOW, MUCH_TO_SPARE, NEAR_MAXIMUM, ONE_AT_A_TIME, SLOW_FROM, Segment, WAITS_FROM,
};
use crate::verdict::judgement::RestsOn;
use crate::verdict::own;
use crate::words::{of_largest, percent, times};
use record::{Doubt, Estimate, Verdict, format_interval, format_nanos};

/// A ratio below this many times the threshold of "slow" is close to it.
const CLOSE: f64 = 1.5;

/// All states of the device, by the available expectation.
pub(super) fn states(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let (Some(measure), Some((look, _)), Some(likeliest)) =
        (&facts.states.measure, facts.segment.best_look(), facts.states.likeliest())
    else {
        return;
    };
    let text = Text { segment: facts.segment, look, measure, likeliest };
    for verdict in STATES {
        let (doubt, because, decided_by) = text.as_alternative(verdict);
        let weight = facts.states.weight(verdict);
        let claim = Some(text.claim(verdict));
        let mut state = Explanation {
            claim,
            rests_on: RestsOn::State,
            ..Explanation::weighed(verdict, doubt, weight, because, decided_by)
        };
        state = state.with(&[
            ("latency", measure.latency, "ns"),
            ("expected at this concurrency", look.at_concurrency.value, "ns"),
            ("expected at QD 1", look.unloaded_ns, "ns"),
            ("rate relative to the mix's maximum", measure.saturation, "share"),
        ]);
        if let Some(held) = measure.held.filter(|_| verdict.is_slow() && measure.is_slow()) {
            state =
                state.with(&[("busy time relative to the same requests at QD 1", held.times, "")]);
        }
        if !verdict.is_slow() && measure.is_late_by_waking() {
            let waking_ns = facts.segment.waking_ns;
            state = state.with(&[("maximum CPU wake-up latency", waking_ns, "ns")]);
        }
        found.push(state);
    }
}

/// Requests faster than the profile expects in any mix: read-ahead or a cache, if the profile has
/// requests as fast as these.
pub(super) fn quicker(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let (look, latency) = segment.best_look()?;
    if !profile_is_slower(segment) || !served_by_a_cache(look, latency) {
        return None;
    }
    let because = "The profile may describe another, slower device.";
    let (verdict, fine) = (Verdict::NotEnoughEvidence, facts.states.fine());
    Some(Explanation::beside(verdict, Doubt::Quicker, fine, because, "Make a new profile."))
}

/// The sentence for a profile without requests as fast as these.
pub(crate) fn too_quick_for(look: &Expectation, latency: f64, saturation: f64) -> String {
    let takes = format_nanos(latency);
    let least = percent(latency / look.expected_ns(false).max(1.0));
    // The profile's closed loops met a limit at depth 1, and no open load of it shows latencies below that.
    let limited = look.side_by_side() < ONE_AT_A_TIME && saturation < NEAR_MAXIMUM;
    let why = if limited {
        "its maximum rate is no higher than the rate at QD 1, perhaps because of a limit"
    } else {
        "a cache serves them, or the profile describes another device"
    };
    format!("requests take {takes}, only {least} of the lowest latency in the profile: {why}")
}

struct Text<'a, 's> {
    segment: &'a Segment<'s>,
    look: &'a Expectation,
    measure: &'a Measure,
    likeliest: Verdict,
}

impl Text<'_, '_> {
    /// The interval of the expected latency.
    fn ends(&self) -> String {
        let Estimate { low, high, .. } = self.look.at_concurrency;
        record::format_ends(low.max(0.0), high, format_nanos)
    }

    fn claim(&self, verdict: Verdict) -> String {
        if let Some(posterior) = self.look.own {
            return own::claim(verdict, self.segment, self.look, &posterior);
        }
        let (look, measure) = (self.look, self.measure);
        let slow = verdict.is_slow();
        if let Some(held) = measure.held.filter(|_| slow && measure.by_busy > measure.by_time) {
            return held.sentence();
        }
        let takes = format_nanos(measure.latency);
        let expected = format_nanos(look.expected_ns(self.segment.by_rate()));
        let alone = format_nanos(look.unloaded_ns);
        let share = of_largest(measure.saturation);
        let waits = times(look.wait_ratio());
        let waiting = if verdict == Verdict::SlowAndOverloaded {
            format!(", {waits} the latency at QD 1 ({alone})")
        } else {
            String::new()
        };
        // A wide prediction includes latencies far from its point.
        let as_predicted = if measure.over < HARDLY_SLOW {
            "as predicted".to_owned()
        } else if measure.latency <= look.at_concurrency.high {
            format!("within the predicted {}", self.ends())
        } else {
            format!("{} the predicted latency", times(measure.over))
        };
        match verdict {
            Verdict::Slow | Verdict::SlowAndOverloaded => format!(
                "Requests take {takes}, {} the {expected} that the profile predicts at this \
                 concurrency{waiting}.",
                times(measure.slower())
            ),
            Verdict::Overloaded if look.wait_ratio() >= WAITS_FROM => format!(
                "Requests take {takes}, {as_predicted} at this queue depth; the latency at QD 1 is \
                 {alone}. The rate is {share}."
            ),
            Verdict::Overloaded => {
                format!("The rate is {share} for this mix; requests take {takes}, {as_predicted}.")
            }
            _ if profile_is_slower(self.segment) => self.as_quick_as_a_cache(),
            Verdict::NotTheDisk => {
                format!("Requests take {takes}, {as_predicted}, and the rate is only {share}.")
            }
            _ => format!("Requests take {takes}, {as_predicted}; the rate is {share}."),
        }
    }

    fn as_quick_as_a_cache(&self) -> String {
        let (look, measure) = (self.look, self.measure);
        let open = look.at_rate.filter(|open| measure.latency >= 0.67 * open.value);
        let why = match open {
            Some(open) => format!(
                "at this rate, open-loop requests in the profile took {}. A rate limit slows only \
                 programs that need a higher rate",
                format_nanos(open.value)
            ),
            None => "read-ahead or a cache of the device serves them".to_owned(),
        };
        format!(
            "Requests take {}, {} of the latency that the profile predicts for sequential \
             requests: {why}. The rate is {}.",
            format_nanos(measure.latency),
            percent(measure.most),
            of_largest(measure.saturation)
        )
    }

    /// Why a state other than the most probable one is possible, and what decides.
    fn as_alternative(&self, verdict: Verdict) -> (Doubt, String, &'static str) {
        let (look, measure) = (self.look, self.measure);
        if let Some(posterior) = look.own {
            return own::alternative(verdict, self.likeliest, look, &posterior);
        }
        if verdict.is_slow() != self.likeliest.is_slow() {
            return if verdict.is_slow() { self.may_be_slow() } else { self.may_be_as_expected() };
        }
        if verdict.is_fine() && self.likeliest.is_fine() {
            let because = format!(
                "The rate is {}; below {} the device has ample spare capacity.",
                of_largest(measure.saturation),
                percent(MUCH_TO_SPARE)
            );
            let decided_by = "Run another load and see whether the device reaches its limits.";
            return (Doubt::NearSpare, because, decided_by);
        }
        if verdict.is_slow() {
            // This also applies next to a verdict that is neither of the two.
            return (Doubt::NearOverloaded, self.claim(verdict), TOLERATES);
        }
        let because = format!(
            "The latency is {} the latency at QD 1 (overloaded: {WAITS_FROM:.0} times or more), \
             and the rate is {} (overloaded: {} or more).",
            times(look.wait_ratio()),
            of_largest(measure.saturation),
            percent(NEAR_MAXIMUM)
        );
        (Doubt::NearOverloaded, because, TOLERATES)
    }

    fn may_be_as_expected(&self) -> (Doubt, String, &'static str) {
        let because = format!(
            "Requests take {} the predicted latency: this ratio is close to the threshold, or too \
             uncertain.",
            times(self.measure.slower())
        );
        (Doubt::NearSlow, because, "Observe for longer, or make a new profile.")
    }

    /// Why requests with the expected latency may be slow all the same.
    fn may_be_slow(&self) -> (Doubt, String, &'static str) {
        let Measure { over, error, held, by_busy, by_time, .. } = *self.measure;
        if self.measure.is_late_by_waking() {
            let because = self.measure.late_by_waking(self.segment);
            return (Doubt::WakeUps, because, KEEP_AWAKE);
        }
        if let Some(held) = held.filter(|_| by_busy > by_time) {
            return (Doubt::BusyTime, held.sentence(), "Observe for longer.");
        }
        if (HARDLY_SLOW..CLOSE * SLOW_FROM).contains(&over) {
            let because = format!(
                "Requests take {} the predicted latency: this ratio is close to the threshold.",
                times(over)
            );
            let decided_by = "Observe for longer, or make a profile with narrower intervals.";
            return (Doubt::NearSlow, because, decided_by);
        }
        let because = if self.look.error_rel() >= 0.5 * error {
            format!("The profile's value is uncertain: {}.", self.ends())
        } else {
            format!("The latency varies: its mean is known only to {}.", format_interval(error))
        };
        let decided_by = "Make a new profile, or observe for longer, while nothing else runs.";
        (Doubt::NearSlow, because, decided_by)
    }
}

/// Counters do not show whether requests were sequential.
pub(super) fn more_sequential(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let (segment, measure) = (facts.segment, facts.states.measure.as_ref()?);
    let (look, _) = segment.best_look().filter(|(look, _)| look.own.is_none())?;
    let spread = measure.most / measure.least.max(1e-9);
    // Near the slow end, random requests alone explain the latency: a slower device with sequential
    // requests would have to match it by chance.
    let between = measure.least < 0.87;
    let matters = spread >= crate::verdict::facts::PLACE_MATTERS && measure.most >= SLOW_FROM;
    if segment.known.sequential.is_some() || !matters || !between {
        return None;
    }
    let because = format!(
        "The latency is normal if {} of the requests are sequential; if more of them are, it is \
         up to {} the predicted latency.",
        percent(look.sequential_share),
        times(measure.most)
    );
    let (doubt, not_slow) = (Doubt::SequentialUnknown, facts.states.not_slow());
    let decided_by = segment.by_system(
        "Take a Windows (ETW) trace: it shows the positions of the requests.",
        "Run watch as root: the tracer shows the share of sequential requests.",
    );
    Some(Explanation::beside(Verdict::Slow, doubt, not_slow, because, decided_by))
}

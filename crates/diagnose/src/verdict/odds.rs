//! Computes how probable a verdict is, compared with the alternatives that its evidence allows.
//!
//! A verdict weighs 1 and each alternative weighs its odds. The probability of one of them is its weight over
//! the sum. The odds of an alternative are a likelihood ratio times a prior ratio: the likelihood of the
//! evidence if the alternative is true, over that if the verdict is true, times the ratio of their
//! frequencies. If the evidence is a measurement near a boundary (slow, overloaded, much spare capacity), the
//! odds are computed from its error. If it is a yes or no, the odds are a row of [`of`]. These rows were set
//! on random scenarios and verified on others that were not used for setting them. For layers that no
//! scenario has, the row is a guess of how often they are the cause. Rejected: one level of doubt for every
//! alternative, and one word for everything from 0.7 up. Both called 98 of 100 correct verdicts "likely".

use record::{Confidence, Doubt, NORMAL_95};
use stats::normal_tail;
use std::f64::consts::TAU;

/// A device is slow from this many times the expectation.
pub(crate) const SLOW_FROM: f64 = 1.2;
/// A device is overloaded if a request takes this many times its latency at queue depth 1.
pub(crate) const WAITS_FROM: f64 = 3.0;
/// A device is also overloaded from this share of the maximum rate.
pub(crate) const NEAR_MAXIMUM: f64 = 0.9;
/// Below this share of the maximum rate the load is negligible.
pub(crate) const MUCH_TO_SPARE: f64 = 0.2;
/// Utilization from which a device always has a request.
pub(crate) const NEVER_IDLE: f64 = 0.95;
/// Alternatives with smaller odds are not reported.
pub(super) const NAMED: f64 = 0.004;
/// Probabilities from which a verdict is certain, almost certain and likely.
const CERTAIN: f64 = 0.995;
const ALMOST_CERTAIN: f64 = 0.95;
const LIKELY: f64 = 0.7;

/// Prior: the share of devices that are slower than their profile.
const SLOW_SHARE: f64 = 0.4;
/// Largest factor by which such a device is slower. The logarithm of the factor is uniformly distributed.
const SLOWEST: f64 = 10.0;
/// Standard deviations of logarithms. The first is the error that a model adds to that of an expected
/// latency (the held-out error of expectations in ARCHITECTURE.md). The second is the spread of
/// devices that are as profiled.
const MODEL_SD: f64 = 0.02;
const AS_PROFILED_SD: f64 = 0.04;
/// The same for the ratio of the latency to that at queue depth 1.
const WAITS_SD: f64 = 0.05;
/// Largest error of a curve that counts. An error common to the whole curve does not change the
/// ratio of two of its points.
const CURVE_ERROR_MAX: f64 = 0.2;
const RATE_SD: f64 = 0.03;
const SPARE_SD: f64 = 0.02;

/// The confidence level of a probability.
pub(super) fn confidence(probability: f64) -> Confidence {
    if probability >= CERTAIN {
        Confidence::Certain
    } else if probability >= ALMOST_CERTAIN {
        Confidence::AlmostCertain
    } else if probability >= LIKELY {
        Confidence::Likely
    } else {
        Confidence::Possible
    }
}

/// Probability that a normal variable with this mean and standard deviation exceeds a boundary. All
/// are logarithms.
fn above(boundary: f64, mean: f64, sd: f64) -> f64 {
    normal_tail((boundary - mean) / sd)
}

/// Standard deviation of a logarithm, from the relative half-width of a 95 % interval and an
/// additional error.
fn sd(error_rel: f64, beside: f64) -> f64 {
    (error_rel / NORMAL_95).hypot(beside)
}

/// Odds that a device is slow (1.2 times its profile or more) if the latency is `times` the
/// expectation. `error_rel` is the relative half-width of the 95 % interval of that ratio.
pub(super) fn slow(times: f64, error_rel: f64) -> f64 {
    let seen = libm::log(times.clamp(1.0 / SLOWEST, SLOWEST / 1.5));
    let sd = sd(error_rel, MODEL_SD);
    let around = sd.hypot(AS_PROFILED_SD);
    let density = libm::exp(-0.5 * (seen / around).powi(2)) / (around * TAU.sqrt());
    let from = |factor: f64| above(libm::log(factor), seen, sd);
    let per_log = SLOW_SHARE / libm::log(SLOWEST);
    let slow = per_log * (from(SLOW_FROM) - from(SLOWEST));
    let hardly = per_log * (from(1.0) - from(SLOW_FROM));
    slow / ((1.0 - SLOW_SHARE) * density + hardly).max(f64::MIN_POSITIVE)
}

/// Odds that a device is overloaded. `waits` is the latency at this concurrency over that at queue depth 1,
/// `error_rel` the error of the curve, and `of_maximum` the rate as a share of the maximum.
pub(super) fn overloaded(waits: f64, error_rel: f64, of_maximum: f64) -> f64 {
    let least = |value: f64, boundary: f64, sd: f64| {
        above(libm::log(boundary), libm::log(value.max(1e-9)), sd)
    };
    let by_waits = least(waits, WAITS_FROM, sd(error_rel.min(CURVE_ERROR_MAX), WAITS_SD));
    let by_rate = least(of_maximum, NEAR_MAXIMUM, RATE_SD);
    let neither = (1.0 - by_waits) * (1.0 - by_rate);
    (1.0 - neither) / neither.max(1e-12)
}

/// Odds that a device has much spare capacity at this share of its maximum rate.
pub(super) fn to_spare(saturation: f64) -> f64 {
    let more = above(libm::log(MUCH_TO_SPARE), libm::log(saturation.max(1e-9)), SPARE_SD);
    (1.0 - more) / more.max(1e-12)
}

/// Odds of an alternative, relative to the verdict, for yes-or-no evidence. (Odds near a boundary
/// are computed; their row is for evidence without a measured error.)
pub(super) fn of(doubt: Doubt) -> f64 {
    use Doubt::*;
    match doubt {
        // Explains the evidence about as well as the verdict, which is simpler.
        NoBusyTime | Steal | ProcessorsFull | Discards | Starved | SchedulerChanged
        | SchedulerByShare | TailUnknown | TooLittle | NoProfile | SideUnknown | AfterRest
        | ConstantRateQueued | Unlisted => 0.9,
        // Were true in two to four of ten cases when stated at one half.
        ConstantRateSlow | OneOperationConstant | ConditionsChanged => 0.8,
        OutOfSight | NoMoreAsked | ConstantRateBelowMaximum => 0.45,
        NeighbourFlushes | Tail | SlowToWake => 0.5,
        IdleWaits | Stops | DeviceUnknown | OneOperation | ConstantRatePressed | ProviderLog
        | LimitPartOfTime | PlaceOnMember | MemberUnknown | Neighbour | CompressedFiles
        | GroupShares | WritesUnknown | ProfileInvalid | SystemFact => 0.3,
        BehindWrites | ReadAgain | ReadAheadOff | WriteBackLimit | Flushes | OwnBursts
        | TailByCredit | ConstantRateUnseen => 0.15,
        OthersBesideGroup | SequentialUnknown | WakeUps | ProfileMatch | FullTags
        | BurstsInScheduler | Quicker | ComesAndGoes | MeanAsExpected | NearSlow
        | NearOverloaded | NearSpare | BusyTime => 0.1,
        ConstantRateUnpressed => 0.06,
        // True in none of 76 random scenarios, which do not cover everything that a machine waits for.
        IoPressure => 0.04,
        // For slow and for capped: a verdict on means alone never proves that nothing is wrong.
        TailUnseen => 0.006,
        ConstantRateAtMaximum | SlowWhenDeep | SlowBelowCap | CapBelow | WriteBack => 0.05,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(odds: f64) -> f64 {
        odds / (1.0 + odds)
    }

    #[test]
    fn slowness_is_as_sure_as_its_measurement() {
        assert!(share(slow(1.0, 0.02)) < 1e-3 && share(slow(3.0, 0.02)) > 0.999);
        let near = share(slow(SLOW_FROM, 0.02));
        assert!((0.4..0.6).contains(&near), "{near}");
        // The same factor from few requests is weak evidence.
        assert!(share(slow(1.3, 0.02)) > 0.95 && share(slow(1.3, 0.8)) < 0.3);
        // A ratio far beyond every expected factor is slow too.
        assert!(share(slow(500.0, 0.05)) > 0.999);
        for times in [0.3, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 5.0] {
            assert!(
                slow(times, 0.1) <= slow(times * 1.01, 0.1),
                "it grows with the latency: {times}"
            );
        }
    }

    #[test]
    fn a_boundary_leaves_both_sides_open_and_distance_from_it_none() {
        assert!(
            share(overloaded(1.2, 0.05, 0.4)) < NAMED && share(overloaded(6.0, 0.05, 0.4)) > 0.99
        );
        assert!((share(overloaded(WAITS_FROM, 0.05, 0.3)) - 0.5).abs() < 0.01);
        assert!(share(overloaded(1.0, 0.05, 0.99)) > 0.99);
        assert!((share(to_spare(MUCH_TO_SPARE)) - 0.5).abs() < 1e-9);
        assert!(share(to_spare(0.1)) > 0.999 && share(to_spare(0.4)) < NAMED);
    }

    #[test]
    fn an_alternative_that_explains_as_much_leaves_the_verdict_possible() {
        let confidence_beside = |odds: f64| confidence(1.0 / (1.0 + odds));
        assert_eq!(confidence_beside(of(Doubt::ConstantRateSlow)), Confidence::Possible);
        assert_eq!(confidence_beside(of(Doubt::Neighbour)), Confidence::Likely);
        assert_eq!(confidence_beside(0.0), Confidence::Certain);
    }
}

//! Judges the slowest requests, which means hide: a device that stalls occasionally has the expected mean
//! latency, but programs wait for its stalls.
//!
//! Only a tracer times single requests. Its device latencies are compared with the slowest of the profile's
//! own requests under a similar load. A tail is long if it is at least twice as long, in at least two
//! intervals, because a single event may have any cause. A program that keeps its queue depth constant cannot
//! cause such a tail. A program that submits in bursts can, and no mean distinguishes that.
//!
//! A profile rarely has enough requests for a p99.9. A latency below twice the profile's p99 is not long; one
//! above may be. If the profile has no similar requests, an exponential distribution is used instead, and no
//! tail excludes a device fault.

use super::expected::Expectation;
use super::facts::Segment;
use super::fitted_profile::FittedProfile;
use crate::words::{percent, times};
use record::{HistogramSnapshot, Interval, Offered, Tail, bucket_mid, format_nanos};

/// Percentiles that bound the slowest requests, the preferred one first.
const SHARES: [f64; 2] = [0.999, 0.99];
/// Caveat if only means are known.
pub(super) const MEANS_HIDE: &str = "A mean hides short stalls of the device. Too few requests, \
                                     or none, were timed individually, or the profile has no \
                                     similar load.";

/// How to see the slowest requests of a segment with known means only.
pub(super) fn shown_by(segment: &Segment<'_>) -> &'static str {
    if segment.of_windows {
        "Use an application log or a Windows (ETW) trace that times individual requests."
    } else if segment.around.traced.is_some() {
        "Observe for longer, so that the tracer times more requests."
    } else {
        "Run live as root: the tracer then times each request."
    }
}

/// Fewest requests beyond a reported percentile.
const BEYOND_MIN: f64 = 10.0;
/// Tolerance for the difference of two shares.
const ROUNDING: f64 = 1e-6;
/// Fewest intervals with long requests.
const INTERVALS_MIN: u32 = 2;

/// The tail of a segment with these intervals.
pub(super) fn tail(
    intervals: &[&Interval],
    segment: &Segment<'_>,
    reference: &FittedProfile,
) -> Option<Tail> {
    let each: Vec<HistogramSnapshot> = intervals
        .iter()
        .filter_map(|interval| interval.traced.as_deref())
        .map(|traced| traced.read.device_ns.merged(&traced.write.device_ns))
        .collect();
    let all = each.iter().fold(HistogramSnapshot::default(), |sum, next| sum.merged(next));
    let (look, _) = segment.best_look()?;
    let enough = |share: &f64| all.count() as f64 * (1.0 - share) >= BEYOND_MIN - ROUNDING;
    let held = |share: f64, (expected_share, expected_ns): (Option<f64>, f64)| {
        let longer_in = |times: &HistogramSnapshot| -> u64 {
            let long = |bucket: u32| bucket_mid(bucket as usize) >= Tail::LONG_FROM * expected_ns;
            let buckets = times.buckets.iter().filter(|(bucket, _)| long(*bucket));
            buckets.map(|(_, requests)| requests).sum()
        };
        let intervals = each.iter().filter(|times| longer_in(times) > 0).count();
        Some(Tail {
            share,
            latency_ns: all.percentile(share)?,
            expected_ns,
            expected_share,
            longer: longer_in(&all),
            requests: all.count(),
            intervals: u32::try_from(intervals).unwrap_or(u32::MAX),
            of_intervals: u32::try_from(each.len()).unwrap_or(u32::MAX),
        })
    };
    let expected = |share| Some((Some(share), expected_ns(segment, reference, look, share)?));
    let seen: Vec<f64> = SHARES.into_iter().filter(enough).collect();
    let most = *seen.first()?;
    let alike = seen.iter().find_map(|&share| held(share, expected(share)?));
    if alike.as_ref().is_some_and(|tail| tail.is_long() || tail.share == most) {
        return alike;
    }
    let bound = SHARES.into_iter().filter(|share| *share < most).find_map(expected);
    let exponential = || (None, -(1.0 - most).ln() * look.expected_ns(segment.by_rate()));
    held(most, bound.unwrap_or_else(exponential))
}

/// The profile's latency at percentile `share`, under a similar load.
fn expected_ns(
    segment: &Segment<'_>,
    reference: &FittedProfile,
    look: &Expectation,
    share: f64,
) -> Option<f64> {
    let busy = segment.busy().filter(|busy| *busy > 0.0).unwrap_or(1.0);
    let offered = if segment.known.constant {
        Offered::Depth(reference.outstanding(&look.mix, segment.tally.concurrency()? / busy))
    } else {
        Offered::PoissonPerS(segment.tally.iops())
    };
    let ratio = reference.predictor().tail_ratio(&look.mix, offered, share)?;
    Some(ratio * look.expected_ns(segment.by_rate()))
}

impl Segment<'_> {
    /// The tail if it is longer than the profile's.
    pub(crate) fn long_tail(&self) -> Option<&Tail> {
        self.perhaps_long_tail().filter(|tail| tail.is_alike())
    }

    /// The tail if it is longer than its comparison. On any device, requests whose completion waits
    /// for a saturated CPU have a long tail.
    pub(crate) fn perhaps_long_tail(&self) -> Option<&Tail> {
        let tail = self.tail.as_ref().filter(|_| !self.around.processors_full());
        tail.filter(|tail| tail.is_long() && tail.intervals >= INTERVALS_MIN)
    }

    /// Whether both the slowest latencies and their expectation are known.
    pub(crate) fn tail_is_told(&self) -> bool {
        let told = |tail: &Tail| tail.share >= SHARES[0] && tail.expected_share.is_some();
        self.tail.as_ref().is_some_and(told)
    }
}

/// A sentence that compares the slowest requests with the expected ones.
pub(super) fn slowest(tail: &Tail) -> String {
    format!(
        "One request in {:.0} takes {} or more at the device, {} {}.",
        1.0 / (1.0 - tail.share),
        format_nanos(tail.latency_ns),
        times(tail.latency_ns / tail.expected_ns),
        held_against(tail)
    )
}

/// A tail as two sentences.
pub(super) fn sentence(tail: &Tail) -> String {
    format!(
        "{} In {} of {} intervals, requests took over {} ({} of all requests).",
        slowest(tail),
        tail.intervals,
        tail.of_intervals,
        format_nanos(Tail::LONG_FROM * tail.expected_ns),
        percent(tail.longer as f64 / tail.requests.max(1) as f64)
    )
}

/// The comparison of a tail, in words.
fn held_against(tail: &Tail) -> String {
    let expected = format_nanos(tail.expected_ns);
    match tail.expected_share {
        Some(_) if tail.is_alike() => format!("the {expected} in the profile"),
        Some(share) => {
            format!(
                "the {expected} that one request in {:.0} exceeded in the profile",
                1.0 / (1.0 - share)
            )
        }
        None => format!("the {expected} of an exponential distribution with the predicted mean"),
    }
}

//! The slowest requests, which means hide: a device that stands still for a moment now and then has
//! the latency that is expected of it and is what programs wait for.
//!
//! Only a tracer times single requests. What it saw at the device is held against the slowest of the
//! profile's own requests under a load like this. It is long from twice as much on, and in at least
//! two intervals, as one event may be anything. A program that keeps its queue constant cannot make
//! such a tail; bursts of one that does not can, which no mean tells apart.
//!
//! A profile rarely has the requests for one in a thousand. What is not twice as long as one in a
//! hundred of the profile's is not long; what is may be. Where the profile has no requests like
//! these, exponential times stand for them, and no tail rules the device out.

use super::expected::Expectation;
use super::facts::Segment;
use super::fitted_profile::FittedProfile;
use crate::words::{percent, times};
use record::{HistogramSnapshot, Interval, Offered, Tail, bucket_mid, format_nanos};

/// Shares of the requests that are quicker than the slowest ones, the preferred first.
const SHARES: [f64; 2] = [0.999, 0.99];
/// What is open where nothing but means is known.
pub(super) const MEANS_HIDE: &str = "A mean hides short stalls of the device. Too few requests, \
                                     or none, were timed individually, or the profile has no \
                                     similar load.";

/// What would show the slowest requests of a segment that nothing but means is known of.
pub(super) fn shown_by(segment: &Segment<'_>) -> &'static str {
    if segment.of_windows {
        "Use an application log or a Windows (ETW) trace that times individual requests."
    } else if segment.around.traced.is_some() {
        "Observe for longer, so that the tracer times more requests."
    } else {
        "Run live as root: the tracer then times each request."
    }
}

/// Fewest requests beyond a share that is told.
const BEYOND_MIN: f64 = 10.0;
/// The difference of two shares is not exact.
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

/// The time that the profile's requests do not exceed in such a share, under a load like this.
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
    /// The tail, where it is longer than the profile's.
    pub(crate) fn long_tail(&self) -> Option<&Tail> {
        self.perhaps_long_tail().filter(|tail| tail.is_alike())
    }

    /// The tail, where it is longer than what it is held against. A request whose end waits for a processor that
    /// has no time left makes one on any device.
    pub(crate) fn perhaps_long_tail(&self) -> Option<&Tail> {
        let tail = self.tail.as_ref().filter(|_| !self.around.processors_full());
        tail.filter(|tail| tail.is_long() && tail.intervals >= INTERVALS_MIN)
    }

    /// Whether it is known how long the slowest requests take, and should.
    pub(crate) fn tail_is_told(&self) -> bool {
        let told = |tail: &Tail| tail.share >= SHARES[0] && tail.expected_share.is_some();
        self.tail.as_ref().is_some_and(told)
    }
}

/// A tail in words.
pub(super) fn sentence(tail: &Tail) -> String {
    format!(
        "One request in {:.0} takes {} or more at the device, {} {}. In {} of {} intervals, \
         requests took over {} ({} of all requests).",
        1.0 / (1.0 - tail.share),
        format_nanos(tail.latency_ns),
        times(tail.latency_ns / tail.expected_ns),
        held_against(tail),
        tail.intervals,
        tail.of_intervals,
        format_nanos(Tail::LONG_FROM * tail.expected_ns),
        percent(tail.longer as f64 / tail.requests.max(1) as f64)
    )
}

/// What a tail is compared with.
pub(super) fn held_against(tail: &Tail) -> String {
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

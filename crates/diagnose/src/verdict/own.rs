//! Estimates the expectation of a device without a profile, from the observation itself.
//!
//! Two numbers describe a device well enough: its latency at queue depth 1, and the number of requests that
//! it serves in parallel. Both get weights on a grid. The prior comes from the device's class
//! ([`super::classes`]). The evidence is:
//!
//! - Latency against queue depth over all intervals with the same kind of requests. This separates the part
//!   that grows with the queue from the part that does not.
//! - The largest rate, which is the least that the device can do.
//! - Under an open load, the share of time in which the device is empty, and the variance of the number in
//!   flight. Both distinguish a queue from parallel service.
//!
//! Rejected: comparing the latency with a threshold of the class. It would call every deep queue a slow disk.

use super::classes::Class;
use super::constant_rate::{ConstantRate, VARIATION_MAX, regularity};
use super::expected::{Expectation, mixes_of};
use super::facts::Segment;
use super::grid::{Grid, Seen, slow_share, wait_of};
use super::interval_totals::IntervalTotals;
use super::odds::{MUCH_TO_SPARE, NEAR_MAXIMUM, WAITS_FROM};
use super::posterior::Posterior;
use super::queue_depth::{constant_depth, kept_up};
use super::upkeep::SufficientDepth;
use crate::published_limits::published_limit;
use crate::words::percent;
use record::{Doubt, Estimate, LoneReads, NORMAL_95, Rung, Verdict, format_count, format_nanos};

/// The rate counts only from this queue depth on, where requests meet.
const MEET: f64 = 1.6;
/// Upper bound of the probability "slow": the class of a device does not prove that this one is slow.
pub(super) const SLOW_AT_MOST: f64 = 0.93;
/// Name and source of an expectation that a single peer gives.
pub(super) const ONE_PEER: (&str, &str) =
    ("the one similar disk here, which has the same load", "the same observation");
/// Utilization below which a device is idle at times, and the fewest intervals of it that count.
const RESTS: f64 = 0.8;
const AT_REST_MIN: usize = 5;
/// Prior odds of a queue that is too long over one that is not.
const HEALTHY_FIRST: f64 = 0.3;

/// What a device was observed to do, without a profile.
pub(crate) struct Served {
    /// The load on it.
    pub(crate) of: IntervalTotals,
    /// Mean and standard deviation of the logarithm of the QD1 latency in nanoseconds.
    pub(crate) log_lone: (f64, f64),
    pub(crate) log_side: f64,
}

impl Served {
    /// For a whole series; `None` if it has no latencies.
    pub(crate) fn seen(whole: &[IntervalTotals], class: &Class, busy: bool) -> Option<Self> {
        let seen = Seen::of(whole, whole, busy, constant_depth(whole))?;
        let of = IntervalTotals::sum(whole);
        let grid = Grid::of(&seen, &for_kind(*class, &of));
        Some(Self { of, log_lone: grid.log_lone(), log_side: grid.log_side() })
    }
}

fn for_kind(class: Class, total: &IntervalTotals) -> Class {
    if total.read_share().is_some_and(|reads| reads < 0.5) { class.for_writes() } else { class }
}

/// The expectation of a segment without a profile, from the device's whole series.
///
/// # Errors
/// Why there is no expectation.
pub(crate) fn expectation(
    series: &[IntervalTotals],
    whole: &[IntervalTotals],
    (class, rung): (Class, Rung),
    lone_reads: Option<LoneReads>,
    (busy, closed): (bool, bool),
) -> Result<Expectation, String> {
    let closed = closed || constant_depth(series);
    let seen =
        Seen::of(series, whole, busy, closed).ok_or("the source does not report latencies")?;
    let total = IntervalTotals::sum(series);
    let class = for_kind(class, &total);
    let seen = seen.with_lone_reads(lone_reads, &total, &class);
    let own_reads = seen.lone_read.and(lone_reads);
    let grid = Grid::of(&seen, &class);
    let (log_lone, spread) = grid.log_lone();
    let log_side = grid.log_side();
    let overloaded = |lone: f64, side: f64| {
        let waits = seen.latency / lone >= WAITS_FROM;
        let full = seen.rate * lone / 1e9 / side >= NEAR_MAXIMUM && seen.depth >= MEET;
        if waits || full { 1.0 } else { 0.0 }
    };
    let spare = |lone: f64, side: f64| {
        if seen.rate * lone / 1e9 / side < MUCH_TO_SPARE { 1.0 } else { 0.0 }
    };
    let posterior = Posterior {
        slow: grid.mean(|lone, _| slow_share(&class, lone, seen.bytes)).min(SLOW_AT_MOST),
        overloaded: doubted(grid.mean(overloaded)),
        // The spare capacity is not known more finely.
        spare: if grid.mean(spare) >= 0.5 { 0.999 } else { 0.001 },
        side: libm::exp(log_side),
        depth: seen.depth,
        class,
        rung: match rung {
            Rung::Class if seen.lone_intervals > 0 || own_reads.is_some() => Rung::Observation,
            other => other,
        },
        lone_intervals: seen.lone_intervals,
        own_reads,
    };
    let unloaded_ns = libm::exp(log_lone);
    let value = unloaded_ns * wait_of(seen.depth, posterior.side);
    let half = NORMAL_95 * spread;
    let at_concurrency = Estimate {
        value,
        low: value * libm::exp(-half),
        high: value * libm::exp(half),
        se: value * spread,
        n: 1,
    };
    let max_iops =
        libm::exp(grid.mean(|lone, side| libm::log(side * 1e9 / lone))).max(seen.largest_rate);
    let mix = mixes_of(&total).ok_or("the request sizes are unknown")?;
    Ok(Expectation {
        sequential_share: 0.0,
        mix,
        unloaded_ns,
        rest_ns: None,
        at_concurrency,
        by_op: [None; 2],
        at_rate: None,
        bend: 1.0,
        max_iops,
        max_iops_high: max_iops,
        quickest_ns: None,
        read_alone_ns: None,
        scatter_rel: None,
        extrapolated: Vec::new(),
        own: Some(posterior),
    })
}

/// Lowers the probability of a queue that only the device's class suggests: most observed loads are healthy.
fn doubted(share: f64) -> f64 {
    let odds = HEALTHY_FIRST * share / (1.0 - share).max(1e-9);
    (odds / (1.0 + odds)).clamp(0.001, 0.999)
}

impl Posterior {
    /// The sufficient queue depth, up to `at_most`.
    pub(crate) fn enough(&self, at_most: f64) -> Option<SufficientDepth> {
        let depth = libm::round(self.side).clamp(1.0, at_most);
        Some(SufficientDepth { depth, rate_share: None, max_share: None, growth: 0.0 })
    }

    /// A sentence that the queue is short.
    pub(crate) fn hardly_waits(&self, segment: &Segment<'_>) -> String {
        format!(
            "Requests take {} with {}: they hardly wait for each other.",
            format_nanos(segment.tally.latency_ns().unwrap_or(0.0)),
            segment.in_progress(&whole(self.depth))
        )
    }

    /// The expectation and its source, in words.
    pub(crate) fn says(&self, segment: &Segment<'_>) -> String {
        let seen = match (self.own_reads, self.lone_intervals) {
            (Some(own), _) => format!(
                "{} test reads by halfpower at QD 1, with a median latency of {} (p10 {})",
                own.reads,
                format_nanos(own.median_ns as f64),
                format_nanos(own.quick_ns as f64)
            ),
            (None, 0) => "no requests at QD 1".to_owned(),
            (None, some) => {
                let intervals = record::counted(some as f64, "interval");
                format!("requests at QD 1 in {intervals}")
            }
        };
        format!(
            "The verdict compares this observation, which has {seen}, with what is usual for {} at \
             QD 1: {} ({}).",
            self.class.name,
            self.range(bytes_of(segment)),
            self.class.source
        )
    }

    fn range(&self, bytes: f64) -> String {
        let [shortest, longest] = self.class.usual_ns(bytes);
        record::format_ends(shortest, longest, format_nanos)
    }
}

/// A number in flight, without meaningless digits.
fn whole(depth: f64) -> String {
    if depth >= 9.5 { format!("{depth:.0}") } else { format_count(depth) }
}

fn bytes_of(segment: &Segment<'_>) -> f64 {
    segment.tally.all.request_bytes().unwrap_or(4096.0)
}

/// A state of the device, in a sentence.
pub(crate) fn claim(
    verdict: Verdict,
    segment: &Segment<'_>,
    look: &Expectation,
    posterior: &Posterior,
) -> String {
    let latency = segment.tally.latency_ns().unwrap_or(0.0);
    let (takes, depth) = (format_nanos(latency), whole(posterior.depth));
    let present = segment.in_progress(&depth);
    let (name, range) = (posterior.class.name, posterior.range(bytes_of(segment)));
    let queue = percent((1.0 - look.unloaded_ns / latency.max(1.0)).clamp(0.0, 1.0));
    let rate = record::format_iops(segment.tally.iops());
    match verdict {
        Verdict::Overloaded => format!(
            "With {present}, the device completes {rate}, and each request takes {takes} \
             (Little's law), probably about {queue} of it in the queue. At QD 1, {range} is usual for \
             {name}."
        ),
        Verdict::SlowAndOverloaded => format!(
            "Requests take {takes} with {present}. At QD 1 they would take about {}; {range} is \
             usual for {name}.",
            format_nanos(look.unloaded_ns)
        ),
        Verdict::Slow => {
            format!("Requests take {takes} with {present}. At QD 1, {range} is usual for {name}.")
        }
        Verdict::NotTheDisk => {
            let [shortest, longest] = posterior.class.usual_ns(bytes_of(segment));
            let usual = match latency {
                _ if latency > longest => "longer than usual",
                _ if latency < shortest => "less than usual",
                _ => "which is usual",
            };
            format!(
                "Requests take {takes}, {usual} for {name} ({range} at QD 1). They hardly wait for \
                 each other: {present}, at {rate}."
            )
        }
        _ if posterior.depth < 2.0 => format!(
            "Requests take {takes} with {present}, and the queue is short. At QD 1, {range} is \
             usual for {name}."
        ),
        _ => format!(
            "Requests take {takes} with {present}, which is usual if the device serves them in \
             parallel. At QD 1, {range} is usual for {name}."
        ),
    }
}

/// Why another state than the most probable one is possible.
pub(crate) fn alternative(
    verdict: Verdict,
    likeliest: Verdict,
    look: &Expectation,
    posterior: &Posterior,
) -> (Doubt, String, &'static str) {
    let name = posterior.class.name;
    if verdict.is_slow() != likeliest.is_slow() {
        if name == ONE_PEER.0 {
            let because =
                "The two disks may differ in kind, as a flash drive and a rotating disk do.";
            return (Doubt::NoProfile, because.to_owned(), "Run `halfpower check` on both disks.");
        }
        let because = format!(
            "Without a profile it is unknown whether {} is normal for this device at QD 1; only \
             the usual range of {name} is known.",
            format_nanos(look.unloaded_ns)
        );
        let decided_by =
            "Run `halfpower check` on the device while it is quiet, then observe again.";
        return (Doubt::NoProfile, because, decided_by);
    }
    let because = format!(
        "Whether {} concurrent requests wait for each other on {name} depends on how many \
         requests it serves in parallel.",
        whole(posterior.depth)
    );
    let decided_by = "Run `halfpower check`, or measure the latency at half the queue depth.";
    (Doubt::SideUnknown, because, decided_by)
}

/// A cap inside or below a device without a profile.
pub(crate) struct Cap {
    pub(crate) odds: f64,
    pub(crate) because: String,
}

/// Whether the device was idle at times although the rate was the same: the program sets that rate, and a queue at
/// another time is the device's.
fn is_at_rest(one: &IntervalTotals, pin: &ConstantRate) -> bool {
    let same =
        one.per_s(None, pin.bytes).is_some_and(|it| (it / pin.per_s - 1.0).abs() < VARIATION_MAX);
    same && one.utilization().is_some_and(|busy| busy < RESTS)
}

/// How well a cap explains a constant rate behind a queue that never empties, compared with the
/// device's own limit.
pub(crate) fn cap(segment: &Segment<'_>, look: &Expectation, pin: &ConstantRate) -> Option<Cap> {
    let posterior = look.own?;
    // A program that submits at its own pace does not keep a queue full. A rate limiter does.
    let kept = kept_up(segment.series) || segment.deep.is_some_and(|deep| deep.is_kept());
    let most = segment.most_bytes_per_s;
    let of_rate = published_limit(pin.per_s, pin.bytes, most).map(str::to_owned);
    // Requests of one size at a constant rate also have a constant throughput.
    let of_throughput = || {
        let bytes_per_s = segment.tally.bytes_per_s().filter(|_| !pin.bytes)?;
        let what = published_limit(bytes_per_s, true, most)?;
        Some(format!("{what} (this load: {})", record::format_rate(bytes_per_s)))
    };
    let figure = of_rate.or_else(of_throughput).filter(|_| posterior.class.may_be_capped);
    let paced = segment.whole.iter().filter(|one| is_at_rest(one, pin)).count() >= AT_REST_MIN;
    if posterior.depth < MEET || (!kept && figure.is_none()) || paced {
        return None;
    }
    let even = regularity(segment.series, pin.bytes)?;
    let of_class = match (posterior.class.may_be_capped, posterior.class.is_unknown()) {
        (true, false) => 1.0,
        (_, true) => 0.3,
        (false, false) => 0.08,
    };
    let (odds, because) = match figure {
        // A program may also pace itself at a round number.
        Some(what) => (if kept { 12.0 } else { 4.0 }, format!("that is also the limit of {what}")),
        None if even <= 0.15 => {
            let because = "as behind a rate limiter, because it varies far less than by chance";
            (5.0, because.to_owned())
        }
        None => {
            let both = "a provider's cap would explain that, but so would the device's own limit";
            (0.3, both.to_owned())
        }
    };
    Some(Cap { odds: odds * of_class, because })
}

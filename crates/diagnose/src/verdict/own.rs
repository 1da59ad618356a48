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

use super::alike::same_kind;
use super::classes::Class;
use super::constant_rate::{ConstantRate, regularity};
use super::expected::{Expectation, mixes_of};
use super::facts::Segment;
use super::interval_totals::IntervalTotals;
use super::outstanding::{SufficientDepth, chance_of_busy, constant_depth, kept_up};
use super::posterior::Posterior;
use crate::published_limits::published_limit;
use crate::words::{percent, times};
use record::{Doubt, Estimate, LoneReads, NORMAL_95, Rung, Verdict, format_count, format_nanos};

/// Prior: the share of slow devices among those that users observe without a profile, and the
/// factors by which these are slow.
const SLOW_SHARE: f64 = 0.15;
const SLOW_FACTORS: [f64; 8] = [1.3, 1.6, 2.0, 2.6, 3.4, 4.5, 6.0, 9.0];
/// The same for devices that fail: without these, a latency far beyond every factor would count as a queue.
const FAILING_SHARE: f64 = 0.02;
const FAILING_FACTORS: [f64; 7] = [13.0, 20.0, 30.0, 45.0, 70.0, 100.0, 150.0];
/// The grid: steps of the logarithm of the QD1 latency, and of the parallelism in half doublings.
const LONE_STEP: f64 = 0.1;
const LONE_STEPS: i32 = 56;
const SIDES: u32 = 17;
/// Standard deviation of the curve's shape, as a logarithm.
const FORM_SD: f64 = 0.15;
/// Intervals up to this concurrency while busy count as queue depth 1.
const LONE_DEPTH: f64 = 1.3;
/// Thresholds for "overloaded", as with a profile. The rate counts only at a depth of `MEET` or
/// more, where requests meet.
const WAITS_FROM: f64 = 3.0;
const NEAR_MAXIMUM: f64 = 0.9;
const MEET: f64 = 1.6;
const MUCH_TO_SPARE: f64 = 0.2;
/// Upper bound of the probability "slow": the class of a device does not prove that this one is slow.
const SLOW_AT_MOST: f64 = 0.93;
/// Size of halfpower's own test reads, and the largest request size that they can stand for.
const LONE_READ_BYTES: f64 = 4096.0;
const LONE_READ_BYTES_MAX: f64 = 65_536.0;
/// Below this utilization the fastest tenth of the test reads find the device idle.
const FINDS_IDLE: f64 = 0.7;
/// A read after an idle time takes longer than a QD1 request in a busy period: standard deviation
/// of the logarithm of that ratio.
const AFTER_REST_SD: f64 = 0.35;
/// Prior odds of a queue that is too long over one that is not.
const HEALTHY_FIRST: f64 = 0.3;

/// Mean concurrency while busy.
fn depth_of(tally: &IntervalTotals, busy: bool) -> Option<f64> {
    let present = tally.concurrency()?;
    let share = tally.utilization().filter(|share| busy && *share > 0.0).unwrap_or(1.0);
    Some((present / share).max(1.0))
}

/// Ratio of the latency at a queue depth to that at queue depth 1.
fn wait_of(depth: f64, side: f64) -> f64 {
    (1.0 + (depth / side).powi(8)).powf(0.125)
}

/// For M/M/c with `offered` requests in service on average: the probability that it is empty, and
/// the variance over mean of the number in flight (e.g. Kleinrock 1975, section 3.5).
fn empty_and_scatter(offered: f64, side: f64) -> Option<(f64, f64)> {
    let servers = libm::round(side).max(1.0);
    let load = offered / servers;
    if load >= 0.999 {
        return None;
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for busy in 1..servers as u32 {
        term *= offered / f64::from(busy);
        sum += term;
    }
    let waiting = term * offered / servers / (1.0 - load);
    let empty = 1.0 / (sum + waiting);
    Some((empty, 1.0 + waiting * empty / (1.0 - load)))
}

/// A log-likelihood with a floor, so that one outlier does not decide.
fn robust(log_off: f64, sd: f64, floor: f64) -> f64 {
    libm::log(floor + libm::exp(-0.5 * (log_off / sd).powi(2)))
}

/// What was observed of a device in a segment.
struct Seen {
    rate: f64,
    latency: f64,
    depth: f64,
    bytes: f64,
    /// Latency at other depths, for requests of the same kind.
    elsewhere: Vec<(f64, f64)>,
    lone_intervals: usize,
    largest_rate: f64,
    /// -ln of the share of time without requests, if informative.
    empty: Option<f64>,
    /// Variance over mean of the number in flight, and the standard deviation of its logarithm.
    scatter: Option<(f64, f64)>,
    /// Latency of the fastest tenth of the test reads, and whether some of them found the device idle.
    lone_read: Option<(f64, bool)>,
}

impl Seen {
    fn of(
        series: &[IntervalTotals],
        whole: &[IntervalTotals],
        busy: bool,
        closed: bool,
    ) -> Option<Self> {
        let total = IntervalTotals::sum(series);
        let same: Vec<&IntervalTotals> =
            whole.iter().filter(|one| one.all.count() >= 5.0 && same_kind(one, &total)).collect();
        let depth = depth_of(&total, busy)?;
        let mut bins: std::collections::BTreeMap<i64, Vec<&IntervalTotals>> = Default::default();
        for one in &same {
            if let Some(depth) = depth_of(one, busy) {
                bins.entry(libm::round(2.0 * libm::log2(depth)) as i64).or_default().push(one);
            }
        }
        let own_bin = libm::round(2.0 * libm::log2(depth)) as i64;
        let others = bins.iter().filter(|(bin, ones)| **bin != own_bin && ones.len() >= 2);
        let elsewhere = others.filter_map(|(_, ones)| {
            let sum = IntervalTotals::sum(ones.iter().copied());
            Some((depth_of(&sum, busy)?, sum.latency_ns()?))
        });
        let elsewhere: Vec<(f64, f64)> = elsewhere.collect();
        let lone =
            |one: &&&IntervalTotals| depth_of(one, busy).is_some_and(|depth| depth <= LONE_DEPTH);
        let mut rates: Vec<f64> = same.iter().map(|one| one.iops()).collect();
        rates.sort_by(f64::total_cmp);
        let open = !closed;
        let used = total.utilization().filter(|used| busy && open && (0.02..0.97).contains(used));
        Some(Self {
            rate: total.iops(),
            latency: total.latency_ns().filter(|ns| *ns > 0.0)?,
            depth,
            bytes: total.all.request_bytes().unwrap_or(4096.0),
            lone_intervals: same.iter().filter(lone).count(),
            largest_rate: rates.get(rates.len() * 9 / 10).copied().unwrap_or(0.0).max(total.iops()),
            elsewhere,
            empty: used.map(|used| -libm::log1p(-used)),
            scatter: scatter(series, &total, open),
            lone_read: None,
        })
    }

    /// Adds halfpower's own test reads, if they resemble the requests.
    fn with_lone_reads(
        self,
        reads: Option<LoneReads>,
        total: &IntervalTotals,
        class: &Class,
    ) -> Self {
        let mostly_reads = total.read_share().is_none_or(|share| share >= 0.5);
        let like = mostly_reads && self.bytes <= LONE_READ_BYTES_MAX;
        let found_idle = total.utilization().is_some_and(|used| used < FINDS_IDLE);
        let larger = class.lone_ns(self.bytes) / class.lone_ns(LONE_READ_BYTES);
        let quick = reads.filter(|_| like).map(|it| (it.quick_ns as f64 * larger, found_idle));
        Self { lone_read: quick, ..self }
    }
}

/// Variance over mean of the number in flight under an open load, from samples or from the
/// variation of interval means.
fn scatter(series: &[IntervalTotals], total: &IntervalTotals, open: bool) -> Option<(f64, f64)> {
    if !open || total.concurrency()? < 1.0 {
        return None;
    }
    let moments: Vec<f64> = series.iter().filter_map(|one| one.in_flight).collect();
    if moments.len() >= 15 {
        let mean = stats::mean(&moments);
        let squares: f64 = moments.iter().map(|one| (one - mean).powi(2)).sum();
        let over = squares / (moments.len() - 1) as f64 / mean.max(1e-9);
        return (over > 0.05).then_some((over, 0.4));
    }
    let share = chance_of_busy(series)?;
    (share > 0.3).then_some((share.max(0.8), 0.6))
}

/// The grid of QD1 latency in nanoseconds and parallelism, with the weight of each pair.
struct Grid(Vec<(f64, f64, f64)>);

impl Grid {
    fn of(seen: &Seen, class: &Class) -> Self {
        let mut grid: Vec<(f64, f64, f64)> = Vec::new();
        for step in 0..LONE_STEPS {
            let lone = seen.latency * libm::exp(0.25 - LONE_STEP * f64::from(step));
            for half in 0..SIDES {
                let side = libm::exp2(f64::from(half) / 2.0);
                grid.push((lone, side, log_weight(seen, class, lone, side)));
            }
        }
        let most = grid.iter().map(|one| one.2).fold(f64::NEG_INFINITY, f64::max);
        grid.iter_mut().for_each(|one| one.2 = libm::exp(one.2 - most));
        let all: f64 = grid.iter().map(|one| one.2).sum();
        grid.iter_mut().for_each(|one| one.2 /= all);
        Self(grid)
    }

    fn mean(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        self.0.iter().map(|&(lone, side, weight)| weight * of(lone, side)).sum()
    }

    /// Mean and standard deviation of the logarithm of the QD1 latency.
    fn log_lone(&self) -> (f64, f64) {
        let mean = self.mean(|lone, _| libm::log(lone));
        (mean, self.mean(|lone, _| (libm::log(lone) - mean).powi(2)).sqrt().max(0.05))
    }
}

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
        let log_side = grid.mean(|_, side| libm::log(side));
        Some(Self { of, log_lone: grid.log_lone(), log_side })
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
        side: libm::exp(grid.mean(|_, side| libm::log(side))),
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
    Ok(Expectation::by_observation(mix, (unloaded_ns, at_concurrency), max_iops, posterior))
}

/// Lowers the probability of a queue that only the device's class suggests: most observed loads are healthy.
fn doubted(share: f64) -> f64 {
    let odds = HEALTHY_FIRST * share / (1.0 - share).max(1e-9);
    (odds / (1.0 + odds)).clamp(0.001, 0.999)
}

fn log_weight(seen: &Seen, class: &Class, lone: f64, side: f64) -> f64 {
    let fit = |depth: f64, latency: f64, sd: f64| {
        -0.5 * (libm::log(latency / (lone * wait_of(depth, side))) / sd).powi(2)
    };
    let mut log = libm::log(density(class, lone, seen.bytes)) + class.log_density_of_side(side);
    log += fit(seen.depth, seen.latency, FORM_SD);
    for (depth, latency) in &seen.elsewhere {
        log += fit(*depth, *latency, 2.0 * FORM_SD);
    }
    // The device can do at least what it was observed to do.
    let beyond = libm::log(seen.largest_rate.max(1e-9) * lone / 1e9 / side) - 0.1;
    if beyond > 0.0 {
        log -= 0.5 * (beyond / 0.1).powi(2);
    }
    if let Some((read, found_idle)) = seen.lone_read {
        let over = libm::log(lone / read);
        let sd = if over > 0.0 { 0.1 } else { AFTER_REST_SD };
        if over > 0.0 || found_idle {
            log -= 0.5 * (over / sd).powi(2);
        }
    }
    if let Some((empty, over)) = empty_and_scatter(seen.rate * lone / 1e9, side) {
        log += seen.empty.map_or(0.0, |seen| robust(libm::log(seen / -libm::log(empty)), 0.2, 0.1));
        let off = |(seen, sd): (f64, f64)| robust(libm::log(seen / over), sd, 0.1);
        log += seen.scatter.map_or(0.0, off);
    } else if seen.empty.is_some() {
        log += libm::log(0.1);
    }
    log
}

/// Density of the QD1 latency over healthy and slow devices.
fn density(class: &Class, lone: f64, bytes: f64) -> f64 {
    let (fine, slow) = parts(class, lone, bytes);
    (fine + slow).max(1e-30)
}

fn parts(class: &Class, lone: f64, bytes: f64) -> (f64, f64) {
    let of = |lone: f64| libm::exp(class.log_density(lone, bytes));
    let among = |share: f64, factors: &[f64]| {
        share * factors.iter().map(|factor| of(lone / factor)).sum::<f64>() / factors.len() as f64
    };
    let slow = among(SLOW_SHARE, &SLOW_FACTORS) + among(FAILING_SHARE, &FAILING_FACTORS);
    ((1.0 - SLOW_SHARE - FAILING_SHARE) * of(lone), slow)
}

fn slow_share(class: &Class, lone: f64, bytes: f64) -> f64 {
    let (fine, slow) = parts(class, lone, bytes);
    if fine + slow > 0.0 { slow / (fine + slow) } else { 1.0 }
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
                "{} test reads by halfpower at QD 1 had a median latency of {} (p10 {})",
                own.reads,
                format_nanos(own.median_ns as f64),
                format_nanos(own.quick_ns as f64)
            ),
            (None, 0) => "no requests at QD 1 were seen".to_owned(),
            (None, some) => {
                format!(
                    "requests at QD 1 were seen in {}",
                    record::counted(some as f64, "interval")
                )
            }
        };
        format!(
            "This observation ({seen}), compared with the usual latency of {} at QD 1: {} ({}).",
            self.class.name,
            self.range(bytes_of(segment)),
            self.class.source
        )
    }

    fn range(&self, bytes: f64) -> String {
        let lone = self.class.lone_ns(bytes);
        let least = lone * libm::exp(-self.class.below);
        record::format_ends(least, self.class.longest_ns(bytes), format_nanos)
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
             (Little's law), about {queue} of it in the queue. The usual latency of {name} at QD \
             1 is {range}."
        ),
        Verdict::SlowAndOverloaded => format!(
            "Requests take {takes} with {present}. The latency at QD 1 would be about {}; {range} \
             is usual for {name}.",
            format_nanos(look.unloaded_ns)
        ),
        Verdict::Slow => format!(
            "Requests take {takes} with {present}. The usual latency of {name} at QD 1 is {range}."
        ),
        Verdict::NotTheDisk => {
            let most = posterior.class.longest_ns(bytes_of(segment));
            let usual = if latency <= most { "which is usual" } else { "longer than usual" };
            format!(
                "Requests take {takes}, {usual} for {name} ({range} at QD 1). They hardly wait for \
                 each other: {present}, at {rate}."
            )
        }
        _ => format!(
            "Requests take {takes} with {present}. The usual latency of {name} at QD 1 is {range}, \
             and the queue is short."
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
    (
        Doubt::SideUnknown,
        because,
        "Run `halfpower check`, or measure the latency at half the queue \
                                   depth.",
    )
}

/// A cap inside or below a device without a profile.
pub(crate) struct Cap {
    pub(crate) odds: f64,
    pub(crate) because: String,
}

/// How well a cap explains a constant rate behind a queue that never empties, compared with the
/// device's own limit.
pub(crate) fn cap(segment: &Segment<'_>, look: &Expectation, pin: &ConstantRate) -> Option<Cap> {
    let posterior = look.own?;
    // A program that submits at its own pace does not keep a queue full. A rate limiter does.
    let kept = kept_up(segment.series) || segment.deep.is_some_and(|deep| deep.is_kept());
    if posterior.depth < MEET || !kept {
        return None;
    }
    let figure = published_limit(pin.per_s, pin.bytes, segment.most_bytes_per_s)
        .filter(|_| posterior.class.may_be_capped);
    let even = regularity(segment.series, pin.bytes)?;
    let of_class = match (posterior.class.may_be_capped, posterior.class.is_unknown()) {
        (true, false) => 1.0,
        (_, true) => 0.3,
        (false, false) => 0.08,
    };
    let (odds, because) = match figure {
        Some(what) => (12.0, format!("that is the limit of {what}")),
        None if even <= 0.15 => (
            5.0,
            format!(
                "as behind a rate limiter: the rate varies less than a disk's own ({} the random \
                 variation)",
                times(even)
            ),
        ),
        None => (
            0.3,
            "a provider's cap would explain that, but so would the device's own limit".to_owned(),
        ),
    };
    Some(Cap { odds: odds * of_class, because })
}

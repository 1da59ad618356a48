//! Weighs what was observed of a device without a profile, on a grid of two numbers: the latency at
//! queue depth 1, and the number of requests that the device serves in parallel.

use super::alike::same_kind;
use super::classes::Class;
use super::interval_totals::IntervalTotals;
use super::queue_depth::chance_of_busy;
use record::LoneReads;
use std::collections::BTreeMap;

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
/// Size of halfpower's own test reads, and the largest request size that they can stand for.
const LONE_READ_BYTES: f64 = 4096.0;
const LONE_READ_BYTES_MAX: f64 = 65_536.0;
/// Below this utilization the fastest tenth of the test reads find the device idle.
const FINDS_IDLE: f64 = 0.7;
/// Probability that the test reads say nothing of the requests.
const LONE_READ_FLOOR: f64 = 1e-4;
/// Standard deviation, as a logarithm, of how much longer a read after an idle time takes than a QD1 request in a
/// busy period.
const AFTER_REST_SD: f64 = 0.35;

/// Mean concurrency while busy.
fn depth_of(tally: &IntervalTotals, busy: bool) -> Option<f64> {
    let present = tally.concurrency()?;
    let share = tally.utilization().filter(|share| busy && *share > 0.0).unwrap_or(1.0);
    Some((present / share).max(1.0))
}

/// Ratio of the latency at a queue depth to that at queue depth 1.
pub(super) fn wait_of(depth: f64, side: f64) -> f64 {
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
pub(super) struct Seen {
    pub(super) rate: f64,
    pub(super) latency: f64,
    pub(super) depth: f64,
    pub(super) bytes: f64,
    /// Latency at other depths, for requests of the same kind.
    elsewhere: Vec<(f64, f64)>,
    pub(super) lone_intervals: usize,
    pub(super) largest_rate: f64,
    /// -ln of the share of time without requests, if informative.
    empty: Option<f64>,
    /// Variance over mean of the number in flight, and the standard deviation of its logarithm.
    scatter: Option<(f64, f64)>,
    /// Latency of the fastest tenth of the test reads, and whether some of them found the device idle.
    pub(super) lone_read: Option<(f64, bool)>,
}

impl Seen {
    pub(super) fn of(
        series: &[IntervalTotals],
        whole: &[IntervalTotals],
        busy: bool,
        closed: bool,
    ) -> Option<Self> {
        let total = IntervalTotals::sum(series);
        let same: Vec<&IntervalTotals> =
            whole.iter().filter(|one| one.all.count() >= 5.0 && same_kind(one, &total)).collect();
        let depth = depth_of(&total, busy)?;
        let mut bins: BTreeMap<i64, Vec<&IntervalTotals>> = BTreeMap::new();
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
        let used = total.utilization().filter(|used| busy && (0.02..0.97).contains(used));
        Some(Self {
            rate: total.iops(),
            latency: total.latency_ns().filter(|ns| *ns > 0.0)?,
            depth,
            bytes: total.all.request_bytes().unwrap_or(4096.0),
            lone_intervals: same.iter().filter(lone).count(),
            largest_rate: rates.get(rates.len() * 9 / 10).copied().unwrap_or(0.0).max(total.iops()),
            elsewhere,
            empty: used.filter(|_| !closed).map(|used| -libm::log1p(-used)),
            scatter: if closed { None } else { scatter(series, &total) },
            lone_read: None,
        })
    }

    /// Adds halfpower's own test reads, if they resemble the requests.
    pub(super) fn with_lone_reads(
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
fn scatter(series: &[IntervalTotals], total: &IntervalTotals) -> Option<(f64, f64)> {
    if total.concurrency()? < 1.0 {
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
pub(super) struct Grid(Vec<(f64, f64, f64)>);

impl Grid {
    pub(super) fn of(seen: &Seen, class: &Class) -> Self {
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

    pub(super) fn mean(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        self.0.iter().map(|&(lone, side, weight)| weight * of(lone, side)).sum()
    }

    /// Mean and standard deviation of the logarithm of the QD1 latency.
    pub(super) fn log_lone(&self) -> (f64, f64) {
        let mean = self.mean(|lone, _| libm::log(lone));
        (mean, self.mean(|lone, _| (libm::log(lone) - mean).powi(2)).sqrt().max(0.05))
    }

    /// Mean of the logarithm of the parallelism.
    pub(super) fn log_side(&self) -> f64 {
        self.mean(|_, side| libm::log(side))
    }
}

fn log_weight(seen: &Seen, class: &Class, lone: f64, side: f64) -> f64 {
    let fit = |depth: f64, latency: f64, sd: f64| {
        -0.5 * (libm::log(latency / (lone * wait_of(depth, side))) / sd).powi(2)
    };
    let (fine, slow) = parts(class, lone, seen.bytes);
    let mut log = libm::log((fine + slow).max(1e-30)) + class.log_density_of_side(side);
    log += fit(seen.depth, seen.latency, FORM_SD);
    for (depth, latency) in &seen.elsewhere {
        log += fit(*depth, *latency, 2.0 * FORM_SD);
    }
    // The device can do at least what it was observed to do.
    let beyond = libm::log(seen.largest_rate.max(1e-9) * lone / 1e9 / side) - 0.1;
    if beyond > 0.0 {
        log -= 0.5 * (beyond / 0.1).powi(2);
    }
    // A cache may serve the test reads: they cannot outweigh what the load itself shows.
    if let Some((read, found_idle)) = seen.lone_read {
        let over = libm::log(lone / read);
        let sd = if over > 0.0 { 0.1 } else { AFTER_REST_SD };
        if over > 0.0 || found_idle {
            log += robust(over, sd, LONE_READ_FLOOR);
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

/// Densities of the QD1 latency over healthy and over slow devices.
fn parts(class: &Class, lone: f64, bytes: f64) -> (f64, f64) {
    let of = |lone: f64| libm::exp(class.log_density(lone, bytes));
    let among = |share: f64, factors: &[f64]| {
        share * factors.iter().map(|factor| of(lone / factor)).sum::<f64>() / factors.len() as f64
    };
    let slow = among(SLOW_SHARE, &SLOW_FACTORS) + among(FAILING_SHARE, &FAILING_FACTORS);
    ((1.0 - SLOW_SHARE - FAILING_SHARE) * of(lone), slow)
}

pub(super) fn slow_share(class: &Class, lone: f64, bytes: f64) -> f64 {
    let (fine, slow) = parts(class, lone, bytes);
    if fine + slow > 0.0 { slow / (fine + slow) } else { 1.0 }
}

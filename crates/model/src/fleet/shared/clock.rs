//! Finds the clock difference between two hosts from the disk that they share.
//!
//! Requests of one host make the requests of the other wait. So the latency of one follows the latency of
//! the other, and also the other's requests in flight, which reveal a host that is idle between bursts. The
//! changes from one step to the next are correlated at each possible clock difference. Levels would show
//! little, because a disk that is slow all evening looks the same at any difference.
//!
//! Requests in flight are never compared with requests in flight: two hosts that start work at the same
//! minute of their own clocks would look as if their clocks agreed.

use super::cells::{Grid, cells, end_ns, log_latency};
use record::{Estimate, Interval, Measured};
use stats::mean;

/// Maximum clock difference. Larger differences are treated as different times.
const LAG_MOST_S: f64 = 300.0;
/// Minimum number of steps that two recordings have in common.
pub(super) const OVERLAP_MIN: usize = 30;
/// Thresholds for two series to be correlated: the minimum correlation, its minimum in standard errors, and
/// the largest allowed ratio of the next peak to it.
const CORRELATION_MIN: f64 = 0.3;
const STANDARD_ERRORS: f64 = 4.5;
const NEXT_PEAK: f64 = 0.8;
/// The reference is the first host whose latency is known at this share of the maximum number of moments.
const AS_MANY: f64 = 0.9;
/// Steps around a peak that belong to it.
const PEAK_STEPS: i64 = 3;
/// Share of the mean that is added to the requests in flight, so that zero has a logarithm too.
const FLOOR: f64 = 0.1;
const NS: f64 = 1e9;

/// Change of a series at each step for which both values are known, in order of the steps.
type Moves = Vec<(i64, f64)>;

/// The changes of a recording, on its own clock.
pub(super) struct Trace {
    begin_ns: u64,
    latency: Moves,
    in_flight: Moves,
}

impl Trace {
    /// From a recording with at least one interval. Steps count from its first interval.
    pub(super) fn of(intervals: &[&Interval], step_ns: u64) -> Self {
        let begin_ns = intervals.first().map_or(0, |it| it.begin_ns);
        let length_ns = intervals.iter().map(|it| end_ns(it)).max().unwrap_or(0) - begin_ns;
        let all = cells(intervals, Grid { begin_ns, step_ns, count: length_ns / step_ns }, 0);
        let series = |of: &dyn Fn(&Interval) -> Option<f64>| -> Vec<(i64, f64)> {
            all.iter().filter_map(|(at, cell)| Some((*at as i64, of(cell)?))).collect()
        };
        let latency = series(&|cell| Some(log_latency(cell.all.latency_ns?)));
        let waiting = series(&in_flight);
        let floor = FLOOR * mean(&waiting.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        let in_flight = match floor > 0.0 {
            true => waiting.iter().map(|(at, value)| (*at, (value + floor).ln())).collect(),
            false => Vec::new(),
        };
        Self { begin_ns, latency: moves(&latency), in_flight: moves(&in_flight) }
    }
}

/// Requests in flight, from the counter or by Little's law.
fn in_flight(cell: &Interval) -> Option<f64> {
    let by_law = || {
        let rate = cell.all.per_s?.value;
        Some(rate * cell.all.latency_ns.map_or(0.0, |latency| latency.value / NS))
    };
    cell.concurrency.map(|figure| figure.value).or_else(by_law)
}

fn moves(series: &[(i64, f64)]) -> Moves {
    let pairs = series.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0);
    pairs.map(|pair| (pair[0].0, pair[1].1 - pair[0].1)).collect()
}

/// Correlation of two series at one clock difference.
#[derive(Clone, Copy)]
struct Match {
    lag: i64,
    correlation: f64,
    pairs: usize,
}

impl Match {
    /// The correlation in standard errors.
    fn sure(&self) -> f64 {
        self.correlation * (self.pairs as f64).sqrt()
    }
}

/// How far the clock of each host is ahead of the reference: the first host, or one whose latency is known
/// at more moments. Two hosts without a direct match may both match a third. So the pairs with the highest
/// confidence are placed first, and the differences along a chain are added.
pub(super) fn all_ahead(traces: &[Trace], step_ns: u64) -> Vec<Measured<Estimate>> {
    let most = traces.iter().map(|it| it.latency.len()).max().unwrap_or(0) as f64;
    let enough = |trace: &Trace| trace.latency.len() as f64 >= AS_MANY * most;
    let reference = traces.iter().position(enough).unwrap_or(0);
    let mut all = vec![Measured::not(""); traces.len()];
    let mut open: Vec<usize> = (0..traces.len()).filter(|host| *host != reference).collect();
    // For each open host, its best match with a placed host, and the confidence of that match.
    let mut best: Vec<Option<(Estimate, f64)>> = vec![None; traces.len()];
    let (mut by, mut own) = (reference, Estimate::symmetric(0.0, 0.0, 1));
    loop {
        all[by] = Measured::Value(own);
        for &host in &open {
            match ahead(&traces[by], &traces[host], step_ns) {
                Ok((apart, sure)) if best[host].is_none_or(|(_, known)| sure >= known) => {
                    let error = apart.half_width() + own.half_width();
                    let ahead = Estimate::symmetric(own.value + apart.value, error, apart.n);
                    best[host] = Some((ahead, sure));
                }
                // Why it cannot be matched directly with the reference.
                Err(why) if by == reference => all[host] = Measured::not(why),
                _ => {}
            }
        }
        let found = (0..open.len()).filter_map(|at| Some((at, best[open[at]]?)));
        let surest = found.max_by(|(_, a), (_, b)| a.1.total_cmp(&b.1));
        let Some((at, (ahead, _))) = surest else { return all };
        (by, own) = (open.remove(at), ahead);
    }
}

/// How far the clock of `other` is ahead of that of `first`, and the correlation in standard errors; or why
/// the difference is unknown.
fn ahead(first: &Trace, other: &Trace, step_ns: u64) -> Result<(Estimate, f64), &'static str> {
    let step_s = step_ns as f64 / NS;
    // The step of the other series at the time of the first series' step 0, if the clocks agree.
    let apart = (first.begin_ns as f64 - other.begin_ns as f64) / step_ns as f64;
    let most = (LAG_MOST_S / step_s) as i64;
    let found: Vec<Vec<Match>> = [
        (&first.latency, &other.latency),
        (&first.latency, &other.in_flight),
        (&first.in_flight, &other.latency),
    ]
    .map(|(one, two)| {
        let lags = -most..=most;
        lags.filter_map(|lag| matched(one, two, apart.round() as i64 + lag, lag)).collect()
    })
    .into();
    let surest = |of: &[Match]| of.iter().copied().max_by(|a, b| a.sure().total_cmp(&b.sure()));
    let Some((peak, series)) = found
        .iter()
        .filter_map(|series| Some((surest(series)?, series)))
        .max_by(|a, b| a.0.sure().total_cmp(&b.0.sure()))
    else {
        return Err(
            "fewer than 30 intervals have requests on both hosts, so the recorded times are used \
             unchanged",
        );
    };
    if peak.correlation < CORRELATION_MIN || peak.sure() < STANDARD_ERRORS {
        return Err(
            "their latencies do not rise and fall together, so the recorded times are used \
             unchanged",
        );
    }
    let elsewhere = |one: &&Match| (one.lag - peak.lag).abs() > PEAK_STEPS;
    let next = found.iter().flatten().filter(elsewhere).map(Match::sure).fold(0.0, f64::max);
    if next > NEXT_PEAK * peak.sure() {
        return Err(
            "their latencies match at more than one clock offset, so the recorded times are used \
             unchanged",
        );
    }
    // Interpolated between steps: the vertex of the parabola through the peak and its neighbours.
    let at = |lag: i64| series.iter().find(|other| other.lag == lag).map(|it| it.correlation);
    let height = peak.correlation;
    let between = match (at(peak.lag - 1), at(peak.lag + 1)) {
        (Some(before), Some(after)) if 2.0 * height > before + after => {
            0.5 * (before - after) / (before - 2.0 * height + after)
        }
        _ => 0.0,
    };
    let rounded = apart.round() - apart;
    let steps = peak.lag as f64 + between + rounded;
    let apart = Estimate::symmetric(steps * step_s, step_s / 2.0, peak.pairs as u32);
    Ok((apart, peak.sure()))
}

/// Correlation of the steps of two series that coincide if the second is `shift` steps ahead; `None` if too
/// few.
fn matched(one: &Moves, two: &Moves, shift: i64, lag: i64) -> Option<Match> {
    let mut rest = two.iter().peekable();
    let mut sums = Sums::default();
    for (at, move_of_one) in one {
        while rest.next_if(|(other, _)| *other < at + shift).is_some() {}
        if let Some((_, move_of_two)) = rest.next_if(|(other, _)| *other == at + shift) {
            sums.add(*move_of_one, *move_of_two);
        }
    }
    let pairs = sums.pairs as usize;
    (pairs >= OVERLAP_MIN).then(|| Match { lag, correlation: sums.correlation(), pairs })
}

/// Sums for a correlation.
#[derive(Default)]
struct Sums {
    pairs: f64,
    of: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Sums {
    fn add(&mut self, a: f64, b: f64) {
        self.pairs += 1.0;
        self.of = [self.of[0] + a, self.of[1] + b];
        self.squares = [self.squares[0] + a * a, self.squares[1] + b * b];
        self.products += a * b;
    }

    /// 0 if one of the two never changes.
    fn correlation(&self) -> f64 {
        let spread = |at: usize| self.squares[at] - self.of[at] * self.of[at] / self.pairs;
        let both = (spread(0) * spread(1)).sqrt();
        let product = self.products - self.of[0] * self.of[1] / self.pairs;
        if both > 0.0 { product / both } else { 0.0 }
    }
}

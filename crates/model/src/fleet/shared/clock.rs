//! Finds by how much the clock of one host is ahead of another's, from the disk that both share.
//!
//! What one host asks for makes the requests of the other wait. So the latency of one moves with that of the
//! other, and with what the other has in flight, which also shows a host that asks for nothing between bursts. The moves from
//! one step to the next are compared at each difference that the clocks may have; the levels would say
//! little, because a disk that is slow all evening looks alike at any difference.
//!
//! Requests in flight are never compared with requests in flight: two hosts that begin their work at the
//! same minute of their own clocks would be taken for two whose clocks agree.

use super::cells::{Grid, cells, end_ns, log_latency};
use record::{Estimate, Interval, Measured};
use stats::mean;

/// Clocks that are further apart than this are taken for different times.
const LAG_MOST_S: f64 = 300.0;
/// Fewest steps that two recordings have in common.
pub(super) const OVERLAP_MIN: usize = 30;
/// Correlation from which on two series move together, in itself and in standard errors, and how far it
/// must be above the next peak.
const CORRELATION_MIN: f64 = 0.3;
const STANDARD_ERRORS: f64 = 4.5;
const NEXT_PEAK: f64 = 0.8;
/// A host whose latency is known at this share of the most moments or more is as good to compare clocks with.
const AS_MANY: f64 = 0.9;
/// Steps around a peak that belong to it.
const PEAK_STEPS: i64 = 3;
/// Share of its mean that is added to what is in flight, so that nothing at all has a logarithm too.
const FLOOR: f64 = 0.1;
const NS: f64 = 1e9;

/// How much a series changes at each step, where both are known; in order of the steps.
type Moves = Vec<(i64, f64)>;

/// How a recording moves, on its own clock.
pub(super) struct Trace {
    begin_ns: u64,
    latency: Moves,
    in_flight: Moves,
}

impl Trace {
    /// Of a recording with one interval or more, in steps from its own first one.
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

/// Requests in flight, by the counter or by Little's law.
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

/// How well two series move together at one difference of the clocks.
#[derive(Clone, Copy)]
struct Match {
    lag: i64,
    correlation: f64,
    pairs: usize,
}

impl Match {
    /// How many standard errors it is above none.
    fn sure(&self) -> f64 {
        self.correlation * (self.pairs as f64).sqrt()
    }
}

/// By how much the clock of each host is ahead of that of the first one, or of one whose latency is known at more
/// moments. Two that do not show it may each show it of a third, so the surest pairs go first, and what is known of the
/// ones that are placed adds up.
pub(super) fn all_ahead(traces: &[Trace], step_ns: u64) -> Vec<Measured<Estimate>> {
    let most = traces.iter().map(|it| it.latency.len()).max().unwrap_or(0) as f64;
    let enough = |trace: &Trace| trace.latency.len() as f64 >= AS_MANY * most;
    let reference = traces.iter().position(enough).unwrap_or(0);
    let mut all = vec![Measured::not(""); traces.len()];
    let mut open: Vec<usize> = (0..traces.len()).filter(|host| *host != reference).collect();
    // Of each open host what the surest of the placed ones shows, and how sure that is.
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
                // Why it cannot be placed by itself.
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

/// By how much the clock of `other` is ahead of that of `first`, and in how many standard errors they move together;
/// or why that is not known.
fn ahead(first: &Trace, other: &Trace, step_ns: u64) -> Result<(Estimate, f64), &'static str> {
    let step_s = step_ns as f64 / NS;
    // The step of the other's series that stands at the first's first, if the clocks agree.
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
    // Between steps: the top of the parabola through the peak and its neighbours.
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

/// The steps of two series that stand at the same time where the second is `shift` steps ahead; `None`
/// with too few.
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

/// What a correlation is made of.
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

    /// 0 where one of the two never changes.
    fn correlation(&self) -> f64 {
        let spread = |at: usize| self.squares[at] - self.of[at] * self.of[at] / self.pairs;
        let both = (spread(0) * spread(1)).sqrt();
        let product = self.products - self.of[0] * self.of[1] / self.pairs;
        if both > 0.0 { product / both } else { 0.0 }
    }
}

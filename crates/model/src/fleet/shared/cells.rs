//! Cuts the intervals of one recording into cells of a common clock, and sums several recordings.
//!
//! Two hosts take their samples at different moments, so an interval is divided over the cells that it
//! touches, in proportion to time. If a recording does not cover a cell fully, the cell is left out; it
//! does not count as idle. A cell within a very long interval, as after a machine slept, is left out too,
//! because the time of the requests in it is unknown.

use record::{Figure, Interval, OpInterval};

/// Share of a cell that must be recorded. A clock correction moves the ends of intervals by thousandths.
const RECORDED_MIN: f64 = 0.99;
/// Maximum length, in steps, of an interval with requests, and of one without: recorders merge idle ones.
const STEPS_BUSY: u64 = 5;
const STEPS_IDLE: u64 = 1_000;

/// Consecutive cells of equal length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Start of the first cell, in nanoseconds.
    pub(super) begin_ns: u64,
    /// Length of each cell, in nanoseconds, more than 0.
    pub(super) step_ns: u64,
    /// Number of cells.
    pub(super) count: u64,
}

/// End of an interval, on its own clock.
pub(super) fn end_ns(interval: &Interval) -> u64 {
    interval.begin_ns.saturating_add(interval.duration_ns)
}

/// Whether it is short enough to locate its requests in time.
fn is_usable(interval: &Interval, step_ns: u64) -> bool {
    let steps = interval.duration_ns / step_ns;
    interval.all.per_s.is_some_and(|rate| match rate.value > 0.0 {
        true => steps <= STEPS_BUSY,
        false => steps <= STEPS_IDLE,
    })
}

/// The cells that a recording covers, with the activity of its host in each, in order of time. The
/// intervals are in order of time too. Their clock is ahead of the grid's by `ahead_ns`.
pub(super) fn cells(intervals: &[&Interval], grid: Grid, ahead_ns: i64) -> Vec<(u64, Interval)> {
    let usable: Vec<&Interval> =
        intervals.iter().copied().filter(|it| is_usable(it, grid.step_ns)).collect();
    let mut cells: Vec<(u64, Interval)> = Vec::new();
    let mut next = 0;
    for (place, interval) in usable.iter().enumerate() {
        let on_grid = |moment_ns: u64| on_clock(moment_ns, ahead_ns).saturating_sub(grid.begin_ns);
        let first = on_grid(interval.begin_ns) / grid.step_ns;
        let end = on_grid(end_ns(interval)).div_ceil(grid.step_ns).min(grid.count);
        for cell in first.max(next)..end {
            next = cell + 1;
            let begin_ns = grid.begin_ns + cell * grid.step_ns;
            let whole = within(&usable[place..], begin_ns, grid.step_ns, ahead_ns);
            cells.extend(whole.map(|whole| (cell, whole)));
        }
    }
    cells
}

/// Converts a moment of a clock that is ahead by `ahead_ns`.
pub(super) fn on_clock(moment_ns: u64, ahead_ns: i64) -> u64 {
    if ahead_ns < 0 {
        moment_ns.saturating_add(ahead_ns.unsigned_abs())
    } else {
        moment_ns.saturating_sub(ahead_ns.unsigned_abs())
    }
}

/// The logarithm of a latency. A latency below the resolution of its counters (one tick over these
/// requests) is raised to it. Otherwise an interval with no tick and one with one tick would be a thousand
/// times apart.
pub(super) fn log_latency(latency_ns: Figure) -> f64 {
    latency_ns.value.max(latency_ns.resolution).max(1.0).ln()
}

/// The activity in one cell, from intervals of which the first touches it; `None` if they do not cover it.
fn within(
    intervals: &[&Interval],
    begin_ns: u64,
    length_ns: u64,
    ahead_ns: i64,
) -> Option<Interval> {
    let stretch_end_ns = begin_ns + length_ns;
    let parts: Vec<(&Interval, f64)> = intervals
        .iter()
        .map(|it| (*it, on_clock(it.begin_ns, ahead_ns), on_clock(end_ns(it), ahead_ns)))
        .take_while(|(_, begin, _)| *begin < stretch_end_ns)
        .map(|(it, begin, end)| {
            let common_ns = end.min(stretch_end_ns).saturating_sub(begin.max(begin_ns));
            (it, common_ns as f64 / length_ns as f64)
        })
        .collect();
    let recorded: f64 = parts.iter().map(|(_, share)| share).sum();
    let parts: Vec<(&Interval, f64)> =
        parts.into_iter().map(|(it, share)| (it, share / recorded)).collect();
    (recorded >= RECORDED_MIN).then(|| sum(&parts, begin_ns, length_ns))
}

/// The sum of weighted figures, divided by a number; `None` without figures.
fn total(figures: &[(Figure, f64)], divisor: f64) -> Option<Figure> {
    let of = |value: fn(&Figure) -> f64| -> f64 {
        figures.iter().map(|(figure, weight)| value(figure) * weight).sum()
    };
    (!figures.is_empty())
        .then(|| Figure::derived(of(|it| it.value) / divisor, of(|it| it.resolution) / divisor))
}

/// Weighted sum of several intervals: parts of one host's time, or several hosts at the same time.
pub(super) fn sum(parts: &[(&Interval, f64)], begin_ns: u64, duration_ns: u64) -> Interval {
    let figure = |of: &dyn Fn(&Interval) -> Option<Figure>| -> Option<Figure> {
        let there: Vec<(Figure, f64)> =
            parts.iter().filter_map(|(it, weight)| Some((of(it)?, *weight))).collect();
        total(&there, 1.0)
    };
    let op = |pick: fn(&Interval) -> &OpInterval| -> OpInterval {
        let per_s = figure(&|it| pick(it).per_s);
        // Means are weighted by requests.
        let mean = |of: fn(&OpInterval) -> Option<Figure>| -> Option<Figure> {
            let there: Vec<(Figure, f64)> = parts
                .iter()
                .filter_map(|(it, weight)| {
                    let requests = pick(it).per_s?.value * weight;
                    (requests > 0.0).then_some((of(pick(it))?, requests))
                })
                .collect();
            total(&there, there.iter().map(|(_, requests)| requests).sum())
        };
        OpInterval {
            per_s,
            bytes_per_s: figure(&|it| pick(it).bytes_per_s),
            request_bytes: mean(|it| it.request_bytes),
            merged_per_s: figure(&|it| pick(it).merged_per_s),
            latency_ns: mean(|it| it.latency_ns),
        }
    };
    Interval {
        device: parts.first().map_or_else(String::new, |(it, _)| it.device.clone()),
        begin_ns,
        duration_ns,
        read: op(|it| &it.read),
        write: op(|it| &it.write),
        all: op(|it| &it.all),
        discards_per_s: figure(&|it| it.discards_per_s),
        flushes_per_s: figure(&|it| it.flushes_per_s),
        busy_share: figure(&|it| it.busy_share),
        concurrency: figure(&|it| it.concurrency),
        in_flight: figure(&|it| it.in_flight),
        splits_per_s: figure(&|it| it.splits_per_s),
        ..Interval::default()
    }
}

//! Cuts the intervals of one recording into stretches of a common clock, and adds several up.
//!
//! Two hosts take their samples at different moments, so an interval is shared out over the stretches
//! that it touches, by time. A stretch of which a recording lacks a part is no stretch without load: it is
//! left out. So is one that lies within an interval so long that nobody knows when in it the requests came, as
//! after a machine slept.

use record::{Figure, Interval, OpInterval};

/// Share of a stretch that has to be recorded. A clock that is put right moves the ends of intervals by
/// thousandths.
const RECORDED_MIN: f64 = 0.99;
/// Steps that an interval with requests may last, and one without: a recorder joins those.
const STEPS_BUSY: u64 = 5;
const STEPS_IDLE: u64 = 1_000;

/// Equal stretches of time one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// When the first one begins, in nanoseconds.
    pub(super) begin_ns: u64,
    /// How long each is, in nanoseconds, more than 0.
    pub(super) step_ns: u64,
    /// How many there are.
    pub(super) count: u64,
}

/// When an interval ends, on its own clock.
pub(super) fn end_ns(interval: &Interval) -> u64 {
    interval.begin_ns.saturating_add(interval.duration_ns)
}

/// Whether it says when its requests came, to a few steps.
fn is_usable(interval: &Interval, step_ns: u64) -> bool {
    let steps = interval.duration_ns / step_ns;
    interval.all.per_s.is_some_and(|rate| match rate.value > 0.0 {
        true => steps <= STEPS_BUSY,
        false => steps <= STEPS_IDLE,
    })
}

/// The stretches that a recording covers, with what its host did in each, in order of time. The intervals are
/// in order of time too; their clock is ahead of the grid's by so many nanoseconds.
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

/// A moment of a clock that is ahead by so much.
pub(super) fn on_clock(moment_ns: u64, ahead_ns: i64) -> u64 {
    if ahead_ns < 0 {
        moment_ns.saturating_add(ahead_ns.unsigned_abs())
    } else {
        moment_ns.saturating_sub(ahead_ns.unsigned_abs())
    }
}

/// The logarithm of a latency, which is no less than what one tick of its counters makes of so many requests: below
/// that, no tick and one would be a thousand times apart.
pub(super) fn log_latency(latency_ns: Figure) -> f64 {
    latency_ns.value.max(latency_ns.resolution).max(1.0).ln()
}

/// What the intervals say of one stretch, of which the first one touches it; `None` where they do not
/// cover it.
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

/// Several intervals as one, each with a weight: parts of one host's time, or several hosts at once.
pub(super) fn sum(parts: &[(&Interval, f64)], begin_ns: u64, duration_ns: u64) -> Interval {
    let figure = |of: &dyn Fn(&Interval) -> Option<Figure>| -> Option<Figure> {
        let there: Vec<(Figure, f64)> =
            parts.iter().filter_map(|(it, weight)| Some((of(it)?, *weight))).collect();
        (!there.is_empty()).then(|| {
            let total = |value: fn(&Figure) -> f64| -> f64 {
                there.iter().map(|(figure, weight)| value(figure) * weight).sum()
            };
            Figure::derived(total(|it| it.value), total(|it| it.resolution))
        })
    };
    let op = |pick: fn(&Interval) -> &OpInterval| -> OpInterval {
        let per_s = figure(&|it| pick(it).per_s);
        // Means weigh as many requests as there were.
        let mean = |of: fn(&OpInterval) -> Option<Figure>| -> Option<Figure> {
            let there: Vec<(Figure, f64)> = parts
                .iter()
                .filter_map(|(it, weight)| {
                    let requests = pick(it).per_s?.value * weight;
                    (requests > 0.0).then_some((of(pick(it))?, requests))
                })
                .collect();
            let requests: f64 = there.iter().map(|(_, requests)| requests).sum();
            (requests > 0.0).then(|| {
                let total = |value: fn(&Figure) -> f64| -> f64 {
                    there.iter().map(|(figure, requests)| value(figure) * requests).sum::<f64>()
                };
                Figure::derived(
                    total(|it| it.value) / requests,
                    total(|it| it.resolution) / requests,
                )
            })
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

//! Computes how much longer isolated reads take because processors or the device are asleep.
//!
//! Processors sleep, a host deschedules a virtual machine, a device saves power. A closed loop never sees
//! this, so a check also reads at a few low rates. Medians are compared, not means: one request in twelve
//! that waits for a busy processor would triple the mean. (Measured on a virtual machine with other work: a
//! median of 26 µs back to back, 45 µs at 1,000 reads per second, 95 µs at 100; the means were 0.1, 0.4 and
//! 2.7 ms.)

use record::{
    Arrival, Cell, Estimate, HistogramSnapshot, LoneRead, NORMAL_95, OpKind, Pattern, Workload,
    bucket_mid,
};
use stats::{median_interval, normal_quantile};

/// Probability that a wake-up delay is reported although there is none, over all rates of a profile.
const BY_CHANCE: f64 = 0.02;
/// Maximum share of time with a request in flight for which reads count as isolated.
const BUSY_MAX: f64 = 0.25;
/// Number of closed-loop requests that represent all of them, at equal ranks: enough for a median.
const RANKS: u64 = 1_000;

/// Whether a workload consists of isolated reads.
#[must_use]
pub fn is_lone(workload: &Workload) -> bool {
    workload.arrival == Arrival::Constant
        && workload.depth == 1
        && workload.only_op() == Some(OpKind::Read)
        && workload.pattern == Pattern::Random
}

/// Whether reads of this latency at this rate leave the device idle most of the time.
#[must_use]
pub fn leaves_rests(rate_per_s: u64, latency_ns: f64) -> bool {
    rate_per_s as f64 * latency_ns / 1e9 <= BUSY_MAX
}

/// The isolated reads among a profile's cells, highest rate first. Empty without the same reads back to
/// back.
#[must_use]
pub fn lone_reads(cells: &[Cell]) -> Vec<LoneRead> {
    let mut lone: Vec<&Cell> = cells.iter().filter(|cell| is_lone(&cell.workload)).collect();
    lone.sort_by_key(|cell| std::cmp::Reverse(cell.workload.rate_iops));
    let widths = normal_quantile(1.0 - BY_CHANCE / lone.len().max(1) as f64) / NORMAL_95;
    lone.iter().filter_map(|cell| lone_read(cell, cells, widths)).collect()
}

/// One rate. The delay counts if it is at least `widths` half-widths of its interval.
fn lone_read(cell: &Cell, cells: &[Cell], widths: f64) -> Option<LoneRead> {
    let same = |other: &&Cell| {
        let (one, other) = (&cell.workload, &other.workload);
        other.arrival == Arrival::Closed
            && other.depth == 1
            && other.only_op() == Some(OpKind::Read)
            && (other.pattern, other.cache) == (one.pattern, one.cache)
            && other.bs == one.bs
    };
    let rate_per_s = cell.workload.rate_iops?;
    let rests = |median: &Estimate| leaves_rests(rate_per_s, median.value);
    let latency_ns = median_of(&cell.histogram).filter(rests)?;
    let back_to_back_ns = median_of(&cells.iter().find(same)?.histogram)?;
    let more = latency_ns.value - back_to_back_ns.value;
    let half = latency_ns.half_width().hypot(back_to_back_ns.half_width());
    let added_ns = match more > widths * half {
        true => Estimate::symmetric(more, half, latency_ns.n),
        false => Estimate::spanning(0.0, 0.0, (more + half).max(0.0), latency_ns.n),
    };
    Some(LoneRead { rate_per_s, latency_ns, back_to_back_ns, added_ns })
}

/// The median of a histogram with its interval; `None` for fewer than six requests.
fn median_of(histogram: &HistogramSnapshot) -> Option<Estimate> {
    let count = histogram.count();
    if count <= RANKS {
        let each = |&(index, count): &(u32, u64)| {
            std::iter::repeat_n(bucket_mid(index as usize), count as usize)
        };
        return median_interval(histogram.buckets.iter().flat_map(each).collect());
    }
    let at = |step: u64| histogram.value_at((step * count).div_ceil(RANKS));
    median_interval((1..=RANKS).filter_map(at).collect())
}

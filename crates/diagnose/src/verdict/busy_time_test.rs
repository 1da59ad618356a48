//! Tests whether requests occupy the device longer than they would one after another. A device that
//! is as profiled is busy at most as long as all its requests would take one by one, however they
//! arrive (the utilization law with the slowest rate of its curve; Denning and Buzen 1978). A
//! device that stalls now and then, for example because it retries, exceeds this bound, although
//! each burst of waiting requests looks like a queue. On parallel devices the bound is weak.
//! Rejected: the same test on latencies, which bursts increase.

use super::expected::Expectation;
use super::interval_totals::{IntervalTotals, ratio_error};
use crate::words::{percent, times};
use record::format_nanos;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BusyTimeTest {
    /// Busy time over the time that the requests would take one by one.
    pub(crate) times: f64,
    /// Relative half-width of its 95 % interval.
    pub(crate) error_rel: f64,
    busy: f64,
    alone_ns: f64,
}

impl BusyTimeTest {
    /// For a segment and all mixes that its counters allow; `None` without a busy counter or with
    /// too few intervals.
    pub(crate) fn of(series: &[IntervalTotals], looks: &[Expectation]) -> Option<Self> {
        let total = IntervalTotals::sum(series);
        let (busy_s, busy) = (total.surely_busy_s?, total.utilization()?);
        let present = (total.concurrency()? / busy.max(1e-9)).max(1.0);
        // On a falling curve many requests complete more slowly than one at a time.
        let each = |look: &Expectation| look.unloaded_ns.max(look.at_concurrency.value / present);
        let slowest = looks.iter().max_by(|a, b| each(a).total_cmp(&each(b)))?;
        let alone_ns = each(slowest);
        let parts: Vec<(f64, f64)> =
            series.iter().filter_map(|one| Some((one.surely_busy_s?, one.all.count()))).collect();
        let error_rel = ratio_error(&parts)?.hypot(slowest.error_rel());
        let times = busy_s * 1e9 / (total.all.count() * alone_ns).max(1.0);
        Some(Self { times, error_rel, busy, alone_ns })
    }

    pub(crate) fn sentence(&self) -> String {
        format!(
            "The device is busy {} of the time, {} as long as its requests would take one by one \
             at {} each: it stalls at times, or it has become slower.",
            percent(self.busy),
            times(self.times),
            format_nanos(self.alone_ns)
        )
    }
}

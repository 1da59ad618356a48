//! Detects a device that hangs: requests are in flight, and none completes for seconds.
//!
//! No latency shows it, because only completed requests have one. Some drivers lose the end of a request, and
//! the counter of requests in flight stays above zero on an idle device. Completions at another time, or tasks
//! that wait for I/O, distinguish the two.

use super::interval_totals::IntervalTotals;
use super::judgement::Number;
use super::odds::NEVER_IDLE;
use record::format_nanos;
use std::ops::Range;

/// Shortest time without a completion, in seconds.
const SHORTEST_S: f64 = 2.0;
/// Shares of the time that tasks wait for I/O from which they wait for the device, and below which they do not.
const WAIT: f64 = 0.3;
const HARDLY_WAIT: f64 = 0.05;

/// The longest time without a completion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hang {
    seconds: f64,
    /// Requests in flight at its end; `None` if the source does not report them.
    waiting: Option<f64>,
    /// Whether the device completed requests at another time.
    works_otherwise: bool,
    /// Whether the device completed requests after it.
    pub(crate) ended: bool,
}

impl Hang {
    /// The longest hang in a `range` of a device's series.
    pub(crate) fn of(series: &[IntervalTotals], range: &Range<usize>) -> Option<Self> {
        let mut end = range.start;
        let runs = series[range.clone()].chunk_by(|a, b| is_stuck(a) == is_stuck(b));
        let stuck = runs.filter_map(|run| {
            end += run.len();
            is_stuck(&run[0]).then(|| (IntervalTotals::sum(run), end))
        });
        let (longest, end) = stuck.max_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds))?;
        let completes = |one: &IntervalTotals| one.iops() >= 1.0;
        (longest.seconds >= SHORTEST_S).then(|| Self {
            seconds: longest.seconds,
            waiting: longest.in_flight,
            works_otherwise: series.iter().any(|one| completes(one) && !is_held(one)),
            ended: series[end..].iter().any(completes),
        })
    }

    /// Whether the counters prove it, given the share of time in which tasks waited for I/O; `None` if the
    /// counter of requests in flight may be stuck.
    pub(crate) fn is_proven(&self, io_some: Option<f64>) -> Option<bool> {
        match io_some {
            _ if self.works_otherwise => Some(true),
            Some(waited) if waited >= WAIT => Some(true),
            Some(waited) if waited < HARDLY_WAIT => Some(false),
            _ => None,
        }
    }

    /// Whether the counter of requests in flight fell again: one that is stuck does not. Without a counter,
    /// the requests in flight follow from the busy time alone.
    pub(crate) fn is_counter_right(&self) -> bool {
        self.ended && self.waiting.is_some()
    }

    /// What the device does or did, for a cause.
    pub(crate) fn silence(&self) -> &'static str {
        if self.ended { "did not answer" } else { "does not answer" }
    }

    pub(crate) fn sentence(&self) -> String {
        let waiting = self.waiting.map_or("requests".to_owned(), |count| format!("{count:.0}"));
        let seconds = format_nanos(self.seconds * 1e9);
        format!("{waiting} in flight and no request completed in {seconds}")
    }

    pub(crate) fn numbers(&self) -> [Number; 2] {
        [
            ("time without a completion", self.seconds, "s"),
            ("requests in flight", self.waiting.unwrap_or(1.0), ""),
        ]
    }
}

/// Whether the device had a request during the whole interval.
fn is_held(one: &IntervalTotals) -> bool {
    let always = one.utilization().is_some_and(|busy| busy >= NEVER_IDLE);
    always && one.in_flight.is_none_or(|waiting| waiting >= 1.0)
}

/// Whether nothing at all completed in an interval of a device that always had a request.
fn is_stuck(one: &IntervalTotals) -> bool {
    let others = [one.discards, one.flushes].into_iter().flatten().sum::<f64>();
    let none = one.all.requests.is_some_and(|count| count + others < one.seconds.max(1.0));
    none && is_held(one)
}

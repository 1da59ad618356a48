//! Detects a device that hangs: requests are in flight, and none completes for seconds, or a single request
//! takes seconds while others complete.
//!
//! No latency shows it, because only completed requests have one. Some drivers lose the end of a request, and
//! the counter of requests in flight stays above zero on an idle device. Completions at another time, or tasks
//! that wait for I/O, distinguish the two. A single long request is proven by two counters together: every sample
//! of the number in flight finds a request although the others fill little of the time, and the interval after
//! that adds about as much time of completed requests. The mean latency alone cannot show it: many slower
//! requests would raise it as much.

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

/// A single long request: fewest samples that find it, the most that other requests may be in flight meanwhile on
/// average, and the least share of its time that its completion adds.
const SAMPLES_MIN: usize = 5;
const OTHERS_MAX: f64 = 0.5;
const ADDED_MIN: f64 = 0.7;

/// The longest time without a completion, or the longest request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hang {
    seconds: f64,
    /// Requests in flight at its end; `None` if the source does not report them.
    waiting: Option<f64>,
    /// Whether the device completed requests at another time.
    works_otherwise: bool,
    /// Whether the device completed requests after it.
    pub(crate) ended: bool,
    /// Whether other requests completed meanwhile.
    beside_others: bool,
}

impl Hang {
    /// The longest hang in a `range` of a device's series.
    pub(crate) fn of(series: &[IntervalTotals], range: &Range<usize>) -> Option<Self> {
        Self::of_all(series, range).or_else(|| Self::of_one_request(series, range))
    }

    fn of_all(series: &[IntervalTotals], range: &Range<usize>) -> Option<Self> {
        let hung = |run: &Range<usize>| {
            series[run.clone()].iter().all(is_held) || completes_after(series, run)
        };
        let (longest, end) = runs(series, range, is_stuck)
            .filter(hung)
            .map(|run| (IntervalTotals::sum(&series[run.clone()]), run.end))
            .max_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds))?;
        let completes = |one: &IntervalTotals| one.iops() >= 1.0;
        (longest.seconds >= SHORTEST_S).then(|| Self {
            seconds: longest.seconds,
            waiting: longest.in_flight,
            works_otherwise: series.iter().any(|one| completes(one) && !is_held(one)),
            ended: series[end..].iter().any(completes),
            beside_others: false,
        })
    }

    /// The longest single request that others overtake.
    fn of_one_request(series: &[IntervalTotals], range: &Range<usize>) -> Option<Self> {
        let request = |run: Range<usize>| {
            let seconds = IntervalTotals::sum(&series[run.clone()]).seconds;
            let proven = run.len() >= SAMPLES_MIN && completes_after(series, &run);
            (proven && seconds >= SHORTEST_S).then_some(seconds)
        };
        let longest = runs(series, range, is_waited_for).filter_map(request).reduce(f64::max)?;
        Some(Self {
            seconds: longest,
            waiting: Some(1.0),
            works_otherwise: true,
            ended: true,
            beside_others: true,
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

    /// The claim: `The device hung: 4 in flight and no request completed for at least 9.00 s.`
    pub(crate) fn claim(&self) -> String {
        let what = match (self.beside_others, self.ended) {
            (true, _) => "stalled",
            (false, true) => "hung",
            (false, false) => "hangs",
        };
        format!("The device {what}: {}.", self.sentence())
    }

    pub(crate) fn sentence(&self) -> String {
        let seconds = format_nanos(self.seconds * 1e9);
        if self.beside_others {
            return format!("a request took about {seconds} while others completed");
        }
        let waiting = self.waiting.map_or("requests".to_owned(), |count| format!("{count:.0}"));
        format!("{waiting} in flight and no request completed for at least {seconds}")
    }

    /// A sentence on all hangs of a recording.
    pub(crate) fn repeated(hangs: &[&Self]) -> String {
        let longest = hangs.iter().map(|hang| hang.seconds).fold(0.0, f64::max);
        let all: f64 = hangs.iter().map(|hang| hang.seconds).sum();
        format!(
            " It hung {} times in this recording: {} in all, the longest {}.",
            hangs.len(),
            format_nanos(all * 1e9),
            format_nanos(longest * 1e9)
        )
    }

    pub(crate) fn numbers(&self) -> [Number; 2] {
        [
            (
                if self.beside_others { "longest request" } else { "time without a completion" },
                self.seconds,
                "s",
            ),
            ("requests in flight", self.waiting.unwrap_or(1.0), ""),
        ]
    }
}

/// The ranges of neighbouring intervals for which this is true.
fn runs<'s>(
    series: &'s [IntervalTotals],
    range: &Range<usize>,
    is: fn(&IntervalTotals) -> bool,
) -> impl Iterator<Item = Range<usize>> + 's {
    let mut end = range.start;
    let runs = series[range.clone()].chunk_by(move |a, b| is(a) == is(b));
    runs.filter_map(move |run| {
        end += run.len();
        is(&run[0]).then(|| end - run.len()..end)
    })
}

/// Whether the interval after a run adds the time of the requests that were in flight all along, and more than as
/// many requests of its own.
fn completes_after(series: &[IntervalTotals], run: &Range<usize>) -> bool {
    let seconds = IntervalTotals::sum(&series[run.clone()]).seconds;
    let waiting = series[run.clone()].iter().filter_map(|one| one.in_flight).reduce(f64::min);
    let after = series.get(run.end).and_then(|one| Some((one.all.time_ns? / 1e9, one.seconds)));
    waiting.zip(after).is_some_and(|(waiting, (added_s, own_s))| {
        added_s >= waiting * (ADDED_MIN * seconds + own_s)
    })
}

/// Whether a request is in flight at the end of an interval, although those that completed fill little of it.
fn is_waited_for(one: &IntervalTotals) -> bool {
    let found = one.in_flight.is_some_and(|waiting| waiting >= 1.0);
    found && one.concurrency().is_some_and(|present| present <= OTHERS_MAX)
}

/// Whether the device had a request during the whole interval.
fn is_held(one: &IntervalTotals) -> bool {
    let always = one.utilization().is_some_and(|busy| busy >= NEVER_IDLE);
    always && one.in_flight.is_none_or(|waiting| waiting >= 1.0)
}

/// Whether nothing at all completed in an interval in which the device may always have had a request. Kernels
/// before 6.10 count busy time only when a request starts or ends, so the busy time of a hang comes after it.
fn is_stuck(one: &IntervalTotals) -> bool {
    let others = [one.discards, one.flushes].into_iter().flatten().sum::<f64>();
    let none = one.all.requests.is_some_and(|count| count + others < one.seconds.max(1.0));
    none && (is_held(one) || one.in_flight.is_some_and(|waiting| waiting >= 1.0))
}

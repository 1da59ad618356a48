//! Sums intervals and derives figures from the sums. A rate is all requests over all time, and a
//! latency is all request time over all requests. A figure that the source does not report stays
//! unknown in every sum. If reads and writes are not reported separately, the figure for both
//! stands in. Discards and flushes are left out if the source separates them.

use record::{
    Figure, Interval, Misleading, Numbers, Observation, OpInterval, OpKind, UtilizationLaw,
};
use std::ops::Range;

/// The longest kernel clock tick, in seconds.
const TICK_S: f64 = 0.01;

/// Completed requests of one operation, with their bytes and times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OpTally {
    /// Number of requests; `None` if the source does not report it.
    pub(crate) requests: Option<f64>,
    pub(crate) bytes: Option<f64>,
    /// Sum of their latencies, in nanoseconds.
    pub(crate) time_ns: Option<f64>,
    /// Largest resolution step of the time sums.
    pub(crate) step_ns: f64,
}

/// Sums over some intervals of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IntervalTotals {
    /// Total length in seconds.
    pub(crate) seconds: f64,
    pub(crate) read: OpTally,
    pub(crate) write: OpTally,
    pub(crate) all: OpTally,
    /// Time with a request in flight, in seconds.
    pub(crate) busy_s: Option<f64>,
    /// Busy time minus worst-case tick rounding, in seconds: a kernel adds a tick if a request
    /// begins or ends in a new one.
    pub(crate) surely_busy_s: Option<f64>,
    /// Busy time removed because no request was in flight in it, in seconds.
    pub(crate) busy_cut_s: f64,
    /// Sum of concurrency times length, as the source reports it.
    pub(crate) present_s: Option<f64>,
    /// Requests in flight at the end.
    pub(crate) in_flight: Option<f64>,
    pub(crate) splits: Option<f64>,
    pub(crate) discards: Option<f64>,
    pub(crate) flushes: Option<f64>,
    /// Sum of flush times, in nanoseconds.
    pub(crate) flush_ns: Option<f64>,
    /// Whether latencies of reads and writes together may include those of discards.
    pub(crate) times_may_hold_discards: bool,
}

fn value(figure: Option<Figure>) -> Option<f64> {
    figure.map(|figure| figure.value).filter(|value| value.is_finite() && *value >= 0.0)
}

fn sum(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    Some(left? + right?)
}

impl OpTally {
    fn of(op: &OpInterval, seconds: f64) -> Self {
        let requests = value(op.per_s).map(|rate| rate * seconds);
        let by_rate = value(op.bytes_per_s).map(|rate| rate * seconds);
        let by_size = requests.zip(value(op.request_bytes)).map(|(count, size)| count * size);
        let nothing = requests.filter(|&count| count == 0.0);
        let time_ns = requests.zip(value(op.latency_ns)).map(|(count, time)| count * time);
        let step_ns = op.latency_ns.map_or(0.0, |figure| figure.resolution);
        Self {
            requests,
            bytes: by_rate.or(by_size).or(nothing),
            time_ns: time_ns.or(nothing),
            step_ns: step_ns * requests.unwrap_or(0.0),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            requests: sum(self.requests, other.requests),
            bytes: sum(self.bytes, other.bytes),
            time_ns: sum(self.time_ns, other.time_ns),
            step_ns: self.step_ns + other.step_ns,
        }
    }

    pub(crate) fn count(&self) -> f64 {
        self.requests.unwrap_or(0.0)
    }

    /// A sum divided by the number of requests.
    fn each(&self, sum: Option<f64>) -> Option<f64> {
        sum.zip(self.requests).filter(|&(_, count)| count > 0.0).map(|(sum, count)| sum / count)
    }

    /// Mean latency in nanoseconds.
    pub(crate) fn latency_ns(&self) -> Option<f64> {
        self.each(self.time_ns)
    }

    pub(crate) fn request_bytes(&self) -> Option<f64> {
        self.each(self.bytes)
    }
}

impl IntervalTotals {
    pub(crate) fn op(&self, op: OpKind) -> &OpTally {
        match op {
            OpKind::Read => &self.read,
            OpKind::Write => &self.write,
        }
    }

    pub(crate) fn of(interval: &Interval) -> Self {
        let seconds = interval.duration_ns as f64 / 1e9;
        let read = OpTally::of(&interval.read, seconds);
        let write = OpTally::of(&interval.write, seconds);
        let together = OpTally::of(&interval.all, seconds);
        let apart = read.plus(&write);
        let all = OpTally {
            requests: apart.requests.or(together.requests),
            bytes: apart.bytes.or(together.bytes),
            time_ns: apart.time_ns.or(together.time_ns),
            step_ns: if apart.time_ns.is_some() { apart.step_ns } else { together.step_ns },
        };
        let discards = value(interval.discards_per_s);
        let flushes = value(interval.flushes_per_s).map(|rate| rate * seconds);
        let no_flush = flushes.filter(|&count| count == 0.0);
        let flush_ns = flushes.zip(value(interval.flush_latency_ns)).map(|(count, ns)| count * ns);
        let busy_s = value(interval.busy_share).map(|share| share.min(1.0) * seconds);
        let in_steps = interval.busy_share.is_some_and(|figure| figure.resolution > 0.0);
        let ticks_s = if in_steps { TICK_S * all.count() } else { 0.0 };
        let totals = Self {
            seconds,
            read,
            write,
            all,
            busy_s,
            surely_busy_s: busy_s.map(|busy| (busy - ticks_s).max(0.0)),
            busy_cut_s: 0.0,
            present_s: value(interval.concurrency).map(|present| present * seconds),
            in_flight: value(interval.in_flight),
            splits: value(interval.splits_per_s).map(|rate| rate * seconds),
            discards: discards.map(|rate| rate * seconds),
            flushes,
            flush_ns: flush_ns.or(no_flush),
            times_may_hold_discards: apart.time_ns.is_none() && together.time_ns.is_some(),
        };
        // Without it, a request that waits during the whole interval would not be visible.
        if totals.in_flight.is_some() { totals.bounded() } else { totals }
    }

    /// Limits busy time to the time in flight (U <= L, and so S <= R), and cuts the excess that a
    /// source reports. Requests in flight at the end may have been in flight all the time. If their number
    /// is unknown and none completed, nothing bounds the busy time: the device may hang.
    pub(crate) fn bounded(mut self) -> Self {
        if self.in_flight.is_none() && self.all.count() == 0.0 {
            return self;
        }
        let times_s = self.all.time_ns.map(|time| (time + self.all.step_ns) / 1e9);
        let Some(known_s) = times_s.into_iter().chain(self.present_s).reduce(f64::max) else {
            return self;
        };
        let most_s = known_s + self.in_flight.unwrap_or(0.0) * self.seconds;
        if let Some(busy_s) = self.busy_s.filter(|busy_s| *busy_s > most_s) {
            self.busy_cut_s += busy_s - most_s;
            self.busy_s = Some(most_s);
            self.surely_busy_s = self.surely_busy_s.map(|busy_s| busy_s.min(most_s));
        }
        self
    }

    /// The totals of its reads or its writes alone.
    pub(crate) fn of_one(self, op: OpKind) -> Self {
        let some = Some(0.0);
        let none = OpTally { requests: some, bytes: some, time_ns: some, step_ns: 0.0 };
        match op {
            OpKind::Read => Self { write: none, all: self.read, ..self },
            OpKind::Write => Self { read: none, all: self.write, ..self },
        }
    }

    /// The sums of all intervals.
    pub(crate) fn over<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let series: Vec<Self> = intervals.into_iter().map(Self::of).collect();
        Self::sum(&series).bounded()
    }

    /// The totals of the intervals whose midpoint is in `time`.
    pub(crate) fn during<'a>(
        intervals: impl IntoIterator<Item = &'a Interval>,
        time: &Range<u64>,
    ) -> Self {
        let within =
            |interval: &&Interval| time.contains(&(interval.begin_ns + interval.duration_ns / 2));
        Self::over(intervals.into_iter().filter(within))
    }

    pub(crate) fn sum<'a>(series: impl IntoIterator<Item = &'a Self>) -> Self {
        series.into_iter().copied().reduce(|total, one| total.plus(&one)).unwrap_or_default()
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            read: self.read.plus(&other.read),
            write: self.write.plus(&other.write),
            all: self.all.plus(&other.all),
            busy_s: sum(self.busy_s, other.busy_s),
            surely_busy_s: sum(self.surely_busy_s, other.surely_busy_s),
            busy_cut_s: self.busy_cut_s + other.busy_cut_s,
            present_s: sum(self.present_s, other.present_s),
            in_flight: other.in_flight,
            splits: sum(self.splits, other.splits),
            discards: sum(self.discards, other.discards),
            flushes: sum(self.flushes, other.flushes),
            flush_ns: sum(self.flush_ns, other.flush_ns),
            times_may_hold_discards: self.times_may_hold_discards || other.times_may_hold_discards,
        }
    }

    pub(crate) fn iops(&self) -> f64 {
        if self.seconds > 0.0 { self.all.count() / self.seconds } else { 0.0 }
    }

    pub(crate) fn bytes_per_s(&self) -> Option<f64> {
        self.all.bytes.filter(|_| self.seconds > 0.0).map(|bytes| bytes / self.seconds)
    }

    /// Requests or bytes per second, of one operation or of both.
    pub(crate) fn per_s(&self, op: Option<OpKind>, bytes: bool) -> Option<f64> {
        let of = op.map_or(&self.all, |op| self.op(op));
        let sum = if bytes { of.bytes } else { of.requests };
        sum.map(|sum| sum / self.seconds.max(1e-9))
    }

    /// Mean flush latency in nanoseconds.
    pub(crate) fn flush_latency_ns(&self) -> Option<f64> {
        Some(self.flush_ns? / self.flushes.filter(|count| *count > 0.0)?)
    }

    /// The totals of a device in `time`, from the intervals of an observation.
    pub(crate) fn of_device(observation: &Observation, name: &str, time: &Range<u64>) -> Self {
        Self::during(observation.intervals.iter().filter(|it| it.device == name), time)
    }

    /// Share of time with a request in flight.
    pub(crate) fn utilization(&self) -> Option<f64> {
        self.busy_s.filter(|_| self.seconds > 0.0).map(|busy| (busy / self.seconds).min(1.0))
    }

    /// Mean number in flight: by Little's law on reads and writes, without discards and flushes;
    /// otherwise as the source reports it.
    pub(crate) fn concurrency(&self) -> Option<f64> {
        let by_times = self.all.time_ns.map(|time| time / 1e9);
        by_times.or(self.present_s).filter(|_| self.seconds > 0.0).map(|time| time / self.seconds)
    }

    pub(crate) fn read_share(&self) -> Option<f64> {
        let (reads, all) = self.read.requests.zip(self.all.requests)?;
        self.write.requests?;
        (all > 0.0).then(|| reads / all)
    }

    pub(crate) fn split_share(&self) -> Option<f64> {
        Some(self.splits? / self.all.count().max(1.0))
    }

    /// Mean latency: from request times, otherwise by Little's law from the reported concurrency.
    pub(crate) fn latency_ns(&self) -> Option<f64> {
        let by_little = || self.all.each(self.present_s.map(|present| present * 1e9));
        self.all.latency_ns().or_else(by_little)
    }

    /// Resolution of the latency, as a share of it.
    pub(crate) fn step_rel(&self) -> f64 {
        match self.all.time_ns {
            // If all requests together took less than a step, the latency is unknown.
            Some(time) if self.all.step_ns > 0.0 => (self.all.step_ns / time).min(1.0),
            _ => 0.0,
        }
    }

    pub(crate) fn numbers(&self) -> Numbers {
        // A mean of 0 only shows that requests are faster than the source can time.
        let timed = |latency_ns: Option<f64>| latency_ns.filter(|latency_ns| *latency_ns > 0.0);
        Numbers {
            requests: self.all.count(),
            iops: self.all.requests.map(|_| self.iops()),
            read_share: self.read_share(),
            bytes_per_s: self.bytes_per_s(),
            request_bytes: self.all.request_bytes(),
            latency_ns: timed(self.latency_ns()),
            read_latency_ns: timed(self.read.latency_ns()),
            write_latency_ns: timed(self.write.latency_ns()),
            concurrency: self.concurrency(),
            utilization: self.utilization(),
        }
    }

    /// Friedman's split of latency into service and queue (Friedman, the three formulae after
    /// Figure 8; the second is printed with a plus where it divides).
    pub(crate) fn utilization_law(&self) -> Option<UtilizationLaw> {
        let (utilization, latency) = self.utilization().zip(self.latency_ns())?;
        let rate = self.iops();
        if rate <= 0.0 {
            return None;
        }
        let service_ns = utilization * 1e9 / rate;
        Some(UtilizationLaw { utilization, service_ns, queue_ns: (latency - service_ns).max(0.0) })
    }

    /// What other tools would print from the same counters.
    pub(crate) fn misleading(&self) -> Misleading {
        let present = self.concurrency();
        Misleading {
            disk_time_percent: present.map(|present| (present * 100.0).min(100.0)),
            queue_length: present,
            svctm_ns: self.utilization_law().map(|split| split.service_ns),
            iostat_busy_percent: self.utilization().map(|share| share * 100.0),
        }
    }
}

/// Half-width of the 95 % interval of a series' mean latency, as a share of it; `None` with fewer
/// than three intervals that report one.
pub(crate) fn latency_error(series: &[IntervalTotals]) -> Option<f64> {
    let parts: Vec<(f64, f64)> =
        series.iter().filter_map(|one| Some((one.all.time_ns?, one.all.count()))).collect();
    ratio_error(&parts)
}

/// Half-width of the 95 % interval of the ratio of two sums, as a share of it: a linearised ratio
/// (Cochran 1977, section 6.4). `None` with fewer than three parts.
pub(crate) fn ratio_error(parts: &[(f64, f64)]) -> Option<f64> {
    let (first, second) = parts.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if parts.len() < 3 || first <= 0.0 || second <= 0.0 {
        return None;
    }
    let ratio = first / second;
    let squares: f64 = parts.iter().map(|(a, b)| (a - ratio * b) * (a - ratio * b)).sum();
    let count = parts.len() as f64;
    let se = (squares * count / (count - 1.0)).sqrt() / first;
    Some(stats::student_t_quantile(0.975, count - 1.0) * se)
}

#[cfg(test)]
impl IntervalTotals {
    /// One second with a number of requests, their bytes, and the sum of their times.
    pub(crate) fn second(requests: f64, bytes: f64, time_ns: f64) -> Self {
        let (requests, bytes, time_ns) = (Some(requests), Some(bytes), Some(time_ns));
        let all = OpTally { requests, bytes, time_ns, step_ns: 0.0 };
        Self { seconds: 1.0, all, ..Self::default() }
    }
}

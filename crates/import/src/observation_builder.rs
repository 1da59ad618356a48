//! Collects the data of a reader and builds the observation.
//!
//! The steps that all sources need are here: impossible figures are left out, sums over reads and writes
//! and mean sizes are derived if the source has none, requests in flight follow from Little's law,
//! intervals are sorted by time, and every omission or assumption becomes a finding.

use crate::losses::{self, Counts};
use crate::moment::{self, Assumed, Clock, DateOrder, SECOND_NS, Stamp};
use crate::{ImportError, lacks, totals};
use record::{
    Context, DeviceFacts, Figure, Finding, FindingCode, ImpossibleFigures, Interval,
    OBSERVATION_SCHEMA, Observation, ObservedDevice, OpInterval,
};
use std::collections::{BTreeMap, BTreeSet};

/// Longest plausible interval: ten years.
const LONGEST_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Sector size of the kernel's counters and of `sec` in sysstat's units.
pub(crate) const SECTOR_BYTES: f64 = 512.0;
/// Binary kilobyte, sysstat's `kB`.
pub(crate) const KIB: f64 = 1_024.0;
pub(crate) const MS: f64 = 1e6;
/// How to avoid ambiguous dates.
const ISO_DATES: &str = "use dates like 2026-05-12 (iostat, sar: S_TIME_FORMAT=ISO)";

#[derive(Clone, Debug, Default)]
pub(crate) struct ObservationBuilder {
    pub(crate) source: &'static str,
    pub(crate) host: Option<String>,
    /// The kernel's release, if the source contains it.
    pub(crate) release: Option<String>,
    intervals: Vec<Interval>,
    contexts: Vec<Context>,
    /// Facts of each device from the source.
    pub(crate) facts: BTreeMap<String, DeviceFacts>,
    /// Start times of each device's intervals.
    seen: BTreeMap<String, BTreeSet<u64>>,
    impossible: ImpossibleFigures,
    pub(crate) counts: Counts,
    assumed: Assumed,
    /// Whether the user stated the lengths of intervals.
    pub(crate) lengths_given: bool,
    /// Length of the intervals from the command in the text, in nanoseconds.
    pub(crate) length_in_text: Option<i128>,
    /// Length of the intervals by amounts of data and their rates.
    pub(crate) length_by_amounts: Option<i128>,
    /// Length of the intervals implied by their figures.
    pub(crate) length_implied: Option<i128>,
    /// Assumed length, if neither text, user nor figures state it.
    pub(crate) length_assumed: Option<i128>,
    /// Whether the source has only averages since boot.
    pub(crate) only_since_boot: bool,
    /// Whether a host line precedes that average, as at the start of iostat.
    pub(crate) starts_with_host: bool,
    /// The names that the source's tool has for figures that may be missing.
    pub(crate) names: &'static lacks::Names,
    /// Whether the source has only sums over all disks.
    pub(crate) totals_only: bool,
    /// Whether the source has only sums over groups of disks.
    pub(crate) sums_only: bool,
    /// Whether the start time was assumed.
    pub(crate) begin_assumed: bool,
    /// Whether the steps of a query are used as the times of scrapes.
    pub(crate) steps_as_times: bool,
}

impl ObservationBuilder {
    pub(crate) fn new(source: &'static str) -> Self {
        Self { source, ..Self::default() }
    }

    /// The times of a file, nanoseconds since 1970; `of_windows` is for a format whose own times always have
    /// the month first.
    pub(crate) fn times(
        &mut self,
        stamps: &[Option<Stamp>],
        clock: Clock,
        of_windows: bool,
    ) -> Vec<Option<i128>> {
        let (times, assumed) = moment::moments(stamps, clock, of_windows);
        self.assumed.zone |= assumed.zone;
        self.assumed.order = self.assumed.order.or(assumed.order);
        times
    }

    /// Adds an interval and derives its missing figures. `begin` and `length` are in nanoseconds.
    pub(crate) fn add(&mut self, mut interval: Interval, begin: i128, length: i128) {
        if self.admit(&mut interval, begin, length) {
            self.intervals.push(interval);
        }
    }

    /// Completes an interval; returns whether it is accepted.
    fn admit(&mut self, interval: &mut Interval, begin: i128, length: i128) -> bool {
        let length = u64::try_from(length).ok().filter(|ns| (1..=LONGEST_NS).contains(ns));
        let Some((begin_ns, duration_ns)) = u64::try_from(begin).ok().zip(length) else {
            self.counts.no_length += 1;
            return false;
        };
        let times = match self.seen.get_mut(&interval.device) {
            Some(times) => times,
            None => self.seen.entry(interval.device.clone()).or_default(),
        };
        if !times.insert(begin_ns) {
            self.counts.twice += 1;
            return false;
        }
        if !self.impossible.admits(interval) {
            return false;
        }
        (interval.begin_ns, interval.duration_ns) = (begin_ns, duration_ns);
        complete(interval);
        true
    }

    /// Adds intervals at the begin and length that `place` returns. The caller has counted those without.
    /// The first call copies nothing, because there may be many intervals.
    pub(crate) fn add_all(
        &mut self,
        mut intervals: Vec<Interval>,
        place: impl Fn(&Interval) -> Option<(i128, i128)>,
    ) {
        let first = self.intervals.is_empty();
        intervals.retain_mut(|interval| {
            let Some((begin, length)) = place(interval) else { return false };
            self.admit(interval, begin, length)
        });
        match first {
            true => self.intervals = intervals,
            false => self.intervals.extend(intervals),
        }
    }

    /// Adds the state of the system during an interval.
    pub(crate) fn add_context(&mut self, context: Context, begin: i128, length: i128) {
        if let (Ok(begin_ns), Ok(duration_ns @ 1..)) = (u64::try_from(begin), u64::try_from(length))
            && context != Context::default()
        {
            self.contexts.push(Context { begin_ns, duration_ns, ..context });
        }
    }

    /// Builds the observation.
    ///
    /// # Errors
    /// If it has no interval. The error gives `nothing` as the reason and `remedy` as the advice.
    pub(crate) fn finish(self, nothing: &str, remedy: &str) -> Result<Observation, ImportError> {
        self.finish_or(|| ImportError::nothing(nothing, remedy))
    }

    /// Builds the observation.
    ///
    /// # Errors
    /// If it has no interval: the impossible figures, or else `nothing`.
    pub(crate) fn finish_or(
        mut self,
        nothing: impl FnOnce() -> ImportError,
    ) -> Result<Observation, ImportError> {
        if self.intervals.is_empty() {
            return Err(match self.impossible.finding() {
                Some(finding) => ImportError::nothing(finding.claim, finding.remedy),
                None => nothing(),
            });
        }
        let names = distinct(self.intervals.iter().map(|interval| interval.device.as_str()));
        let doubt = self.release.as_deref().and_then(record::kernel_busy_doubt);
        let of_sums = (self.totals_only || self.sums_only)
            .then(|| "it belongs to several disks, not to one".to_owned());
        let devices = names
            .iter()
            .map(|name| ObservedDevice {
                name: (*name).to_owned(),
                facts: self.facts.remove(*name),
                built_of: Vec::new(),
                partition_of: crate::kernel::whole_disk(name, &names),
                busy_doubt: of_sums.clone().or_else(|| doubt.clone()),
                ..ObservedDevice::default()
            })
            .collect();
        let assumed_times = self.assumed_times();
        if !self.intervals.is_sorted_by_key(|interval| interval.begin_ns) {
            self.intervals.sort_by_cached_key(|interval| interval.begin_ns);
        }
        self.contexts.sort_by_cached_key(|context| context.begin_ns);
        let mut observation = Observation {
            schema: OBSERVATION_SCHEMA.to_owned(),
            source: self.source.to_owned(),
            host: self.host,
            kernel: self.release,
            devices,
            intervals: self.intervals,
            contexts: self.contexts,
            ..Observation::default()
        };
        let mut findings = Vec::new();
        findings.extend(losses::left_out(&self.counts));
        let starts = self.starts_with_host;
        findings.extend(self.only_since_boot.then(|| losses::averages_only(starts)));
        findings.extend(self.totals_only.then(losses::totals_only));
        findings.extend(self.sums_only.then(losses::sums_only));
        findings.extend(self.impossible.finding());
        findings.extend(losses::resets(self.counts.resets));
        findings
            .extend(doubt.map(|doubt| losses::busy_doubtful(&doubt, observation.devices.len())));
        findings.extend(losses::damage(&self.counts));
        findings.extend(assumed_times);
        findings.extend(totals::of_one_operation(&mut observation));
        findings.extend(totals::without_short_queues(&mut observation));
        findings.extend(lacks::without_incomplete_intervals(&mut observation));
        findings.extend(lacks::findings(&observation, self.names, self.counts.discards_mixed));
        findings.extend(lacks::without_stuck_counts(&mut observation));
        observation.findings = findings;
        record::doubt_busy_counters(&mut observation);
        Ok(observation)
    }

    /// The end of all intervals so far, where a run without times begins; 0 if there are none.
    pub(crate) fn end(&self) -> i128 {
        let ends = self.intervals.iter().map(|it| i128::from(it.begin_ns + it.duration_ns));
        ends.max().unwrap_or(0)
    }

    /// The assumptions about times, and how to avoid them.
    fn assumed_times(&self) -> Option<Finding> {
        let seconds = |length: Option<i128>| {
            length.map_or(String::new(), |ns| format!("{} s", ns as f64 / SECOND_NS as f64))
        };
        let in_text = format!(
            "intervals are {} long, according to the command in the text",
            seconds(self.length_in_text)
        );
        let by_amounts = format!(
            "intervals are {} long, computed from the amounts of data and their rates",
            seconds(self.length_by_amounts)
        );
        let implied = format!(
            "intervals are assumed to be {} long, because all rates then are whole numbers of \
             requests",
            seconds(self.length_implied)
        );
        let assumed = format!(
            "the length of the intervals is unknown and assumed to be {}; rates and latencies do \
             not depend on it",
            seconds(self.length_assumed)
        );
        let rows = [
            (
                self.assumed.zone,
                "times without a time zone are assumed to be UTC",
                "use --utc-offset +HH:MM",
            ),
            (
                self.assumed.order == Some(DateOrder::MonthFirst),
                "day and month are ambiguous: the month is assumed to come first",
                ISO_DATES,
            ),
            (
                self.assumed.order == Some(DateOrder::DayFirst),
                "day and month are ambiguous: the day is assumed to come first, because the other \
                 order gives a time in the future",
                ISO_DATES,
            ),
            (
                self.lengths_given,
                "the source has no times; intervals have the length that --interval gives",
                "also record times: iostat -t",
            ),
            (self.length_in_text.is_some(), &in_text, "if the length is wrong, use --interval"),
            (
                self.length_by_amounts.is_some(),
                &by_amounts,
                "if the length is wrong, use --interval",
            ),
            (self.length_implied.is_some(), &implied, "if the length is wrong, use --interval"),
            (self.length_assumed.is_some(), &assumed, "use --interval, or record times: iostat -t"),
            (
                self.counts.cuts > 0,
                "lines are cut out of the text (\"...\"); the interval after each gap is assumed to \
                 have the usual length",
                "",
            ),
            (
                self.begin_assumed,
                "the date or the time of day is unknown; intervals are counted from the start of \
                 the recording",
                "",
            ),
            (
                self.steps_as_times,
                "the scrape times are unknown; the query's steps are used instead",
                "also query timestamp(node_disk_reads_completed_total)",
            ),
        ];
        let rows = rows.into_iter().filter(|(assumed, ..)| *assumed);
        let (claims, mut remedies): (Vec<&str>, Vec<&str>) =
            rows.map(|(_, claim, remedy)| (claim, remedy)).unzip();
        remedies.retain(|remedy| !remedy.is_empty());
        remedies.dedup();
        let (claim, remedy) = (claims.join("; "), remedies.join("; "));
        (!claims.is_empty()).then(|| Finding::note(FindingCode::TimesAssumed, claim, remedy))
    }
}

/// Each name once, in order of first appearance.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Derives figures: sums of reads and writes if the source has only these, mean sizes from rates, and
/// requests in flight by Little's law.
fn complete(interval: &mut Interval) {
    for op in [&mut interval.read, &mut interval.write] {
        without_requests(op);
        op.request_bytes = op.request_bytes.or_else(|| ratio(op.bytes_per_s, op.per_s));
    }
    let (read, write) = (interval.read, interval.write);
    let all = &mut interval.all;
    all.per_s = all.per_s.or_else(|| sum(read.per_s, write.per_s));
    all.bytes_per_s = all.bytes_per_s.or_else(|| sum(read.bytes_per_s, write.bytes_per_s));
    all.merged_per_s = all.merged_per_s.or_else(|| sum(read.merged_per_s, write.merged_per_s));
    all.latency_ns = all.latency_ns.or_else(|| weighted(&read, &write));
    without_requests(all);
    all.request_bytes = all.request_bytes.or_else(|| ratio(all.bytes_per_s, all.per_s));
    interval.concurrency = interval.concurrency.or_else(|| totals::by_little(all));
    let flushed = interval.flushes_per_s.is_some_and(|rate| rate.value > 0.0);
    interval.flush_latency_ns = interval.flush_latency_ns.filter(|_| flushed);
}

/// Removes mean size and mean latency if there are no requests; tools print 0.
fn without_requests(op: &mut OpInterval) {
    if op.per_s.is_some_and(|rate| rate.value == 0.0) {
        op.request_bytes = None;
        op.latency_ns = None;
    }
}

fn sum(one: Option<Figure>, other: Option<Figure>) -> Option<Figure> {
    let (one, other) = (one?, other?);
    Some(Figure::derived(one.value + other.value, one.resolution.max(other.resolution)))
}

fn ratio(amount: Option<Figure>, rate: Option<Figure>) -> Option<Figure> {
    let (amount, rate) = (amount?, rate?);
    let value = amount.value / rate.value;
    let relative = amount.resolution / amount.value.max(amount.resolution)
        + rate.resolution / rate.value.max(rate.resolution);
    (rate.value > 0.0 && value.is_finite())
        .then(|| Figure::derived(value, if relative.is_finite() { value * relative } else { 0.0 }))
}

/// Mean over both directions, weighted by their rates.
fn weighted(read: &OpInterval, write: &OpInterval) -> Option<Figure> {
    let share = |op: &OpInterval| {
        let rate = op.per_s?.value;
        // Without requests the latency is unknown and has no weight.
        let latency = match op.latency_ns {
            Some(latency) => latency,
            None if rate == 0.0 => Figure::derived(0.0, 0.0),
            None => return None,
        };
        Some((rate, latency))
    };
    let ((reads, read), (writes, write)) = (share(read)?, share(write)?);
    let rate = reads + writes;
    let value = (reads * read.value + writes * write.value) / rate;
    (rate > 0.0 && value.is_finite())
        .then(|| Figure::derived(value, read.resolution.max(write.resolution)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Quality;

    fn figure(value: f64) -> Option<Figure> {
        Some(Figure::measured(value, 0.01))
    }

    fn finished(intervals: impl IntoIterator<Item = Interval>) -> Observation {
        let mut builder = ObservationBuilder::new("test");
        for (second, interval) in (0..).zip(intervals) {
            builder.add(interval, second * 1_000_000_000 + 5, 1_000_000_000);
        }
        builder.finish("", "").unwrap()
    }

    fn of_reads(per_s: f64, latency_ns: f64) -> Interval {
        let mut interval = Interval { device: "sda".into(), ..Interval::default() };
        interval.read = OpInterval {
            per_s: figure(per_s),
            bytes_per_s: figure(per_s * 4096.0),
            latency_ns: figure(latency_ns),
            ..OpInterval::default()
        };
        interval
    }

    #[test]
    fn what_follows_from_the_figures_is_derived_and_called_so() {
        let mut interval = of_reads(300.0, 2e6);
        interval.write.per_s = figure(100.0);
        interval.write.bytes_per_s = figure(0.0);
        interval.write.latency_ns = figure(6e6);
        let interval = &finished([interval]).intervals[0];
        let all = interval.all;
        assert_eq!(all.per_s.unwrap().value, 400.0);
        assert_eq!(all.latency_ns.unwrap().value, 3e6);
        assert_eq!(all.latency_ns.unwrap().quality, Quality::Derived);
        assert_eq!(interval.read.request_bytes.unwrap().value, 4096.0);
        assert!((interval.concurrency.unwrap().value - 1.2).abs() < 1e-12);
        assert_eq!((interval.begin_ns, interval.duration_ns), (5, 1_000_000_000));
    }

    #[test]
    fn no_requests_have_no_latency_and_nothing_in_progress() {
        let mut interval = Interval::default();
        for op in [&mut interval.read, &mut interval.write] {
            (op.per_s, op.latency_ns, op.request_bytes) = (figure(0.0), figure(0.0), figure(0.0));
        }
        let interval = &finished([interval]).intervals[0];
        assert_eq!((interval.read.latency_ns, interval.all.latency_ns), (None, None));
        assert_eq!(interval.all.request_bytes, None);
        assert_eq!(interval.concurrency.unwrap().value, 0.0);
    }

    #[test]
    fn an_interval_with_impossible_figures_is_left_out_and_counted() {
        let damaged = [of_reads(-1.0, 1e6), of_reads(1e300, 1e6), of_reads(10.0, 1e18)];
        let found = finished(damaged.into_iter().chain([of_reads(10.0, 1e6)]));
        assert_eq!(found.intervals.len(), 1);
        let of = |code| found.findings.iter().find(|finding| finding.code == code);
        assert_eq!(of(FindingCode::ImpossibleFigures).unwrap().evidence[0].value, 3.0);
        let mut builder = ObservationBuilder::new("test");
        builder.add(Interval::default(), -1, 5);
        builder.add(Interval::default(), 1, 0);
        assert_eq!(builder.counts.no_length, 2);
        builder.add(of_reads(-1.0, 1e6), 1, 5);
        let error = builder.finish("why", "remedy").unwrap_err().to_string();
        assert!(error.contains("sda read: -1e0 requests per second"), "{error}");
    }
}

//! Stores the reports of sysstat's tools in print order, and converts them into an observation.
//!
//! The reader of each format (JSON, tables, XML) fills in runs, one for each start of a tool. The times of
//! a run are interpreted together at its end, because only then are the order of day and month, the usual
//! interval and a first report since boot known. Until then intervals contain the number of their report
//! instead of a time, in one list, so that a day of eight disks is held in memory once.

use crate::moment::{SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::ObservationBuilder;
use crate::since_boot::First;
use crate::{ImportError, since_boot};
use record::{Context, Interval, Observation};
use std::collections::{BTreeSet, VecDeque};

/// Names that iostat gives to sums over all disks.
const SUMS: [&str; 2] = ["ALL", "total"];

/// Deviation of an interval from whole seconds, as a share of it.
const SAME_LENGTH: f64 = 0.02;
/// Maximum length of a first report that is an interval, as a multiple of the other intervals.
const MOST_LATE: f64 = 1.5;
/// Maximum length in seconds of an only report; a longer one is since boot.
const LONGEST_ONLY_S: f64 = 600.0;

/// Begin and length of a report, if known.
pub(crate) type Span = Option<(i128, i128)>;

/// Everything printed for one moment, except the disks.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) stamp: Option<Stamp>,
    /// Its length, if the source states it.
    pub(crate) length: Option<i128>,
    /// Its length in seconds, by an amount of data and its rate.
    pub(crate) by_amounts: Option<Reading>,
    /// Whether the author of the text cut out lines before it.
    pub(crate) after_cut: bool,
    pub(crate) context: Context,
    /// Number of disks whose means may include discards.
    pub(crate) mixed: u64,
}

/// One start of a tool.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// The date in its first line.
    pub(crate) date: Option<String>,
    /// Whether the user left out the averages since boot (`-y`).
    pub(crate) without_boot: bool,
    /// Length of its intervals in nanoseconds, if the text states it.
    pub(crate) interval: Option<i128>,
    pub(crate) restarts: u64,
    pub(crate) reports: Vec<Report>,
    /// In the order of the reports; `begin_ns` is the index of the report.
    pub(crate) intervals: Vec<Interval>,
    /// Names of rows that are sums over other disks (`iostat -g`), by their form.
    pub(crate) sums: BTreeSet<String>,
}

impl Run {
    /// Adds a disk to the last report.
    pub(crate) fn add(&mut self, mut interval: Interval, mixed: bool) {
        if self.reports.is_empty() {
            self.reports.push(Report::default());
        }
        interval.begin_ns = self.reports.len() as u64 - 1;
        if let Some(report) = self.reports.last_mut() {
            report.mixed += u64::from(mixed);
        }
        self.intervals.push(interval);
    }

    /// Whether an interval is a sum over other disks. iostat puts a space before the names of groups.
    fn is_sum(&self, interval: &Interval) -> bool {
        let name = interval.device.as_str();
        name.starts_with(' ') || SUMS.contains(&name) || self.sums.contains(name)
    }

    pub(crate) fn disks(&self, report: usize) -> impl Iterator<Item = &Interval> {
        let begin = self.intervals.partition_point(|it| it.begin_ns < report as u64);
        self.intervals[begin..].iter().take_while(move |it| it.begin_ns == report as u64)
    }

    /// Number of reports with disks.
    pub(crate) fn disk_reports(&self) -> usize {
        self.intervals.chunk_by(|one, next| one.begin_ns == next.begin_ns).count()
    }

    pub(crate) fn last_disks(&mut self) -> impl Iterator<Item = &mut Interval> {
        let report = (self.reports.len() as u64).saturating_sub(1);
        let begin = self.intervals.partition_point(|it| it.begin_ns < report);
        self.intervals[begin..].iter_mut()
    }

    /// Splits off the first `count` reports as a run of their own.
    pub(crate) fn split(&mut self, count: usize) -> Self {
        let rest = self.reports.split_off(count.min(self.reports.len()));
        let reports = std::mem::replace(&mut self.reports, rest);
        let end = self.intervals.partition_point(|it| it.begin_ns < reports.len() as u64);
        let rest = self.intervals.split_off(end);
        let intervals = std::mem::replace(&mut self.intervals, rest);
        let taken = reports.len() as u64;
        self.intervals.iter_mut().for_each(|it| it.begin_ns -= taken);
        Self { reports, intervals, ..Self::default() }
    }

    pub(crate) fn append(&mut self, other: Self) {
        let before = self.reports.len() as u64;
        self.reports.extend(other.reports);
        let moved = other.intervals.into_iter();
        self.intervals.extend(moved.map(|it| Interval { begin_ns: it.begin_ns + before, ..it }));
    }

    /// Passes all reports to the builder at their times; a report without a span has an unknown length.
    /// `left_out` selects those that are not intervals.
    pub(crate) fn hand_over(
        &mut self,
        spans: &[Span],
        left_out: impl Fn(usize) -> bool,
        builder: &mut ObservationBuilder,
    ) {
        for (index, (report, span)) in self.reports.iter_mut().zip(spans).enumerate() {
            match span {
                _ if left_out(index) => {}
                Some((begin, length)) => {
                    builder.counts.discards_mixed += report.mixed;
                    builder.add_context(std::mem::take(&mut report.context), *begin, *length);
                }
                None => builder.counts.no_length += 1,
            }
        }
        let place = |interval: &Interval| {
            let report = interval.begin_ns as usize;
            spans.get(report).copied().flatten().filter(|_| !left_out(report))
        };
        builder.add_all(std::mem::take(&mut self.intervals), place);
    }

    /// The length of the intervals by amounts of data and their rates, in nanoseconds; whole seconds if it is
    /// near them.
    pub(crate) fn length_by_amounts(&self) -> Option<i128> {
        // The first report may be since boot, unless it is the only one.
        let only = self.reports.len() == 1;
        let reports = self.reports.iter().skip(usize::from(!only));
        let lengths = reports.filter_map(|report| Some(report.by_amounts?.value));
        let mut lengths: Vec<f64> = lengths.filter(|it| !only || *it <= LONGEST_ONLY_S).collect();
        lengths.sort_by(f64::total_cmp);
        let middle = *lengths.get(lengths.len() / 2)?;
        let whole = middle.round();
        let near = (middle - whole).abs() <= SAME_LENGTH * middle;
        let seconds = if near { whole } else { middle };
        Some((seconds * SECOND_NS as f64) as i128).filter(|length| *length > 0)
    }

    /// The length of the intervals implied by their rates, in nanoseconds; `None` if the rates fit no
    /// length.
    pub(crate) fn implied_length(&self) -> Option<i128> {
        // The first report may be since boot, unless it is the only one.
        let skip = usize::from(self.reports.len() > 1);
        let rates = |report| self.disks(report).flat_map(crate::sysstat::counts).collect();
        since_boot::implied(&(skip..self.reports.len()).map(rates).collect::<Vec<_>>())
    }

    /// Whether the first report averages all time since boot, given the length of the others.
    pub(crate) fn first_is(&self, length: Option<i128>) -> First {
        let Some(length) = length else { return First::Unsure };
        let seconds = length as f64 / SECOND_NS as f64;
        if let Some(own) = self.reports.first().and_then(|report| report.by_amounts) {
            let near = own.value <= MOST_LATE * seconds;
            return if near { First::Interval } else { First::SinceBoot };
        }
        let rates: Vec<_> = self.disks(0).flat_map(crate::sysstat::counts).collect();
        since_boot::judge(&rates, seconds)
    }
}

/// A machine with everything recorded on it.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) name: Option<String>,
    pub(crate) release: Option<String>,
    pub(crate) runs: Vec<Run>,
}

/// The machines of several files, and the number of unreadable places.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub(crate) hosts: VecDeque<Host>,
    pub(crate) faults: u64,
}

impl Hosts {
    /// The machine of this name.
    pub(crate) fn named(&mut self, name: Option<&str>) -> &mut Host {
        let known = self.hosts.iter().position(|host| host.name.as_deref() == name);
        let place = known.unwrap_or(self.hosts.len());
        if known.is_none() {
            self.hosts.push_back(Host { name: name.map(str::to_owned), ..Host::default() });
        }
        &mut self.hosts[place]
    }

    /// One observation per machine, filled by `fill`. A machine without intervals is an error only if all
    /// machines are; `remedy` says how to record some.
    pub(crate) fn observations(
        mut self,
        source: &'static str,
        fill: impl Fn(&mut [Run], &mut ObservationBuilder),
        remedy: &str,
    ) -> Result<Vec<Observation>, ImportError> {
        let (mut observations, mut last_error) = (Vec::new(), None);
        if self.hosts.is_empty() {
            self.hosts.push_back(Host::default());
        }
        while let Some(mut host) = self.hosts.pop_front() {
            let mut builder = ObservationBuilder::new(source);
            (builder.host, builder.release) = (host.name.take(), host.release.take());
            builder.counts.faults = self.faults;
            builder.counts.restarts = host.runs.iter().map(|run| run.restarts).sum();
            let intervals =
                || host.runs.iter().flat_map(|run| run.intervals.iter().map(move |it| (run, it)));
            let sums = intervals().filter(|(run, it)| run.is_sum(it)).count();
            if sums > 0 && sums == intervals().count() {
                builder.sums_only = true;
            } else if sums > 0 {
                builder.counts.sums = sums as u64;
                for run in &mut host.runs {
                    let all = std::mem::take(&mut run.intervals);
                    run.intervals = all.into_iter().filter(|it| !run.is_sum(it)).collect();
                }
            }
            fill(&mut host.runs, &mut builder);
            match builder.finish("no report contains a disk", remedy) {
                Ok(observation) => observations.push(observation),
                Err(error) => last_error = Some(error),
            }
        }
        match last_error {
            Some(error) if observations.is_empty() => Err(error),
            _ => Ok(observations),
        }
    }
}

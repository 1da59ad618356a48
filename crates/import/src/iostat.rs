//! Reads iostat output, as JSON or as text tables: figures per device and report. Times are present only
//! with `-t`, lengths never.
//!
//! The length of an interval is the difference between its time and the previous time, which iostat prints
//! in whole seconds. Its intervals are whole seconds, so a difference that is off by one is rounding: the
//! usual length is used, and only a longer pause (a suspended machine, a stopped iostat) is taken as
//! printed. Without times the length comes from the user, from the command line in the text, or from the
//! rates (`since_boot`).

use crate::json::Json;
use crate::losses::Counts;
use crate::moment::{SECOND_NS, Stamp};
use crate::observation_builder::ObservationBuilder;
use crate::printed::DAY_NS;
use crate::runs::{Hosts, Report, Run, Span};
use crate::since_boot::First;
use crate::sysstat::{self, find};
use crate::sysstat_json::{self, Frame};
use crate::{ImportError, Options, Text};
use record::{Context, Observation};

/// Length if no source gives one.
const ASSUMED_NS: i128 = SECOND_NS;

/// The short form has no column of discards, and includes them.
pub(crate) const FRAME: Frame =
    Frame { is_report: "disk", name: "disk_device", report, mixed: may_include_discards };

/// Whether means over all requests may include discards: the short form has no column for them.
pub(crate) fn may_include_discards(discarded: Option<f64>) -> bool {
    discarded.is_none_or(|rate| rate > 0.0)
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    observations("iostat -o JSON", sysstat_json::hosts(texts, &FRAME), options)
}

/// The observations from iostat output in any format.
pub(crate) fn observations(
    source: &'static str,
    hosts: Hosts,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let fill = |runs: &mut [Run], builder: &mut ObservationBuilder| {
        let only_first = only_first(runs);
        runs.iter_mut().for_each(|run| add_run(run, only_first, builder, options));
    };
    hosts.observations(source, fill, "record with: iostat -x -t 1")
}

fn report(report: &Json<'_>) -> Report {
    let processors = report.get("avg-cpu").filter(|processors| processors.is_whole());
    let of = |key: &str| find(processors?, &[(key, 1.0)]);
    Report {
        stamp: report.get("timestamp").and_then(|stamp| Stamp::parse(stamp.text()?)),
        context: Context {
            steal_share: sysstat::share(of("steal")),
            idle_share: sysstat::idle_share(of),
            ..Context::default()
        },
        ..Report::default()
    }
}

/// Whether a host has only one report per start of iostat.
fn only_first(runs: &[Run]) -> bool {
    runs.iter().all(|run| run.disk_reports() < 2)
}

fn add_run(run: &mut Run, only_first: bool, builder: &mut ObservationBuilder, options: &Options) {
    let spans = spans(run, builder, options);
    let mut since_boot = false;
    if !run.without_boot && run.disks(0).next().is_some() {
        let given = options.interval_ns.map(i128::from).or(run.interval);
        let usual = || spans.iter().flatten().map(|span| span.1).min();
        let first = run.first_is(given.or_else(usual));
        since_boot = first != First::Interval;
        // If nothing else exists, the averages since boot are used.
        if since_boot && only_first {
            (since_boot, builder.only_since_boot) = (false, true);
            builder.starts_with_host |= run.date.is_some();
        }
        builder.counts.since_boot += u64::from(since_boot);
        builder.counts.since_boot_unsure += u64::from(since_boot && first == First::Unsure);
    }
    run.hand_over(&spans, |report| since_boot && report == 0, builder);
}

fn spans(run: &Run, builder: &mut ObservationBuilder, options: &Options) -> Vec<Span> {
    let given = options.interval_ns.map(i128::from);
    if run.reports.iter().any(|report| report.stamp.is_some()) {
        let stamps: Vec<Option<Stamp>> = run.reports.iter().map(|it| it.stamp.clone()).collect();
        let times = builder.times(&stamps, options.clock(), false);
        let given = given.or(run.interval);
        let cuts: Vec<bool> = run.reports.iter().map(|it| it.after_cut).collect();
        let of_day = |stamp: &Stamp| matches!(stamp, Stamp::Counted(ns) if *ns < 1_000 * DAY_NS);
        builder.begin_assumed |= stamps.iter().flatten().all(of_day);
        let spans = spans_between(&times, &cuts, given, &mut builder.counts);
        if spans.iter().any(Option::is_some) {
            return spans;
        }
        // One report with a time; its rates may imply the length.
        let implied = run.length_by_amounts().or_else(|| run.implied_length());
        let implied = implied.unwrap_or(ASSUMED_NS);
        return spans_between(&times, &cuts, Some(implied), &mut builder.counts);
    }
    // Reports without times follow each other. A date without a time of day is no time: midnight would be
    // invented.
    let begin = builder.end();
    let length = match (given, run.interval) {
        (Some(length), _) => {
            builder.lengths_given = true;
            length
        }
        (None, Some(length)) => {
            builder.length_in_text = Some(length);
            length
        }
        (None, None) => match (run.length_by_amounts(), run.implied_length()) {
            (Some(length), _) => *builder.length_by_amounts.insert(length),
            (None, Some(length)) => *builder.length_implied.insert(length),
            (None, None) => *builder.length_assumed.insert(ASSUMED_NS),
        },
    };
    builder.begin_assumed = true;
    (0i128..).take(run.reports.len()).map(|at| Some((begin + at * length, length))).collect()
}

/// Intervals that end at these times. `given` is the length of all, if the user states it. Reports are cut
/// out of the text before those in `cuts`, so the previous time is not their begin.
pub(crate) fn spans_between(
    times: &[Option<i128>],
    cuts: &[bool],
    given: Option<i128>,
    counts: &mut Counts,
) -> Vec<Span> {
    let timed = times.iter().zip(cuts).filter_map(|(time, cut)| Some(((*time)?, *cut)));
    let known: Vec<(i128, bool)> = timed.collect();
    let steps = known.windows(2).filter(|pair| !pair[1].1).map(|pair| pair[1].0 - pair[0].0);
    let mut steps: Vec<i128> = steps.filter(|step| *step > 0).collect();
    steps.sort_unstable();
    let usual = given.or_else(|| steps.get(steps.len() / 2).copied());
    // End of the last interval, and the time printed for it.
    let mut last: Option<(i128, i128)> = None;
    let mut span = |time: Option<i128>, cut: bool| {
        let (time, usual) = (time?, usual?);
        let span = match last {
            None => (time - usual, usual),
            Some((_, printed)) if cut && time > printed + usual => {
                counts.cuts += 1;
                (time - usual, usual)
            }
            Some((end, printed)) => {
                counts.backwards += u64::from(time < printed);
                let step = time - printed;
                if (step - usual).abs() > SECOND_NS && step > 0 {
                    (end.min(time - 1), time - end.min(time - 1))
                } else if (time - (end + usual)).abs() <= 3 * SECOND_NS / 2 {
                    (end, usual)
                } else {
                    (time - usual, usual)
                }
            }
        };
        last = Some((span.0 + span.1, time));
        Some(span)
    };
    times.iter().zip(cuts).map(|(time, cut)| span(*time, *cut)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = SECOND_NS;

    fn spans(seconds: &[i128]) -> (Vec<(i128, i128)>, u64) {
        let times: Vec<Option<i128>> = seconds.iter().map(|time| Some(time * S)).collect();
        let mut counts = Counts::default();
        let spans = spans_between(&times, &vec![false; times.len()], None, &mut counts);
        (
            spans.into_iter().map(|span| span.unwrap()).map(|(b, l)| (b / S, l / S)).collect(),
            counts.backwards,
        )
    }

    #[test]
    fn times_that_are_rounded_to_seconds_give_intervals_of_one_length() {
        let (found, _) = spans(&[10, 11, 12, 14, 15]);
        assert_eq!(found, [(9, 1), (10, 1), (11, 1), (12, 1), (13, 1)]);
    }

    #[test]
    fn a_long_pause_is_one_long_interval() {
        let (found, _) = spans(&[10, 15, 20, 80, 85]);
        assert_eq!(found, [(5, 5), (10, 5), (15, 5), (20, 60), (80, 5)]);
    }

    #[test]
    fn a_clock_that_goes_back_costs_no_interval() {
        let (found, backwards) = spans(&[100, 105, 110, 50, 55]);
        assert_eq!(found, [(95, 5), (100, 5), (105, 5), (45, 5), (50, 5)]);
        assert_eq!(backwards, 1);
    }
}

//! `iostat -o JSON`: figures per device and report, times only with `-t`, lengths never.
//!
//! The length of an interval is the difference between its time and the time before, which iostat
//! prints to the second. Its intervals are whole seconds, so a difference that is off by one is
//! rounding: the usual length is taken, and only a longer pause (a suspended machine, a stopped
//! iostat) is believed as it stands.

use crate::json::Json;
use crate::moment::{SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::ObservationBuilder;
use crate::since_boot::{First, judge};
use crate::sysstat::{self, COUNTS, Host, Run, find, share};
use crate::{ImportError, Options};
use record::{Context, Observation};

/// Begin and length of a report, where they can be known.
type Span = Option<(i128, i128)>;

pub(crate) fn read(texts: &[String], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let without_boot: Vec<Vec<bool>> = texts.iter().map(|text| without_boot(text)).collect();
    let fill = |host: &Host<'_>, builder: &mut ObservationBuilder| {
        for run in &host.runs {
            let flags = run.start.and_then(|(file, start)| without_boot[file].get(start));
            add_run(run, flags.copied().unwrap_or(false), builder, options);
        }
    };
    sysstat::observations("iostat -o JSON", texts, "disk", fill, finish)
}

fn finish(builder: ObservationBuilder) -> Result<Observation, ImportError> {
    let (why, remedy) = match (builder.counts.since_boot, builder.counts.no_length) {
        (1.., 0) => (
            "there are only averages since boot",
            "record with an interval: iostat -o JSON -x -t 1",
        ),
        (_, 1..) => (
            "the length of the intervals is unknown",
            "record with times (iostat -t), or say --interval",
        ),
        (0, 0) => ("no report has a disk", "record with: iostat -o JSON -x -t 1"),
    };
    builder.finish(why, remedy)
}

/// Of every start of iostat, whether `-y` was given: iostat 12 then leaves an empty line where the
/// report since boot would be.
fn without_boot(text: &str) -> Vec<bool> {
    let blank_line = |behind: &str| {
        let blank = behind.len() - behind.trim_start().len();
        behind[..blank].matches('\n').count() > 1
    };
    text.split("\"statistics\": [").skip(1).map(blank_line).collect()
}

fn add_run(run: &Run<'_>, without_boot: bool, builder: &mut ObservationBuilder, options: &Options) {
    let spans = spans(run, builder, options);
    for (index, (report, span)) in run.reports.iter().zip(&spans).enumerate() {
        if index == 0 && !without_boot {
            let first = first(report, &spans, options);
            if first != First::Interval {
                builder.counts.since_boot += 1;
                builder.counts.since_boot_unsure += u64::from(first == First::Unsure);
                continue;
            }
        }
        let Some((begin, length)) = *span else {
            builder.counts.no_length += 1;
            continue;
        };
        // The short form has no column of discards, and includes them.
        let mixed = |discarded: Option<f64>| discarded.is_none_or(|rate| rate > 0.0);
        sysstat::add_disks(builder, report, (begin, length), "disk_device", mixed);
        let processors = report.get("avg-cpu").filter(|processors| processors.is_whole());
        let steal_share = share(processors, "steal");
        let idle_share = sysstat::idle_share(processors);
        let context = Context { steal_share, idle_share, ..Context::default() };
        builder.add_context(context, begin, length);
    }
}

/// Whether the first report is of an interval. The length that the others have is the one that the
/// user gives, or the usual distance of times.
fn first(report: &Json<'_>, spans: &[Span], options: &Options) -> First {
    let given = options.interval_ns.map(i128::from);
    let Some(length) = given.or_else(|| spans.iter().flatten().map(|span| span.1).min()) else {
        return First::Unsure;
    };
    let disks = report.get("disk").map_or(&[][..], Json::elements);
    let rates: Vec<Reading> =
        disks.iter().flat_map(|disk| COUNTS.iter().filter_map(|keys| find(disk, keys))).collect();
    judge(&rates, length as f64 / SECOND_NS as f64)
}

fn spans(run: &Run<'_>, builder: &mut ObservationBuilder, options: &Options) -> Vec<Span> {
    let stamp = |report: &&Json<'_>| Stamp::parse(report.get("timestamp")?.text()?);
    let stamps: Vec<Option<Stamp>> = run.reports.iter().map(stamp).collect();
    let given = options.interval_ns.map(i128::from);
    if stamps.iter().any(Option::is_some) {
        let times = builder.times(&stamps, options.utc_offset_s, false);
        return spans_between(&times, given, &mut builder.counts.backwards);
    }
    // Reports without times follow one another from the date on.
    let midnight = run.date.and_then(|date| Stamp::parse(&format!("{date} 00:00:00")));
    let begin = given.and_then(|_| builder.times(&[midnight], options.utc_offset_s, false)[0]);
    let Some((begin, length)) = begin.zip(given) else { return vec![None; run.reports.len()] };
    (builder.lengths_given, builder.begin_assumed) = (true, true);
    (0i128..).take(run.reports.len()).map(|at| Some((begin + at * length, length))).collect()
}

/// Spans that end at these times. `given` is the length of all, where the user says it.
fn spans_between(times: &[Option<i128>], given: Option<i128>, backwards: &mut u64) -> Vec<Span> {
    let known: Vec<i128> = times.iter().flatten().copied().collect();
    let mut steps: Vec<i128> =
        known.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    let usual = given.or_else(|| steps.get(steps.len() / 2).copied());
    // Where the last interval ended, and the time that was printed for it.
    let mut last: Option<(i128, i128)> = None;
    let mut span = |time: Option<i128>| {
        let (time, usual) = (time?, usual?);
        let span = match last {
            None => (time - usual, usual),
            Some((end, printed)) => {
                *backwards += u64::from(time < printed);
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
    times.iter().map(|time| span(*time)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = SECOND_NS;

    fn spans(seconds: &[i128]) -> (Vec<(i128, i128)>, u64) {
        let times: Vec<Option<i128>> = seconds.iter().map(|time| Some(time * S)).collect();
        let mut backwards = 0;
        let spans = spans_between(&times, None, &mut backwards);
        (
            spans.into_iter().map(|span| span.unwrap()).map(|(b, l)| (b / S, l / S)).collect(),
            backwards,
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

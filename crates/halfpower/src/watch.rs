//! `halfpower watch`: what the disks do now, and whether it is what they should do.
//!
//! On a terminal a screen; anywhere else, or asked for by `--once`, `--count` or `--json`, a line per
//! device and interval. Both show the same rows.

use crate::failure::interrupted;
use crate::observing::{ObservingArgs, recorder};
use crate::output::{self, Verdict};
use crate::store_args::StoreArgs;
use crate::values::one_of;
use clap::Args;
use live::{Judge, Lines, Screen};
use observe::{Pace, Source};
use report::SortBy;
use session::{StopFlag, VERSION};
use std::sync::atomic::Ordering;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower watch                        a screen of all disks; h shows its keys\n  \
    halfpower watch sda --interval 5s\n  \
    halfpower watch . --once               one line: what the disk of this directory does\n  \
    halfpower watch --json --count 60 > minute.jsonl\n\n\
    On the screen: arrows, mouse or wheel pick a device, Enter opens it, a click on a title or s\n\
    sorts, / filters, u changes MB/s and MiB/s, h explains keys and figures.\n\n\
    docs/watch.md explains screen, columns and JSON.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) observing: ObservingArgs,
    /// By what the screen sorts the devices: queue-depth, iops, reads, writes, throughput, latency,
    /// latency-ratio (over the profile's), busy, saturation, verdict or name.
    #[arg(long, default_value = SortBy::default().name(), value_parser = one_of(&SortBy::ALL, SortBy::name))]
    pub(crate) sort: SortBy,
    /// Compare the devices with this profile [default: the one that fits each best].
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// One interval, a line per device, no screen.
    #[arg(long, conflicts_with = "count", help_heading = "Without a screen")]
    pub(crate) once: bool,
    /// So many intervals, a line per device and interval, no screen.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Without a screen")]
    pub(crate) count: Option<u64>,
    /// Each line as a JSON document, no screen.
    #[arg(long, help_heading = "Without a screen")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

pub(crate) fn watch(arguments: &WatchArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let observing = &arguments.observing;
    let source = observing.source()?;
    let profiles = arguments.keeping.profiles_for_devices(arguments.profile.as_deref())?;
    let judge = Judge::new(&observing.sampling.roots(), profiles, source.host(), VERSION);
    let lines = arguments.once || arguments.count.is_some() || arguments.json;
    if lines || !live::terminal_is_there() {
        return print_lines(arguments, source, judge, stop);
    }
    let record = |host| Ok(recorder(Some(arguments.keeping.open()?), host));
    let screen = Screen::new(
        judge,
        source,
        (observing.sampling.interval, observing.all),
        (arguments.sort, output::style().color),
        &record,
    )?;
    let ended = screen.show(stop)?;
    for id in &ended.recorded {
        output::remark(&format!("recorded; next: halfpower diagnose {id}"));
    }
    ended.outcome?;
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("the screen was ended by a signal"));
    }
    Ok(Verdict::Clean)
}

/// Prints lines until the count is reached, a signal comes or the reader has gone away.
fn print_lines(
    arguments: &WatchArgs,
    mut source: Source,
    mut judge: Judge,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    let count = if arguments.once { Some(1) } else { arguments.count };
    let mut pace = Pace::new(arguments.observing.sampling.interval);
    let mut lines = Lines::new(arguments.json);
    let mut taken = 0;
    while count.is_none_or(|count| taken < count) {
        if !pace.wait(stop) {
            let printed = record::counted(taken as f64, "interval");
            return Err(interrupted(format!("{printed} printed")));
        }
        judge.add(source.sample()?);
        taken += 1;
        if !output::print_on(&lines.of(&judge)?)? {
            break;
        }
    }
    for finding in source.findings() {
        output::remark(&finding.claim);
    }
    Ok(Verdict::Clean)
}

//! `halfpower watch`: what the disks do now, and whether it is what they should do.
//!
//! On a terminal a screen; anywhere else, or asked for by `--once`, `--count` or `--json`, a line per
//! device and interval. Both show the same rows.

mod feed;
mod judge;
mod keys;
mod lines;
mod screen;
mod terminal;

use crate::observing::ObservingArgs;
use crate::output::Verdict;
use crate::profiles;
use crate::store_args::StoreArgs;
use ::diagnose::FittedProfile;
use clap::{Args, ValueEnum};
use report::SortBy;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;

/// `halfpower watch`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower watch                        a screen of all disks; h shows its keys\n  \
    halfpower watch sda --interval 5s\n  \
    halfpower watch . --once               one line: what the disk of this directory does\n  \
    halfpower watch --json --count 60 > minute.jsonl\n\n\
    docs/watch.md explains screen, columns and JSON.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) observing: ObservingArgs,
    /// By what the screen sorts the devices.
    #[arg(long, value_enum, default_value_t = SortArg::Concurrency)]
    pub(crate) sort: SortArg,
    /// Hold the devices against this profile [default: the one that fits each best].
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

/// The figures to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// Mean requests in progress.
    Concurrency,
    /// Requests per second.
    Rate,
    /// Bytes per second.
    Throughput,
    /// Response time.
    Response,
    /// Utilization.
    Busy,
    /// Rate against the most that the profile promises.
    Saturation,
    /// Name.
    Name,
}

impl From<SortArg> for SortBy {
    fn from(sort: SortArg) -> Self {
        match sort {
            SortArg::Concurrency => Self::Concurrency,
            SortArg::Rate => Self::Rate,
            SortArg::Throughput => Self::Throughput,
            SortArg::Response => Self::Response,
            SortArg::Busy => Self::Busy,
            SortArg::Saturation => Self::Saturation,
            SortArg::Name => Self::Name,
        }
    }
}

/// Shows it, on a screen or in lines.
pub(crate) fn watch(arguments: &WatchArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let lines = arguments.once || arguments.count.is_some() || arguments.json;
    if lines || !terminal::Terminal::is_there() {
        lines::run(arguments, stop)
    } else {
        screen::run(arguments, stop)
    }
}

/// The profiles that devices can be held against, in order of time, and whether the user chose one.
fn profiles(arguments: &WatchArgs) -> anyhow::Result<(Vec<FittedProfile>, bool)> {
    let path = arguments.keeping.file()?;
    if arguments.profile.is_none() && !path.exists() {
        return Ok((Vec::new(), false));
    }
    let store = Store::open_existing(&path)?;
    let rows = store.profiles()?;
    let Some(id) = &arguments.profile else {
        let of_disks = rows.iter().filter(|row| !row.simulated);
        let found = of_disks
            .map(|row| store.profile(&row.id).map(FittedProfile::new))
            .collect::<Result<_, _>>()?;
        return Ok((found, false));
    };
    Ok((vec![FittedProfile::new(profiles::named(&store, id)?)], true))
}

//! `halfpower watch`: what the disks do now, and whether it is what they should do.
//!
//! On a terminal a screen; anywhere else, or asked for by `--once`, `--count` or `--json`, a line per
//! device and interval. Both show the same rows.

mod events;
mod judge;
mod lines;
mod screen;

use crate::observing::ObservingArgs;
use crate::output::Verdict;
use crate::profiles;
use crate::store_args::StoreArgs;
use ::diagnose::FittedProfile;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
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
    #[arg(long, default_value = SortBy::default().name(), value_parser = sort_parser())]
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

fn sort_parser() -> impl TypedValueParser<Value = SortBy> {
    let of = |name: String| SortBy::ALL.into_iter().find(|sort| sort.name() == name);
    PossibleValuesParser::new(SortBy::ALL.map(SortBy::name))
        .map(move |name| of(name).unwrap_or_default())
}

/// Shows it, on a screen or in lines.
pub(crate) fn watch(arguments: &WatchArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let lines = arguments.once || arguments.count.is_some() || arguments.json;
    if lines || !screen::terminal_is_there() {
        lines::run(arguments, stop)
    } else {
        screen::run(arguments, stop)
    }
}

/// The profiles that devices can be compared with, in order of time, and whether the user chose one.
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

//! The command line: the verbs, and the flags of all but `run`, which has a file of its own.

use crate::compare::CompareArgs;
use crate::import::ImportArgs;
use crate::record::RecordArgs;
use crate::run_args::RunArgs;
use crate::store_args::StoreArgs;
use crate::values::one_of;
use crate::watch::WatchArgs;
use clap::{Args, Parser, Subcommand};
use papers::Switch;
use std::path::PathBuf;

/// What a disk should do, what it is doing, and what to change.
#[derive(Debug, Parser)]
#[command(
    name = "halfpower",
    version,
    about = "Measures what a disk does and says what to expect from it and how to use it.",
    after_help = "Examples:\n  \
        halfpower check                     characterise the disk under this directory\n  \
        halfpower run . --rw randread       one trial: 4 KiB random reads for 10 s\n  \
        halfpower sweep riedel .            an experiment: size, depth and buffering\n  \
        halfpower check sim:mmc,service=100us   the same on a simulated device\n  \
        halfpower doctor                    what this machine can measure\n\n\
        Exit codes: 0 done, 1 done but not clean, 2 usage, 3 refused for safety, 4 no result,\n\
        130 interrupted."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Characterise a disk in about a minute: what to expect of it and how to use it.
    Check(crate::check::CheckArgs),
    /// Run one trial.
    Run(Box<RunArgs>),
    /// What memory, bus, link and disk carry against what is advertised, and which one binds.
    Limits(crate::limits::LimitsArgs),
    /// Throughput against position: zones, the loss from outside to inside, the lowest rate.
    Zones(crate::zones::ZonesArgs),
    /// Price and performance from a profile, and how many such disks fill something.
    Cost(crate::cost::CostArgs),
    /// Run an experiment: a design or a preset, in randomised blocks; resumable.
    Sweep(Box<crate::sweep::SweepArgs>),
    /// List, show and validate saved profiles.
    Profile(Box<ProfileArgs>),
    /// What a load would see of a disk that was measured: response, queue, utilization, limit.
    Predict(Box<crate::predict::PredictArgs>),
    /// What would become of a load if its disk were faster, an array, cached, or asked otherwise.
    #[command(name = "whatif")]
    WhatIf(Box<crate::whatif::WhatIfArgs>),
    /// Settings for PostgreSQL, MySQL, Linux, io.cost, ScyllaDB or fio, derived from a profile.
    Advise(crate::advise::AdviseArgs),
    /// Say what is the matter with a disk: slow, overloaded, capped, or not the disk at all.
    Diagnose(Box<crate::diagnose::DiagnoseArgs>),
    /// Say what differs between two trials, experiments, profiles or traces.
    Compare(CompareArgs),
    /// Say what this machine can measure and what not, and why.
    Doctor(DoctorArgs),
    /// Read what other tools kept: iostat, sar, node_exporter, Prometheus, Windows.
    Import(Box<ImportArgs>),
    /// Make a page, drawings or a summary of what is kept.
    Report(crate::reports::ReportArgs),
    /// What the disks do now, and whether it is what they should do: a live screen, or lines.
    Watch(Box<WatchArgs>),
    /// Keep what the disks' counters say, to be diagnosed later.
    Record(Box<RecordArgs>),
    /// Hold the published figures of three papers against formulae and the simulator.
    Papers(PapersArgs),
}

/// `halfpower profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: ProfileAction,
}

/// What can be done with saved profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileAction {
    /// List the saved profiles.
    List {
        #[command(flatten)]
        keeping: StoreArgs,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Hold one against loads that are no part of it: predicts, measures, compares.
    Validate(crate::validate::ValidateArgs),
    /// Show one.
    Show {
        /// Its id, or the beginning of it; "last" is the newest.
        id: String,
        #[command(flatten)]
        keeping: StoreArgs,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// Print the latency histograms of all cells, too: megabytes of JSON.
        #[arg(long, requires = "json")]
        with_trials: bool,
    },
}

/// `halfpower doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory whose disk is meant.
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `halfpower papers`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower papers                        all claims and figures of all papers\n  \
    halfpower papers --only riedel --html papers.html\n  \
    halfpower papers --only fig06.write.3 --verbose\n  \
    halfpower papers --without rotation     what fails when the disk does not turn")]
pub(crate) struct PapersArgs {
    /// Only these rows: an id, a figure (\"Figure 3\"), a chart or a paper (riedel, chung, friedman).
    /// Once for each.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Leaves a part of the physics out of every simulated drive: seek, rotation, readahead,
    /// coalesce or contention. Once for each.
    #[arg(long, value_name = "PART", value_parser = one_of(&Switch::ALL, Switch::name))]
    pub(crate) without: Vec<Switch>,
    /// Multiplies the published values by this before they are compared: nothing reproduced may
    /// change by it.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    pub(crate) scale_published: f64,
    /// Print the expression and the runs behind every row.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with every figure as published and as reproduced to a file as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (0.01..=100.0).contains(factor));
    factor.ok_or_else(|| "use a number from 0.01 to 100".to_owned())
}

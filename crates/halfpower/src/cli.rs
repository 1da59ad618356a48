//! The command line: its verbs. The flags of each are beside what it does.

use crate::extent::ExtentArgs;
use crate::profile::ProfileAction;
use clap::{Parser, Subcommand};

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
    #[command(flatten)]
    pub(crate) extent: ExtentArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Characterise a disk in about a minute: what to expect of it and how to use it.
    Check(crate::check::CheckArgs),
    /// Run one trial.
    Run(Box<crate::run_args::RunArgs>),
    /// Take part in a load of several machines (started by `run --hosts`).
    Agent(crate::agent::AgentArgs),
    /// What memory, bus, link and disk carry against what is advertised, and which one binds.
    Limits(crate::limits::LimitsArgs),
    /// Throughput against position: zones, the loss from outside to inside, the lowest rate.
    Zones(crate::zones::ZonesArgs),
    /// Price and performance from a profile, and how many such disks fill something.
    Cost(crate::cost::CostArgs),
    /// What to buy: disks, adapters and arrays for a need, by cost, with the load of each part.
    Design(Box<crate::design::DesignArgs>),
    /// Run an experiment: a design or a preset, in randomised blocks; resumable.
    Sweep(Box<crate::sweep::SweepArgs>),
    /// List, show and validate saved profiles.
    #[command(subcommand)]
    Profile(Box<ProfileAction>),
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
    Compare(crate::compare::CompareArgs),
    /// Say what this machine can measure and what not, and why.
    Doctor(crate::doctor::DoctorArgs),
    /// Read what other tools kept: iostat, sar, node_exporter, Prometheus, Windows.
    Import(Box<crate::import::ImportArgs>),
    /// Make a page, drawings or a summary of what is kept.
    Report(crate::reports::ReportArgs),
    /// Write trials as tables for DuckDB, pandas and the like: Parquet files.
    Export(crate::export::ExportArgs),
    /// What the disks do now, and whether it is what they should do: a live screen, or lines.
    Watch(Box<crate::watch::WatchArgs>),
    /// Keep what the disks' counters say, to be diagnosed later.
    Record(Box<crate::record::RecordArgs>),
    /// What recorded requests come to, and the load that does the same, held against them.
    Twin(Box<crate::twin::TwinArgs>),
    /// Hold a drive of extracted parameters against the service times of the real one.
    Drive(crate::drive::DriveArgs),
    /// Hold the published figures of three papers against formulae and the simulator.
    Papers(crate::papers::PapersArgs),
}

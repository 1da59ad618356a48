//! The table of commands. The flags of each command are in its own module.

use crate::extent::ExtentArgs;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Find out what a disk can do, why it is slow, and what to change.
#[derive(Debug, Parser)]
#[command(
    name = "halfpower",
    version,
    about = "Find out what a disk can do, why it is slow now, and what to change."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) extent: ExtentArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure a disk in a minute: IOPS, latency, and the best queue depth.
    Check(crate::check::CheckArgs),
    /// Run one load, with fio's flags, job files or command lines.
    Run(Box<crate::run_args::RunArgs>),
    /// Find what differs between two results.
    Compare(crate::compare::CompareArgs),
    /// Find out why a disk is slow, live or from recorded counters.
    Diagnose(Box<crate::diagnose::DiagnoseArgs>),
    /// Show what the disks are doing now, and whether that is normal.
    Watch(Box<crate::watch::WatchArgs>),
    /// Record counters or requests, or import the output of another tool.
    Record(Box<crate::record::RecordArgs>),
    /// Predict the latency of a load, and the effect of a change.
    Predict(Box<crate::predict_args::PredictArgs>),
    /// Print settings for PostgreSQL, MySQL, etcd, Linux and fio.
    Advise(crate::advise::AdviseArgs),
    /// Show or list saved results; validate a profile.
    Show(Box<crate::show::ShowArgs>),
    /// Make an HTML page, plots, Markdown or CSV from results.
    Report(crate::reports::ReportArgs),
    /// Write trials as CSV tables for pandas, DuckDB and others.
    Export(crate::export::ExportArgs),
    /// Show what this machine can and cannot measure, and why.
    Doctor(crate::doctor::DoctorArgs),
    /// List the commands for experiments.
    Lab,
    /// Explain the code of a finding, cause, verdict or note.
    Explain(crate::explain::ExplainArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write all manual pages.
    Man(ManArgs),
    /// Run an experiment in randomised blocks; it can be resumed.
    Sweep(Box<crate::sweep::SweepArgs>),
    /// Measure each part of the path to a disk, and find the bottleneck.
    Limits(crate::limits::LimitsArgs),
    /// Measure throughput by position on a disk.
    Zones(crate::zones::ZonesArgs),
    /// Reproduce the figures of three papers with simulated drives.
    Papers(crate::papers::PapersArgs),
    /// Generate one machine's part of a load (started by `run --hosts`).
    Agent(crate::agent::AgentArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower completions bash > /etc/bash_completion.d/halfpower\n  \
    halfpower completions zsh > ~/.zfunc/_halfpower\n  \
    halfpower completions fish > ~/.config/fish/completions/halfpower.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower man | man -l -                read the main page\n  \
    halfpower man ~/.local/share/man/man1   write the pages of all commands")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this folder [default: print the main page].
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

//! `halfpower papers`: compares published figures with formulae and the simulator.
//!
//! The `papers` crate lists the runs that it needs as command lines. This module parses them with the parser
//! of `run` and executes them with its code. A user can therefore type any line of the report and get the
//! same result. The runs are independent, each with its own device. One thread per CPU takes the next run
//! from the list.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run;
use crate::run_args::RunArgs;
use crate::values::one_of;
use ::model::papers::{Choice, Papers, RunLine, Switch};
use clap::Args;
use host::target::OutputFile;
use plan::session::{Display, Shown, StopFlag, VERSION};
use record::Trial;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower papers                        how many figures are reproduced\n  \
    halfpower papers --only riedel --html papers.html\n  \
    halfpower papers --only fig06.write.3 --verbose\n  \
    halfpower papers --without rotation     what fails without rotational delay")]
pub(crate) struct PapersArgs {
    /// Compare only these rows: an id, a figure ("Figure 3"), a chart or a paper (riedel, chung,
    /// friedman). Can be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Disable a physical effect in every simulated drive: seek, rotation, readahead, coalesce,
    /// contention or zones. Can be repeated.
    #[arg(long, value_name = "PART", value_parser = one_of(&Switch::ALL, Switch::name))]
    without: Vec<Switch>,
    /// Simulate machine NAME of the papers from the description in FILE. run --show-sim NAME prints
    /// a description to start from.
    #[arg(long, value_name = "NAME=FILE", value_parser = machine)]
    machine: Vec<(String, String)>,
    /// Multiply the published values by this factor, to check that the reproduced values do not
    /// depend on them.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    scale_published: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write every figure, as published and as reproduced, to an HTML file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (0.01..=100.0).contains(factor));
    factor.ok_or_else(|| "use a number from 0.01 to 100".to_owned())
}

fn machine(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) = parts.ok_or("use NAME=FILE, for example st34371w=mine.toml")?;
    Ok((name.to_owned(), file.to_owned()))
}

/// The part of a run's target after this machine's name; `None` if the run uses another machine.
fn keys_behind<'a>(line: &'a RunLine, name: &str) -> Option<&'a str> {
    let rest = line.target.strip_prefix("sim:")?.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with(',')).then_some(rest)
}

/// The run, with a machine's file in place of its name.
fn with_machines(line: &RunLine, machines: &[(String, String)]) -> RunLine {
    let file = |(name, file): &(String, String)| {
        Some(line.on(format!("sim:{file}{}", keys_behind(line, name)?)))
    };
    machines.iter().find_map(file).unwrap_or_else(|| line.clone())
}

/// Result of a run. The error is text, because a row prints it.
type Outcome = Result<Trial, String>;

pub(crate) fn papers(arguments: &PapersArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let mut papers = Papers::load()?;
    papers.scale_published(arguments.scale_published);
    let mut without = arguments.without.clone();
    without.sort();
    without.dedup();
    let machines = arguments.machine.iter().map(|(name, file)| format!("{name} as in {file}"));
    let choice = Choice { only: arguments.only.clone(), without, machines: machines.collect() };
    if !papers.has(&choice) {
        let names = arguments.only.join(", ");
        return Err(usage(format!(
            "--only {names} matches no row; use an id such as R096 or fig03.read.ultra, a figure \
             such as \"Figure 3\", a chart or a paper (riedel, chung, friedman)"
        )));
    }
    let html = OutputFile::claim(&output::PAGE, arguments.html.as_deref(), &mut Vec::new())?;
    let lines = papers.plan(&choice);
    let known = |name: &str| lines.iter().any(|line| keys_behind(line, name).is_some());
    for (at, (name, file)) in arguments.machine.iter().enumerate() {
        if arguments.machine[..at].iter().any(|(other, _)| other == name) {
            return Err(usage(format!("--machine {name} was given twice")));
        }
        simdisk::SimSpec::parse(file)
            .map_err(|error| usage(format!("--machine {name}: {error}")))?;
    }
    if let Some((name, _)) = arguments.machine.iter().find(|(name, _)| !known(name)) {
        return Err(usage(format!(
            "--machine {name}: none of the selected rows simulates sim:{name}"
        )));
    }
    let outcomes = carry_out(&lines, &arguments.machine, stop)?;
    let report = papers.evaluate(&choice, VERSION, &mut |line| {
        outcomes.get(line).cloned().unwrap_or_else(|| Err("the run was not planned".to_owned()))
    });
    let written = html.map(|file| file.finish(report::report_html(&[report::papers(&report)])));
    let page = || output::page(&report::papers(&report));
    output::document(arguments.json, &report, page)?;
    written.transpose()?;
    Ok(Verdict::of(report.met))
}

fn carry_out(
    lines: &[RunLine],
    machines: &[(String, String)],
    stop: &StopFlag,
) -> anyhow::Result<BTreeMap<RunLine, Outcome>> {
    let run = |line: &RunLine| {
        let arguments = RunArgs::read(with_machines(line, machines).arguments())?;
        run::simulated_trial(&arguments, stop).map_err(|error| format!("{error:#}"))
    };
    let mut progress = Progress::new();
    let outcomes = plan::on_all_processors(lines, stop, run, |done| {
        let remark = format!("{done} of {} runs", lines.len());
        let share = done as f64 / lines.len() as f64;
        progress.show(&Shown { phase: "simulate", share, what: &remark, ..Shown::default() });
    });
    progress.clear();
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("nothing is saved"));
    }
    Ok(lines.iter().cloned().zip(outcomes).collect())
}

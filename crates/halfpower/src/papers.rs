//! `halfpower papers`: the published figures against formulae and the simulator.
//!
//! The crate of the papers says which runs it needs, as command lines. They are read here by the
//! parser of `run` and carried out by its code, so that a line of the report can be typed by hand
//! and gives the same. Runs do not know of each other: each has a device of its own, and there is
//! a thread per processor that takes the next run from the list.

use crate::cli::PapersArgs;
use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run;
use crate::run_args::RunArgs;
use ::papers::{Choice, Papers, RunLine};
use record::Trial;
use session::{Display, VERSION};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::OutputFile;

/// What came of a run; an error is text, because a row tells it.
type Outcome = Result<Trial, String>;

/// Reproduces the rows asked for and prints them.
pub(crate) fn papers(arguments: &PapersArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let mut papers = Papers::load()?;
    papers.scale_published(arguments.scale_published);
    let mut without = arguments.without.clone();
    without.sort();
    without.dedup();
    let choice = Choice { only: arguments.only.clone(), without };
    if !papers.has(&choice) {
        let names = arguments.only.join(", ");
        return Err(usage(format!(
            "--only {names} names no row; use an id such as R096 or fig03.read.ultra, a figure such \
             as \"Figure 3\", a chart or a paper (riedel, chung, friedman)"
        )));
    }
    let html = arguments.html.as_deref();
    let html = html.map(|path| OutputFile::create(&output::PAGE, path, &[])).transpose()?;
    let lines = papers.plan(&choice);
    let outcomes = carry_out(&lines, stop)?;
    let report = papers.evaluate(&choice, VERSION, &mut |line| match outcomes.get(line) {
        Some(outcome) => outcome.clone(),
        None => Err("the run was not planned".to_owned()),
    });
    let written =
        html.map(|file| file.finish(report::report_html(&[report::papers(&report, false)])));
    let text = if arguments.json {
        output::json(&report)?
    } else {
        output::page(&report::papers(&report, arguments.verbose))
    };
    output::print(&text)?;
    written.transpose()?;
    Ok(Verdict::of(report.met))
}

/// Carries out all runs, by the parser and the code of `run`.
fn carry_out(
    lines: &[RunLine],
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<BTreeMap<RunLine, Outcome>> {
    let run = |line: &RunLine| {
        let arguments = RunArgs::read(line.arguments())?;
        run::simulated_trial(&arguments, stop).map_err(|error| format!("{error:#}"))
    };
    let mut progress = Progress::new();
    let outcomes = scenarios::on_all_processors(lines, stop, run, |done| {
        let remark = format!("{done} of {} runs", lines.len());
        progress.show("simulate", done as f64 / lines.len() as f64, &remark);
    });
    progress.clear();
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("nothing of it is kept"));
    }
    Ok(lines.iter().cloned().zip(outcomes).collect())
}

//! `halfpower papers`: the published figures against formulae and the simulator.
//!
//! The crate of the papers says which runs it needs, as command lines. They are read here by the
//! parser of `run` and carried out by its code, so that a line of the report can be typed by hand
//! and gives the same. Runs do not know of each other: each has a device of its own, and there is
//! a thread per processor that takes the next run from the list.

use crate::cli::PapersArgs;
use crate::failure::{Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run;
use crate::run_args::RunArgs;
use ::papers::{Choice, Papers, RunLine};
use anyhow::anyhow;
use record::Trial;
use session::Display;
use session::VERSION;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use target::OutputFile;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(50);

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
        let text = format!(
            "--only {names} names no row; use an id such as R096 or fig03.read.ultra, a figure such \
             as \"Figure 3\", a chart or a paper (riedel, chung, friedman)"
        );
        return Err(UsageError(text).into());
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
        html.map(|file| file.finish(&report::report_html(&[report::papers(&report, false)])));
    let text = if arguments.json {
        output::json(&report)?
    } else {
        output::page(&report::papers(&report, arguments.verbose))
    };
    output::print(&text)?;
    written.transpose()?;
    Ok(Verdict::of(report.met))
}

/// Carries out all runs.
fn carry_out(
    lines: &[RunLine],
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<BTreeMap<RunLine, Outcome>> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let outcomes: Mutex<BTreeMap<RunLine, Outcome>> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(lines.len().max(1));
    let mut progress = Progress::new();
    thread::scope(|scope| {
        let work = || {
            while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let outcome = carry_out_one(line, stop);
                if let Ok(mut outcomes) = outcomes.lock() {
                    outcomes.insert(line.clone(), outcome);
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            let done = done.load(Ordering::Relaxed);
            let remark = format!("{done} of {} runs", lines.len());
            progress.show("simulate", done as f64 / lines.len().max(1) as f64, &remark);
            thread::sleep(TICK);
        }
    });
    progress.clear();
    if stop.load(Ordering::Relaxed) {
        return Err(Interruption("nothing of it is kept".to_owned()).into());
    }
    outcomes.into_inner().map_err(|_| anyhow!("a simulated run ended in a panic"))
}

/// Carries out one, by the parser and the code of `run`.
fn carry_out_one(line: &RunLine, stop: &Arc<AtomicBool>) -> Outcome {
    let arguments = RunArgs::read(line.arguments())?;
    run::simulated_trial(&arguments, stop).map_err(|error| format!("{error:#}"))
}

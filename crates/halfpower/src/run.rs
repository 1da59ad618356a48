//! `halfpower run`: runs one trial, from its flags to its document.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::recognise;
use crate::run_args::RunArgs;
use crate::store_args::warn_not_saved;
use host::target::{InUse, LineFile, OutputFile};
use plan::session::{self, Beside, CacheState, Driver, End, StopFlag, Targets};
use plan::{PlannedTrial, Saved, TrialList};
use record::{Redundancy, Trial, Workload};
use simdisk::SimSpec;
use std::path::PathBuf;
use store::Store;

pub(crate) fn run(arguments: &RunArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    run_into(arguments, stop, None)
}

/// Where a trial goes in addition to the database.
pub(crate) struct Keep<'a> {
    /// Receives the trial.
    pub(crate) trials: &'a mut Vec<Trial>,
    /// Whether to print the trial's page.
    pub(crate) print: bool,
}

/// Like `run`; `keep` receives the trial.
pub(crate) fn run_into(
    arguments: &RunArgs,
    stop: &StopFlag,
    keep: Option<Keep<'_>>,
) -> anyhow::Result<Verdict> {
    if arguments.list_sim {
        return output::print(&simdisk::help_with_keys());
    }
    if let Some(name) = &arguments.show_sim {
        return output::print(&session::shown_simulated(name)?);
    }
    // Everything that can fail without a measurement must fail before it.
    let simulated = simulated(arguments)?;
    let seed = session::seed(arguments.load.seed, simulated.is_some());
    // A simulated device rebuilds itself. The load without a rebuild runs on a separate device.
    let without = simulated.as_ref().and_then(SimSpec::without_rebuild);
    let mut progress = Progress::new();
    let (mut session, workload, store, files) = match simulated {
        Some(device) => {
            let (session, workload) =
                session::simulated_for_run(arguments.spec(), &device, seed, stop)?;
            let store = arguments.results.save.store()?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            (session, workload, store, files)
        }
        None => {
            let sets = arguments.target_sets();
            recognise::refuse_as_targets(&sets)?;
            let opener = arguments.hosts.opener(stop, &progress)?;
            let spec = opener.whole(arguments.spec())?;
            let beside = Beside {
                cost_fit: arguments.cost_fit,
                precondition: arguments.place.precondition,
                reserve: arguments.reserve,
            };
            let (targets, workload) = session::open_for_run(&spec, &sets, beside, opener.as_ref())?;
            let store = arguments.results.save.store()?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            let session = targets.into_session(workload.engine, seed, stop, &mut progress)?;
            let workload = session::workload_here(&spec, &session, workload)?;
            (session, workload, store, files)
        }
    };
    if arguments.place.precondition {
        session = session::precondition(session, &without_rebuild(&workload), seed, &mut progress)?;
    }
    let found = CacheState::of(&session, &workload);
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    if arguments.cost_fit {
        let fit = session::cost_fit(&mut driver, &workload, seed)?;
        let json = output::json(&fit)?;
        let written = files.document.map_or(Ok(()), |file| file.finish(json));
        driver.keep(|store| store.add_document(&fit));
        let save = &arguments.results.save;
        let verdict = save.show(&mut driver, &fit, &fit.findings, || report::cost_fit(&fit))?;
        written?;
        return Ok(verdict);
    }
    // The trial is saved after a second pass has added its data.
    let rebuilds = workload.array.is_some_and(|array| array.rebuild.is_some());
    let before = rebuilds.then(|| without_rebuild(&workload));
    let count = 1 + usize::from(rebuilds);
    let planned = before.into_iter().chain([workload]).map(|workload| PlannedTrial {
        partial: true,
        saved: Saved::No,
        ..PlannedTrial::new(workload, seed)
    });
    let finished = driver.run(&mut TrialList::new("measure", planned.collect()))?;
    let mut end = finished.end;
    let mut trials = finished.trials;
    let Some(mut trial) = trials.pop().filter(|_| trials.len() + 1 == count) else {
        return Err(interrupted("no request was measured, so nothing is saved"));
    };
    if let Some(rebuild) = trial.result.array.as_mut().and_then(|array| array.rebuild.as_mut()) {
        rebuild.without = match (trials.first(), without) {
            (Some(before), _) => before.load_figures(),
            // An interrupted trial keeps the data that it has.
            (None, Some(device)) if end != End::Interrupted => {
                let (mut session, workload) =
                    session::simulated_for_run(arguments.spec(), &device, seed, stop)?;
                session.trial(&workload, seed, &mut |_| {})?.load_figures()
            }
            (None, _) => Vec::new(),
        };
    }
    if arguments.cpu_upper && end == End::Completed {
        end = session::add_upper_bound(&mut driver, found, &mut trial)?;
    }
    driver.keep(|store| store.add_document(&trial));
    let comment = arguments.results.comment.as_deref().unwrap_or_default();
    let written = files.finish(&trial, comment);
    session::something_completed(std::slice::from_ref(&trial))?;
    let clean = trial.clean();
    let saved = driver.store().is_some();
    if keep.as_ref().is_none_or(|keep| keep.print) {
        arguments.results.save.show(&mut driver, &trial, &[], || report::trial(&trial))?;
    } else if let Some(error) = driver.unsaved() {
        warn_not_saved(&error);
    }
    if let Some(keep) = keep {
        keep.trials.push(trial);
    }
    written?;
    if end == End::Interrupted {
        let saved = if saved { "they are saved" } else { "they are not saved" };
        return Err(interrupted(format!(
            "the numbers cover the time before the interruption; {saved}"
        )));
    }
    Ok(Verdict::of(clean))
}

/// The workload without its rebuild.
fn without_rebuild(workload: &Workload) -> Workload {
    let array = workload.array.map(|array| Redundancy { rebuild: None, ..array });
    Workload { array, ..workload.clone() }
}

/// The trial of a run on a simulated target, as [`run`] makes it, but neither saved nor printed.
pub(crate) fn simulated_trial(arguments: &RunArgs, stop: &StopFlag) -> anyhow::Result<Trial> {
    let device = simulated(arguments)?.ok_or_else(|| usage("the target is not a sim: device"))?;
    let seed = session::seed(arguments.load.seed, true);
    let (mut session, workload) =
        session::simulated_for_run(arguments.spec(), &device, seed, stop)?;
    Ok(session.trial(&workload, seed, &mut |_| {})?)
}

/// The simulated device, if the target is one. It rejects flags for real machines and flags that contradict
/// each other.
fn simulated(arguments: &RunArgs) -> anyhow::Result<Option<SimSpec>> {
    let device = session::one_simulated(&arguments.targets)?;
    if let Some(flag) = arguments.real_only().filter(|_| device.is_some()) {
        return Err(usage(format!("{flag} does not apply to a simulated target; omit it")));
    }
    if let Some(text) = arguments.contradiction() {
        return Err(usage(text));
    }
    let sets = arguments.target_sets().len();
    match device {
        Some(_) if sets > 1 => {
            let text = "all jobs use the same simulated device; name no target in --beside";
            Err(usage(text))
        }
        device => Ok(device),
    }
}

/// The files that a run writes in addition to the page and the database.
struct Files {
    document: Option<OutputFile>,
    intervals: Option<OutputFile>,
    trace: Option<LineFile>,
}

impl Files {
    /// Opens all files; none may be one that the run uses.
    fn open(
        arguments: &RunArgs,
        workload: &Workload,
        store: Option<&Store>,
    ) -> anyhow::Result<Self> {
        let results = &arguments.results;
        let sets = arguments.target_sets();
        let targets = sets.iter().flat_map(|(targets, _)| targets);
        let mut in_use: Vec<InUse> =
            targets.map(|target| InUse::new(target, "the target")).collect();
        for path in store.into_iter().flat_map(Store::files) {
            in_use.push(InUse::new(path, "the database of results"));
        }
        let mut claim =
            |kind, path: &Option<PathBuf>| OutputFile::claim(kind, path.as_deref(), &mut in_use);
        let document = claim(&output::DOCUMENT, &results.output)?;
        let intervals = claim(&output::INTERVALS, &results.csv)?;
        let trace = results.sqlio_csv.as_ref();
        let trace = trace.map(|path| {
            report::check_trace_workload(workload).map_err(|error| usage(error.to_string()))?;
            output::trace(path, results.comment.as_deref(), &in_use)
        });
        Ok(Self { document, intervals, trace: trace.transpose()? })
    }

    /// Writes all files, even if one fails, and returns the first error.
    fn finish(self, trial: &Trial, comment: &str) -> anyhow::Result<()> {
        let document = self.document.map(|file| anyhow::Ok(file.finish(output::json(trial)?)?));
        let intervals = self.intervals.map(|file| file.finish(report::intervals_csv(trial)));
        let trace = self.trace.map(|trace| output::append(&trace, trial, comment));
        document.transpose()?;
        intervals.transpose()?;
        trace.transpose().map(drop)
    }
}

//! `halfpower run`: one trial, from its flags to its document.

use crate::failure::{Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run_args::RunArgs;
use crate::store_args::{NOT_SAVED, open_store};
use crate::trace::TraceFile;
use anyhow::Context;
use plan::{PlannedTrial, Saved, TrialList};
use record::{CacheMode, Data, EngineName, Target, TargetKind, Trial, Workload};
use session::{CacheState, Driver, End, RealTargets, Session, Targets};
use simdisk::SimSpec;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;
use target::{Access, InUse, OutputFile};
use workload::Spec;

/// Runs one trial, saves it and prints it.
pub(crate) fn run(arguments: &RunArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    if arguments.list_sim {
        output::print(&crate::help::list_of_simulated_devices())?;
        return Ok(Verdict::Clean);
    }
    // Everything that can fail without a measurement fails before it.
    let simulated = simulated(arguments)?;
    let seed = session::seed(arguments.load.seed, simulated.is_some());
    let mut progress = Progress::new();
    let open_store = || open_store(&arguments.results.keeping, arguments.results.no_save);
    let (mut session, workload, store, files) = match simulated {
        Some(device) => {
            let (session, workload) = on_simulated(arguments, &device, seed, stop)?;
            let store = open_store()?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            (session, workload, store, files)
        }
        None => {
            let (targets, workload) = open(arguments)?;
            let store = open_store()?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            let session = targets.into_session(workload.engine, seed, stop, &mut progress)?;
            let workload = for_engine(arguments, &session, workload)?;
            (session, workload, store, files)
        }
    };
    if arguments.place.precondition {
        session = session::precondition(session, &workload, seed, &mut progress)?;
    }
    let found = CacheState::of(&session, &workload);
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    if arguments.cpu.cost_fit {
        let fit = session::cost_fit(&mut driver, &workload, seed)?;
        let written = match files.document {
            Some(file) => file.finish(&output::json(&fit)?),
            None => Ok(()),
        };
        let page = || output::page(&report::cost_fit(&fit));
        output::document(arguments.results.json, &fit, page)?;
        written?;
        return Ok(Verdict::of(fit.clean()));
    }
    // It is saved with what a second pass adds to it.
    let planned =
        PlannedTrial { partial: true, saved: Saved::No, ..PlannedTrial::new(workload, seed) };
    let finished = driver.run(&mut TrialList::new("measure", vec![planned]))?;
    let mut end = finished.end;
    let Some(mut trial) = finished.trials.into_iter().next() else {
        let text = "the run has no result, nothing of it is kept";
        return Err(Interruption(text.to_owned()).into());
    };
    if arguments.cpu.cpu_upper && end == End::Completed {
        end = session::add_upper_bound(&mut driver, found, &mut trial)?;
    }
    driver.keep(|store| store.add_trial(&trial));
    let written = output::json(&trial).and_then(|json| files.finish(&trial, &json));
    session::something_completed(std::slice::from_ref(&trial))?;
    output::document(arguments.results.json, &trial, || output::page(&report::trial(&trial)))?;
    driver.unsaved().map_or(Ok(()), Err).context(NOT_SAVED)?;
    written?;
    if end == End::Interrupted {
        let saved = if driver.store().is_some() { "saved" } else { "not saved (--no-save)" };
        let text = format!("the numbers are of what was measured by then, {saved}");
        return Err(Interruption(text).into());
    }
    Ok(Verdict::of(trial.clean()))
}

/// The trial of a run on a simulated target, as [`run`] makes it, neither kept nor printed.
pub(crate) fn simulated_trial(
    arguments: &RunArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Trial> {
    let device =
        simulated(arguments)?.ok_or_else(|| UsageError("the target is none of sim:".to_owned()))?;
    let seed = session::seed(arguments.load.seed, true);
    let (mut session, workload) = on_simulated(arguments, &device, seed, stop)?;
    Ok(session.trial(&workload, seed, &mut |_| {})?)
}

/// The session on a simulated device, and the workload that fits it.
fn on_simulated(
    arguments: &RunArgs,
    device: &SimSpec,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<(Session, Workload)> {
    let spec = Spec { engine: EngineName::Sim, ..arguments.spec() };
    let workload = spec.build(device.size())?;
    Ok((Session::simulated(device, Some(device.size()), seed, stop), workload))
}

/// The simulated device, if the target is one, which then takes no flag that is about a real
/// machine; an error where flags contradict each other.
fn simulated(arguments: &RunArgs) -> anyhow::Result<Option<SimSpec>> {
    let device = session::one_simulated(&arguments.targets)?;
    let given = arguments.real_only().into_iter().find(|(_, given)| *given);
    if let Some((flag, _)) = given.filter(|_| device.is_some()) {
        return Err(UsageError(format!("{flag} means nothing for a simulated target")).into());
    }
    match arguments.contradiction() {
        Some(text) => Err(UsageError(text).into()),
        None => Ok(device),
    }
}

/// The files that a run writes beside the page and the database.
struct Files {
    document: Option<OutputFile>,
    intervals: Option<OutputFile>,
    trace: Option<TraceFile>,
}

impl Files {
    /// Makes sure of all of them: none may be something that the run uses.
    fn open(
        arguments: &RunArgs,
        workload: &Workload,
        store: Option<&Store>,
    ) -> anyhow::Result<Self> {
        let results = &arguments.results;
        let targets = arguments.targets.iter().map(|target| InUse::new(target, "the target"));
        let mut in_use: Vec<InUse> = targets.collect();
        for path in store.into_iter().flat_map(Store::files) {
            in_use.push(InUse::new(path, "the database of results"));
        }
        let mut claim =
            |kind, path: &Option<PathBuf>| OutputFile::claim(kind, path.as_deref(), &mut in_use);
        let document = claim(&output::DOCUMENT, &results.output)?;
        let intervals = claim(&output::INTERVALS, &results.csv)?;
        let comment = results.comment.as_deref().unwrap_or_default();
        let trace = results.sqlio_csv.as_ref();
        let trace = trace.map(|path| TraceFile::open(path, comment, workload, &in_use));
        Ok(Self { document, intervals, trace: trace.transpose()? })
    }

    /// Writes them; each is tried, and the first error is the one to tell.
    fn finish(self, trial: &Trial, json: &str) -> anyhow::Result<()> {
        let document = self.document.map(|file| file.finish(json));
        let intervals = self.intervals.map(|file| file.finish(&report::intervals_csv(trial)));
        let trace = self.trace.map(|trace| trace.append(trial));
        document.transpose()?;
        intervals.transpose()?;
        trace.transpose().map(drop)
    }
}

/// Opens the targets and checks that the workload fits them.
fn open(arguments: &RunArgs) -> anyhow::Result<(RealTargets, Workload)> {
    let spec = arguments.spec();
    // The numbers themselves, before a target is touched.
    spec.check()?;
    if (spec.polled || spec.sqpoll)
        && let Err(error) = engine::probe_uring()
    {
        let flag = if spec.polled { "--hipri" } else { "--sqthread-poll" };
        return Err(error).context(format!("{flag} needs io_uring, no other engine has it"));
    }
    kernel::allow_descriptors(descriptors(&spec))?;
    let access = arguments.access();
    let paths: Vec<&Path> = arguments.targets.iter().map(Path::new).collect();
    let mut targets = RealTargets::open(&paths, &access, spec.size, spec.max_bs())?;
    let workload = build(&spec, &targets.all_facts().collect::<Vec<_>>())?;
    workload::check_alignment(&workload, targets.alignment())?;
    let fresh = || targets.all_facts().any(|target| target.kind == TargetKind::Directory);
    if workload.data == Data::Tagged && !workload.writes() && fresh() {
        let text = "--verify with reads alone needs what an earlier run with --verify wrote, and \
                    the test file of a directory is new; name a file or a device";
        return Err(UsageError(text.to_owned()).into());
    }
    targets.look_at_area(&workload)?;
    let write = access != Access::ReadOnly;
    targets.open_mode(workload.cache, write)?;
    if arguments.cpu.cost_fit {
        targets.open_mode(CacheMode::All, write)?;
        targets.open_mode(CacheMode::Device, write)?;
    }
    if arguments.place.precondition && plan::goes_past_cache(&workload, targets.alignment()) {
        // Without it the device is written through the page cache, as the run will.
        let _ = targets.open_mode(CacheMode::Device, write);
    }
    Ok((targets, workload))
}

/// The most files that a run has open: each target by itself and for up to three cache modes, what
/// an engine opens for each job, and the rest of the program.
fn descriptors(spec: &Spec) -> u64 {
    u64::from(spec.targets) * 4 + u64::from(spec.numjobs) * 4 + 64
}

/// The workload on these targets.
fn build(spec: &Spec, targets: &[&Target]) -> anyhow::Result<Workload> {
    let by_size = |target: &&&Target| target.size_bytes;
    let (Some(smallest), Some(largest)) =
        (targets.iter().min_by_key(by_size), targets.iter().max_by_key(by_size))
    else {
        return Err(UsageError("name at least one target".to_owned()).into());
    };
    if smallest.size_bytes != largest.size_bytes && spec.size.is_none() && spec.stripe.is_none() {
        let text = format!(
            "the targets differ in size ({:?} has {} bytes, {:?} {}); say with --size how much of \
             each is meant",
            smallest.path, smallest.size_bytes.0, largest.path, largest.size_bytes.0
        );
        return Err(UsageError(text).into());
    }
    // A directory's --size is that of its test file, of which the area is what --offset leaves.
    let made = targets.iter().any(|target| target.kind == TargetKind::Directory);
    let size = if made { None } else { spec.size };
    Ok(Spec { size, ..spec.clone() }.build(smallest.size_bytes)?)
}

/// The workload for the engine that can be used here.
fn for_engine(
    arguments: &RunArgs,
    session: &Session,
    workload: Workload,
) -> anyhow::Result<Workload> {
    if session.engine == workload.engine {
        return Ok(workload);
    }
    let spec = session::with_engine(arguments.spec(), session.engine);
    build(&spec, &session.targets.iter().collect::<Vec<_>>())
}

//! `halfpower run`: one trial, from its flags to its document.

use crate::cost_fit;
use crate::cpu_pass;
use crate::failure::{self, Interruption, UsageError};
use crate::output::{self, InUse, Kind, OutputFile, Verdict};
use crate::precondition;
use crate::progress::Progress;
use crate::run_args::RunArgs;
use crate::store_args::{NOT_SAVED, open_store};
use crate::trace::TraceFile;
use anyhow::Context;
use record::{CacheMode, Data, EngineName, Target, TargetKind, Trial, Workload};
use session::Display;
use session::{self, RealTargets, Session};
use simdisk::SimSpec;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;
use target::Access;
use workload::Spec;

/// Runs one trial, saves it and prints it.
pub(crate) fn run(arguments: &RunArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    if arguments.list_sim {
        output::print(&crate::help::list_of_simulated_devices())?;
        return Ok(Verdict::Clean);
    }
    // Everything that can fail without a measurement fails before it.
    let simulated = simulated(arguments)?;
    if let Some(text) = arguments.contradiction() {
        return Err(UsageError(text).into());
    }
    let seed = session::seed(arguments.load.seed, simulated.is_some());
    let mut progress = Progress::new();
    let (mut session, workload, mut store, files) = match simulated {
        Some(device) => {
            let (session, workload) = on_simulated(arguments, &device, seed, stop)?;
            let store = open_store(&arguments.results.keeping, arguments.results.no_save)?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            (session, workload, store, files)
        }
        None => {
            let (targets, workload) = open(arguments)?;
            let store = open_store(&arguments.results.keeping, arguments.results.no_save)?;
            let files = Files::open(arguments, &workload, store.as_ref())?;
            let (session, workload) =
                ready(arguments, targets, workload, seed, stop, &mut progress)?;
            (session, workload, store, files)
        }
    };
    if arguments.place.precondition {
        let past_cache = session.past_cache;
        let outcome = precondition::run(&mut session, &workload, past_cache, seed, &mut progress);
        progress.clear();
        session.preconditioning = Some(or_interruption(outcome, "preconditioning did not end")?);
    }
    if arguments.cpu.cost_fit {
        return fit_cost(arguments, &mut session, &workload, seed, files, &mut progress);
    }
    let length = workload.runtime_ns;
    let what = plan::describe(&workload);
    let trial = session.trial(&workload, seed, &mut |share: f64| {
        let spent = record::Nanos((length.0 as f64 * share.max(0.0)) as u64);
        progress.measuring("measure", &what, spent, length);
    });
    progress.clear();
    let mut trial =
        or_interruption(trial.map_err(Into::into), "the run has no result, nothing of it is kept")?;
    if arguments.cpu.cpu_upper {
        cpu_pass::add_upper_bound(&mut session, &workload, &mut trial, &mut progress)?;
        progress.clear();
    }
    // What was measured is shown in any case, also where it cannot be kept.
    let saved = store.as_mut().map_or(Ok(()), |store| store.add_trial(&trial));
    let json = output::json(&trial)?;
    let written = files.finish(&trial, &json);
    session::something_completed(std::slice::from_ref(&trial))?;
    let text = if arguments.results.json { json } else { output::page(&report::trial(&trial)) };
    output::print(&text)?;
    saved.context(NOT_SAVED)?;
    written?;
    Ok(Verdict::of(trial.clean()))
}

/// The trial of a run on a simulated target, as [`run`] makes it, neither kept nor printed.
pub(crate) fn simulated_trial(
    arguments: &RunArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Trial> {
    let device =
        simulated(arguments)?.ok_or_else(|| UsageError("the target is none of sim:".to_owned()))?;
    if let Some(text) = arguments.contradiction() {
        return Err(UsageError(text).into());
    }
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

/// Fits the processor cost and prints it.
fn fit_cost(
    arguments: &RunArgs,
    session: &mut Session,
    workload: &Workload,
    seed: u64,
    files: Files,
    progress: &mut Progress,
) -> anyhow::Result<Verdict> {
    let fit = cost_fit::measure(session, workload, seed, progress);
    progress.clear();
    let fit = or_interruption(fit, "the fit has no result, nothing of it is kept")?;
    let json = output::json(&fit)?;
    let written = files.document.map_or(Ok(()), |file| file.finish(&json));
    let text = if arguments.results.json { json } else { output::page(&report::cost_fit(&fit)) };
    output::print(&text)?;
    written?;
    Ok(Verdict::of(fit.clean()))
}

/// The simulated device, if the target is one, which then is the only one and takes no flag that
/// is about a real machine.
fn simulated(arguments: &RunArgs) -> anyhow::Result<Option<SimSpec>> {
    let devices = arguments
        .targets
        .iter()
        .map(|target| session::simulated(target))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(device) = devices.iter().flatten().next() else { return Ok(None) };
    if devices.len() > 1 {
        let text = "a simulated target stands alone: time is virtual on it; name one target";
        return Err(UsageError(text.to_owned()).into());
    }
    for (flag, given) in arguments.real_only() {
        if given {
            let text = format!("{flag} means nothing for a simulated target");
            return Err(UsageError(text).into());
        }
    }
    Ok(Some(device.clone()))
}

/// The same, with an interruption told as what became of what was measured.
fn or_interruption<T>(outcome: anyhow::Result<T>, text: &str) -> anyhow::Result<T> {
    match outcome {
        Err(error) if failure::is_interrupted(&error) => Err(Interruption(text.to_owned()).into()),
        other => other,
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
        let mut in_use: Vec<InUse> = arguments
            .targets
            .iter()
            .map(|target| InUse { path: target.into(), role: "the target" })
            .collect();
        for path in store.into_iter().flat_map(Store::files) {
            in_use.push(InUse { path, role: "the database of results" });
        }
        let mut claim = |kind: Kind, path: &Option<PathBuf>, role: &'static str| {
            let Some(path) = path else { return anyhow::Ok(None) };
            let file = OutputFile::create(kind, path, &in_use)?;
            in_use.push(InUse { path: path.clone(), role });
            Ok(Some(file))
        };
        let document = claim(Kind::Document, &results.output, "the file of --output")?;
        let intervals = claim(Kind::Intervals, &results.csv, "the file of --csv")?;
        let comment = results.comment.as_deref().unwrap_or_default();
        let trace = results.sqlio_csv.as_ref();
        let trace = trace.map(|path| TraceFile::open(path, comment, workload, &in_use));
        Ok(Self { document, intervals, trace: trace.transpose()? })
    }

    /// Writes them; each is tried, and the first error is the one to tell.
    fn finish(self, trial: &Trial, json: &str) -> anyhow::Result<()> {
        let written = [
            self.document.map(|file| file.finish(json)),
            self.intervals.map(|file| file.finish(&report::intervals_csv(trial))),
            self.trace.map(|trace| trace.append(trial)),
        ];
        written.into_iter().flatten().collect()
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
    if arguments.place.precondition && precondition::goes_past_cache(&workload, targets.alignment())
    {
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

/// Writes the test files and makes the session.
fn ready(
    arguments: &RunArgs,
    targets: RealTargets,
    workload: Workload,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<(Session, Workload)> {
    let session = targets.into_session(workload.engine, seed, stop, progress)?;
    if session.engine == workload.engine {
        return Ok((session, workload));
    }
    let spec = session::with_engine(arguments.spec(), session.engine);
    let workload = build(&spec, &session.targets.iter().collect::<Vec<_>>())?;
    Ok((session, workload))
}

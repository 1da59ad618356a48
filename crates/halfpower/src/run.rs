//! `halfpower run`: one trial, from its flags to its document.

use crate::cli::RunArgs;
use crate::failure::{self, Interruption, UsageError};
use crate::output::{self, InUse, OutputFile, Verdict};
use crate::progress::Progress;
use crate::session::{self, RealTarget, Session};
use anyhow::Context;
use record::{Bytes, EngineName, TargetKind, Workload};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;
use workload::Spec;

/// Runs one trial, saves it and prints it.
pub(crate) fn run(arguments: &RunArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    if let Some(text) = arguments.contradiction() {
        return Err(UsageError(text).into());
    }
    // Everything that can fail without a measurement fails before it.
    let simulated = session::simulated(&arguments.target)?;
    let seed = session::seed(arguments.seed, simulated.is_some());
    let mut progress = Progress::new();
    let (mut session, workload, mut store, file) = match simulated {
        Some(device) => {
            session::refuse_for_simulated("--overwrite", arguments.overwrite)?;
            let spec = Spec { engine: EngineName::Sim, ..arguments.spec() };
            let workload = spec.build(device.size)?;
            let store = session::open_store(&arguments.keeping, arguments.no_save)?;
            let file = output_file(arguments, store.as_ref())?;
            let session = Session::simulated(&device, Some(device.size), seed, stop);
            (session, workload, store, file)
        }
        None => {
            let target = open(arguments)?;
            let store = session::open_store(&arguments.keeping, arguments.no_save)?;
            let file = output_file(arguments, store.as_ref())?;
            let (session, workload) = ready(arguments, target, seed, stop, &mut progress)?;
            (session, workload, store, file)
        }
    };
    let length = workload.runtime_ns;
    let what = session::describe(&workload);
    let trial = session.trial(&workload, seed, &mut |share| {
        let spent = record::Nanos((length.0 as f64 * share.max(0.0)) as u64);
        progress.measuring("measure", &what, spent, length);
    });
    progress.clear();
    let trial = match trial {
        Err(error) if failure::is_interrupted(&error) => {
            let text = "the run has no result, nothing of it is kept";
            return Err(Interruption(text.to_owned()).into());
        }
        other => other?,
    };
    // What was measured is shown in any case, also where it cannot be kept.
    let saved = store.as_mut().map_or(Ok(()), |store| store.add_trial(&trial));
    let json = output::json(&trial)?;
    let written = file.map_or(Ok(()), |file| file.finish(&json));
    if let Some(error) = failure::nothing_completed(std::slice::from_ref(&trial)) {
        return Err(error);
    }
    let text = if arguments.json { json } else { report::trial_text(&trial, &output::style()) };
    output::print(&text)?;
    saved.context(session::NOT_SAVED)?;
    written?;
    Ok(Verdict::of(trial.clean()))
}

/// The file of `--output`, if there is to be one, which must be none that the run uses.
fn output_file(arguments: &RunArgs, store: Option<&Store>) -> anyhow::Result<Option<OutputFile>> {
    let Some(path) = &arguments.output else { return Ok(None) };
    let mut in_use = vec![InUse { path: (&arguments.target).into(), role: "the target" }];
    for path in store.into_iter().flat_map(Store::files) {
        in_use.push(InUse { path, role: "the database of results" });
    }
    OutputFile::create(path, &in_use).map(Some)
}

/// Opens the target and checks that the workload fits it.
fn open(arguments: &RunArgs) -> anyhow::Result<RealTarget> {
    let spec = arguments.spec();
    // The numbers themselves, before the target is touched.
    spec.check_numbers()?;
    let access = session::access(spec.read_percent < 100, arguments.overwrite);
    let path = Path::new(&arguments.target);
    let mut target = RealTarget::open(path, access, arguments.size, arguments.bs)?;
    let workload = build(&spec, &target)?;
    workload::check_alignment(&workload, target.alignment())?;
    target.open_mode(workload.cache, workload.writes())?;
    Ok(target)
}

fn build(spec: &Spec, target: &RealTarget) -> Result<Workload, workload::BuildError> {
    let facts = target.facts();
    // A directory's --size is that of its test file, of which the area is what --offset leaves.
    let size = if facts.kind == TargetKind::Directory { None } else { spec.size };
    Spec { size, ..spec.clone() }.build(Bytes(facts.size_bytes.0))
}

/// Writes the test file and makes the session.
fn ready(
    arguments: &RunArgs,
    mut target: RealTarget,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<(Session, Workload)> {
    let prepared = target.prepare(seed, stop, &mut |done, total| progress.preparing(done, total));
    if prepared.is_err() {
        progress.clear();
    }
    prepared?;
    let spec = arguments.spec();
    let mut workload = build(&spec, &target)?;
    let session = target.into_session(workload.engine, seed, stop);
    if session.engine != workload.engine {
        let spec = session::with_engine(spec, session.engine);
        let area = Bytes(session.target.size_bytes.0);
        let size = if session.target.kind == TargetKind::Directory { None } else { spec.size };
        workload = Spec { size, ..spec }.build(area)?;
    }
    Ok((session, workload))
}

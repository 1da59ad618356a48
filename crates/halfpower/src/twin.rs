//! `halfpower twin`: what recorded requests come to, the load that does the same, and the proof.
//!
//! The recording is made again and its twin is run, in turn, on one target that stays open: what changes
//! there hits both.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run_args::{RunArgs, SafetyArgs, first_given};
use crate::store_args::SaveArgs;
use crate::values::{cache, engine};
use clap::Args;
use plan::{PlannedTrial, TrialList};
use record::{CacheMode, EngineName, Replay, RequestsSummary, Trial};
use session::{Beside, Driver, End, StopFlag, Targets, VERSION};
use workload::Spec;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower twin requests.io                 what they come to, and the load that does the same\n  \
    halfpower twin requests.io sim:nvme-ssd    original and twin side by side, simulated\n  \
    halfpower twin requests.io /dev/sdb        the same on a disk\n\n\
    Recordings: halfpower record --trace-io FILE, fio's --write_iolog, blkparse, DiskSim.")]
pub(crate) struct TwinArgs {
    /// Recorded requests: fio's iolog (version 2 or 3), text of blkparse, an ASCII trace of DiskSim.
    #[arg(value_name = "FILE", value_parser = crate::run_args::recording)]
    recording: Replay,
    /// Where original and twin are run in turn: a directory, a file, a block device, or sim:NAME.
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Runs of each.
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(2..=100), requires = "target")]
    pairs: u32,
    /// Caches in use, as in `run`.
    #[arg(long, value_name = "MODE", value_parser = cache, requires = "target")]
    cache: Option<CacheMode>,
    /// How requests are carried out, as in `run`.
    #[arg(long, value_name = "ENGINE", value_parser = engine, requires = "target")]
    ioengine: Option<EngineName>,
    /// Seed of the twin's choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten, next_help_heading = "Safety")]
    safety: SafetyArgs,
}

pub(crate) fn twin(arguments: &TwinArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let simulated = arguments.target.as_ref().is_some_and(|target| target.starts_with("sim:"));
    let real = first_given(&[
        ("--ioengine", arguments.ioengine.is_some()),
        ("--cache", arguments.cache.is_some() && !simulated),
        ("--overwrite", arguments.safety.overwrite),
        ("--destroy-data-on", !arguments.safety.destroy_data_on.is_empty()),
    ]);
    if let Some(flag) = real.filter(|_| simulated || arguments.target.is_none()) {
        return Err(usage(format!("{flag} is about a real target, and none is named")));
    }
    let mut summary = replay::summary(&arguments.recording, VERSION, None);
    if let Some(target) = &arguments.target {
        let words = summary.twin.clone();
        let words = words.ok_or_else(|| {
            usage("no twin is made of several devices or of less than a millisecond")
        })?;
        let pairs = run_both(arguments, target, &words, stop)?;
        summary.side_by_side = model::side_by_side(&pairs);
    }
    show(&summary, arguments.save.json)
}

/// Prints a summary.
pub(crate) fn show(summary: &RequestsSummary, json: bool) -> anyhow::Result<Verdict> {
    output::document(json, summary, || output::page(&report::requests(summary)))
}

/// Original and twin in turn.
fn run_both(
    arguments: &TwinArgs,
    target: &str,
    words: &[String],
    stop: &StopFlag,
) -> anyhow::Result<Vec<(Trial, Trial)>> {
    let original = RunArgs::replaying(target, &arguments.recording);
    let twin = RunArgs::read(std::iter::once(target).chain(words.iter().map(String::as_str)));
    let twin = twin.map_err(usage)?;
    let with = |mut spec: Spec| {
        spec.for_each(|spec| {
            spec.asked.cache = arguments.cache.unwrap_or(spec.asked.cache);
            spec.asked.engine = arguments.ioengine.unwrap_or(spec.asked.engine);
            spec.asked.stop.cut_warm_up = false;
        });
        spec
    };
    let mut original = original.map_err(usage)?.spec();
    // A twin has no flushes and no discards: the original is made without them.
    original.beside.clear();
    let (original, twin) = (with(original), with(twin.spec()));
    let device = session::one_simulated(&[target.to_owned()])?;
    let seed = session::seed(arguments.seed, device.is_some());
    let mut progress = Progress::new();
    let (session, original, twin) = match device {
        Some(device) => {
            let (session, workload) = session::simulated_for_run(original, &device, seed, stop)?;
            let (_, twin) = session::simulated_for_run(twin, &device, seed, stop)?;
            (session, workload, twin)
        }
        None => {
            let writes = original.asked.read_percent < 100;
            let access = if writes { arguments.safety.access() } else { target::Access::ReadOnly };
            let sets = [(vec![target.to_owned()], access)];
            let (targets, workload) = session::open_for_run(&original, &sets, Beside::default())?;
            let session = targets.into_session(workload.engine, seed, stop, &mut progress)?;
            let original = session::workload_here(&original, &session, workload)?;
            // On the same targets, which are open.
            let twin = session::workload_for(&twin, &session)?;
            (session, original, twin)
        }
    };
    let store = arguments.save.store()?;
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    let trials = (0..u64::from(arguments.pairs)).flat_map(|pair| {
        [&original, &twin].map(|workload| PlannedTrial::new(workload.clone(), seed + pair))
    });
    let finished = driver.run(&mut TrialList::new("measure", trials.collect()))?;
    if finished.end == End::Interrupted {
        return Err(interrupted("original and twin were not run to the end"));
    }
    let mut trials = finished.trials.into_iter();
    Ok(std::iter::from_fn(|| Some((trials.next()?, trials.next()?))).collect())
}

//! `halfpower record twin`: a summary of recorded or counted requests, an equivalent load, and the proof.
//!
//! A recording is made again and its twin is run, in turn, on one target that stays open: what changes
//! there hits both. What was counted cannot be made again: the counters of the twin are held against those
//! of the observation.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::recognise::FileForm;
use crate::recordings::{self, FormArgs};
use crate::run_args::{RunArgs, SafetyArgs, first_given, recording, without_unit};
use crate::store_args::SaveArgs;
use crate::values::{cache, engine};
use ::diagnose::observed_load;
use clap::Args;
use host::target::{self, InUse};
use model::CountedLoad;
use plan::session::{self, Beside, Driver, End, StopFlag, Targets, ThisMachine, VERSION};
use plan::{PlannedTrial, TrialList};
use record::{
    CacheMode, EngineName, Nanos, ObservedDevice, Replay, RequestsSummary, Trial, Workload, quoted,
};
use std::path::Path;
use std::sync::Arc;
use workload::Spec;
use workload::replay;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower record twin requests.io               a summary, an equivalent load\n  \
    halfpower record twin requests.io sim:nvme-ssd  both, in turn, simulated\n  \
    halfpower record twin requests.io /dev/sdb      both, on a disk\n  \
    halfpower record twin last /mnt/data            for the newest recording\n  \
    halfpower record twin requests.io --fio > twin.fio\n\n\
    Recordings: of record --trace-io, fio's --write_iolog, blkparse, DiskSim.")]
pub(crate) struct TwinArgs {
    /// Recorded requests: fio's iolog (version 2 or 3), text of blkparse, an ASCII trace of
    /// DiskSim. Or an observation: its id, `last`, or a counter file of any tool.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Target on which original and twin run in turn: a directory, a file, a block device, or
    /// sim:NAME.
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// The device of an observation [default: the busiest].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Profile of that device: an id, its beginning, or last [default: the saved one that fits].
    #[arg(long, value_name = "ID")]
    profile: Option<String>,
    /// Print only the load, as a fio job file.
    #[arg(long, conflicts_with_all = ["target", "json"])]
    fio: bool,
    /// Number of pairs of runs: original, then twin.
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(2..=100), requires = "target")]
    pairs: u32,
    /// Caches in use, as in `run`.
    #[arg(long, value_name = "MODE", value_parser = cache, requires = "target")]
    cache: Option<CacheMode>,
    /// I/O engine, as in `run`.
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

impl TwinArgs {
    /// Files of the command itself, which it must not write as a target.
    fn keep(&self) -> Vec<InUse> {
        let mut keep = self.save.keeping.kept();
        keep.push(InUse::new(&self.source, "the recording that its twin is compared with"));
        keep
    }
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
        return Err(usage(format!("{flag} applies to a real target; name one, or omit the flag")));
    }
    match recorded(arguments)? {
        Some(_) if arguments.device.is_some() || arguments.profile.is_some() => Err(usage(
            "--device and --profile apply to an observation, but this is a recording of requests",
        )),
        Some(recording) => {
            let mut summary = replay::summary(&recording, VERSION, None);
            if let Some(target) = &arguments.target {
                let pairs = run_both(arguments, target, (&recording, words(&summary)?), stop)?;
                summary.side_by_side = model::side_by_side(&pairs);
            }
            told(arguments, &summary)
        }
        None => {
            let (mut summary, counted) = counted(arguments)?;
            if let Some(target) = &arguments.target {
                let trials = run_twin(arguments, target, words(&summary)?, stop)?;
                summary.side_by_side = model::beside_counters(&counted, &trials);
                if summary.side_by_side.is_none() {
                    let why = "the target has no counters, so its load cannot be compared with \
                               the observation";
                    output::remark(why);
                }
            }
            told(arguments, &summary)
        }
    }
}

/// The words of the twin's load.
fn words(summary: &RequestsSummary) -> anyhow::Result<&[String]> {
    let text = "a twin needs a recording of a single device, at least a millisecond long";
    summary.twin.as_deref().ok_or_else(|| usage(text))
}

fn told(arguments: &TwinArgs, summary: &RequestsSummary) -> anyhow::Result<Verdict> {
    if !arguments.fio {
        return show(summary, arguments.save.json);
    }
    words(summary)?;
    output::print(&replay::fio_job(summary).unwrap_or_default())?;
    Ok(Verdict::Clean)
}

/// The recording that the source names; `None` where it names an observation.
fn recorded(arguments: &TwinArgs) -> anyhow::Result<Option<Replay>> {
    let source = &arguments.source;
    if FileForm::of_file(Path::new(without_unit(source).0)) != Some(FileForm::Requests) {
        return Ok(None);
    }
    recording(source).map(Some).map_err(|why| usage(format!("{source}: {why}")))
}

/// The load of an observation, and what its counters told.
fn counted(arguments: &TwinArgs) -> anyhow::Result<(RequestsSummary, CountedLoad)> {
    let keeping = &arguments.save.keeping;
    let as_found = (&FormArgs::default(), None);
    let found = recordings::named(std::slice::from_ref(&arguments.source), keeping, as_found)?;
    let found = found.and_then(|found| found.into_iter().next());
    let observation = found.ok_or_else(|| {
        usage(format!("{} is neither a recording nor an observation", quoted(&arguments.source)))
    })?;
    let profiles = keeping.profiles_for_devices(arguments.profile.as_deref())?;
    let diagnosis = profiles.diagnose(&observation, VERSION, Some(0));
    let of = |device: &ObservedDevice| profiles.of(device).map(Arc::as_ref);
    let device = arguments.device.as_deref();
    let (observed, setup, _) = observed_load(&observation, &diagnosis, &of, device)
        .map_err(|why| usage(format!("{why}; to make a profile, run halfpower check")))?;
    let iops = setup.counted_iops.unwrap_or_default();
    let counted = replay::Counted {
        source: &observed.device,
        observation_id: &observed.observation_id,
        mix: &setup.mix,
        offered: setup.offered,
        iops,
        span: Nanos(observed.duration_ns),
        sequential_traced: observed.sequential_traced,
    };
    let request_bytes = setup.mix.mean_bytes();
    let load = CountedLoad { iops, latency_ns: observed.latency_ns, request_bytes };
    Ok((replay::of_counters(&counted, VERSION), load))
}

/// Prints a summary.
pub(crate) fn show(summary: &RequestsSummary, json: bool) -> anyhow::Result<Verdict> {
    output::document(json, summary, || output::page(&report::requests(summary)))
}

/// Runs of the twin alone.
fn run_twin(
    arguments: &TwinArgs,
    target: &str,
    words: &[String],
    stop: &StopFlag,
) -> anyhow::Result<Vec<Trial>> {
    let twin = RunArgs::read(std::iter::once(target).chain(words.iter().map(String::as_str)));
    run(arguments, target, vec![twin.map_err(usage)?.spec()], stop)
}

/// Original and twin in turn.
fn run_both(
    arguments: &TwinArgs,
    target: &str,
    (recording, words): (&Replay, &[String]),
    stop: &StopFlag,
) -> anyhow::Result<Vec<(Trial, Trial)>> {
    let original = RunArgs::replaying(target, recording);
    let original = original.map_err(usage)?.spec();
    let twin = RunArgs::read(std::iter::once(target).chain(words.iter().map(String::as_str)));
    let specs = vec![original, twin.map_err(usage)?.spec()];
    let mut trials = run(arguments, target, specs, stop)?.into_iter();
    Ok(std::iter::from_fn(|| Some((trials.next()?, trials.next()?))).collect())
}

/// Runs of these loads in turn, as often as asked for, on one target that stays open.
fn run(
    arguments: &TwinArgs,
    target: &str,
    specs: Vec<Spec>,
    stop: &StopFlag,
) -> anyhow::Result<Vec<Trial>> {
    let with = |mut spec: Spec| {
        spec.for_each(|spec| {
            spec.asked.cache = arguments.cache.unwrap_or(spec.asked.cache);
            spec.asked.engine = arguments.ioengine.unwrap_or(spec.asked.engine);
            spec.asked.stop.cut_warm_up = false;
        });
        spec
    };
    let specs: Vec<Spec> = specs.into_iter().map(with).collect();
    let Some((first, others)) = specs.split_first() else { return Ok(Vec::new()) };
    let device = session::one_simulated(&[target.to_owned()])?;
    let seed = session::seed(arguments.seed, device.is_some());
    let mut progress = Progress::new();
    let mut workloads: Vec<Workload> = Vec::new();
    let session = match device {
        Some(device) => {
            let (session, workload) =
                session::simulated_for_run(first.clone(), &device, seed, stop)?;
            workloads.push(workload);
            for spec in others {
                workloads.push(session::simulated_for_run(spec.clone(), &device, seed, stop)?.1);
            }
            session
        }
        None => {
            let writes = first.all().any(|(_, job)| job.asked.writes());
            let access = if writes {
                arguments.safety.access(arguments.keep())
            } else {
                target::Access::ReadOnly
            };
            let sets = [(vec![target.to_owned()], access)];
            let (targets, workload) =
                session::open_for_run(first, &sets, Beside::default(), &ThisMachine)?;
            let session = targets.into_session(workload.engine, seed, stop, &mut progress)?;
            workloads.push(session::workload_here(first, &session, workload)?);
            // On the same targets, which are open.
            for spec in others {
                workloads.push(session::workload_for(spec, &session)?);
            }
            session
        }
    };
    let store = arguments.save.store()?;
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    let trials = (0..u64::from(arguments.pairs)).flat_map(|pair| {
        workloads.iter().map(move |workload| PlannedTrial::new(workload.clone(), seed + pair))
    });
    let finished = driver.run(&mut TrialList::new("measure", trials.collect()))?;
    if finished.end == End::Interrupted {
        return Err(interrupted("original and twin did not finish"));
    }
    Ok(finished.trials)
}

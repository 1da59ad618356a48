//! `halfpower diagnose`: finds out why a disk is slow.
//!
//! Counters come from the live machine, from a recording in the database or in a file of any tool, or from a
//! simulated device under given loads; profiles come from the database. The `diagnose` crate judges both and
//! knows neither source. Observations are saved with the diagnosis, so that it can be repeated.

use crate::failure::{self, usage};
use crate::fleet::{self, FleetArgs};
use crate::observing::{self, SamplingArgs};
use crate::output::{self, Verdict};
use crate::past;
use crate::record_files;
use crate::recordings::{self, FormArgs, Sources};
use crate::run_args::RunArgs;
use crate::shared::{self, SharedArgs};
use crate::store_args::{SaveArgs, warn_not_saved};
use crate::values::percent;
use ::diagnose::ProfileSet;
use ::diagnose::observe::Source;
use anyhow::Context;
use clap::Args;
use host::kernel::Roots;
use host::target::OutputFile;
use plan::scenarios::{LoadWords, Scenario, ScenarioLoad, observe};
use plan::session::{self, StopFlag, VERSION};
use record::{
    Bytes, Diagnosis, EngineName, Nanos, Observation, ObservedDevice, Replay, counted, shell_word,
};
use simdisk::SimSpec;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use store::Store;
use workload::replay;

/// Maximum number of points per device in a document. A longer recording has means over several intervals.
const MOMENTS: usize = 2_000;

/// Default area of a simulated device, the same as in `check`.
const AREA: Bytes = Bytes(2 << 30);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  \
    halfpower diagnose                      all disks, watched for 30 s\n  \
    halfpower diagnose /srv/db --for 5m     the disks below a directory\n  \
    halfpower diagnose night.json           a file from iostat, sar or others\n  \
    halfpower diagnose night.json sda       one disk of that file\n  \
    iostat -x 1 60 | halfpower diagnose -   the output of another tool\n  \
    halfpower diagnose last --for-ticket    the newest recording, as a ticket",
    after_long_help = "Examples:\n  \
    halfpower diagnose                      all disks, watched for 30 s\n  \
    halfpower diagnose /srv/db --for 5m     all disks below a directory\n  \
    halfpower diagnose last --csv split.csv the newest recording\n\n\
    Files of other tools:\n  \
    iostat -o JSON -x -t 1 60 > night.json; halfpower diagnose night.json\n  \
    iostat -x 1 60 | halfpower diagnose -\n  \
    halfpower diagnose ticket.txt           pasted tables of iostat or sar\n  \
    sadf -j /var/log/sysstat/sa12 -- -d | halfpower diagnose -\n  \
    halfpower diagnose first.prom second.prom   two scrapes of node_exporter\n  \
    halfpower diagnose disks.csv            typeperf, relog or perfmon\n\n\
    Fleets and shared disks:\n  \
    halfpower diagnose --prometheus http://prometheus:9090 --all   slow disks\n  \
    halfpower diagnose --shared a.json b.json c.json   one disk of several hosts\n\n\
    Simulated devices:\n  \
    halfpower diagnose sim:mmc,servers=8 --profile last \\\n      \
      --load \"rw=randread rate-iops=900 arrival=poisson\"\n\n\
    --load takes the flags of `halfpower run` as KEY=VALUE. It also takes from= and\n\
    for= (start and duration), limit= (control group limit in requests per second),\n\
    write-back=yes (the page cache sends the load) and name= (program name).\n\n\
    halfpower explain CODE explains a cause or a finding."
)]
pub(crate) struct DiagnoseArgs {
    /// Devices or directories to watch; a saved observation (its id, the beginning of the id, or
    /// last) or recording files of one machine, which can be followed by names of disks in them; or
    /// sim:NAME [default: all disks].
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Profile to compare with: an id, its beginning or end, or last [default: the saved profile
    /// that matches].
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// How long to watch, or to simulate.
    #[arg(long = "for", value_name = "TIME", default_value = "30s")]
    pub(crate) length: Nanos,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
    /// Do not issue test reads. By default, halfpower reads for 5 s from each device that has no
    /// profile: 4 KiB at QD 1, at most 20 reads per second and at most 1 % of the device's time.
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Load on a simulated device, KEY=VALUE ...; can be repeated.
    #[arg(long, value_name = "LOAD", help_heading = "Simulation")]
    pub(crate) load: Vec<String>,
    /// Share of CPU time that the host takes from the simulated machine (steal).
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0",
        help_heading = "Simulation")]
    pub(crate) steal: u8,
    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Simulation")]
    pub(crate) seed: u64,
    /// Trace of the disk's requests (`record --trace-io`, fio, blkparse, DiskSim), to predict how
    /// many reads additional memory would serve.
    #[arg(long, value_name = "FILE", value_parser = crate::run_args::recording)]
    pub(crate) recorded: Option<Replay>,
    /// Print a Markdown ticket for another team: time, device, evidence, excluded causes, cost to
    /// users, and commands that reproduce it.
    #[arg(long, help_heading = "Results", conflicts_with = "json")]
    pub(crate) for_ticket: bool,
    /// Write the load, latency, service latency and queue latency of each interval to a CSV file.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) shared: SharedArgs,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

pub(crate) fn diagnose(arguments: &DiagnoseArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    if arguments.fleet.prometheus.is_some() {
        return fleet::diagnose(&arguments.fleet, &arguments.save, stop);
    }
    if arguments.shared.shared {
        let (sources, profile) = (&arguments.sources, arguments.profile.as_deref());
        return shared::diagnose(&arguments.shared, sources, profile, &arguments.save);
    }
    let csv = OutputFile::claim(&output::MOMENTS, arguments.csv.as_deref(), &mut Vec::new())?;
    let profiles = arguments.save.keeping.profiles_for_devices(arguments.profile.as_deref())?;
    let mut store = arguments.save.store()?;
    let simulated = arguments.sources.iter().any(|source| source.starts_with("sim:"));
    let (sources, selectors) = match simulated {
        true => (Sources::devices(&arguments.sources), Vec::new()),
        false => Sources::of(&arguments.sources)?.and_devices(),
    };
    let from_files = sources.are_files();
    let asked = (&sources, arguments);
    let (mut observations, interrupted, fresh) =
        observations(asked, simulated, &mut store, &profiles, stop)?;
    let named = recordings::select_devices(&selectors, &observations)?;
    let is_named = |device: &ObservedDevice| named.contains(&device.name);
    observations.retain(|one| named.is_empty() || one.devices.iter().any(is_named));
    let past = past::of(&observations, &profiles, &arguments.save.keeping, fresh && !simulated);
    let profiles = profiles.remembering(past);
    if let Some(recorded) = &arguments.recorded {
        set_reuse(&mut observations, recorded)?;
    }
    // A table has all intervals; a page shows at most this many points.
    let moments_most = if csv.is_some() { None } else { Some(MOMENTS) };
    let (mut diagnoses, mut rows) = (Vec::new(), format!("{}\n", report::diagnosis_header()));
    // One at a time: an observation and its diagnosis may each need as much memory as a recording.
    for observation in observations {
        let mut diagnosis = profiles.diagnose(&observation, VERSION, moments_most);
        if !named.is_empty() {
            diagnosis.keep_only(&named);
        }
        // A live recording is already saved. Otherwise its memory is freed here.
        let to_save = (simulated || from_files).then_some(observation).map(|mut one| {
            record_files::stamp(&mut one);
            one
        });
        if let Some(open) = &mut store
            && let Err(error) = to_save
                .as_ref()
                .map_or(Ok(()), |observation| open.add_document(observation))
                .and_then(|()| open.add_document(&diagnosis))
        {
            warn_not_saved(&error);
            store = None;
        }
        if csv.is_some() {
            let table = report::diagnosis_csv(&diagnosis);
            rows.extend(table.lines().skip(1).flat_map(|line| [line, "\n"]));
        }
        diagnoses.push(diagnosis);
    }
    let story = |one: &Diagnosis| {
        let recording = sources.named_again(&one.observation_id);
        let devices = named.iter().map(|name| format!(" {}", shell_word(name)));
        let recording = recording.map(|words| words + &devices.collect::<String>());
        let story = report::diagnosis_of(one, recording.as_deref());
        let unknown = if fresh { &*one.observation_id } else { "" };
        if store.is_some() { story } else { story.unsaved(unknown) }
    };
    let tickets = |one: &Diagnosis| report::markdown(&report::tickets(&story(one)));
    let text = match arguments.for_ticket {
        true => diagnoses.iter().map(tickets).collect(),
        false => output::documents(arguments.save.json, &diagnoses, story)?,
    };
    let written = csv.map(|file| file.finish(&rows));
    output::print(&text)?;
    written.transpose()?;
    if interrupted {
        return Err(failure::interrupted("the diagnosis covers the time before the interruption"));
    }
    Ok(Verdict::Clean)
}

/// Adds the cache reuse that a trace shows to the one observed disk.
fn set_reuse(observations: &mut [Observation], recorded: &Replay) -> anyhow::Result<()> {
    let devices = observations.iter_mut().flat_map(|observation| &mut observation.devices);
    let mut disks: Vec<&mut ObservedDevice> =
        devices.filter(|it| it.partition_of.is_none() && it.built_of.is_empty()).collect();
    match (disks.as_mut_slice(), recorded.devices) {
        ([disk], 1) => disk.reuse = replay::reuse(recorded),
        (several, of) => {
            let text = format!(
                "--recorded contains the requests of {}, but the observation covers {}; trace \
                 and observe the same single disk",
                counted(f64::from(of), "device"),
                counted(several.len() as f64, "disk")
            );
            return Err(usage(text));
        }
    }
    Ok(())
}

/// The observations to diagnose, whether the user ended the recording early, and whether it was made now.
fn observations(
    (sources, arguments): (&Sources, &DiagnoseArgs),
    simulated: bool,
    store: &mut Option<Store>,
    profiles: &ProfileSet,
    stop: &StopFlag,
) -> anyhow::Result<(Vec<Observation>, bool, bool)> {
    if !simulated && (!arguments.load.is_empty() || arguments.steal > 0) {
        return Err(usage(
            "--load and --steal need a simulated device; name sim:NAME or omit them",
        ));
    }
    if simulated {
        arguments.sampling.check_length(arguments.length)?;
        let [source] = arguments.sources.as_slice() else {
            return Err(usage(
                "a simulated device cannot be combined with other sources; name only the device",
            ));
        };
        return Ok((vec![simulate(source, arguments, stop)?], false, true));
    }
    let form = (&arguments.form, arguments.sampling.named_interval());
    if let Some(observations) = sources.recordings(&arguments.save.keeping, form)? {
        return Ok((observations, false, false));
    }
    arguments.sampling.check_length(arguments.length)?;
    let source = arguments.sampling.source(&sources.words(), false)?;
    let here = arguments.sampling.roots() == Roots::default();
    let probed =
        if here && !arguments.no_probe { unprofiled(&source, profiles) } else { Vec::new() };
    let source = source.probing(probed);
    let own = if store.is_some() { arguments.save.store()? } else { None };
    let (recorder, saves) = observing::recorder(own, source.host());
    let recorded = arguments.sampling.record(source, recorder, arguments.length, stop)?;
    // A second failure would only be reported again.
    *store = store.take().filter(|_| saves.load(Ordering::Relaxed));
    Ok((vec![recorded.observation], recorded.interrupted, true))
}

/// The whole disks without a profile.
fn unprofiled(source: &Source, profiles: &ProfileSet) -> Vec<String> {
    let devices = source.devices().into_iter();
    let whole = devices.filter(|it| it.partition_of.is_none() && it.built_of.is_empty());
    whole.filter(|it| profiles.of(it).is_none()).map(|it| it.name.clone()).collect()
}

fn simulate(
    source: &str,
    arguments: &DiagnoseArgs,
    stop: &StopFlag,
) -> anyhow::Result<Observation> {
    let device = session::simulated(source)?.context("sim:NAME is a simulated device")?;
    if arguments.load.is_empty() {
        return Err(usage(
            "add at least one --load for the simulated device, for example --load \"rw=randread \
             iodepth=4\"",
        ));
    }
    let loads = arguments.load.iter().enumerate();
    let loads = loads
        .map(|(index, text)| load(text, index, &device, arguments))
        .collect::<Result<Vec<_>, _>>()?;
    let scenario = Scenario {
        device: &device,
        array: None,
        loads,
        duration: arguments.length,
        interval: arguments.sampling.interval(),
        seed: arguments.seed,
        traced: arguments.sampling.trace == Some(true),
        steal_share: f64::from(arguments.steal) / 100.0,
    };
    Ok(observe(&scenario, VERSION, stop)?)
}

/// Parses a load, in the words of `run` and those of `scenarios`.
fn load(
    text: &str,
    index: usize,
    device: &SimSpec,
    arguments: &DiagnoseArgs,
) -> anyhow::Result<ScenarioLoad> {
    let wrong = |why: String| usage(format!("--load {text:?}: {why}"));
    let words = LoadWords::parse(text).map_err(wrong)?;
    let flags = words.flags.iter().map(String::as_str);
    let run = RunArgs::read(["sim:mm1"].into_iter().chain(flags)).map_err(wrong)?;
    let mut spec = run.spec();
    spec.asked.engine = EngineName::Sim;
    spec.size = Some(spec.size.unwrap_or(AREA).min(device.size()));
    let workload = spec.build(device.size())?;
    words.load(workload, index, arguments.length).map_err(wrong)
}

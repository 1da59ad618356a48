//! `halfpower whatif`: what would become of a load if something about its disk were different.
//!
//! The load is stated with the flags of `predict`, or taken from an observation; changes are flags,
//! too. Three flags can be either: what they say is the load where there is none yet, and a change
//! where there is one, so that `--bs 4k --bs 64k` reads as it is meant.

use crate::failure::usage;
use crate::output::Verdict;
use crate::predict::LoadArgs;
use crate::recordings;
use crate::store_args::ViewArgs;
use crate::values::{Mix as Sizes, depth, mix, part, percent, raid, rate};
use ::diagnose::{balanced, observed_load};
use anyhow::{Context, anyhow};
use clap::Args;
use model::Predictor;
use model::whatif::Setup;
use record::{
    Bytes, Change, DocumentKind, Measured, Nanos, Observation, ObservedDevice, ObservedLoad,
    Profile, RaidLevel, Replay, SavedDocument, WHATIF_SCHEMA, WhatIf, format_bytes, quoted,
};
use scenarios::Simulation;
use session::{StopFlag, VERSION};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::LAST;

/// The word that stands for the newest observation.
const OBSERVED: &str = "observed";

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower whatif last --rate-iops 90 --bs 8k --disks 4 --raid 5\n  \
    halfpower whatif last --rate-iops 3000 --rwmixread 70% --faster 30% --cache-hit 80%\n  \
    halfpower whatif last --bs 4k --iodepth 1 --iodepth 16      one outstanding, then 16\n  \
    halfpower whatif night.json --profile last --host-cache 60%\n  \
    halfpower whatif observed --balance                     the newest recording\n  \
    halfpower whatif last --rate-iops 90 --disks 4 --raid 0 --simulate\n\n\
    --bs, --iodepth and --sequential state the load where there is none yet; given again, or for an\n\
    observation, they are a change (--sequential +30% always is).")]
pub(crate) struct WhatIfArgs {
    /// Profile (id, its beginning, or last), or observation: id, file of any tool, or "observed" for
    /// the newest.
    #[arg(value_name = "PROFILE|OBSERVATION")]
    source: String,
    /// Profile to hold an observation against [default: the saved one that fits].
    #[arg(long, value_name = "ID")]
    profile: Option<String>,
    /// Device of the observation [default: the one that does the most].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    #[command(flatten, next_help_heading = "Load")]
    load: LoadArgs,
    /// Request size, or sizes with shares (4k/60:64k/40) [default: 4k]; given again: another size.
    #[arg(long, value_name = "SIZE", value_parser = mix, help_heading = "Load")]
    bs: Vec<Sizes>,
    /// Share of requests that continue the one before; with a plus: so much more of them.
    #[arg(long, value_name = "PERCENT", value_parser = sequential, help_heading = "Load")]
    sequential: Vec<Sequential>,
    /// Requests outstanding, a constant number; beside a rate, or given again: a change to it.
    #[arg(long, value_name = "N", value_parser = depth, help_heading = "Load")]
    iodepth: Vec<f64>,
    /// Requests take so much less time.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    faster: Option<f64>,
    /// So many such disks in place of one.
    #[arg(long, value_name = "N", requires = "raid", help_heading = "Changes")]
    disks: Option<u32>,
    /// How they are bound: 0, 1, 5, 6 or 10.
    #[arg(long, value_name = "LEVEL", value_parser = raid, requires = "disks",
        help_heading = "Changes")]
    raid: Option<RaidLevel>,
    /// Bytes of an array that lie together on a disk.
    #[arg(long, value_name = "SIZE", default_value = "64k", help_heading = "Changes")]
    chunk: Bytes,
    /// A cache of the device serves so many of the random reads.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    cache_hit: Option<f64>,
    /// What such a read takes [default: as long as re-reads when the device was profiled].
    #[arg(long, value_name = "TIME", requires = "cache_hit", help_heading = "Changes")]
    hit_time: Option<Nanos>,
    /// The host's memory serves so many of the reads.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    host_cache: Option<f64>,
    /// So much more memory for the host's cache; what it serves of the reads is counted in the
    /// requests of --recorded.
    #[arg(long, value_name = "SIZE", requires = "recorded", help_heading = "Changes")]
    memory: Option<Bytes>,
    /// A limit ahead of the device, requests per second.
    #[arg(long, value_name = "N", value_parser = rate, help_heading = "Changes")]
    cap: Option<f64>,
    /// No limit ahead of the device: programs ask for as much as it serves side by side.
    #[arg(long, help_heading = "Changes")]
    uncapped: bool,
    /// The device is as fast as when it was profiled.
    #[arg(long, help_heading = "Changes")]
    as_profiled: bool,
    /// So many of the requests go to another device.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    without: Option<f64>,
    /// Requests are independent of each other, instead of in bursts.
    #[arg(long, help_heading = "Changes")]
    independent: bool,
    /// Moves load between the devices of an observation.
    #[arg(long, help_heading = "Changes")]
    balance: bool,
    /// Counts the extents of a file, as evidence for --sequential.
    #[arg(long, value_name = "FILE", help_heading = "Evidence")]
    extents_of: Option<PathBuf>,
    /// Requests of the device, one by one: of `record --trace-io`, fio, blkparse or DiskSim.
    #[arg(long, value_name = "FILE", value_parser = crate::run_args::recording, requires = "memory",
        help_heading = "Evidence")]
    recorded: Option<Replay>,
    /// Simulates both, where the profile is of a simulated device.
    #[arg(long, help_heading = "Simulation")]
    simulate: bool,
    /// Simulates this device (sim:NAME,...) in place of the profile's.
    #[arg(long = "as", value_name = "SIM", requires = "simulate", help_heading = "Simulation")]
    simulate_as: Option<String>,
    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Simulation")]
    seed: u64,
    #[command(flatten)]
    view: ViewArgs,
}

/// A share of sequential requests, or so much more of it.
#[derive(Clone, Copy, Debug)]
enum Sequential {
    Now(u8),
    More(u8),
}

fn sequential(text: &str) -> Result<Sequential, String> {
    match text.strip_prefix('+') {
        Some(more) => percent(more).map(Sequential::More),
        None => percent(text).map(Sequential::Now),
    }
}

pub(crate) fn whatif(arguments: &WhatIfArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let document = match observation(arguments)? {
        Some(observation) => of_observation(arguments, stop, &observation)?,
        None if arguments.balance => {
            let text = "--balance moves the load of an observation: name one, not a profile";
            return Err(usage(text));
        }
        None => {
            let profile = arguments.view.keeping.profile(&arguments.source)?;
            let predictor = Predictor::new(&profile);
            of_load(arguments, stop, None, &profile, &predictor, &arguments.stated()?)?
        }
    };
    arguments.view.show(&document, &report::whatif(&document))
}

/// The observation that the source names; `None` where it names a profile.
fn observation(arguments: &WhatIfArgs) -> anyhow::Result<Option<Observation>> {
    let source = arguments.source.as_str();
    if Path::new(source).is_file() {
        let found = recordings::named(&[source.to_owned()], &arguments.view.keeping, None)?;
        return Ok(found.and_then(|found| found.into_iter().next()));
    }
    let store = arguments.view.keeping.existing()?;
    if source == OBSERVED {
        return Ok(Some(store.document(LAST)?));
    }
    if source.starts_with(LAST) {
        return Ok(None);
    }
    match store.find(source, &[DocumentKind::Profile, DocumentKind::Observation])? {
        SavedDocument::Observation(observation) => Ok(Some(*observation)),
        _ => Ok(None),
    }
}

/// The load of an observation, of one device or balanced over all.
fn of_observation(
    arguments: &WhatIfArgs,
    stop: &StopFlag,
    observation: &Observation,
) -> anyhow::Result<WhatIf> {
    let profiles = arguments.view.keeping.profiles_for_devices(arguments.profile.as_deref())?;
    let diagnosis = profiles.diagnose(observation, VERSION, Some(0));
    let of = |device: &ObservedDevice| profiles.of(device).map(Arc::as_ref);
    if !arguments.balance {
        let device = arguments.device.as_deref();
        let (observed, setup, profile) =
            observed_load(observation, &diagnosis, &of, device).map_err(|why| anyhow!(why))?;
        let (profile, predictor) = (profile.profile(), profile.predictor());
        return of_load(arguments, stop, Some(observed), profile, predictor, &setup);
    }
    if !arguments.changes(true)?.is_empty() {
        return Err(usage("--balance stands alone: name no other change beside it"));
    }
    if arguments.simulate {
        return Err(usage("--balance is not simulated: a simulated machine has one device"));
    }
    Ok(WhatIf {
        schema: WHATIF_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        balance: Some(balanced(observation, &diagnosis, &of).map_err(|why| anyhow!(why))?),
        ..WhatIf::default()
    })
}

impl WhatIfArgs {
    fn stated(&self) -> anyhow::Result<Setup> {
        let sequential = match self.sequential.first() {
            Some(Sequential::Now(percent)) => *percent,
            _ => 0,
        };
        let mix = self.load.mix(self.bs.first(), sequential)?;
        let offered = self.load.offered(self.iodepth.first().copied());
        let unsaid = || usage("say how much is asked of the device: --rate-iops or --iodepth");
        Ok(Setup::new(mix, offered.ok_or_else(unsaid)?))
    }

    /// What is to be different, for a load that is observed or stated.
    fn changes(&self, observed: bool) -> anyhow::Result<Vec<Change>> {
        let mut changes = Vec::new();
        changes.extend(self.faster.map(Change::Faster));
        if let (Some(disks), Some(raid)) = (self.disks, self.raid) {
            if !(2..=64).contains(&disks) || self.chunk.0 < 512 {
                return Err(usage("--disks takes 2 to 64, --chunk at least 512"));
            }
            changes.push(Change::Array { disks, raid, chunk_bytes: self.chunk.0 });
        }
        let hit_ns = self.hit_time.map(|time| time.0 as f64);
        changes.extend(self.cache_hit.map(|share| Change::CacheHit { share, hit_ns }));
        changes.extend(self.host_cache.map(Change::HostCache));
        if let (Some(memory), Some(recorded)) = (self.memory, &self.recorded) {
            let curve = replay::reuse(recorded);
            if curve.is_empty() {
                return Err(usage("--recorded has no reads, which memory could serve"));
            }
            let share = record::read_hit_share(&curve, memory.0);
            changes.push(Change::Memory { bytes: memory.0, share });
        }
        for (at, one) in self.sequential.iter().enumerate() {
            match one {
                Sequential::More(percent) => {
                    changes.push(Change::Sequential(f64::from(*percent) / 100.0));
                }
                // It states the load.
                Sequential::Now(_) if at == 0 && !observed => {}
                Sequential::Now(_) => {
                    return Err(usage("as a change --sequential takes so much more of it: +30%"));
                }
            }
        }
        let of_load = usize::from(!observed && self.load.rate_iops.is_none());
        let depths = self.iodepth.get(of_load..).unwrap_or_default();
        let sizes = self.bs.get(usize::from(!observed)..).unwrap_or_default();
        if depths.len() > 1 || sizes.len() > 1 {
            return Err(usage("one change each: --iodepth and --bs are given too often"));
        }
        changes.extend(depths.iter().copied().map(Change::Depth));
        for size in sizes {
            let [one] = size.0.as_slice() else {
                return Err(usage("as a change --bs takes one size"));
            };
            changes.push(Change::RequestBytes(one.bytes.0));
        }
        changes.extend(self.cap.map(Change::Cap));
        changes.extend(self.uncapped.then_some(Change::Uncapped));
        changes.extend(self.as_profiled.then_some(Change::AsProfiled));
        changes.extend(self.without.map(|share| Change::Without { share, process: None }));
        changes.extend(self.independent.then_some(Change::Independent));
        let load = &self.load;
        if observed && (load.rate_iops.is_some() || load.rwmixread.is_some() || load.hit > 0) {
            return Err(usage(
                "the load is the observed one: --rate-iops, --rwmixread and --hit are for a profile alone",
            ));
        }
        Ok(changes)
    }
}

/// One load before and after.
fn of_load(
    arguments: &WhatIfArgs,
    stop: &StopFlag,
    observed: Option<ObservedLoad>,
    profile: &Profile,
    predictor: &Predictor,
    setup: &Setup,
) -> anyhow::Result<WhatIf> {
    let changes = arguments.changes(observed.is_some())?;
    if changes.is_empty() {
        return Err(usage(
            "say what is to be different: --faster, --disks and --raid, --cache-hit, --host-cache, --memory, \
             --sequential +N%, --iodepth, --bs, --cap, --uncapped, --as-profiled, --without, \
             --independent, or --balance",
        ));
    }
    // Too much for the disk as it is may be what the change is about; but there is nothing to
    // compare with, and no load that could be observed.
    let found = model::whatif::document(profile, predictor, setup, &changes, observed, VERSION);
    let mut document = found.map_err(|error| usage(error.to_string()))?;
    for case in &mut document.cases {
        if let [Change::Sequential(_)] = case.changes[..] {
            case.evidence.push(extents(arguments, profile)?);
        }
        if let ([Change::Memory { .. }], Some(recorded)) = (&case.changes[..], &arguments.recorded)
        {
            case.evidence.push(report::reuse(&replay::reuse(recorded), &recorded.source));
        }
    }
    if arguments.simulate {
        simulate(arguments, stop, &mut document, profile, predictor, setup)?;
    }
    Ok(document)
}

/// Simulates the answered question, or says in each place why not.
fn simulate(
    arguments: &WhatIfArgs,
    stop: &StopFlag,
    document: &mut WhatIf,
    profile: &Profile,
    predictor: &Predictor,
    setup: &Setup,
) -> anyhow::Result<()> {
    let name = arguments.simulate_as.as_deref().unwrap_or(&profile.target.path);
    let device = match &arguments.simulate_as {
        Some(name) => session::simulated(name)?,
        None => session::simulated_again(&profile.target)?,
    };
    let Some(device) = &device else {
        if arguments.simulate_as.is_some() {
            return Err(usage(format!("--as {name:?} is no simulated device (sim:NAME)")));
        }
        let why = format!(
            "the profile is of {name}, a real device; --as sim:NAME names one that can be simulated"
        );
        let answered = document.cases.iter_mut().filter(|case| case.after.value().is_some());
        answered.for_each(|case| case.simulated = Some(Measured::not(&why)));
        document.before_simulated = Some(Measured::not(why));
        return Ok(());
    };
    let area = profile.target.size_bytes;
    let simulation = Simulation { device, area, seed: arguments.seed, stop };
    Ok(simulation.add_to(document, setup, predictor)?)
}

/// What is known of fragments.
fn extents(arguments: &WhatIfArgs, profile: &Profile) -> anyhow::Result<String> {
    if let Some(path) = &arguments.extents_of {
        let file = File::open(path).with_context(|| format!("cannot open {}", quoted(path)))?;
        let length =
            file.metadata().with_context(|| format!("cannot read {}", quoted(path)))?.len();
        let Some(found) = target::extents(&file, Bytes(0), Bytes(length))? else {
            return Ok(format!(
                "not known: the file system of {} does not tell extents",
                quoted(path)
            ));
        };
        let (count, each) = (found.count, format_bytes(length / found.count.max(1)));
        return Ok(format!("{} lies in {count} extents of {each} on average", quoted(path)));
    }
    Ok(match &profile.target.extents {
        Some(found) => format!(
            "the test file of the profile lay in {} extents; --extents-of FILE counts those of yours",
            found.count
        ),
        None => "not known: --extents-of FILE counts the extents of a file".to_owned(),
    })
}

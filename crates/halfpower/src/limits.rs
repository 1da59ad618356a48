//! `halfpower limits`: measures the maximum rate of every component between CPU and medium, and finds the
//! bottleneck.
//!
//! `plan::limits` plans the trials and draws the conclusions.

use crate::failure::interrupted;
use crate::output::Verdict;
use crate::progress::Progress;
use crate::store_args::ResultArgs;
use crate::values::some_bytes;
use ::plan::limits::document::{self, Evidence};
use ::plan::limits::pap::Stated;
use ::plan::limits::plan::Settings;
use clap::Args;
use host::kernel::Roots;
use host::target::Access;
use plan::session::{self, Driver, RealTargets, Shown, StopFlag, Targets};
use record::{Bytes, CacheMode, EngineName, Finding, LimitsRun, Measured, Nanos, Profile};
use std::path::Path;
use trial::memory::{self, MemoryRate};

/// Largest request of the plan. A target must be at least this large.
const LARGEST_REQUEST: Bytes = Bytes(1 << 20);
/// Default size of the test file: larger than small caches.
const TEST_FILE: Bytes = Bytes(512 << 20);
/// Default time for the trials. Virtual time costs little.
const BUDGET: Nanos = Nanos(30_000_000_000);
const SIMULATED_BUDGET: Nanos = Nanos(180_000_000_000);
/// Delay that lets a device read ahead: about two revolutions of a rotating disk; ample for other devices.
const DELAY_TURNING: Nanos = Nanos(20_000_000);
const DELAY: Nanos = Nanos(1_000_000);
/// Number of the disk's latest profiles that are searched for one with limits.
const PROFILES: usize = 8;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower limits                   memory, cache, link and disk of this folder\n  \
    halfpower limits /dev/sdb /dev/sdc /dev/sdd   is the controller the limit?\n  \
    halfpower limits --pap device=3.5GB/s --pap memory=38.4GB/s\n  \
    halfpower limits sim:fireball,disks=4    the same on a simulated machine")]
pub(crate) struct LimitsArgs {
    /// Directories, files or block devices on different disks, or one sim:NAME.
    #[arg(default_value = ".")]
    targets: Vec<String>,
    /// Set the advertised peak rate of a part, for example from a data sheet. Parts: processor,
    /// memory, file-cache, throttle, network, bus, link, device. Can be repeated.
    #[arg(long, value_name = "NAME=RATE", value_parser = Stated::parse)]
    pap: Vec<Stated>,
    /// Time for the trials [default: 30s; on a simulated target, 180s of virtual time].
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,
    /// Size of the test file [default: 512 MiB].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: Option<Bytes>,
    /// Measure the device's own limits now, even if a saved profile contains them.
    #[arg(long)]
    fresh: bool,
    /// Do not measure writes. In a directory, the test file is still written.
    #[arg(long)]
    no_write: bool,
    #[command(flatten)]
    results: ResultArgs,
}

pub(crate) fn limits(arguments: &LimitsArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let simulated = session::one_simulated(&arguments.targets)?;
    let is_simulated = simulated.is_some();
    let seed = session::seed(arguments.results.seed, is_simulated);
    let mut progress = Progress::new();
    let store = arguments.results.save.store()?;
    let (mut targets, machines, findings) = match simulated {
        Some(spec) => {
            let (targets, machines) = session::simulated_disks(&spec, seed, stop)?;
            (targets, machines, Vec::new())
        }
        None => real(arguments, seed, stop, &mut progress)?,
    };
    let main = targets.main()?;
    let area = main.targets.iter().map(|target| target.size_bytes).min();
    let default = if is_simulated { SIMULATED_BUDGET } else { BUDGET };
    let mut settings = Settings {
        area: area.unwrap_or_default(),
        engine: main.engine,
        alignment: main.alignment(),
        targets: match (is_simulated, findings.is_empty()) {
            (true, _) => machines.len() as u32 + 1,
            (false, false) => 1,
            // With the sync engine, concurrency comes from jobs, which are distributed over all targets.
            _ if main.engine == EngineName::Sync && main.targets.len() > 1 => 0,
            _ => u32::try_from(main.targets.len()).unwrap_or(u32::MAX),
        },
        machines,
        write: !arguments.no_write && main.writable(),
        device: true,
        cached: !is_simulated,
        delay: if main.turns { DELAY_TURNING } else { DELAY },
        budget: arguments.budget.unwrap_or(default),
        seed,
    };
    let findings = main.findings.iter().cloned().chain(findings).collect();
    let mut driver = Driver::new(targets, store, &mut progress);
    let memory = memory(&mut driver, stop)?;
    let profile = profile(arguments, &mut driver)?;
    settings.device = profile.is_none();
    let identity = driver.targets.main()?.identity(&format!("limits {settings:?}"));
    let (purposes, mut plan) = ::plan::limits::plan::trials(&settings);
    let finished = driver.run(&mut plan)?;
    finished.whole("an incomplete result would be misleading")?;
    session::something_completed(&finished.trials)?;
    let main = driver.targets.main()?;
    let mut targets = main.targets.clone();
    if is_simulated {
        targets[0].path.clone_from(&arguments.targets[0]);
    }
    let answers: Vec<_> = purposes.into_iter().zip(finished.trials).collect();
    let evidence = Evidence {
        settings: &settings,
        targets,
        environment: main.environment.clone(),
        memory,
        answers: &answers,
        profile: profile.as_ref(),
        stated: arguments.pap.clone(),
        findings,
    };
    let run: LimitsRun = document::document(evidence, identity, session::VERSION);
    driver.keep(|store| store.add_document(&run));
    arguments.results.save.show(&mut driver, &run, &run.findings, || report::limits(&run))
}

/// Opens real targets with their test files, and returns a finding if they share a disk.
fn real(
    arguments: &LimitsArgs,
    seed: u64,
    stop: &StopFlag,
    progress: &mut Progress,
) -> anyhow::Result<(Targets, Vec<String>, Vec<Finding>)> {
    let paths: Vec<&Path> = arguments.targets.iter().map(Path::new).collect();
    let fresh = paths.iter().any(|path| path.is_dir());
    let size = arguments.size.or(fresh.then_some(TEST_FILE));
    let mut targets = RealTargets::open(&paths, &Access::ReadOnly, size, LARGEST_REQUEST)?;
    let write = !arguments.no_write && targets.writable();
    for cache in [CacheMode::Device, CacheMode::All] {
        targets.open_mode(cache, write)?;
    }
    let so = "their combined rate cannot show the limit of a bus, so only the first target was used to \
         test the bus";
    let shared = document::shared_disk_finding(targets.all_facts(), so);
    let session = targets.into_session(engine::DEFAULT_ENGINE, seed, stop, progress)?;
    Ok((Targets::one(session), Vec::new(), shared.into_iter().collect()))
}

/// The rate of memory, which a simulated machine does not have.
fn memory(driver: &mut Driver<'_>, stop: &StopFlag) -> anyhow::Result<Measured<MemoryRate>> {
    if driver.targets.main()?.is_simulated() {
        return Ok(Measured::not("simulated target"));
    }
    driver.display.show(&Shown { phase: "memory", ..Shown::default() });
    let rate = memory::measure(&Roots::default(), stop);
    driver.display.clear();
    rate.map(Measured::Value).ok_or_else(|| interrupted("nothing is saved"))
}

/// The latest profile of the same disk with its limits, unless `--fresh` is given.
fn profile(arguments: &LimitsArgs, driver: &mut Driver<'_>) -> anyhow::Result<Option<Profile>> {
    let device = driver.targets.main()?.target().device.clone();
    let (Some(device), Some(store), false) = (device, driver.store(), arguments.fresh) else {
        return Ok(None);
    };
    let profiles = store.profiles_of(&device, PROFILES).unwrap_or_default();
    Ok(profiles.into_iter().find(|profile| profile.limits.read_bytes_per_s.is_some()))
}

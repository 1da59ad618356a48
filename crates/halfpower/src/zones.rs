//! `halfpower zones`: measures throughput by position on the medium.
//!
//! It never writes to existing data. In a directory it creates a test file. The file system may scatter that
//! file's pieces, so the map describes the file. A block device is mapped completely. For a simulated array
//! or a stripe over several targets, each member is mapped in addition to the whole.

use crate::failure::usage;
use crate::output::Verdict;
use crate::progress::Progress;
use crate::store_args::ResultArgs;
use crate::values::some_bytes;
use ::plan::limits::document::shared_disk_finding;
use ::plan::limits::zones::{
    ArrayPlan, MIN_PASSES, MIN_POSITIONS, Mapped, Settings, ZonePlan, document,
};
use anyhow::anyhow;
use clap::Args;
use host::target::Access;
use plan::session::{self, Driver, Members, RealTargets, StopFlag, Targets};
use record::{Bytes, CacheMode, Target};
use std::path::Path;

/// Minimum size of a target.
const LEAST: Bytes = Bytes(1 << 20);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower zones /dev/sda                 the whole disk, read only\n  \
    halfpower zones .                        a test file in this directory\n  \
    halfpower zones /dev/sda /dev/sdb --chunk 64k   a stripe of two disks\n  \
    halfpower zones sim:st15150w             a simulated drive of 1997\n  \
    halfpower zones sim:fireball,disks=4,raid=0          an array of such drives")]
pub(crate) struct ZonesArgs {
    /// Block device, file, directory (for a temporary test file) or sim:NAME; several with --chunk.
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// Number of positions, at least 30.
    #[arg(long, value_name = "N", default_value = "60",
          value_parser = clap::value_parser!(u32).range(i64::from(MIN_POSITIONS)..=10_000))]
    positions: u32,
    /// Number of passes over all positions, each in a different order; at least 3.
    #[arg(long, value_name = "N", default_value = "5",
          value_parser = clap::value_parser!(u32).range(i64::from(MIN_PASSES)..=1_000))]
    passes: u32,
    /// Request size [default: 64k, or less if the target is small].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    bs: Option<Bytes>,
    /// Queue depth [default: 1; for an array, 4 per member].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    iodepth: Option<u32>,
    /// Read the targets as one area with chunks of this size (RAID 0), and also each target alone.
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    chunk: Option<Bytes>,
    /// Size of the test file [default: a tenth of the free space, 256 MiB to 2 GiB].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: Option<Bytes>,
    #[command(flatten)]
    results: ResultArgs,
}

pub(crate) fn zones(arguments: &ZonesArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let simulated = session::one_simulated(&arguments.targets)?;
    let seed = session::seed(arguments.results.seed, simulated.is_some());
    let mut progress = Progress::new();
    let store = arguments.results.save.store()?;
    let (mut targets, members) = match (simulated, arguments.chunk) {
        (Some(_), Some(_)) => {
            return Err(usage(
                "to simulate an array, use the keys disks=N,raid=0,chunk=SIZE instead of --chunk",
            ));
        }
        (Some(spec), None) => session::simulated_array(&spec, seed, stop)?,
        (None, chunk) => real(arguments, chunk, seed, stop, &mut progress)?,
    };
    let session = targets.main()?;
    let areas = session.targets.iter().map(|target| target.size_bytes);
    let alone = members.iter().flat_map(|members| &members.targets);
    let settings = Settings {
        area: areas.min().unwrap_or_default(),
        engine: session.engine,
        alignment: session.alignment(),
        positions: arguments.positions,
        passes: arguments.passes,
        seed,
        request: arguments.bs,
        depth: arguments.iodepth,
        array: members.as_ref().map(|members| ArrayPlan {
            count: members.count,
            chunk: members.chunk,
            stripe: arguments.chunk,
            members: members.targets.iter().map(|target| target.path.clone()).collect(),
            member_area: alone.map(|target| target.size_bytes).min().unwrap_or_default(),
        }),
    };
    let mut plan = ZonePlan::new(&settings).map_err(usage)?;
    let identity = session.identity(&format!("zones {settings:?}"));
    let mut driver = Driver::new(targets, store, &mut progress);
    let finished = driver.run(&mut plan.trials)?;
    finished.whole("an incomplete map would be misleading")?;
    session::something_completed(&finished.trials)?;
    let session = driver.targets.main()?;
    let whole = whole(&session.targets, &plan, &settings);
    let mut mapped = Mapped {
        target: &whole,
        members: members.map(|members| members.targets).unwrap_or_default(),
        environment: session.environment.clone(),
        turns: session.turns,
        findings: session.findings.clone(),
    };
    let so = "a stripe over them only makes one disk seek back and forth";
    mapped.findings.extend(shared_disk_finding(session.targets.iter(), so));
    let given = (&plan, &settings);
    let map =
        document(mapped, given, &finished.trials, identity, session::VERSION).ok_or_else(|| {
            anyhow!(
                "too few measurements were valid, so there is no map; to find out \
                                why, use halfpower run"
            )
        })?;
    driver.keep(|store| store.add_document(&map));
    arguments.results.save.show(&mut driver, &map, &map.findings, || report::zones(&map))
}

/// A real target, or a stripe over several.
fn real(
    arguments: &ZonesArgs,
    chunk: Option<Bytes>,
    seed: u64,
    stop: &StopFlag,
    progress: &mut Progress,
) -> anyhow::Result<(Targets, Option<Members>)> {
    let paths: Vec<&Path> = arguments.targets.iter().map(Path::new).collect();
    match (chunk, paths.as_slice()) {
        (Some(_), _) if arguments.size.is_some() => {
            Err(usage("--size applies only to a test file, and a stripe has none; omit it"))
        }
        (Some(chunk), paths) => {
            let (targets, members) = session::striped(paths, chunk, seed, stop, progress)?;
            Ok((targets, Some(members)))
        }
        (None, [path]) => {
            let mut target = RealTargets::open(&[path], &Access::ReadOnly, arguments.size, LEAST)?;
            target.open_mode(CacheMode::Device, false)?;
            let session = target.into_session(engine::DEFAULT_ENGINE, seed, stop, progress)?;
            Ok((Targets::one(session), None))
        }
        (None, _) => Err(usage("several targets can be mapped only as a stripe; add --chunk 64k")),
    }
}

/// Describes the targets as one. A stripe belongs to no single device.
fn whole(targets: &[Target], plan: &ZonePlan, settings: &Settings) -> Target {
    let first = &targets[0];
    if targets.len() == 1 {
        return first.clone();
    }
    let paths: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    Target {
        path: paths.join(" "),
        size_bytes: plan.size(settings.positions),
        device: None,
        filesystem: None,
        extents: None,
        ..first.clone()
    }
}

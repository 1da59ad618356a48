//! `halfpower zones`: throughput against position on the medium.
//!
//! What is read is only read: a directory gets a test file, of which its file system may have put
//! the pieces anywhere, so that a map of it is one of the file; a block device is mapped whole.

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::ResultArgs;
use crate::values::some_bytes;
use ::limits::zones::{MIN_PASSES, MIN_POSITIONS, Mapped, Settings, ZonePlan, document};
use anyhow::anyhow;
use clap::Args;
use record::{Bytes, CacheMode, EngineName, format_bytes};
use session::{Driver, RealTargets, Session, StopFlag, Targets};
use std::path::Path;
use target::Access;

/// A target must hold at least this.
const LEAST: Bytes = Bytes(1 << 20);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower zones /dev/sda                 the whole disk, read only\n  \
    halfpower zones .                        a test file in this directory\n  \
    halfpower zones sim:st15150w             a simulated drive of 1997")]
pub(crate) struct ZonesArgs {
    /// Block device, file, directory (a temporary test file in it) or sim:NAME.
    target: String,
    /// Positions, at least 30.
    #[arg(long, value_name = "N", default_value = "60",
          value_parser = clap::value_parser!(u32).range(i64::from(MIN_POSITIONS)..=10_000))]
    positions: u32,
    /// Passes over all of them, each in an order of its own; at least 3.
    #[arg(long, value_name = "N", default_value = "5",
          value_parser = clap::value_parser!(u32).range(i64::from(MIN_PASSES)..=1_000))]
    passes: u32,
    /// Size of the test file [default: a tenth of the free space, 256 MiB to 2 GiB].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: Option<Bytes>,
    #[command(flatten)]
    results: ResultArgs,
}

pub(crate) fn zones(arguments: &ZonesArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let simulated = session::simulated(&arguments.target)?;
    let seed = session::seed(arguments.results.seed, simulated.is_some());
    let mut progress = Progress::new();
    let store = arguments.results.save.store()?;
    let session = match simulated {
        Some(spec) => Session::simulated(&spec, Some(spec.size()), seed, stop),
        None => {
            let path = Path::new(&arguments.target);
            let mut target = RealTargets::open(&[path], &Access::ReadOnly, arguments.size, LEAST)?;
            target.open_mode(CacheMode::Device, false)?;
            target.into_session(EngineName::IoUring, seed, stop, &mut progress)?
        }
    };
    let settings = Settings {
        area: session.target().size_bytes,
        engine: session.engine,
        alignment: session.alignment(),
        positions: arguments.positions,
        passes: arguments.passes,
        seed,
    };
    let mut plan = ZonePlan::new(&settings).ok_or_else(|| {
        let (area, ZonesArgs { positions, passes, .. }) =
            (format_bytes(settings.area.0), arguments);
        usage(format!(
            "{area} are too few for {positions} positions and {passes} passes; name a larger \
             target, or fewer of them"
        ))
    })?;
    let identity = session.identity(&format!("zones {settings:?}"));
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    let finished = driver.run(&mut plan.trials)?;
    finished.whole("a map with holes would mislead")?;
    session::something_completed(&finished.trials)?;
    let session = driver.targets.main()?;
    let mapped = Mapped {
        target: session.target(),
        environment: session.environment.clone(),
        turns: session.turns,
        findings: session.findings.clone(),
    };
    let given = (&plan, &settings);
    let map = document(mapped, given, &finished.trials, identity, session::VERSION)
        .ok_or_else(|| anyhow!("too few visits were valid: there is no map; see halfpower run"))?;
    driver.keep(|store| store.add_document(&map));
    let page = |_: &Driver<'_>| output::page(&report::zones(&map));
    arguments.results.save.show(&mut driver, &map, &map.findings, page)
}

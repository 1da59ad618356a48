//! `halfpower zones`: throughput against position on the medium.
//!
//! What is read is only read: a directory gets a test file, of which its file system may have put
//! the pieces anywhere, so that a map of it is one of the file; a block device is mapped whole.

use crate::failure::{Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::{NOT_SAVED, StoreArgs, open_store};
use crate::values::some_bytes;
use ::limits::zones::{
    Analysis, MIN_PASSES, MIN_POSITIONS, Plan, Settings, Visit, analyse, bands, positions,
};
use anyhow::{Context, anyhow};
use clap::Args;
use record::{
    Bytes, CacheMode, EngineName, Finding, FindingCode, Measured, Severity, Trial, ZONES_SCHEMA,
    ZoneMap, format_bytes, format_rate,
};
use session::Display;
use session::{self, RealTargets, Session};
use simdisk::{SimKind, SimSpec};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Store, StoreError};
use target::Access;

/// A target must hold at least this.
const LEAST: Bytes = Bytes(1 << 20);

/// `halfpower zones`.
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
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the document as JSON.
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Do not save the results.
    #[arg(long, help_heading = "Results")]
    no_save: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// Maps, saves and prints.
pub(crate) fn zones(arguments: &ZonesArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let simulated = session::simulated(&arguments.target)?;
    let seed = session::seed(arguments.seed, simulated.is_some());
    let mut progress = Progress::new();
    let mut store = open_store(&arguments.keeping, arguments.no_save)?;
    let turning = simulated.as_ref().map(turns);
    let (mut session, alignment) = match simulated {
        Some(spec) => (Session::simulated(&spec, Some(spec.size()), seed, stop), 1),
        None => open(arguments, seed, stop, &mut progress)?,
    };
    let settings = Settings {
        area: session.target().size_bytes,
        engine: session.engine,
        alignment,
        positions: arguments.positions,
        passes: arguments.passes,
        seed,
    };
    let plan = Plan::new(&settings).ok_or_else(|| {
        let text = format!(
            "{} are too few for {} positions and {} passes; name a larger target, or fewer of them",
            format_bytes(settings.area.0),
            arguments.positions,
            arguments.passes
        );
        UsageError(text)
    })?;
    let (id, time) = session.identity("zones");
    let (visits, trial_ids, unsaved) =
        visit(&mut session, plan.clone(), &mut store, &mut progress)?;
    let analysis = analyse(&visits, seed)
        .ok_or_else(|| anyhow!("too few visits were valid: there is no map; see halfpower run"))?;
    let turning = turning.unwrap_or_else(|| {
        let device = session.target().device.as_ref();
        device.is_some_and(|device| device.rotational == Some(true) && device.rotational_trusted)
    });
    let (request_bytes, depth, window_bytes) = plan.shape();
    let positions = positions(&analysis, &plan, session.target());
    let lowest = positions
        .iter()
        .min_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
        .cloned();
    let mut findings = session.findings.clone();
    findings.extend(steps_finding(&analysis, turning));
    let map = ZoneMap {
        schema: ZONES_SCHEMA.to_owned(),
        halfpower_version: session::VERSION.to_owned(),
        id,
        time,
        seed,
        simulated: session.is_simulated(),
        target: session.target().clone(),
        environment: session.environment.clone(),
        request_bytes,
        depth,
        window_bytes,
        passes: arguments.passes,
        mean_bytes_per_s: analysis.mean,
        bands: bands(&analysis, &plan),
        false_alarm_share: stats::STEP_FALSE_ALARM_SHARE,
        p_value: analysis.p_value,
        inner_loss: analysis.inner_loss,
        lowest: lowest.map_or_else(|| Measured::not("no position"), Measured::Value),
        positions,
        trial_ids,
        findings,
    };
    finish(arguments, &map, store, unsaved)
}

/// Keeps and prints the map.
fn finish(
    arguments: &ZonesArgs,
    map: &ZoneMap,
    mut store: Option<Store>,
    unsaved: Option<StoreError>,
) -> anyhow::Result<Verdict> {
    let saved = match unsaved {
        Some(error) => Err(error),
        None => store.as_mut().map_or(Ok(()), |store| store.add_document(map)),
    };
    // What was measured is shown in any case, also where it cannot be kept.
    let text = match arguments.json {
        true => output::json(map)?,
        false => output::page(&report::zones(map)),
    };
    output::print(&text)?;
    saved.context(NOT_SAVED)?;
    Ok(Verdict::of(map.findings.iter().all(|finding| finding.severity < Severity::Invalid)))
}

/// Whether a simulated device has platters that turn.
fn turns(spec: &SimSpec) -> bool {
    matches!(&spec.kind, SimKind::Machine(machine) if machine.drive.effects.rotation)
}

fn open(
    arguments: &ZonesArgs,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<(Session, u64)> {
    let path = Path::new(&arguments.target);
    let mut target = RealTargets::open(&[path], &Access::ReadOnly, arguments.size, LEAST)?;
    target.open_mode(CacheMode::Device, false)?;
    let alignment = target.alignment();
    Ok((target.into_session(EngineName::IoUring, seed, stop, progress)?, alignment))
}

/// Makes all visits; gives also the trials behind them and why one was not kept.
fn visit(
    session: &mut Session,
    mut plan: Plan,
    store: &mut Option<Store>,
    progress: &mut Progress,
) -> anyhow::Result<(Vec<Visit>, Vec<String>, Option<StoreError>)> {
    let (mut visits, mut trial_ids, mut unsaved) = (Vec::new(), Vec::new(), None);
    let mut trials: Vec<Trial> = Vec::new();
    while let Some(planned) = plan.next_trial() {
        let (total, number) = plan.progress();
        let what = format!("pass {}, position {}", planned.pass + 1, planned.position + 1);
        progress.show("map", (number - 1) as f64 / total as f64, &what);
        let trial = match session.trial(&planned.workload, planned.seed, &mut |_| ()) {
            Err(error) if error.interrupted() => {
                progress.clear();
                let text = "a map with holes would mislead: nothing of it is kept but the trials \
                            that had finished";
                return Err(Interruption(text.to_owned()).into());
            }
            other => other?,
        };
        if let Some(open) = store
            && let Err(error) = open.add_trial(&trial)
        {
            unsaved = Some(error);
            *store = None;
        }
        trial_ids.push(trial.id.clone());
        visits.extend(Visit::of(&planned, &trial));
        if visits.is_empty() {
            trials.push(trial);
        }
    }
    progress.clear();
    if visits.is_empty() {
        session::something_completed(&trials)?;
    }
    Ok((visits, trial_ids, unsaved))
}

/// What steps in the rate mean, if there are any.
fn steps_finding(analysis: &Analysis, turning: bool) -> Option<Finding> {
    let [(.., first), .., (.., last)] = analysis.bands.as_slice() else { return None };
    let bands = analysis.bands.len();
    let from_to = format!("{} to {}", format_rate(first.value), format_rate(last.value));
    let (code, claim, remedy) = if turning {
        (
            FindingCode::ZonesFound,
            format!("The medium has zones: {bands} bands were told apart, from {from_to}."),
            "Put what is read in sequence at the beginning; count on the lowest rate for streams.",
        )
    } else {
        (
            FindingCode::RateByPosition,
            format!(
                "The rate depends on the position, from {from_to} in {bands} steps, but this disk \
                 is not known to turn: a cache below, tiering or parts of a volume look like that."
            ),
            "Map again later: what moves is no property of the medium.",
        )
    };
    let finding = Finding::new(code, Severity::Info, claim, remedy)
        .with("bands", bands as f64, "")
        .with("probability by chance", analysis.p_value, "");
    Some(match analysis.inner_loss.value() {
        Some(loss) => finding.with("loss from the first places to the last", loss.value, "share"),
        None => finding,
    })
}

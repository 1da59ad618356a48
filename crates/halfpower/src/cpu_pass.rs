//! `--cpu-upper`: a second pass that finds what the load costs the whole machine.
//!
//! The same load runs beside soakers in short slices, and between them slices without it, in the
//! order idle, load, load, idle, so that what drifts slowly (the clock, others' work) cancels. A
//! block of four gives one cost per request; the scatter of the blocks gives the interval. What
//! the machine uses without the load is subtracted: the bound is meant for the load, not for
//! whatever else runs, and is called unsure where that else is much. What is left in it is all
//! that comes and goes with the load, whoever is charged.
//!
//! Soakers keep processors awake, so the pass has other response times than the trial, and they
//! are thrown away; the change of the rate is reported. The counts come through the probe, at the
//! moments of its own samples, because those are the edges of what the requests are counted in.
//! Rejected: one long slice (no interval), and soakers during the trial itself (its response times
//! would be those of a machine that never sleeps).

use crate::failure;
use crate::progress::Progress;
use kernel::{Calibration, Roots, SoakSpan, SoakTap, Soaker};
use record::{
    CacheMode, Confidence, CpuUpper, Estimate, Finding, FindingCode, Measured, Nanos, Severity,
    StopRules, Trial, Workload,
};
use session::{Display, Session};
use std::time::Duration;
use workload::derive_seed;

/// Blocks of idle, load, load, idle.
const BLOCKS: u64 = 6;
/// A slice is this part of the run time, within limits: shorter ones have blurred edges, longer
/// ones gain nothing.
const SLICE_PARTS: u64 = 20;
const SLICE_MIN: Nanos = Nanos(50_000_000);
const SLICE_MAX: Nanos = Nanos(1_000_000_000);
/// Run before a slice counts, as a part of it.
const RAMP_PARTS: u64 = 5;
/// Length of each calibration.
const CALIBRATION: Duration = Duration::from_millis(300);
/// Calibrations farther apart than this make the bound unsure.
const CALIBRATION_CHANGE_MAX: f64 = 0.02;
/// So does a machine busier than this without the load.
const BASELINE_MAX: f64 = 0.05;
/// So does more steal than this, of all processor time.
const STEAL_MAX: f64 = 0.01;
/// What is printed while it runs.
const PHASE: &str = "CPU upper bound";
/// Apart from the seeds of streams, data, tags and preconditioning.
const SEEDS: u64 = 4 << 32;

/// One slice with the load.
struct LoadSlice {
    span: SoakSpan,
    ios: u64,
    duration: Nanos,
    /// Processor time charged to us; `None` where it was not measured.
    charged_ns: Option<f64>,
    /// Time that the pacer span, which is no cost of the load.
    spin_ns: f64,
}

/// One block: what the soakers counted without the load, and the slices with it.
struct Block {
    idle: SoakSpan,
    load: Vec<LoadSlice>,
}

/// Makes the pass and puts the bound and its findings into the trial.
///
/// # Errors
/// If the load cannot be run again; where it is the soakers that fail, the trial says so and
/// stands.
pub(crate) fn add_upper_bound(
    session: &mut Session,
    workload: &Workload,
    trial: &mut Trial,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let Some(tap) = session.soak_tap.clone() else { return Ok(()) };
    let ios = ios_of(trial);
    if ios == 0 || trial.cpu.value().is_none() {
        return Ok(());
    }
    let outcome = pass(session, workload, trial.seed, &tap, progress);
    tap.disconnect();
    let unmeasured = |claim: String| {
        let remedy = "Repeat with --cpu-upper; the lower bound stands.";
        Finding::new(FindingCode::CpuBoundUnsure, Severity::Warning, claim, remedy)
            .confidence(Confidence::Certain)
    };
    let (soaker_doubts, calibrations, blocks) = match outcome {
        Err(PassError::Soaker(error)) => {
            let claim = format!("The upper bound of the processor cost was not measured: {error}.");
            trial.findings.push(unmeasured(claim));
            return Ok(());
        }
        Err(PassError::Load(error)) if failure::is_interrupted(&error) => {
            let claim = "The pass for the upper bound of the processor cost was interrupted.";
            trial.findings.push(unmeasured(claim.to_owned()));
            return Ok(());
        }
        Err(PassError::Load(error)) => return Err(error),
        Ok(done) => done,
    };
    let rate = ios as f64 / trial.result.duration_ns.as_secs_f64().max(1e-9);
    let buffered_writes = workload.writes() && workload.cache == CacheMode::All;
    let found = upper(&blocks, &calibrations, rate, soaker_doubts, buffered_writes);
    let (Some(found), Measured::Value(cpu)) = (found, &mut trial.cpu) else {
        let claim = "The upper bound of the processor cost was not measured: too few slices of \
                     the pass completed requests.";
        trial.findings.push(unmeasured(claim.to_owned()));
        return Ok(());
    };
    cpu.upper_us_per_io = Some(found.us_per_io.value);
    cpu.upper_method = Some(format!(
        "a soaker of idle priority on every processor; {} blocks of slices without, with, with, \
         without the load",
        blocks.len()
    ));
    cpu.upper = Some(found);
    let findings = trial::cpu_findings(cpu);
    trial.findings.extend(findings);
    Ok(())
}

/// What can end a pass.
enum PassError {
    Soaker(kernel::SoakerError),
    Load(anyhow::Error),
}

impl From<session::SessionError> for PassError {
    fn from(error: session::SessionError) -> Self {
        Self::Load(error.into())
    }
}

type Pass = (Vec<String>, [Calibration; 2], Vec<Block>);

fn pass(
    session: &mut Session,
    workload: &Workload,
    seed: u64,
    tap: &SoakTap,
    progress: &mut Progress,
) -> Result<Pass, PassError> {
    let load = slice_workload(workload);
    let length = Duration::from_nanos(load.runtime_ns.0);
    progress.show(PHASE, 0.0, "calibrates");
    let soaker = Soaker::start(&Roots::default()).map_err(PassError::Soaker)?;
    tap.connect(&soaker);
    let before = soaker.calibrate(CALIBRATION);
    let mut blocks = Vec::new();
    for block in 0..BLOCKS {
        let mut idle = idle_slice(&soaker, length);
        let mut slices = Vec::new();
        for half in 0..2 {
            let number = 2 * block + half;
            progress.show(PHASE, number as f64 / (2 * BLOCKS) as f64, "the load beside soakers");
            // What came before the slice is not part of it.
            let _ = tap.take_span();
            let trial = session.trial(&load, derive_seed(seed, SEEDS + number), &mut |_| ())?;
            slices.extend(tap.take_span().and_then(|span| load_slice(&trial, span)));
        }
        if workload.writes() && !workload.cache.direct() {
            session.flush()?;
        }
        idle = idle.plus(&idle_slice(&soaker, length));
        if !slices.is_empty() {
            blocks.push(Block { idle, load: slices });
        }
    }
    let after = soaker.calibrate(CALIBRATION);
    Ok((soaker.doubts(), [before, after], blocks))
}

/// The same load for the length of a slice, without rules that would end it or cut it.
fn slice_workload(workload: &Workload) -> Workload {
    let length = Nanos(workload.runtime_ns.0 / SLICE_PARTS).clamp(SLICE_MIN, SLICE_MAX);
    Workload {
        runtime_ns: length,
        ramp_ns: Nanos(length.0 / RAMP_PARTS),
        stop: StopRules { io_timeout_ns: workload.stop.io_timeout_ns, ..StopRules::default() },
        ..workload.clone()
    }
}

fn idle_slice(soaker: &Soaker, length: Duration) -> SoakSpan {
    let before = soaker.reading();
    std::thread::sleep(length);
    soaker.reading().since(&before)
}

/// Requests completed in the window, both directions.
fn ios_of(trial: &Trial) -> u64 {
    trial.completed()
}

fn load_slice(trial: &Trial, span: SoakSpan) -> Option<LoadSlice> {
    let ios = ios_of(trial);
    let duration = trial.result.duration_ns;
    (ios > 0 && duration.0 > 0 && span.length.0 > 0).then(|| LoadSlice {
        span,
        ios,
        duration,
        charged_ns: trial.cpu.value().map(|cpu| (cpu.user_ms + cpu.system_ms) * 1e6),
        spin_ns: trial.result.open_loop.as_ref().map_or(0.0, |open| open.spin_ms * 1e6),
    })
}

/// The bound from the blocks; `None` with too few for an interval.
fn upper(
    blocks: &[Block],
    [before, after]: &[Calibration; 2],
    trial_rate: f64,
    mut doubts: Vec<String>,
    buffered_writes: bool,
) -> Option<CpuUpper> {
    let calibration = before.best(after);
    let costs: Vec<Costs> = blocks.iter().map(|block| costs(block, &calibration)).collect();
    let us_per_io =
        stats::visits_mean(&costs.iter().map(|cost| cost.upper_us).collect::<Vec<_>>())?;
    let lowers: Option<Vec<f64>> = costs.iter().map(|cost| cost.lower_us).collect();
    let estimate = |values: Vec<f64>| -> Option<Estimate> { stats::visits_mean(&values) };
    let differences = |lowers: &Vec<f64>| {
        costs.iter().zip(lowers).map(|(cost, lower)| cost.upper_us - lower).collect()
    };
    let idle = blocks.iter().map(|block| block.idle.clone()).reduce(|sum, one| sum.plus(&one))?;
    let slices = || blocks.iter().flat_map(|block| &block.load);
    let load = slices().map(|slice| slice.span.clone()).reduce(|sum, one| sum.plus(&one))?;
    let ios: u64 = slices().map(|slice| slice.ios).sum();
    let seconds: f64 = slices().map(|slice| slice.duration.as_secs_f64()).sum();
    let found = CpuUpper {
        elsewhere_us_per_io: lowers.as_ref().map(differences).and_then(estimate),
        lower_us_per_io: lowers.and_then(estimate),
        us_per_io,
        rate_change_rel: ios as f64 / seconds / trial_rate - 1.0,
        ios,
        cpus: calibration.cpus(),
        busy_share: load.others_share(&calibration),
        baseline_share: idle.others_share(&calibration),
        calibration_change_rel: before.change_rel(after),
        kernel: load.kernel(),
        doubts: Vec::new(),
    };
    doubts.extend(seen_doubts(&found));
    if buffered_writes {
        doubts.push(
            "what the page cache took is written to the disk later, in part outside of the pass"
                .to_owned(),
        );
    }
    Some(CpuUpper { doubts, ..found })
}

/// Costs per request of one block, in µs.
struct Costs {
    upper_us: f64,
    lower_us: Option<f64>,
}

fn costs(block: &Block, calibration: &Calibration) -> Costs {
    let ios: u64 = block.load.iter().map(|slice| slice.ios).sum();
    let used_ns: f64 = block
        .load
        .iter()
        .map(|slice| {
            // The counters can be read a little off the window's edges: the rate is what counts.
            let scale = slice.duration.0 as f64 / slice.span.length.0 as f64;
            slice.span.load_ns(&block.idle, calibration) * scale - slice.spin_ns
        })
        .sum();
    let charged: Option<f64> = block.load.iter().map(|slice| slice.charged_ns).sum();
    let per_io = |ns: f64| ns / 1e3 / ios as f64;
    Costs { upper_us: per_io(used_ns), lower_us: charged.map(per_io) }
}

/// What the pass itself shows to be unsure.
fn seen_doubts(found: &CpuUpper) -> Vec<String> {
    let mut doubts = Vec::new();
    let percent = |share: f64| share * 100.0;
    if found.calibration_change_rel > CALIBRATION_CHANGE_MAX {
        doubts.push(format!(
            "the speed of an undisturbed processor changed by {:.1} % during the pass",
            percent(found.calibration_change_rel)
        ));
    }
    if found.baseline_share > BASELINE_MAX {
        doubts.push(format!(
            "the machine was not idle: {:.0} % of its processors were in use without the load",
            percent(found.baseline_share)
        ));
    }
    if let Some(kernel) = found.kernel.as_ref().filter(|kernel| kernel.steal > STEAL_MAX) {
        doubts.push(format!(
            "the host took {:.1} % of the processors' time (steal), which counts as load",
            percent(kernel.steal)
        ));
    }
    doubts
}

#[cfg(test)]
#[path = "cpu_pass_tests.rs"]
mod tests;

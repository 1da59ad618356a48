//! Runs `--cpu-upper`: a second pass that measures the CPU cost of the load over the whole machine.
//!
//! Soakers are low-priority threads that count the CPU time left over. The same load runs beside them in
//! short slices, alternating with slices without load, in the order idle, load, load, idle, so that slow
//! drift cancels. A block of four gives one cost per request, and the variance between blocks gives the
//! interval. The use of the machine without the load is subtracted. The rest comes and goes with the load,
//! whichever process is charged.
//!
//! Soakers keep processors awake, so the latencies of the pass are discarded; the change of the rate is
//! reported. The probe takes the counts at the moments of its own samples. Before each slice the page cache
//! is restored to the state in which the trial found it. Rejected: one long slice (no interval), and
//! soakers during the trial itself (its latencies would be those of a machine that never sleeps).

use crate::session::opened::area_on;
use crate::session::progress::Shown;
use crate::session::{Driver, End, Result, Session};
use crate::{Plan, PlannedTrial, Preparation, Progress, Saved};
use host::kernel::{Calibration, Roots, SoakSpan, SoakTap, Soaker, SoakerError};
use host::target;
use record::{
    CacheMode, Confidence, CpuUpper, DropCache, Finding, FindingCode, Measured, Nanos, StopRules,
    Trial, Workload,
};
use std::time::Duration;
use workload::derive_seed;

/// Number of blocks of idle, load, load, idle.
const BLOCKS: u64 = 6;
/// A slice is the run time divided by this, within limits: shorter ones have blurred edges, longer ones
/// gain nothing.
const SLICE_PARTS: u64 = 20;
const SLICE_MIN: Nanos = Nanos(50_000_000);
const SLICE_MAX: Nanos = Nanos(1_000_000_000);
/// The ramp of a slice is its length divided by this.
const RAMP_PARTS: u64 = 5;
/// Length of each calibration.
const CALIBRATION: Duration = Duration::from_millis(300);
/// Maximum change between calibrations. If it is larger, the bound is uncertain.
const CALIBRATION_CHANGE_MAX: f64 = 0.02;
/// Maximum load of the machine without our load, likewise.
const BASELINE_MAX: f64 = 0.05;
/// Maximum steal, as a share of all CPU time, likewise.
const STEAL_MAX: f64 = 0.01;
/// From this share on, an area counts as fully cached; below the remaining share, as not cached.
const ALL_CACHED: f64 = 0.99;
/// Name of the phase in the progress display.
const PHASE: &str = "CPU upper bound";
/// Separate from the seeds of streams, data, tags and preconditioning.
const SEEDS: u64 = 4 << 32;

/// One slice with the load.
struct LoadSlice {
    span: SoakSpan,
    ios: u64,
    duration: Nanos,
    /// CPU time charged to us; `None` if not measured.
    charged_ns: Option<f64>,
    /// Busy-waiting time of the pacer, which is not a cost of the load.
    spin_ns: f64,
}

/// One block: the soakers' counts without the load, and the slices with it.
struct Block {
    idle: SoakSpan,
    load: Vec<LoadSlice>,
}

/// State of the page cache for buffered reads at the start of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheState {
    /// Share of the area in the page cache, 0 to 1; `None` if reads do not use it, if the trial empties it
    /// by itself, or if the kernel does not report it.
    cached: Option<f64>,
}

impl CacheState {
    /// The state that a trial of this workload would find now.
    #[must_use]
    pub fn of(session: &Session, workload: &Workload) -> Self {
        let seen = workload.read_percent > 0
            && !workload.cache.direct()
            && workload.drop_cache == DropCache::None;
        let area = session.targets.iter().map(|target| area_on(workload, target).1.0).sum::<u64>();
        let cached = session.counted(workload, target::resident_bytes).filter(|_| seen && area > 0);
        Self { cached: cached.map(|cached| cached.0 as f64 / area as f64) }
    }

    /// The slice, with a preparation that restores the page cache to this state.
    fn restored(self, session: &Session, slice: Workload) -> (Workload, Preparation) {
        match self.cached {
            None => (slice, Preparation::None),
            Some(share) if share >= ALL_CACHED => {
                let (start, length) = area_on(&slice, session.target());
                (slice, Preparation::FillPageCache { start, length })
            }
            Some(_) => (Workload { drop_cache: DropCache::Dontneed, ..slice }, Preparation::None),
        }
    }

    /// Why the slices do not start in the state of the trial.
    fn doubt(self) -> Option<String> {
        let part = 1.0 - ALL_CACHED..ALL_CACHED;
        let share = self.cached.filter(|share| part.contains(share))?;
        Some(format!(
            "{:.0} % of the area was in the page cache at the start of the run, but none of it \
             at the start of each part of the second pass",
            share * 100.0
        ))
    }
}

/// Runs the pass and adds the bound and its findings to the trial; returns how the pass ended.
///
/// # Errors
/// If the load cannot be run again. If the soakers fail, the trial reports that and remains valid.
pub fn add_upper_bound(
    driver: &mut Driver<'_>,
    found: CacheState,
    trial: &mut Trial,
) -> Result<End> {
    let session = driver.targets.main()?;
    let Some(tap) = session.soak_tap.clone() else { return Ok(End::Completed) };
    let ios = trial.completed();
    if ios == 0 || trial.cpu.value().is_none() {
        return Ok(End::Completed);
    }
    let (load, preparation) = found.restored(session, slice_workload(&trial.workload));
    driver.display.show(&Shown { phase: PHASE, what: "calibrates", ..Shown::default() });
    let mut pass = match CpuPass::start(tap.clone(), load, preparation, trial.seed) {
        Err(error) => {
            trial.findings.push(unmeasured(&error.to_string()));
            return Ok(End::Completed);
        }
        Ok(pass) => pass,
    };
    let outcome = driver.run(&mut pass);
    let after = pass.soaker.calibrate(CALIBRATION);
    tap.disconnect();
    let end = outcome?.end;
    if end != End::Completed {
        trial.findings.push(unmeasured("the second pass was interrupted"));
        return Ok(end);
    }
    let rate = ios as f64 / trial.result.duration_ns.as_secs_f64().max(1e-9);
    let mut doubts = pass.soaker.doubts();
    doubts.extend(found.doubt());
    let buffered_writes = trial.workload.writes() && trial.workload.cache == CacheMode::All;
    // The reasons for an uncertain bound also explain a missing one.
    let none = |why: String, doubts: &[String]| {
        let all: Vec<String> = std::iter::once(why).chain(doubts.iter().cloned()).collect();
        unmeasured(&all.join("; "))
    };
    let found = upper(&pass.blocks, &[pass.before, after], rate, &doubts, buffered_writes);
    let (Some(upper), Measured::Value(cpu)) = (found, &mut trial.cpu) else {
        let why = "too few parts of the second pass completed requests".to_owned();
        trial.findings.push(none(why, &doubts));
        return Ok(end);
    };
    if starved(&upper, cpu.lower_us_per_io) {
        let busy = upper.baseline_share * 100.0;
        let others = format!(
            "other programs used {busy:.0} % of the CPUs, and the load took CPU time from them \
             instead of from the background threads"
        );
        trial.findings.push(none(others, &upper.doubts));
        return Ok(end);
    }
    cpu.upper_us_per_io = Some(upper.us_per_io.value);
    cpu.upper_method = Some(format!(
        "an idle-priority background thread on every CPU; {} blocks, each with four parts: \
         without, with, with, without the load",
        pass.blocks.len()
    ));
    cpu.upper = Some(upper);
    let findings = trial::cpu_findings(cpu);
    trial.findings.extend(findings);
    Ok(end)
}

fn unmeasured(why: &str) -> Finding {
    let claim = format!("The upper bound of the CPU cost was not measured: {why}.");
    let remedy = "Run again with --cpu-upper; the lower bound is valid.";
    Finding::warning(FindingCode::CpuBoundUnsure, claim, remedy).confidence(Confidence::Certain)
}

/// The running pass. The driver runs the slices with the load, the plan those without it.
struct CpuPass {
    soaker: Soaker,
    tap: SoakTap,
    before: Calibration,
    load: Workload,
    preparation: Preparation,
    seed: u64,
    issued: u64,
    /// The last one is in progress.
    blocks: Vec<Block>,
}

impl CpuPass {
    fn start(
        tap: SoakTap,
        load: Workload,
        preparation: Preparation,
        seed: u64,
    ) -> Result<Self, SoakerError> {
        let soaker = Soaker::start(&Roots::default())?;
        tap.connect(&soaker);
        let before = soaker.calibrate(CALIBRATION);
        Ok(Self { soaker, tap, before, load, preparation, seed, issued: 0, blocks: Vec::new() })
    }
}

impl Plan for CpuPass {
    fn next(&mut self) -> Option<PlannedTrial> {
        if self.issued == 2 * BLOCKS {
            return None;
        }
        let first = self.issued.is_multiple_of(2);
        if first {
            let idle = idle_slice(&self.soaker, self.load.runtime_ns);
            self.blocks.push(Block { idle, load: Vec::new() });
        }
        // Discard the time before the slice.
        let _ = self.tap.take_span();
        let seed = derive_seed(self.seed, SEEDS + self.issued);
        self.issued += 1;
        Some(PlannedTrial {
            label: "the load next to background threads".to_owned(),
            preparation: self.preparation.clone(),
            flush: !first,
            saved: Saved::No,
            ..PlannedTrial::new(self.load.clone(), seed)
        })
    }

    fn observe(&mut self, trial: &Trial, _spent: Nanos) {
        let slice = self.tap.take_span().and_then(|span| load_slice(trial, span));
        let idle = || idle_slice(&self.soaker, self.load.runtime_ns);
        let after = self.issued.is_multiple_of(2).then(idle);
        let Some(mut block) = self.blocks.pop() else { return };
        block.load.extend(slice);
        if let Some(after) = &after {
            block.idle = block.idle.plus(after);
        }
        if after.is_none() || !block.load.is_empty() {
            self.blocks.push(block);
        }
    }

    fn progress(&self) -> Progress {
        let step = 1.0 / (2 * BLOCKS) as f64;
        let share = self.issued.saturating_sub(1) as f64 * step;
        Progress { phase: PHASE, share, step, ..Progress::default() }
    }
}

/// The same load for the length of a slice, without rules that would end it early or truncate it.
fn slice_workload(workload: &Workload) -> Workload {
    let length = Nanos(workload.runtime_ns.0 / SLICE_PARTS).clamp(SLICE_MIN, SLICE_MAX);
    Workload {
        runtime_ns: length,
        ramp_ns: Nanos(length.0 / RAMP_PARTS),
        stop: StopRules { io_timeout_ns: workload.stop.io_timeout_ns, ..StopRules::default() },
        ..workload.clone()
    }
}

fn idle_slice(soaker: &Soaker, length: Nanos) -> SoakSpan {
    let before = soaker.reading();
    std::thread::sleep(Duration::from_nanos(length.0));
    soaker.reading().since(&before)
}

fn load_slice(trial: &Trial, span: SoakSpan) -> Option<LoadSlice> {
    let ios = trial.completed();
    let duration = trial.result.duration_ns;
    (ios > 0 && duration.0 > 0 && span.length.0 > 0).then(|| LoadSlice {
        span,
        ios,
        duration,
        charged_ns: trial.cpu.value().map(|cpu| (cpu.user_ms + cpu.system_ms) * 1e6),
        spin_ns: trial.result.open_loop.as_ref().map_or(0.0, |open| open.spin_ms * 1e6),
    })
}

/// The bound from the blocks; `None` if too few for an interval.
fn upper(
    blocks: &[Block],
    [before, after]: &[Calibration; 2],
    trial_rate: f64,
    known_doubts: &[String],
    buffered_writes: bool,
) -> Option<CpuUpper> {
    let calibration = before.best(after);
    let (uppers, lowers): (Vec<f64>, Vec<Option<f64>>) =
        blocks.iter().map(|block| costs(block, &calibration)).unzip();
    let elsewhere = uppers.iter().zip(&lowers).map(|(upper, lower)| Some(upper - (*lower)?));
    let estimate = |values: Option<Vec<f64>>| stats::visits_mean(&values?);
    let idle = blocks.iter().map(|block| block.idle.clone()).reduce(|sum, one| sum.plus(&one))?;
    let slices = || blocks.iter().flat_map(|block| &block.load);
    let load = slices().map(|slice| slice.span.clone()).reduce(|sum, one| sum.plus(&one))?;
    let ios: u64 = slices().map(|slice| slice.ios).sum();
    let seconds: f64 = slices().map(|slice| slice.duration.as_secs_f64()).sum();
    let found = CpuUpper {
        elsewhere_us_per_io: estimate(elsewhere.collect()),
        lower_us_per_io: estimate(lowers.into_iter().collect()),
        us_per_io: stats::visits_mean(&uppers)?,
        rate_change_rel: ios as f64 / seconds / trial_rate - 1.0,
        ios,
        cpus: calibration.cpus(),
        busy_share: load.others_share(&calibration),
        baseline_share: idle.others_share(&calibration),
        calibration_change_rel: before.change_rel(after),
        kernel: load.kernel(),
        doubts: Vec::new(),
    };
    let mut doubts = known_doubts.to_vec();
    doubts.extend(seen_doubts(&found));
    if buffered_writes {
        doubts.push(
            "data in the page cache is written to the disk later, partly after the pass".to_owned(),
        );
    }
    Some(CpuUpper { doubts, ..found })
}

/// Whether the soakers lost less than the CPU time charged to the load, beyond the error. Then other
/// processes lost the rest, and no bound follows. `lower` is that of the trial, in µs per request.
fn starved(found: &CpuUpper, lower: Option<f64>) -> bool {
    let charged = found.lower_us_per_io.map_or(lower, |of_pass| Some(of_pass.low));
    charged.is_some_and(|charged| found.us_per_io.high < charged)
}

/// The cost per request of one block, from the soakers and from the time charged to us, in µs.
fn costs(block: &Block, calibration: &Calibration) -> (f64, Option<f64>) {
    let ios: u64 = block.load.iter().map(|slice| slice.ios).sum();
    let used_ns: f64 = block
        .load
        .iter()
        .map(|slice| {
            // The counters may be read slightly off the edges of the window, so the rate is used.
            let scale = slice.duration.0 as f64 / slice.span.length.0 as f64;
            slice.span.load_ns(&block.idle, calibration) * scale - slice.spin_ns
        })
        .sum();
    let charged: Option<f64> = block.load.iter().map(|slice| slice.charged_ns).sum();
    let per_io = |ns: f64| ns / 1e3 / ios as f64;
    (per_io(used_ns), charged.map(per_io))
}

/// Doubts that the pass itself shows.
fn seen_doubts(found: &CpuUpper) -> Vec<String> {
    let mut doubts = Vec::new();
    let percent = |share: f64| share * 100.0;
    if found.calibration_change_rel > CALIBRATION_CHANGE_MAX {
        doubts.push(format!(
            "the speed of an undisturbed CPU changed by {:.1} % during the pass",
            percent(found.calibration_change_rel)
        ));
    }
    if found.baseline_share > BASELINE_MAX {
        doubts.push(format!(
            "the machine was not idle: {:.0} % of its CPUs were in use without the load",
            percent(found.baseline_share)
        ));
    }
    if let Some(kernel) = found.kernel.as_ref().filter(|kernel| kernel.steal > STEAL_MAX) {
        doubts.push(format!(
            "the host took {:.1} % of the CPU time (steal), which counts as load",
            percent(kernel.steal)
        ));
    }
    doubts
}

#[cfg(test)]
#[path = "cpu_pass_tests.rs"]
mod tests;

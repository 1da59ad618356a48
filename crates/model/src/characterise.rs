//! Builds a profile from trials, whatever plan they follow: a cell's workload alone decides what the cell
//! is used for. Only cells with direct I/O and the device's own cache on (`--cache device`) describe the
//! device. Other cache modes are kept for the advice, mixes and open loops for predictions. Advice, caps,
//! findings and verdicts on commits are empty here: `diagnose` fills them.

use crate::areas::Areas;
use crate::cells::aggregate_beside;
use crate::limits::{limits, rerun};
use crate::wander::run_spread;
use crate::{
    DEFAULT_KNEE_GAIN, commit_points, depth_curves, expectations, level_se_between, level_se_rel,
    levels_of, lone_reads, service_time_fits, size_curves,
};
use record::{
    Arrival, Cap, Cell, Commits, Environment, Limits, Locality, Measured, Nanos, PROFILE_SCHEMA,
    Profile, Target, Trial, Workload,
};

/// The input of [`characterise`].
#[derive(Clone, Debug)]
pub struct Characterise<'a> {
    /// Version of halfpower that ran the trials.
    pub halfpower_version: String,
    /// Id of the profile.
    pub id: String,
    /// Start time, RFC 3339 in UTC; `None` for a simulated target.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// The target of all trials.
    pub target: Target,
    /// System and settings during the run; `None` for a simulated target.
    pub environment: Option<Environment>,
    /// Measuring time that the user allowed.
    pub budget_ns: Nanos,
    /// Requested precision: half-width of a cell's 95 % interval as a share of its rate.
    pub target_rel: f64,
    /// All trials, in the order in which they were run.
    pub trials: &'a [Trial],
    /// Earlier profiles of the same target, latest first. They show how far its level varies between runs.
    pub earlier: &'a [Profile],
}

/// The profile, without advice and findings.
#[must_use]
pub fn characterise(input: Characterise<'_>) -> Profile {
    let areas = Areas::of(input.trials);
    let area = |trial: &Trial| areas.factor(trial);
    let all = aggregate_beside(&area, input.trials, input.target_rel);
    let lone_reads = lone_reads(&all);
    let (cells, mixes): (Vec<Cell>, Vec<Cell>) =
        all.into_iter().partition(|cell| is_plain(&cell.workload));
    let earlier_levels = levels_of(&cells, input.earlier);
    let level_se = level_se_rel(&area, input.trials)
        .map(|within| within.max(level_se_between(&earlier_levels).unwrap_or(0.0)));
    let depth_curves = depth_curves(&cells, DEFAULT_KNEE_GAIN);
    // Ramps count as measuring time, because the owner cannot use the device during a ramp either.
    let measured = input.trials.iter().fold(Nanos(0), |sum, trial| {
        sum.plus(trial.result.duration_ns).plus(trial.workload.ramp_ns)
    });
    let mut profile = Profile {
        schema: PROFILE_SCHEMA.to_owned(),
        halfpower_version: input.halfpower_version,
        id: input.id,
        time: input.time,
        seed: input.seed,
        simulated: input.simulated,
        target: input.target,
        clients: Vec::new(),
        environment: input.environment,
        facts: Vec::new(),
        budget_ns: input.budget_ns,
        measured_ns: measured,
        level_se_rel: level_se,
        run_spread: run_spread(&area, input.trials),
        areas: areas.areas,
        area_spreads: areas.spreads,
        earlier_levels,
        service_time_fits: service_time_fits(&cells),
        expectations: depth_curves.iter().flat_map(expectations).collect(),
        depth_curves,
        size_curves: size_curves(&cells),
        limits: Limits::default(),
        cells,
        mixes,
        lone_reads,
        caps: Vec::new(),
        sustained: Vec::new(),
        commits: commits(input.trials, input.simulated),
        advice: Vec::new(),
        findings: Vec::new(),
    };
    as_of_another_run(&mut profile);
    profile
}

/// Adds to the rates of cells, limits and expectations the interval expected for another run.
fn as_of_another_run(profile: &mut Profile) {
    let mut cells = std::mem::take(&mut profile.cells);
    for cell in &mut cells {
        cell.rerun_iops = rerun(profile, &cell.workload, &cell.iops);
    }
    profile.cells = cells;
    profile.limits = limits(profile);
    let mut expectations = std::mem::take(&mut profile.expectations);
    for it in &mut expectations {
        it.latency_ns = profile.rerun(&it.latency_ns, (it.op, Locality::Random, false));
    }
    profile.expectations = expectations;
}

/// Adds the caps, and computes the maximum rates again, which depend on them.
pub fn add_caps(profile: &mut Profile, caps: Vec<Cap>) {
    profile.caps = caps;
    profile.limits = limits(profile);
}

/// Results of the trials that commit, without verdicts.
fn commits(trials: &[Trial], simulated: bool) -> Measured<Commits> {
    let points = commit_points(trials);
    if points.is_empty() {
        return Measured::not(match simulated {
            true => "a simulated device has no flush",
            false => "no valid trial with commits; they need a --budget of at least 10s",
        });
    }
    Measured::Value(Commits { points, verdicts: Vec::new() })
}

/// Whether a workload is one kind of request in a closed loop. Such loads describe a device. Predictions
/// are compared with mixes and open loops.
fn is_plain(workload: &Workload) -> bool {
    workload.arrival == Arrival::Closed
        && workload.blend.is_none()
        && workload.zones.is_empty()
        && workload.only_op().is_some()
        && workload.bs.len() == 1
}

//! Throughput against position: which places are read when, and what the rates say of the medium.
//!
//! The target is cut into equal pieces. Each pass reads another window of every piece, so that no
//! cache sees a place twice, in an order of its own, so that drift falls on all places alike; rates
//! are compared with the pass's own level. Steps are found by the test in [`stats::steps`]. The
//! loss is estimated from fixed groups, because a group that is chosen for being extreme is
//! extreme. Rejected: one pass from the beginning to the end, in which time and place are one, and
//! a straight line through the rates, which flat noise fits as well as bands do.

use plan::{PlannedTrial, TrialList};
use record::{
    Band, Bytes, EngineName, Environment, Estimate, Extents, Finding, FindingCode, Measured, Nanos,
    Pattern, Severity, StopRules, Target, TargetKind, Trial, Workload, ZONES_SCHEMA, ZoneMap,
    ZonePosition, format_rate,
};
use std::collections::{BTreeMap, BTreeSet};
use workload::{Rng, Spec, derive_seed};

/// Fewest positions of a map.
pub const MIN_POSITIONS: u32 = 30;
/// Fewest passes: the fewest visits with an interval.
pub const MIN_PASSES: u32 = stats::MIN_VISITS as u32;
/// Requests, one at a time as in the papers' maps: the largest that leaves a window some of them.
const REQUESTS: [u64; 3] = [64 << 10, 32 << 10, 16 << 10];
/// Requests outstanding.
pub const DEPTH: u32 = 1;
/// Requests of a window at least.
const WINDOW_REQUESTS: u64 = 8;
/// Longest window: at it the way to a place is a hundredth of the time of reading.
const WINDOW_MAX: u64 = 32 << 20;
/// A window that takes longer than this is not waited for.
const VISIT_MAX: Nanos = Nanos(20_000_000_000);
/// Smallest step that is a zone of a disk, as a share of the rate (a difference of logarithms).
const STEP_MIN: f64 = 0.005;
/// The groups at both ends that are compared: this part of the positions.
const END_PART: u32 = 20;

/// What a map is made for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Size of the target.
    pub area: Bytes,
    /// Engine of the trials.
    pub engine: EngineName,
    /// What requests past the page cache must be multiples of.
    pub alignment: u64,
    /// Positions.
    pub positions: u32,
    /// Passes over all of them.
    pub passes: u32,
    /// Seed of the orders.
    pub seed: u64,
}

/// The visits of a map.
#[derive(Clone, Debug)]
pub struct ZonePlan {
    /// The trials, in order.
    pub trials: TrialList,
    /// Position and pass of each, from 0.
    pub visits: Vec<(u32, u32)>,
    /// Bytes of a request, of which [`DEPTH`] are outstanding.
    pub request: Bytes,
    /// Bytes of a window.
    pub window: Bytes,
    piece: u64,
}

impl ZonePlan {
    /// The plan; `None` where the target is too small for so many positions.
    #[must_use]
    pub fn new(settings: &Settings) -> Option<Self> {
        let piece = settings.area.0 / u64::from(settings.positions.max(1));
        let most = piece / u64::from(settings.passes.max(1));
        let fits = |request: &&u64| {
            request.is_multiple_of(settings.alignment.max(1)) && most >= **request * WINDOW_REQUESTS
        };
        let request = *REQUESTS.iter().find(fits)?;
        let whole = |bytes: u64| bytes / request * request;
        let window = whole(most.min(WINDOW_MAX));
        let piece = whole(piece);
        let mut rng = Rng::new(derive_seed(settings.seed, u64::MAX - 11));
        let (mut visits, mut trials) = (Vec::new(), Vec::new());
        for pass in 0..settings.passes {
            let mut positions: Vec<u32> = (0..settings.positions).collect();
            rng.shuffle(&mut positions);
            for position in positions {
                let offset = u64::from(position) * piece + u64::from(pass) * window;
                let spec = Spec {
                    size: Some(Bytes(window)),
                    ..Spec::of(Workload {
                        pattern: Pattern::Sequential,
                        iodepth: DEPTH,
                        engine: settings.engine,
                        offset_bytes: Bytes(offset),
                        runtime_ns: VISIT_MAX,
                        stop: StopRules { passes: Some(1), ..StopRules::default() },
                        ..Workload::default()
                    })
                };
                let workload = spec.with_bs(request).build(settings.area).ok()?;
                // 53 bits: exact in any JSON reader.
                let seed = derive_seed(settings.seed, visits.len() as u64 + 1) >> 11;
                let label = format!("pass {}, position {}", pass + 1, position + 1);
                trials.push(PlannedTrial { label, ..PlannedTrial::new(workload, seed) });
                visits.push((position, pass));
            }
        }
        let trials = TrialList::new("map", trials);
        Some(Self { trials, visits, request: Bytes(request), window: Bytes(window), piece })
    }

    /// Where a position begins.
    #[must_use]
    pub fn offset(&self, position: u32) -> Bytes {
        Bytes(u64::from(position) * self.piece)
    }
}

/// One visit that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The position.
    pub position: u32,
    /// The pass.
    pub pass: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// What the visits say.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Rate of each position that was visited, by rising position.
    pub positions: Vec<(u32, Estimate)>,
    /// Mean over all of them.
    pub mean: Estimate,
    /// Stretches of equal rate: first and last position, and the rate.
    pub bands: Vec<(u32, u32, Estimate)>,
    /// Probability of a first step as clear as that by chance.
    pub p_value: f64,
    /// How much slower the last places are than the first.
    pub inner_loss: Measured<Estimate>,
}

/// Looks for steps and for a loss from the first places to the last; `None` with fewer than two
/// positions or passes.
#[must_use]
pub fn analyse(visits: &[Visit], seed: u64) -> Option<Analysis> {
    let passes: BTreeSet<u32> = visits.iter().map(|visit| visit.pass).collect();
    let mut rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for visit in visits {
        rates.entry(visit.position).or_default().push(visit.rate);
    }
    let known = |(place, rates): (u32, Vec<f64>)| Some((place, stats::visits_mean(&rates)?));
    let positions: Vec<(u32, Estimate)> = rates.into_iter().filter_map(known).collect();
    let means: Vec<f64> = positions.iter().map(|(_, rate)| rate.value).collect();
    let mean = stats::visits_mean(&means)?;
    let levels = levels(visits, &positions, &passes);
    let mut rng = Rng::new(derive_seed(seed, u64::MAX - 13));
    let found = stats::steps(&levels, STEP_MIN, |bound| rng.below(bound));
    let bounds: Vec<usize> =
        [0].into_iter().chain(found.starts.iter().copied()).chain([positions.len()]).collect();
    let bands = bounds
        .windows(2)
        .map(|ends| {
            let part = &positions[ends[0]..ends[1]];
            let means: Vec<f64> = part.iter().map(|(_, rate)| rate.value).collect();
            let rate = stats::visits_mean(&means).unwrap_or(part[0].1);
            (part[0].0, part[part.len() - 1].0, rate)
        })
        .collect();
    let inner_loss = inner_loss(visits, &positions, &passes);
    Some(Analysis { positions, mean, bands, p_value: found.p_value, inner_loss })
}

/// The logarithm of each position's rate against the level of its passes, mean over the passes.
fn levels(visits: &[Visit], positions: &[(u32, Estimate)], passes: &BTreeSet<u32>) -> Vec<f64> {
    let pass_level = |&pass: &u32| {
        let of_pass = visits.iter().filter(|visit| visit.pass == pass);
        let logs: Vec<f64> = of_pass.map(|visit| libm::log(visit.rate)).collect();
        (pass, stats::mean(&logs))
    };
    let pass_levels: BTreeMap<u32, f64> = passes.iter().map(pass_level).collect();
    let level = |(place, _): &(u32, Estimate)| {
        let at_place = visits.iter().filter(|visit| visit.position == *place);
        let against_pass = at_place.map(|visit| libm::log(visit.rate) - pass_levels[&visit.pass]);
        stats::mean(&against_pass.collect::<Vec<f64>>())
    };
    positions.iter().map(level).collect()
}

/// How much slower the last places are than the first, over the passes.
fn inner_loss(
    visits: &[Visit],
    positions: &[(u32, Estimate)],
    passes: &BTreeSet<u32>,
) -> Measured<Estimate> {
    let count = (positions.len() as u32 / END_PART).max(2) as usize;
    if positions.len() < 2 * count {
        return Measured::not("too few positions have valid visits");
    }
    let (first, last) = (&positions[..count], &positions[positions.len() - count..]);
    let rate = |pass: u32, group: &[(u32, Estimate)]| -> Option<f64> {
        let rates: Vec<f64> = visits
            .iter()
            .filter(|visit| visit.pass == pass)
            .filter(|visit| group.iter().any(|(place, _)| *place == visit.position))
            .map(|visit| visit.rate)
            .collect();
        (rates.len() == count).then(|| stats::mean(&rates))
    };
    let losses: Vec<f64> = passes
        .iter()
        .filter_map(|&pass| Some(1.0 - rate(pass, last)? / rate(pass, first)?))
        .collect();
    let loss = stats::visits_mean(&losses);
    loss.ok_or("fewer than two passes have valid visits at both ends").into()
}

/// The positions of an analysis with where they lie.
#[must_use]
pub fn positions(analysis: &Analysis, plan: &ZonePlan, target: &Target) -> Vec<ZonePosition> {
    let place = |(position, bytes_per_s): &(u32, Estimate)| ZonePosition {
        offset_bytes: plan.offset(*position),
        device_offset_bytes: on_device(target, plan.offset(*position)),
        bytes_per_s: *bytes_per_s,
    };
    analysis.positions.iter().map(place).collect()
}

/// What a map is of.
#[derive(Clone, Debug)]
pub struct Mapped<'a> {
    /// The target.
    pub target: &'a Target,
    /// Conditions; `None` for a simulated one.
    pub environment: Option<Environment>,
    /// Whether its medium is known to turn.
    pub turns: bool,
    /// What was found before the visits.
    pub findings: Vec<Finding>,
}

/// The map that the trials of a plan give, one for each of its visits; `None` where too few of them
/// count. `identity` is the id and the time of the document.
#[must_use]
pub fn document(
    mapped: Mapped<'_>,
    (plan, settings): (&ZonePlan, &Settings),
    trials: &[Trial],
    identity: (String, Option<String>),
    version: &str,
) -> Option<ZoneMap> {
    let visit = |(&(position, pass), trial): (&(u32, u32), &Trial)| {
        let rate = trial.result.read.as_ref().filter(|_| model::counts(trial))?.bytes_per_s;
        (rate > 0.0).then_some(Visit { position, pass, rate })
    };
    let visits: Vec<Visit> = plan.visits.iter().zip(trials).filter_map(visit).collect();
    let analysis = analyse(&visits, settings.seed)?;
    let positions = positions(&analysis, plan, mapped.target);
    let lowest =
        positions.iter().min_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value));
    let lowest = lowest.cloned().ok_or("no position").into();
    let band = |&(first, last, bytes_per_s): &(u32, u32, Estimate)| Band {
        first,
        last,
        offset_bytes: plan.offset(first),
        bytes_per_s,
    };
    let mut findings = mapped.findings;
    findings.extend(steps_finding(&analysis, mapped.turns));
    let (id, time) = identity;
    Some(ZoneMap {
        schema: ZONES_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        id,
        time,
        seed: settings.seed,
        simulated: settings.engine == EngineName::Sim,
        target: mapped.target.clone(),
        environment: mapped.environment,
        request_bytes: plan.request,
        depth: DEPTH,
        window_bytes: plan.window,
        passes: settings.passes,
        mean_bytes_per_s: analysis.mean,
        bands: analysis.bands.iter().map(band).collect(),
        false_alarm_share: stats::STEP_FALSE_ALARM_SHARE,
        p_value: analysis.p_value,
        inner_loss: analysis.inner_loss,
        lowest,
        positions,
        trial_ids: trials.iter().map(|trial| trial.id.clone()).collect(),
        findings,
    })
}

/// What steps in the rate mean, if there are any.
fn steps_finding(analysis: &Analysis, turns: bool) -> Option<Finding> {
    let [(.., first), .., (.., last)] = analysis.bands.as_slice() else { return None };
    let bands = analysis.bands.len();
    let from_to = format!("{} to {}", format_rate(first.value), format_rate(last.value));
    let (code, claim, remedy) = if turns {
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

/// Where an offset lies on the device: there itself, or behind the start of a file in one piece.
fn on_device(target: &Target, offset: Bytes) -> Option<Bytes> {
    match (target.kind, &target.extents) {
        (TargetKind::BlockDevice | TargetKind::Simulated, _) => Some(offset),
        (_, Some(Extents { count: 1, first_physical_bytes, .. })) => {
            Some(Bytes(first_physical_bytes.0 + offset.0))
        }
        _ => None,
    }
}

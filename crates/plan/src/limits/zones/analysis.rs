//! Analyses the visits of a medium: its bands, and how much slower the last positions are than the first.
//!
//! Rates are compared with the level of their pass. The test in [`stats::steps`] finds steps. The loss is
//! estimated from fixed groups, because a group selected for being extreme is biased.

use record::{Band, Bytes, Estimate, Extents, Measured, Target, TargetKind, ZonePosition};
use std::collections::{BTreeMap, BTreeSet};
use workload::{Rng, derive_seed};

/// Smallest step that counts as a zone of a disk, as a share of the rate (a difference of logarithms).
const STEP_MIN: f64 = 0.005;
/// The positions are divided by this to get the size of the two groups that are compared.
const END_PART: usize = 20;

/// The result of one visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Position, from 0.
    pub position: u32,
    /// Pass, from 0.
    pub pass: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// The result of the analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Rate of each visited position, by rising position.
    pub positions: Vec<(u32, Estimate)>,
    /// Mean over all positions.
    pub mean: Estimate,
    /// Ranges of equal rate: first and last position, and the rate.
    pub bands: Vec<(u32, u32, Estimate)>,
    /// Probability that chance gives a first step as clear as this one.
    pub p_value: f64,
    /// How much slower the last positions are than the first, as a share.
    pub inner_loss: Measured<Estimate>,
}

/// Finds steps, and the loss from the first positions to the last; `None` with fewer than two positions or
/// passes.
#[must_use]
pub fn analyse(visits: &[Visit], seed: u64) -> Option<Analysis> {
    let passes = passes(visits);
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

/// The logarithm of each position's rate relative to the level of its pass, averaged over the passes.
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

/// Number of positions in the group at each end; `None` if there are too few for two groups.
pub(super) fn ends(places: usize) -> Option<usize> {
    let count = (places / END_PART).max(2);
    (places >= 2 * count).then_some(count)
}

/// How much slower the last positions are than the first, over the passes.
fn inner_loss(
    visits: &[Visit],
    positions: &[(u32, Estimate)],
    passes: &BTreeSet<u32>,
) -> Measured<Estimate> {
    let Some(count) = ends(positions.len()) else {
        return Measured::not("too few positions have valid measurements");
    };
    let places: Vec<u32> = positions.iter().map(|(place, _)| *place).collect();
    let (first, last) = (&places[..count], &places[places.len() - count..]);
    let rate = |pass: u32, group: &[u32]| mean_rate(visits, pass, group);
    let losses: Vec<f64> = passes
        .iter()
        .filter_map(|&pass| Some(1.0 - rate(pass, last)? / rate(pass, first)?))
        .collect();
    let loss = stats::visits_mean(&losses);
    loss.ok_or("fewer than two passes have valid measurements at both ends").into()
}

/// Mean rate of a pass's visits to these positions, if all were made.
pub(super) fn mean_rate(visits: &[Visit], pass: u32, places: &[u32]) -> Option<f64> {
    let of_pass = visits.iter().filter(|visit| visit.pass == pass);
    let rates: Vec<f64> =
        of_pass.filter(|visit| places.contains(&visit.position)).map(|visit| visit.rate).collect();
    (rates.len() == places.len()).then(|| stats::mean(&rates))
}

/// The passes of these visits.
pub(super) fn passes(visits: &[Visit]) -> BTreeSet<u32> {
    visits.iter().map(|visit| visit.pass).collect()
}

/// The positions of an analysis with their places; `offset` gives the start of a position.
#[must_use]
pub fn positions(
    analysis: &Analysis,
    offset: &dyn Fn(u32) -> Bytes,
    target: &Target,
) -> Vec<ZonePosition> {
    let place = |(position, bytes_per_s): &(u32, Estimate)| ZonePosition {
        offset_bytes: offset(*position),
        device_offset_bytes: on_device(target, offset(*position)),
        bytes_per_s: *bytes_per_s,
    };
    analysis.positions.iter().map(place).collect()
}

/// The slowest position.
pub(super) fn lowest(positions: &[ZonePosition]) -> Measured<ZonePosition> {
    let by_rate =
        |a: &&ZonePosition, b: &&ZonePosition| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value);
    positions.iter().min_by(by_rate).cloned().ok_or("no position").into()
}

/// The bands of an analysis with their start offsets.
pub(super) fn bands(analysis: &Analysis, offset: &dyn Fn(u32) -> Bytes) -> Vec<Band> {
    let band = |&(first, last, bytes_per_s): &(u32, u32, Estimate)| Band {
        first,
        last,
        offset_bytes: offset(first),
        bytes_per_s,
    };
    analysis.bands.iter().map(band).collect()
}

/// Where an offset is on the device: unchanged, or relative to the start of a file in one extent.
fn on_device(target: &Target, offset: Bytes) -> Option<Bytes> {
    match (target.kind, &target.extents) {
        (TargetKind::BlockDevice | TargetKind::Simulated, _) => Some(offset),
        (_, Some(Extents { count: 1, first_physical_bytes, .. })) => {
            Some(Bytes(first_physical_bytes.0 + offset.0))
        }
        _ => None,
    }
}

//! Finds what slow devices have in common: a host, a rack, a firmware.
//!
//! This search runs before the search for single devices: twenty-four drives behind one bad switch are one
//! case, not twenty-four. In each round, the label value that explains most is selected. Its effect is
//! subtracted from its devices, and the search is repeated. Labels that cover the same devices are named
//! together, because no counter can distinguish them.

use crate::fleet::PEERS_MIN;
use crate::fleet::ratios::Ratios;
use crate::fleet::scan::{Healthy, Run, WINDOWS_MIN, highest, known, mean_within};
use crate::fleet::spread::{deviation, level_of};
use record::FleetLabels;
use stats::{median, normal_quantile};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of devices in a group. With fewer, a common cause cannot be distinguished from chance.
const DEVICES_MIN: usize = 3;
/// Share of a group's devices that must be slow together.
const SLOW_SHARE: f64 = 0.7;
/// Smallest common slowdown, as a logarithm: a seventh.
const LOG_RATIO_MIN: f64 = 0.14;
/// Probability that any group of a healthy fleet is named.
const FALSE_ALARM: f64 = 0.01;
/// Minimum number of values of a label for which the spread between its groups is estimated.
const VALUES_MIN: usize = 8;
/// Standard error of a median divided by that of a mean.
const MEDIAN_SE: f64 = 1.2533;
/// Maximum number of causes. If more are found, the rules do not fit the fleet.
const CAUSES_MOST: usize = 64;

/// The devices that share one value of a label.
pub(crate) struct Group {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) members: Vec<usize>,
}

/// A group that is slow as a whole.
pub(crate) struct Common {
    pub(crate) group: Group,
    pub(crate) also: Vec<(String, String)>,
    pub(crate) run: Run,
    pub(crate) slow: usize,
}

/// All groups of these labels that have peers outside the group.
pub(crate) fn groups(labels: &[FleetLabels], by: &[String], kind: &[u32]) -> Vec<Group> {
    let mut of_kind: BTreeMap<u32, usize> = BTreeMap::new();
    for &kind in kind {
        *of_kind.entry(kind).or_default() += 1;
    }
    let mut found = Vec::new();
    for label in by {
        let mut values: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (member, labels) in labels.iter().enumerate() {
            if let Some(value) = labels.get(label) {
                values.entry(value).or_default().push(member);
            }
        }
        for (value, members) in values {
            let mut within: BTreeMap<u32, usize> = BTreeMap::new();
            for &member in &members {
                *within.entry(kind[member]).or_default() += 1;
            }
            // Devices of a kind that has no peers elsewhere cannot be compared with others.
            let has_peers = |member: &usize| {
                let kind = &kind[*member];
                of_kind[kind] >= within[kind] + PEERS_MIN
            };
            let members: Vec<usize> = members.into_iter().filter(has_peers).collect();
            if members.len() >= DEVICES_MIN {
                found.push(Group { label: label.clone(), value: value.to_owned(), members });
            }
        }
    }
    found
}

/// All devices compared with one kind of baseline.
pub(crate) struct View {
    pub(crate) ratios: Ratios,
    /// Spread of healthy devices, by kind.
    pub(crate) healthy: Vec<Healthy>,
}

/// Finds the groups that are slow as a whole in any view. Their effect is subtracted in all views.
pub(crate) fn explain(mut groups: Vec<Group>, views: &mut [View; 2], kind: &[u32]) -> Vec<Common> {
    let mut found = Vec::new();
    while found.len() < CAUSES_MOST {
        let strongest = views.iter().filter_map(|view| strongest(&groups, view, kind));
        let Some((_, place, run, slow)) = strongest.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            break;
        };
        let group = groups.remove(place);
        let set: BTreeSet<usize> = group.members.iter().copied().collect();
        let same = |other: &Group| {
            other.members.len() == set.len() && other.members.iter().all(|one| set.contains(one))
        };
        let also = groups
            .iter()
            .filter(|other| same(other))
            .map(|other| (other.label.clone(), other.value.clone()))
            .collect();
        groups.retain(|other| !same(other));
        let parts = by_kind(&group.members, kind);
        for View { ratios, .. } in views.iter_mut() {
            for all in [&mut ratios.mean, &mut ratios.upper] {
                // Compute all medians first: the reference devices of a small kind belong to other parts
                // too.
                let middles: Vec<Vec<f32>> =
                    parts.iter().map(|(judges, _)| medians(judges, all)).collect();
                for ((_, members), middle) in parts.iter().zip(&middles) {
                    take_out(members, middle, &run, all);
                    for &member in members {
                        level(&run, &mut all[member]);
                    }
                }
            }
        }
        found.push(Common { group, also, run, slow });
    }
    found
}

/// The members of a group by kind, each kind with its reference devices. The kinds are separate because a
/// fault shows more clearly in devices with a baseline than in those with only a bound. For a kind with few
/// members, the whole group is the reference.
fn by_kind(members: &[usize], kind: &[u32]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut of_kind: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &member in members {
        of_kind.entry(kind[member]).or_default().push(member);
    }
    let judges =
        |own: &[usize]| if own.len() < PEERS_MIN { members.to_vec() } else { own.to_vec() };
    of_kind.into_values().map(|own| (judges(&own), own)).collect()
}

/// Subtracts from the members what the group has in common in a segment: `middle`, its median.
fn take_out(members: &[usize], middle: &[f32], run: &Run, all: &mut [Vec<f32>]) {
    // By this baseline the group may have nothing in common, because devices of a rack are each other's
    // peers.
    let Some(whole) = mean_within(middle, run).filter(|whole| *whole > 0.0) else { return };
    // Subtracts from each member in proportion to its own slowness. Otherwise a healthy member of a slow
    // group would look fast.
    let shares: Vec<(usize, f64)> = members
        .iter()
        .filter_map(|&one| Some((one, mean_within(&all[one], run)? / whole)))
        .collect();
    for (member, share) in shares {
        let within = all[member][run.begin..run.end].iter_mut();
        for (value, middle) in within.zip(&middle[run.begin..]) {
            if !middle.is_nan() {
                *value -= middle * share.clamp(0.0, 1.0) as f32;
            }
        }
    }
}

/// Replaces the values of a member of a slow group in the segment by the member's median. If the work is
/// only bounded, the group shows less of its slowdown than if it is known, by an unknown amount. A member
/// that does other work for some hours would otherwise look slow by itself. A member that really is slow
/// for most of the segment still does.
fn level(run: &Run, one: &mut [f32]) {
    let within = &mut one[run.begin..run.end];
    let there = known(within);
    if there.is_empty() {
        return;
    }
    let level = median(there) as f32;
    for value in within.iter_mut().filter(|value| !value.is_nan()) {
        *value = level;
    }
}

/// The group that explains most: score, index, segment, and number of slow devices.
fn strongest(groups: &[Group], view: &View, kind: &[u32]) -> Option<(f64, usize, Run, usize)> {
    let (series, healthy) = (&view.ratios.mean, &view.healthy);
    let windows = series.first().map_or(0, Vec::len);
    // The second factor of 2 is for the two views.
    let looks = (groups.len().max(1) * (2 * 2 * windows.max(2))) as f64;
    let least = normal_quantile(1.0 - FALSE_ALARM / looks);
    let middles: Vec<Vec<f32>> =
        groups.iter().map(|group| medians(&group.members, series)).collect();
    let mut levels: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (group, middle) in groups.iter().zip(&middles) {
        levels.entry(&group.label).or_default().extend(level_of(middle));
    }
    let between: BTreeMap<&str, f64> = levels
        .into_iter()
        .map(|(label, levels)| {
            (label, if levels.len() < VALUES_MIN { 0.0 } else { deviation(&levels) })
        })
        .collect();
    let mut best: Option<(f64, usize, Run, usize)> = None;
    for (place, (group, middle)) in groups.iter().zip(&middles).enumerate() {
        let own = healthy_group(group, kind, healthy, between[group.label.as_str()]);
        let Some(run) = highest(middle, 1.0, &own) else { continue };
        if run.score < least || run.mean < LOG_RATIO_MIN {
            continue;
        }
        let means: Vec<f64> =
            group.members.iter().filter_map(|&one| mean_within(&series[one], &run)).collect();
        let slow = means.iter().filter(|mean| **mean > run.mean / 2.0).count();
        if means.len() < DEVICES_MIN || (slow as f64) < SLOW_SHARE * means.len() as f64 {
            continue;
        }
        let explained = run.mean * (run.windows * means.len()) as f64;
        if best.as_ref().is_none_or(|(most, ..)| explained > *most) {
            best = Some((explained, place, run, slow));
        }
    }
    best
}

/// Spread of the median of a healthy group.
fn healthy_group(group: &Group, kind: &[u32], healthy: &[Healthy], between: f64) -> Healthy {
    let of = |pick: fn(&Healthy) -> f64| {
        let all = group.members.iter().map(|&one| pick(&healthy[kind[one] as usize]));
        all.fold(0.0, f64::max)
    };
    let few = MEDIAN_SE / (group.members.len() as f64).sqrt();
    Healthy {
        level: (few * of(|it| it.level)).max(between),
        noise: few * of(|it| it.noise),
        dependence: of(|it| it.dependence),
        drift: few * of(|it| it.drift),
        degrees: group
            .members
            .iter()
            .fold(f64::INFINITY, |least, &one| least.min(healthy[kind[one] as usize].degrees)),
    }
}

/// The median of these series in each window; NaN if fewer than half have a value.
fn medians(members: &[usize], series: &[Vec<f32>]) -> Vec<f32> {
    let windows = members.first().map_or(0, |&one| series[one].len());
    (0..windows)
        .map(|window| {
            let all: Vec<f32> = members.iter().map(|&one| series[one][window]).collect();
            let there = known(&all);
            if there.len() < WINDOWS_MIN || 2 * there.len() < members.len() {
                f32::NAN
            } else {
                median(there) as f32
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: usize = 40;
    const STRETCH: std::ops::Range<usize> = 10..40;

    /// Two views of twelve devices of a slow rack and 48 others. Compared with outside devices, each is
    /// slow by 0.4, because its work is bounded. Compared with the rest of its rack, it shows nothing.
    fn views() -> [View; 2] {
        let healthy =
            Healthy { level: 0.05, noise: 0.05, dependence: 1.0, drift: 0.05, degrees: 50.0 };
        [0.4, 0.0].map(|slow| {
            let mut all = vec![vec![0.0f32; WINDOWS]; 60];
            for member in &mut all[..12] {
                member[STRETCH].fill(slow);
            }
            let ratios = Ratios { mean: all.clone(), upper: all };
            View { ratios, healthy: vec![healthy] }
        })
    }

    /// The slow racks. Their effect is subtracted from the views.
    fn explained(views: &mut [View; 2]) -> Vec<Common> {
        let rack = |device: usize| format!("r{}", device / 12);
        let labels: Vec<FleetLabels> =
            (0..60).map(|device| [("rack".to_owned(), rack(device))].into()).collect();
        let kind = vec![0; labels.len()];
        explain(groups(&labels, &["rack".to_owned()], &kind), views, &kind)
    }

    #[test]
    fn a_member_of_a_slow_rack_that_does_other_work_for_hours_is_not_slow_by_itself() {
        let mut views = views();
        for View { ratios, .. } in &mut views {
            for all in [&mut ratios.mean, &mut ratios.upper] {
                // Work that other racks also do shows the rack's whole slowdown. Device 4 is slow in
                // addition.
                all[3][20..26].fill(0.9);
                all[4][15..40].fill(1.5);
            }
        }
        let common = explained(&mut views);
        assert_eq!(common.len(), 1);
        assert_eq!((common[0].group.value.as_str(), common[0].run.begin), ("r0", 10));
        for View { ratios, .. } in &views {
            for all in [&ratios.mean, &ratios.upper] {
                assert!(all[3].iter().all(|value| value.abs() < 1e-6), "{:?}", all[3]);
                assert!(all[4][STRETCH].iter().all(|value| *value > 1.0), "{:?}", all[4]);
                assert!(all[4][..10].iter().all(|value| *value == 0.0));
            }
        }
    }

    #[test]
    fn without_a_slow_group_hours_stay_as_they_are() {
        let mut views = views();
        for View { ratios, .. } in &mut views {
            for all in [&mut ratios.mean, &mut ratios.upper] {
                all.iter_mut().for_each(|one| one.fill(0.0));
                all[3][20..26].fill(0.9);
            }
        }
        assert!(explained(&mut views).is_empty());
        assert_eq!(views[1].ratios.mean[3][19..21], [0.0, 0.9]);
    }
}

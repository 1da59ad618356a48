//! What slow devices have in common: a host, a rack, a firmware.
//!
//! It is asked before single devices are: twenty-four drives behind one bad switch are one case and not
//! twenty-four. Of all values of all labels the one goes first that explains most; what it explains is
//! taken from its devices, and the question is put again. Labels whose devices are the same ones are
//! named together, because no counter tells them apart.

use crate::fleet::PEERS_MIN;
use crate::fleet::ratios::Ratios;
use crate::fleet::scan::{Healthy, Run, WINDOWS_MIN, highest, mean_within};
use crate::fleet::spread::{deviation, level_of};
use record::FleetLabels;
use stats::{median, normal_quantile};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer devices than this have nothing in common that could be told from chance.
const DEVICES_MIN: usize = 3;
/// Share of the devices that must be slow together.
const SLOW_SHARE: f64 = 0.7;
/// Smallest common ratio, as a logarithm: a seventh.
const LOG_RATIO_MIN: f64 = 0.14;
/// Chance that any group of a healthy fleet is named.
const FALSE_ALARM: f64 = 0.01;
/// Values of a label from which on their own spread is believed.
const VALUES_MIN: usize = 8;
/// Standard error of a median over that of a mean.
const MEDIAN_SE: f64 = 1.2533;
/// More causes than this are no causes: the rules do not fit the fleet.
const CAUSES_MOST: usize = 64;

/// Devices with one value of one label.
pub(crate) struct Group {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) members: Vec<usize>,
}

/// One that is slow as a whole.
pub(crate) struct Common {
    pub(crate) group: Group,
    pub(crate) also: Vec<(String, String)>,
    pub(crate) run: Run,
    pub(crate) slow: usize,
}

/// All groups of these labels that have peers outside.
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
            // Devices of a kind that has no peers elsewhere say nothing of the others.
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

/// All devices by one kind of yardstick.
pub(crate) struct View {
    pub(crate) ratios: Ratios,
    /// What healthy devices of each kind do.
    pub(crate) healthy: Vec<Healthy>,
}

/// The groups that are slow as a whole in any view; what they explain is taken out of all of them.
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
                // All middles first: the judges of a few are those of other parts too.
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

/// The members of a group, each kind by itself and with those by whom it is judged: one fault shows more in
/// devices that have a yardstick than in those that have a bound. Of a kind of few it is the whole group.
fn by_kind(members: &[usize], kind: &[u32]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut of_kind: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &member in members {
        of_kind.entry(kind[member]).or_default().push(member);
    }
    let judges =
        |own: &[usize]| if own.len() < PEERS_MIN { members.to_vec() } else { own.to_vec() };
    of_kind.into_values().map(|own| (judges(&own), own)).collect()
}

/// Takes from members of a group what it has in common in a stretch, which is `middle`.
fn take_out(members: &[usize], middle: &[f32], run: &Run, all: &mut [Vec<f32>]) {
    // By this yardstick they may have nothing in common: those of a rack are each other's.
    let Some(whole) = mean_within(middle, run).filter(|whole| *whole > 0.0) else { return };
    // From each as much as it has of it: one that is well beside slow ones would look fast.
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

/// Puts the median of a member of a slow group in place of what it does in the stretch. Of work that is
/// bounded, the group shows less of what slows it than of work that is known, and how much less is not
/// known: a member that does other work for some hours looks slower by itself, and one that is slow by
/// itself for most of the stretch still does.
fn level(run: &Run, one: &mut [f32]) {
    let within = &mut one[run.begin..run.end];
    let there: Vec<f64> =
        within.iter().filter(|value| !value.is_nan()).map(|&value| f64::from(value)).collect();
    if there.is_empty() {
        return;
    }
    let level = median(there) as f32;
    for value in within.iter_mut().filter(|value| !value.is_nan()) {
        *value = level;
    }
}

/// The group that explains most: how much, its place, its stretch, and how many of its devices are slow.
fn strongest(groups: &[Group], view: &View, kind: &[u32]) -> Option<(f64, usize, Run, usize)> {
    let (series, healthy) = (&view.ratios.mean, &view.healthy);
    let windows = series.first().map_or(0, Vec::len);
    // In either view.
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

/// What the median of a healthy group does.
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

/// The median of these series in each window; NaN where fewer than half are there.
fn medians(members: &[usize], series: &[Vec<f32>]) -> Vec<f32> {
    let windows = members.first().map_or(0, |&one| series[one].len());
    (0..windows)
        .map(|window| {
            let there: Vec<f64> = members
                .iter()
                .map(|&one| f64::from(series[one][window]))
                .filter(|value| !value.is_nan())
                .collect();
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

    /// Two views of twelve devices of a slow rack beside 48 others. From outside each shows 0.4, because
    /// its work is bounded; beside the others of the rack it shows nothing.
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

    /// The slow racks of them; what these explain is taken out of the views.
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
                // Work that other racks do shows all of what slows the rack; device 4 is slow besides.
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

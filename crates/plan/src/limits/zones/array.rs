//! Compares an array with its members at the same positions of the surface.
//!
//! A stripe waits for its slowest member, so its maximum at a position is the number of members times the
//! rate of the slowest. If it reaches less, a part in front of the members is the bottleneck (bus, adapter,
//! host) and hides their zones. Members are read alone, one at a time, between the visits of the whole
//! array.

use super::analysis::{Visit, analyse, bands, ends, lowest, mean_rate, passes, positions};
use super::plan::{ArrayPlan, ZonePlan};
use record::{ArrayZones, Estimate, Measured, MemberZones, Target};
use std::collections::BTreeSet;

/// The array's part of the document. `visits` are those of the whole first, then of each member; `facts`
/// are those of the members. `None` if a member has no map.
pub(super) fn together(
    (plan, array): (&ZonePlan, &ArrayPlan),
    visits: &[Vec<Visit>],
    facts: &[Target],
    seed: u64,
) -> Option<ArrayZones> {
    let (whole, members) = visits.split_first()?;
    let maps = members.iter().zip(facts).map(|(visits, target)| {
        let analysis = analyse(visits, seed)?;
        let positions = positions(&analysis, &|position| plan.offset(position, true), target);
        Some(MemberZones {
            target: target.clone(),
            mean_bytes_per_s: analysis.mean,
            bands: bands(&analysis, &|position| plan.offset(position, true)),
            lowest: lowest(&positions),
            inner_loss: analysis.inner_loss,
            positions,
        })
    });
    let maps = maps.collect::<Option<Vec<_>>>()?;
    let places: Vec<u32> =
        whole.iter().map(|visit| visit.position).collect::<BTreeSet<_>>().into_iter().collect();
    let group = ends(places.len());
    let share = |group: Option<&[u32]>| -> Measured<Estimate> {
        let Some(group) = group else {
            return Measured::not("too few positions have valid measurements");
        };
        let shares = passes(whole).into_iter().filter_map(|pass| {
            let slowest = slowest(members, pass, group)?;
            Some(mean_rate(whole, pass, group)? / (f64::from(array.count) * slowest))
        });
        let share = stats::visits_mean(&shares.collect::<Vec<f64>>());
        share.ok_or("fewer than two passes have valid measurements of all members").into()
    };
    let cost = if members.len() < 2 {
        Measured::not("the members are equally fast")
    } else {
        let costs = passes(whole).into_iter().filter_map(|pass| {
            let all: Option<Vec<f64>> =
                members.iter().map(|visits| mean_rate(visits, pass, &places)).collect();
            let sum: f64 = all?.iter().sum();
            Some(1.0 - f64::from(array.count) * slowest(members, pass, &places)? / sum)
        });
        let cost = stats::visits_mean(&costs.collect::<Vec<f64>>());
        cost.ok_or("fewer than two passes have valid measurements of all members").into()
    };
    Some(ArrayZones {
        count: array.count,
        chunk_bytes: array.chunk,
        member_depth: plan.member_depth,
        first_share: share(group.map(|count| &places[..count])),
        last_share: share(group.map(|count| &places[places.len() - count..])),
        slowest_cost: cost,
        members: maps,
    })
}

/// The mean rate of the slowest member.
fn slowest(members: &[Vec<Visit>], pass: u32, places: &[u32]) -> Option<f64> {
    let rates = members.iter().map(|visits| mean_rate(visits, pass, places));
    rates.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

//! Rules that take more than an effect between two levels.

use super::effects::gain_text;
use crate::words::{percent, throughput};
use record::{Advice, Band, Estimate, Experiment, ZoneMap};
use std::collections::BTreeMap;

const ENOUGH: f64 = 0.9;

/// "N+1 outstanding requests of a chunk keep N disks busy" (Riedel 6): on the largest number of disks
/// that was measured, is that depth within a tenth of the best?
pub(super) fn outstanding_per_disk(experiment: &Experiment, op: &str) -> Option<Advice> {
    // By number of disks: depths and what they move.
    let mut stripes: BTreeMap<u32, Vec<(u32, &Estimate)>> = BTreeMap::new();
    for cell in experiment.cells.iter().filter(|cell| cell.trials >= 3) {
        let level = |axis: &str| cell.levels.get(axis).map(String::as_str);
        let number = |axis: &str| level(axis)?.parse::<u32>().ok();
        let of_stripe = (level("rw"), level("bs")) == (Some(op), Some("64k"))
            && level("cache").is_none_or(|cache| cache == "direct");
        if let (true, Some(disks), Some(depth)) = (of_stripe, number("disks"), number("iodepth")) {
            stripes.entry(disks).or_default().push((depth, &cell.bytes_per_s));
        }
    }
    // The largest number of disks for which the rule's depth and a deeper one were measured.
    let (disks, mut points) = stripes.into_iter().rfind(|(disks, points)| {
        *disks > 1
            && points.iter().any(|(depth, _)| *depth == disks + 1)
            && points.iter().any(|(depth, _)| *depth > disks + 1)
    })?;
    points.sort_by_cached_key(|(depth, _)| *depth);
    let (_, best) = points.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    let (rule_depth, by_rule) = *points.iter().find(|(depth, _)| *depth == disks + 1)?;
    let (enough, chosen) = *points.iter().find(|(_, rate)| rate.value >= ENOUGH * best.value)?;
    let short = best.over(by_rule);
    let more_needed = short.low > 1.0 && by_rule.value < ENOUGH * best.value;
    let fewer = by_rule.over(chosen);
    let fewer_do = enough < rule_depth && fewer.high < 1.0 / ENOUGH;
    // Between the two, the intervals cannot tell.
    if !more_needed && short.high > 1.0 / ENOUGH / ENOUGH {
        return None;
    }
    let depth = if more_needed || fewer_do { enough } else { rule_depth };
    let (first, first_rate) = points.first()?;
    Some(Advice {
        subject: format!("{op} queue depth for {disks} striped disks"),
        recommendation: format!("QD {depth} with 64 KiB requests"),
        because: format!(
            "QD {enough}: {}, {} of the best; QD {rule_depth}: {}",
            throughput(chosen),
            percent(chosen.value / best.value),
            percent(by_rule.value / best.value)
        ),
        next_best: format!("QD {first}: {} of the best", percent(first_rate.value / best.value)),
        against_rule: (more_needed || fewer_do).then(|| {
            let what = if more_needed { "needs to be higher" } else { "can be lower" };
            format!("rule of thumb: queue depth N+1 for N disks (Riedel 6); here it {what}")
        }),
        gain: points
            .iter()
            .find(|(other, _)| *other == depth)
            .map(|(_, rate)| rate.over(first_rate))
            .filter(|gain| gain.low > 1.0),
        price: None,
    })
}

/// "Put hot sequential files outside" (Riedel 5.6): where bands were found, the first is the fastest.
pub(super) fn place_of_a_stream(zones: &ZoneMap) -> Option<Advice> {
    let loss = zones.inner_loss.value().filter(|_| !zones.random)?;
    if zones.bands.len() < 2 {
        let flat = loss.high < 1.0 - ENOUGH && loss.low > ENOUGH - 1.0;
        return flat.then(|| Advice {
            subject: "location of sequential files".to_owned(),
            recommendation: "anywhere: the rate does not depend on the position".to_owned(),
            because: format!(
                "last tenth compared with the first: {} (±{})",
                crate::words::change(1.0, 1.0 - loss.value),
                percent(loss.half_width())
            ),
            against_rule: Some(
                "rule of thumb: hot sequential files on the outer tracks (Riedel 5.6); here no \
                 area is faster"
                    .to_owned(),
            ),
            ..Advice::default()
        });
    }
    let by_rate = |a: &&Band, b: &&Band| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value);
    let fastest = zones.bands.iter().max_by(by_rate)?;
    let slowest = zones.bands.iter().min_by(by_rate)?;
    let first = zones.bands.first().is_some_and(|band| band.first == fastest.first);
    let gain = fastest.bytes_per_s.over(&slowest.bytes_per_s);
    Some(Advice {
        subject: "location of sequential files".to_owned(),
        recommendation: if first {
            "hot sequential files at the start of the device".to_owned()
        } else {
            format!(
                "hot sequential files from offset {} upwards",
                record::format_bytes(fastest.offset_bytes.0)
            )
        },
        because: format!(
            "fastest band {}, slowest {}",
            throughput(&fastest.bytes_per_s),
            throughput(&slowest.bytes_per_s)
        ),
        next_best: format!(
            "compared with the whole device: {}",
            gain_text(&fastest.bytes_per_s.over(&zones.mean_bytes_per_s))
        ),
        against_rule: (!first).then(|| {
            "rule of thumb: the outer tracks are at the start (Riedel 5.6); here they are not"
                .to_owned()
        }),
        gain: Some(gain),
        price: None,
    })
}

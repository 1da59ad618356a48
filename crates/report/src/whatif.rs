//! Builds the report on a what-if: the present load, the effect of each change, and its justification.
//!
//! The table is the answer. Below it, each change has its assumptions, its cost and how to check it, because
//! a figure about something that does not exist cannot be judged otherwise.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::prediction::{mix_text, offered_text, plain};
use crate::story::{Cell, Story, Tone, capital, number};
use record::{
    Balance, Change, Estimate, LoadState, ObservedLoad, Unit, WhatIf, WhatIfCase, format_bytes,
};

/// Ratio of the largest to the smallest time from which an axis from zero would hide the small ones.
const SPREAD: f64 = 12.0;

/// The story of a what-if.
pub fn whatif(document: &WhatIf) -> Story {
    let subject = document.target.clone().unwrap_or_else(|| "several devices".to_owned());
    let mut story = Story::new("What if", subject, document.simulated);
    let load = |offered, mix| format!("{} {}", offered_text(Some(offered)), mix_text(mix));
    if let Some(before) = &document.before {
        story.fact("load", load(before.offered, &before.mix));
    }
    if let Some(observed) = &document.observed {
        observed_load(&mut story, observed, document.before.as_ref());
    }
    if let Some(before) = &document.before_unsustained {
        story.fact("load", load(before.offered, &before.mix));
        story.fact("before", format!("not sustained: {}", before.why));
    }
    if !document.cases.is_empty() {
        answer(&mut story, document);
        table(&mut story, document);
        document.cases.iter().for_each(|case| grounds(&mut story, case));
    }
    if let Some(one) = &document.balance {
        balance(&mut story, one);
    }
    let remark = "assumptions of the model about the current load";
    story.list("Not measured", remark, &document.extrapolated);
    story.condition("profile", document.profile_id.clone().unwrap_or_default());
    story
}

fn observed_load(story: &mut Story, observed: &ObservedLoad, before: Option<&LoadState>) {
    let ObservedLoad { device, observation_id: id, .. } = observed;
    let length = number::time(observed.duration_ns as f64);
    let text = format!("{device}, the busiest period of observation {id}: {length} long");
    story.fact("observed", text);
    if let (Some(counted), Some(before)) = (observed.latency_ns, before) {
        let ratio = counted / before.latency_ns.value;
        let doubt = if (0.8..1.25).contains(&ratio) {
            "close to the model's latency".to_owned()
        } else {
            format!("{ratio:.2} times the model's latency: use the ratios below, not the times")
        };
        story.fact("latency", format!("{} counted; {doubt}", number::time(counted)));
    }
    if !observed.sequential_traced {
        story.fact("sequential", "share not traced: estimated from the latency");
    }
}

fn change_text(change: &Change) -> String {
    match change {
        Change::Faster(share) => format!("{} faster", number::percent(*share)),
        Change::Array { disks, raid, chunk_bytes } => {
            format!("{disks} disks, RAID {}, {}", raid.number(), format_bytes(*chunk_bytes))
        }
        Change::CacheHit { share, hit_ns } => match (number::percent(*share), hit_ns) {
            (share, None) => format!("device cache hits {share}"),
            (share, Some(time)) => format!("cache hits {share} in {}", number::time(*time)),
        },
        Change::Memory { bytes, share } => {
            let (memory, hits) = (format_bytes(*bytes), number::percent(*share));
            format!("{memory} more memory ({hits} of the reads hit)")
        }
        Change::HostCache(share) => format!("host cache hits {}", number::percent(*share)),
        Change::Sequential(share) => format!("{} more sequential", number::percent(*share)),
        Change::Depth(depth) => format!("QD {}", plain(*depth)),
        Change::RequestBytes(bytes) => format!("requests of {}", format_bytes(*bytes)),
        Change::Cap(rate) => format!("capped at {}", number::per_second(*rate)),
        Change::Uncapped => "no cap".to_owned(),
        Change::AsProfiled => "as profiled".to_owned(),
        Change::Without { share, .. } => format!("{} elsewhere", number::percent(*share)),
        Change::Independent => "without bursts".to_owned(),
    }
}

fn title(changes: &[Change]) -> String {
    match changes {
        [one] => change_text(one),
        _ => "all of them".to_owned(),
    }
}

/// The single change with the lowest latency: its case, and its latency over the present one.
fn quickest(document: &WhatIf) -> Option<(&WhatIfCase, &Estimate)> {
    let alone = document.cases.iter().filter(|case| case.changes.len() == 1);
    let known = alone.filter_map(|case| Some((case, case.latency_ratio.as_ref()?)));
    known.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))
}

/// `0.42 (0.40 to 0.45) times the latency`
fn times(ratio: &Estimate) -> String {
    let ratio = number::with_range(ratio, |ratio| format!("{ratio:.2}"));
    format!("{ratio} times the latency")
}

/// An effect is called small if its interval ends within this factor of no effect.
const NEAR: f64 = 1.25;

/// The change with the largest effect, the first action, and the plots.
fn answer(story: &mut Story, document: &WhatIf) {
    let before = document.before.as_ref();
    story.headline = match quickest(document).zip(before) {
        None if before.is_none() => sustained(document),
        None => "The effect of these changes is unknown; the reasons are below.".to_owned(),
        Some(((case, ratio), before)) => {
            let (name, now) = (title(&case.changes), number::time(before.latency_ns.value));
            let after = case.after.value().map(|after| number::time(after.latency_ns.value));
            let after = after.unwrap_or_else(|| number::NONE.to_owned());
            let effect = match (ratio.high < 1.0, ratio.low > 1.0) {
                (true, _) => &format!("a request takes {after} instead of {now}"),
                (_, true) => "requests do not become faster",
                _ if ratio.low < 1.0 / NEAR || ratio.high > NEAR => "the effect is uncertain",
                _ => "no measurable difference",
            };
            format!("{}: {effect}, {}.", capital(&name), times(ratio))
        }
    };
    if let Some((case, _)) = quickest(document).filter(|(_, ratio)| ratio.high < 1.0) {
        let name = title(&case.changes);
        story.takeaway(&format!("{name} assumes"), case.assumes.join("; "));
        story.takeaway("how to check it", case.how_to_check.join("; "));
    }
    story.charts.extend([latencies(document), fullness(document)].into_iter().flatten());
}

/// Whether a change makes an excessive load sustainable.
fn sustained(document: &WhatIf) -> String {
    let alone = document.cases.iter().filter(|case| case.changes.len() == 1);
    let known = alone.filter_map(|case| Some((case, case.after.value()?)));
    let best = known.min_by(|(_, a), (_, b)| a.latency_ns.value.total_cmp(&b.latency_ns.value));
    let Some((case, after)) = best else {
        return "The disk does not sustain the load, and no single change is known to help."
            .to_owned();
    };
    let (name, time) = (title(&case.changes), number::with_range(&after.latency_ns, number::time));
    let name = capital(&name);
    format!("The disk does not sustain the load now. {name}: a request takes {time}.")
}

/// The load now and after each change, in the order of the document.
fn states(document: &WhatIf) -> impl Iterator<Item = (String, Option<&LoadState>)> {
    let cases = document.cases.iter().map(|case| (title(&case.changes), case.after.value()));
    std::iter::once(("as it is".to_owned(), document.before.as_ref())).chain(cases)
}

fn names(document: &WhatIf) -> Vec<String> {
    let name = |(name, state): (String, Option<&LoadState>)| match state {
        Some(_) => name,
        None => format!("{name}: unknown"),
    };
    states(document).map(name).collect()
}

fn latencies(document: &WhatIf) -> Option<Chart> {
    let computed = states(document).enumerate().filter_map(|(row, (_, state))| {
        Some(Point::known(row as f64, &state?.latency_ns).across())
    });
    let series = vec![Series::new("computed", Form::Marks, computed.collect())];
    let ends: Vec<f64> = crate::chart::ends_across(&series).collect();
    let (least, most) = crate::chart::extremes(ends.iter().copied());
    let x = match most / least > SPREAD {
        true => Axis::decades("mean latency", Some(Unit::Nanos), ends),
        false => Axis::from_zero("mean latency", Some(Unit::Nanos), ends),
    };
    let rule = |before: &LoadState| Rule::upright(before.latency_ns.value, "as it is");
    let alone = document.cases.iter().filter(|case| case.changes.len() == 1);
    let (all, quicker) = alone.fold((0, 0), |(all, quicker), case| {
        let is = case.latency_ratio.as_ref().is_some_and(|ratio| ratio.high < 1.0);
        (all + 1, quicker + usize::from(is))
    });
    let together = document.cases.iter().find(|case| case.changes.len() > 1);
    let together = together.and_then(|case| case.latency_ratio.as_ref());
    let finding = match (together.map(times), all, quicker) {
        (Some(together), ..) => {
            let all = number::counted(f64::from(all), "change");
            &format!(
                "{quicker} of {all} changes make requests faster; together they give {together}"
            )
        }
        (None, 1, 0) => "the change makes no significant difference",
        (None, 1, _) => "the change makes requests faster",
        (None, _, 1) => &format!("1 of {all} changes makes requests faster"),
        _ => &format!("{quicker} of {all} changes make requests faster"),
    };
    let finding = format!("According to the model, {finding}.");
    let errors = "Error bars: 95 % intervals of the model. The model's error is common to all rows, so \
                  the ratios are more precise than the bars show.";
    let axes = (x, Axis::named(names(document)));
    let chart = Chart::new("Mean latency, before and after", finding, axes, series);
    chart.errors(errors).rules(document.before.iter().map(rule)).unless_empty()
}

/// The share of the maximum rate that each state uses.
fn fullness(document: &WhatIf) -> Option<Chart> {
    let before = document.before.as_ref()?;
    let bars = states(document)
        .enumerate()
        .filter_map(|(row, (_, state))| Some(Point::bare(state?.saturation, row as f64)));
    let series = Series::new("of the maximum rate", Form::Bars, bars.collect());
    let room = states(document).filter_map(|(name, state)| Some((name, state?.saturation)));
    let (name, least) = room.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let (now, least) = (number::percent(before.saturation), number::percent(least));
    let most = match name.as_str() {
        "as it is" => ", and no change adds headroom".to_owned(),
        _ => format!(". {name} leaves the most headroom: {least} used"),
    };
    let finding = format!("The load uses {now} of the maximum IOPS{most}.");
    let x = Axis::from_zero("of the maximum rate", Some(Unit::Share), [1.0]);
    let axes = (x, Axis::named(names(document)));
    Chart::new("Utilization of the device", finding, axes, vec![series])
        .errors("IOPS as a share of the maximum IOPS of the same mix; the error is not computed.")
        .unless_empty()
}

fn table(story: &mut Story, document: &WhatIf) {
    let rows = states(document);
    let remark = "mean latency with its interval; IOPS; utilization";
    story.section("Before and after", remark).table(rows, |t| {
        t.left("", |(name, _)| name.clone());
        t.titled("latency_mean_ns", |(_, state)| match state {
            Some(state) => Cell::toned(number::time(state.latency_ns.value), Tone::Strong),
            None => number::NONE.into(),
        });
        t.right("95 %", |(_, state)| {
            let ends = state.map(|state| ends(&state.latency_ns));
            Cell::toned(ends.unwrap_or_default(), Tone::Faint)
        })
        .expendable(1);
        t.of("iops", |(_, state)| state.map(|state| state.iops.value));
        let share = |state: &LoadState| number::percent(state.saturation);
        t.right("of max", |(_, state)| Cell::or_none(*state, share));
    });
}

fn ends(estimate: &Estimate) -> String {
    record::format_ends(estimate.low, estimate.high, number::time)
}

fn grounds(story: &mut Story, case: &WhatIfCase) {
    let remark = case.latency_ratio.as_ref().map(times);
    // The last case combines all changes.
    story.line = match &remark {
        Some(remark) => format!("{}: {remark}", title(&case.changes)),
        None if case.after.value().is_some() => story.headline.clone(),
        None => format!("{}: unknown", title(&case.changes)),
    };
    let section = story.section(title(&case.changes), &remark.unwrap_or_default());
    section.row("unknown", case.after.reason().unwrap_or_default());
    section.rows("assumes", &case.assumes);
    section.rows("cost", &case.cost);
    section.rows("how to check", &case.how_to_check);
    section.rows("evidence", &case.evidence);
}

fn balance(story: &mut Story, balance: &Balance) {
    let value = |latency: &Estimate| number::time(latency.value);
    let time = |latency: &Option<Estimate>| Cell::or_none(latency.as_ref(), value);
    let remark = "load moves from the busiest to the least busy device, step by step";
    let section = story.section("Balanced", remark);
    section.table(&balance.devices, |t| {
        t.left("", |device| device.device.clone());
        t.of("iops", |device| device.iops_before);
        t.right("after", |device| number::count(device.iops_after));
        t.right("of max", |device| number::percent(device.saturation_before));
        t.right("after", |device| number::percent(device.saturation_after));
        t.titled("latency_mean_ns", |device| time(&device.latency_before_ns));
        t.right("after", |device| time(&device.latency_after_ns));
    });
    let none = "nothing: no move would relieve the busiest device";
    section.rows("move", balance.moves.is_empty().then_some(none));
    let moves = balance.moves.iter().map(|one| {
        let (share, rate) = (number::percent(one.share), number::per_second(one.iops));
        format!("{share} of the load of {} ({rate}) to {}", one.from, one.to)
    });
    section.rows("move", moves);
    section.row("assumes", &balance.assumes);
    section.row("cost", &balance.cost);
    section.row("how to check", &balance.how_to_check);
    section.rows("left out", &balance.left_out);
}

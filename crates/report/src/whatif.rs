//! What is said of a what-if: the load as it is, what each change makes of it, and why to believe it.
//!
//! The table answers; below it stands for each change what its figure takes for granted, what it
//! costs and how to check it, because a figure about something that does not exist can be judged by
//! nothing else. Computed and simulated stand in one row.

use crate::number;
use crate::page::Tone;
use crate::prediction::{mix_text, offered_text, plain};
use crate::story::{Cell, Story};
use record::{
    Balance, Change, Estimate, LoadState, Measured, ObservedLoad, SimulatedState, WhatIf,
    WhatIfCase, format_bytes,
};

/// The story of a what-if.
#[must_use]
pub fn whatif(document: &WhatIf) -> Story {
    let subject = document.target.clone().unwrap_or_else(|| "several devices".to_owned());
    let mut story = Story::new("What if", subject, document.simulated);
    if let Some(before) = &document.before {
        let load = format!("{} {}", offered_text(Some(before.offered)), mix_text(&before.mix));
        story.fact("load", load);
    }
    if let Some(observed) = &document.observed {
        observed_load(&mut story, observed, document.before.as_ref());
    }
    if let Some(before) = &document.before
        && !document.cases.is_empty()
    {
        table(&mut story, document, before);
        document.cases.iter().for_each(|case| grounds(&mut story, case));
    }
    if let Some(one) = &document.balance {
        balance(&mut story, one);
    }
    let remark = "what the model had to assume of the load as it is";
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
            "the model is near it".to_owned()
        } else {
            format!("{ratio:.2} times the model's: read the ratios below, not the times")
        };
        story.fact("latency", format!("{} counted; {doubt}", number::time(counted)));
    }
    if !observed.sequential_traced {
        story.fact("sequential", "share not traced: it is the one that explains the latency best");
    }
}

fn change_text(change: &Change) -> String {
    match change {
        Change::Faster(share) => format!("{} faster", number::percent(*share)),
        Change::Array { disks, raid, chunk_bytes } => {
            format!("{disks} disks, RAID {}, {}", raid.number(), format_bytes(*chunk_bytes))
        }
        Change::CacheHit { share, hit_ns: None } => {
            format!("device cache hits {}", number::percent(*share))
        }
        Change::CacheHit { share, hit_ns: Some(time) } => {
            format!("cache hits {} in {}", number::percent(*share), number::time(*time))
        }
        Change::Memory { bytes, share } => {
            let (memory, hits) = (format_bytes(*bytes), number::percent(*share));
            format!("{memory} more memory: hits {hits} of the reads")
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

/// A row: its name, the load as computed, and as simulated.
type Row<'a> = (String, Option<&'a LoadState>, Option<&'a SimulatedState>);

fn table(story: &mut Story, document: &WhatIf, before: &LoadState) {
    let first = document.before_simulated.as_ref().and_then(Measured::value);
    let mut rows: Vec<Row<'_>> = vec![("as it is".to_owned(), Some(before), first)];
    rows.extend(document.cases.iter().map(|case| {
        let simulated = case.simulated.as_ref().and_then(Measured::value);
        (title(&case.changes), case.after.value(), simulated)
    }));
    let remark = "mean latency with its interval; IOPS; how full";
    story.section("Before and after", remark).table(rows, |t| {
        t.left("", |(name, ..)| name.clone());
        t.titled("latency_mean_ns", |(_, state, _)| match state {
            Some(state) => Cell::toned(number::time(state.latency_ns.value), Tone::Strong),
            None => number::NONE.into(),
        });
        t.right("95 %", |(_, state, _)| {
            let ends = state.map(|state| ends(&state.latency_ns));
            Cell::toned(ends.unwrap_or_default(), Tone::Faint)
        })
        .expendable(1);
        t.of("iops", |(_, state, _)| state.map(|state| state.iops.value));
        t.right("of max", |(_, state, _)| {
            Cell::or_none(*state, |state| number::percent(state.saturation))
        });
        if document.before_simulated.is_some() {
            t.right("simulated", |(.., simulated)| {
                Cell::or_none(*simulated, |simulated| number::time(simulated.latency_ns))
            });
            let off = |simulated: &SimulatedState| number::change(1.0 + simulated.difference_rel);
            t.right("off by", |(.., simulated)| Cell::or_empty(*simulated, off)).gap(1);
        }
    });
}

fn ends(estimate: &Estimate) -> String {
    format!("{} to {}", number::time(estimate.low), number::time(estimate.high))
}

fn grounds(story: &mut Story, case: &WhatIfCase) {
    let remark = case.latency_ratio.as_ref().map(|ratio| {
        let ratio = number::with_range(ratio, |ratio| format!("{ratio:.2}"));
        format!("{ratio} times the latency")
    });
    // The last case is that of all changes together.
    story.line = match &remark {
        Some(remark) => format!("{}: {remark}", title(&case.changes)),
        None => format!("{}: unknown", title(&case.changes)),
    };
    let section = story.section(title(&case.changes), &remark.unwrap_or_default());
    section.row("unknown", case.after.reason().unwrap_or_default());
    section.rows("assumes", &case.assumes);
    section.rows("cost", &case.cost);
    section.rows("how to check", &case.how_to_check);
    section.rows("evidence", &case.evidence);
    let simulated = case.simulated.as_ref().map(|simulated| match simulated.known() {
        Err(reason) => format!("not simulated: {reason}"),
        Ok(simulated) => {
            let verdict = match &simulated.breaks {
                None => "agrees within 10 %".to_owned(),
                Some(breaks) => format!("an assumption breaks: {breaks}"),
            };
            format!("{}, {} requests: {verdict}", simulated.device, simulated.requests)
        }
    });
    section.row("simulated", simulated.unwrap_or_default());
}

fn balance(story: &mut Story, balance: &Balance) {
    let time = |latency: &Option<Estimate>| {
        Cell::or_none(latency.as_ref(), |latency| number::time(latency.value))
    };
    let remark = "the fullest device gives to the emptiest, step by step";
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
    if balance.moves.is_empty() {
        section.row("move", "nothing: no device would be less full by it");
    }
    let moves = balance.moves.iter().map(|one| {
        let (share, rate) = (number::percent(one.share), number::per_second(one.iops));
        format!("{share} of what {} does ({rate}) to {}", one.from, one.to)
    });
    section.rows("move", moves);
    section.row("assumes", &balance.assumes);
    section.row("cost", &balance.cost);
    section.row("how to check", &balance.how_to_check);
    section.rows("left out", &balance.left_out);
}

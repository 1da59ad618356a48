//! What is said of a what-if: the load as it is, what each change makes of it, and why to believe it.
//!
//! The table answers; below it stands for each change what its figure takes for granted, what it
//! costs and how to check it, because a figure about something that does not exist can be judged by
//! nothing else. Computed and simulated stand in one row.

use crate::number;
use crate::prediction::{mix_text, offered_text, plain};
use crate::story::{Cell, Column, Section, Story, Table, Tone};
use record::{
    Balance, Change, Estimate, LoadState, Measured, ObservedLoad, SimulatedState, WhatIf,
    WhatIfCase, format_bytes,
};

/// The story of a what-if.
#[must_use]
pub fn whatif(document: &WhatIf) -> Story {
    let mut story = Story {
        kind: "What if".to_owned(),
        subject: document.target.clone().unwrap_or_else(|| "several devices".to_owned()),
        simulated: document.simulated,
        ..Story::default()
    };
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
    if !document.extrapolated.is_empty() {
        let remark = "what the model had to assume of the load as it is";
        let section = story.section("Not measured", remark);
        document.extrapolated.iter().for_each(|clause| section.item(clause));
    }
    story.condition("profile", document.profile_id.clone().unwrap_or_default());
    story
}

fn observed_load(story: &mut Story, observed: &ObservedLoad, before: Option<&LoadState>) {
    let text = format!(
        "{}, the busiest period of observation {}: {} long",
        observed.device,
        observed.observation_id,
        number::time(observed.duration_ns as f64)
    );
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

/// The words of a change.
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

fn table(story: &mut Story, document: &WhatIf, before: &LoadState) {
    let simulated = document.before_simulated.is_some();
    let mut columns = vec![
        Column::left(""),
        Column::of("latency_mean_ns"),
        Column::right("95 %").expendable(1),
        Column::of("iops"),
        Column::right("of max"),
    ];
    if simulated {
        columns.extend([Column::right("simulated"), Column::right("off by").gap(1)]);
    }
    let mut table = Table::new(columns);
    let mut row =
        |name: String, state: &Measured<LoadState>, sim: Option<&Measured<SimulatedState>>| {
            let mut cells = vec![Cell::from(name)];
            match state {
                Measured::Value(state) => cells.extend([
                    Cell::toned(number::time(state.latency_ns.value), Tone::Strong),
                    Cell::toned(ends(&state.latency_ns), Tone::Faint),
                    number::count(state.iops.value).into(),
                    number::percent(state.saturation).into(),
                ]),
                Measured::NotMeasured { .. } => cells.extend([
                    number::NONE.into(),
                    Cell::default(),
                    number::NONE.into(),
                    number::NONE.into(),
                ]),
            }
            if simulated {
                let sim = sim.and_then(Measured::value);
                cells.push(Cell::or_none(sim, |sim| number::time(sim.latency_ns)));
                let off = sim.map(|sim| number::change(1.0 + sim.difference_rel).into());
                cells.push(off.unwrap_or_default());
            }
            table.row(cells);
        };
    let before = Measured::Value(before.clone());
    row("as it is".to_owned(), &before, document.before_simulated.as_ref());
    for case in &document.cases {
        row(title(&case.changes), &case.after, case.simulated.as_ref());
    }
    let remark = "mean latency with its interval; IOPS; how full";
    story.section("Before and after", remark).table(table);
}

/// A range in few columns.
fn ends(estimate: &Estimate) -> String {
    format!("{} to {}", number::time(estimate.low), number::time(estimate.high))
}

/// What a figure rests on.
fn support(section: &mut Section, name: &str, sentences: &[String]) {
    for (at, sentence) in sentences.iter().enumerate() {
        section.row(if at == 0 { name } else { "" }, sentence);
    }
}

/// What a case rests on.
fn grounds(story: &mut Story, case: &WhatIfCase) {
    let remark = match &case.latency_ratio {
        Some(ratio) => {
            format!(
                "{} times the latency",
                number::with_range(ratio, |ratio| format!("{ratio:.2}"))
            )
        }
        None => String::new(),
    };
    let section = story.section(title(&case.changes), &remark);
    if let Measured::NotMeasured { not_measured } = &case.after {
        section.row("unknown", not_measured);
    }
    support(section, "assumes", &case.assumes);
    support(section, "cost", &case.cost);
    support(section, "how to check", &case.how_to_check);
    support(section, "evidence", &case.evidence);
    match &case.simulated {
        None => {}
        Some(Measured::NotMeasured { not_measured }) => {
            section.row("simulated", format!("not simulated: {not_measured}"));
        }
        Some(Measured::Value(simulated)) => {
            let verdict = match &simulated.breaks {
                None => "agrees within 10 %".to_owned(),
                Some(breaks) => format!("an assumption breaks: {breaks}"),
            };
            let what = format!("{}, {} requests: {verdict}", simulated.device, simulated.requests);
            section.row("simulated", what);
        }
    }
}

fn balance(story: &mut Story, balance: &Balance) {
    let mut table = Table::new(vec![
        Column::left(""),
        Column::of("iops"),
        Column::right("after"),
        Column::right("of max"),
        Column::right("after"),
        Column::of("latency_mean_ns"),
        Column::right("after"),
    ]);
    let time = |estimate: &Option<Estimate>| {
        Cell::or_none(estimate.as_ref(), |estimate| number::time(estimate.value))
    };
    for device in &balance.devices {
        table.row(vec![
            device.device.as_str().into(),
            number::count(device.iops_before).into(),
            number::count(device.iops_after).into(),
            number::percent(device.saturation_before).into(),
            number::percent(device.saturation_after).into(),
            time(&device.latency_before_ns),
            time(&device.latency_after_ns),
        ]);
    }
    let remark = "the fullest device gives to the emptiest, step by step";
    let section = story.section("Balanced", remark);
    section.table(table);
    if balance.moves.is_empty() {
        section.row("move", "nothing: no device would be less full by it");
    }
    for (at, one) in balance.moves.iter().enumerate() {
        let text = format!(
            "{} of what {} does ({}) to {}",
            number::percent(one.share),
            one.from,
            number::per_second(one.iops),
            one.to
        );
        section.row(if at == 0 { "move" } else { "" }, text);
    }
    section.row("assumes", &balance.assumes);
    section.row("cost", &balance.cost);
    section.row("how to check", &balance.how_to_check);
    support(section, "left out", &balance.left_out);
}

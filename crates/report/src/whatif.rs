//! What `whatif` prints: the load as it is, what each change makes of it, and why to believe it.
//!
//! The table answers; below it stands for each change what its figure takes for granted, what it
//! costs and what would refute it, because a figure about something that does not exist can be
//! judged by nothing else. Computed and simulated stand in one row.

use crate::page::{Page, Span, Tone};
use crate::prediction::mix_text;
use crate::table::{Column, Entry, Table};
use crate::{Style, number};
use record::{
    Balance, Change, Estimate, LoadState, Measured, ObservedLoad, Offered, SimulatedState, WhatIf,
    WhatIfCase, format_bytes,
};

/// Column at which the values of labelled lines begin.
const VALUES: usize = 17;

/// A what-if, answer first.
#[must_use]
pub fn whatif_text(document: &WhatIf, style: &Style) -> String {
    let mut page = Page::new(style);
    let target = document.target.as_deref().unwrap_or("several devices");
    page.hanging(vec![Span::new("What if: ", Tone::Strong)], target, Tone::Plain);
    if let Some(before) = &document.before {
        let load = format!("{} {}", offered(before.offered), mix_text(&before.mix));
        page.labelled("  load", VALUES, &load);
    }
    if let Some(observed) = &document.observed {
        observed_lines(&mut page, observed, document.before.as_ref());
    }
    if let Some(before) = &document.before
        && !document.cases.is_empty()
    {
        table(&mut page, document, before);
        for case in &document.cases {
            grounds(&mut page, case);
        }
    }
    if let Some(balance) = &document.balance {
        balance_lines(&mut page, balance);
    }
    if !document.extrapolated.is_empty() {
        page.heading("Not measured", "what the model had to assume of the load as it is");
        for clause in &document.extrapolated {
            page.hanging(vec![Span::plain("  - ")], clause, Tone::Plain);
        }
    }
    page.blank();
    if let Some(id) = &document.profile_id {
        let simulated = if document.simulated { ", SIMULATED" } else { "" };
        page.labelled("  profile", VALUES, &format!("{id}{simulated}"));
    }
    page.finish()
}

fn offered(offered: Offered) -> String {
    match offered {
        Offered::PoissonPerS(rate) => format!("{}, arriving independently,", rate_text(rate)),
        Offered::ConstantPerS(rate) => format!("{} at equal distances,", rate_text(rate)),
        Offered::Depth(depth) => format!("{} outstanding,", plain(depth)),
    }
}

fn rate_text(rate: f64) -> String {
    format!("{} requests/s", plain(rate))
}

/// A number as it was typed.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { number::digits(value) }
}

fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A range in few columns.
fn ends(estimate: &Estimate) -> String {
    format!("{} to {}", number::time(estimate.low), number::time(estimate.high))
}

fn observed_lines(page: &mut Page, observed: &ObservedLoad, before: Option<&LoadState>) {
    let seconds = observed.duration_ns as f64;
    let text = format!(
        "{}, the busiest stretch of time of observation {}: {} long",
        observed.device,
        observed.observation_id,
        number::time(seconds)
    );
    page.labelled("  observed", VALUES, &text);
    if let (Some(counted), Some(before)) = (observed.latency_ns, before) {
        let model = before.latency_ns.value;
        let ratio = counted / model;
        let doubt = if (0.8..1.25).contains(&ratio) {
            "the model is near it".to_owned()
        } else {
            format!("{ratio:.2} times the model's: read the ratios below, not the times")
        };
        page.labelled("", VALUES, &format!("{} counted; {doubt}", number::time(counted)));
    }
    if !observed.sequential_traced {
        page.labelled(
            "",
            VALUES,
            "the share of sequential requests was not traced: it is the one that explains the \
             latency time best",
        );
    }
}

/// The words of a change.
fn change_text(change: &Change) -> String {
    match change {
        Change::Faster(share) => format!("{} faster", whole(*share)),
        Change::Array { disks, raid, chunk_bytes } => {
            format!("{disks} disks, RAID {}, {}", raid.number(), format_bytes(*chunk_bytes))
        }
        Change::CacheHit { share, hit_ns: None } => format!("device cache hits {}", whole(*share)),
        Change::CacheHit { share, hit_ns: Some(time) } => {
            format!("cache hits {} in {}", whole(*share), number::time(*time))
        }
        Change::HostCache(share) => format!("host cache hits {}", whole(*share)),
        Change::Sequential(share) => format!("{} more sequential", whole(*share)),
        Change::Depth(depth) => format!("{} outstanding", plain(*depth)),
        Change::RequestBytes(bytes) => format!("requests of {}", format_bytes(*bytes)),
        Change::Cap(rate) => format!("capped at {}", number::per_second(*rate)),
    }
}

fn title(changes: &[Change]) -> String {
    match changes {
        [one] => change_text(one),
        _ => "all of them".to_owned(),
    }
}

fn table(page: &mut Page, document: &WhatIf, before: &LoadState) {
    page.heading("Before and after", "mean response time with its interval; rate; how full");
    let simulated = document.before_simulated.is_some();
    let mut columns = vec![
        Column::left(2),
        Column::right(2),
        Column::right(2).expendable(1),
        Column::right(2),
        Column::right(2),
    ];
    let mut titles = vec!["", "response", "95 %", "rate", "of max"];
    if simulated {
        columns.extend([Column::right(2), Column::right(1)]);
        titles.extend(["simulated", "off by"]);
    }
    let mut table = Table::new(columns);
    table.titles(&titles);
    let mut row =
        |name: &str, state: &Measured<LoadState>, sim: Option<&Measured<SimulatedState>>| {
            let mut entries = vec![Entry::text(name)];
            match state {
                Measured::Value(state) => entries.extend([
                    Entry::toned(number::time(state.latency_ns.value), Tone::Strong),
                    Entry::toned(ends(&state.latency_ns), Tone::Faint),
                    Entry::text(number::per_second(state.iops.value)),
                    Entry::text(whole(state.saturation)),
                ]),
                Measured::NotMeasured { .. } => entries.extend([
                    Entry::text(number::NONE),
                    Entry::text(""),
                    Entry::text(number::NONE),
                    Entry::text(number::NONE),
                ]),
            }
            if simulated {
                match sim.and_then(Measured::value) {
                    Some(sim) => entries.extend([
                        Entry::text(number::time(sim.latency_ns)),
                        Entry::text(format!("{:+.0} %", sim.difference_rel * 100.0)),
                    ]),
                    None => entries.extend([Entry::text(number::NONE), Entry::text("")]),
                }
            }
            table.row(entries);
        };
    row("as it is", &Measured::Value(before.clone()), document.before_simulated.as_ref());
    for case in &document.cases {
        row(&title(&case.changes), &case.after, case.simulated.as_ref());
    }
    table.print(page);
}

/// What a case rests on.
fn grounds(page: &mut Page, case: &WhatIfCase) {
    let remark = match &case.latency_ratio {
        Some(ratio) => format!(
            "{:.2} times the response time ({:.2} to {:.2})",
            ratio.value, ratio.low, ratio.high
        ),
        None => String::new(),
    };
    page.heading(&title(&case.changes), &remark);
    let mut line = |label: &str, text: &str| page.labelled(&format!("  {label}"), VALUES, text);
    if let Measured::NotMeasured { not_measured } = &case.after {
        line("no answer", not_measured);
    }
    let groups = [
        ("assumes", &case.assumes),
        ("price", &case.price),
        ("refuted by", &case.refuted_by),
        ("evidence", &case.evidence),
    ];
    for (label, sentences) in groups {
        for (at, sentence) in sentences.iter().enumerate() {
            line(if at == 0 { label } else { "" }, sentence);
        }
    }
    match &case.simulated {
        None => {}
        Some(Measured::NotMeasured { not_measured }) => {
            line("simulated", &format!("not simulated: {not_measured}"));
        }
        Some(Measured::Value(simulated)) => {
            let verdict = match &simulated.breaks {
                None => "agrees within 10 %".to_owned(),
                Some(breaks) => format!("an assumption breaks: {breaks}"),
            };
            let what = format!("{}, {} requests: {verdict}", simulated.device, simulated.requests);
            line("simulated", &what);
        }
    }
}

fn balance_lines(page: &mut Page, balance: &Balance) {
    page.heading("Balanced", "the fullest device gives to the emptiest, step by step");
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
    ]);
    table.titles(&["", "rate", "after", "of max", "after", "response", "after"]);
    let time = |estimate: &Option<Estimate>| {
        let known = estimate.as_ref().map(|estimate| number::time(estimate.value));
        known.unwrap_or_else(|| number::NONE.to_owned())
    };
    for device in &balance.devices {
        table.row(vec![
            Entry::text(&device.device),
            Entry::text(number::per_second(device.iops_before)),
            Entry::text(number::per_second(device.iops_after)),
            Entry::text(whole(device.saturation_before)),
            Entry::text(whole(device.saturation_after)),
            Entry::text(time(&device.latency_before_ns)),
            Entry::text(time(&device.latency_after_ns)),
        ]);
    }
    table.print(page);
    let mut line = |label: &str, text: &str| page.labelled(&format!("  {label}"), VALUES, text);
    if balance.moves.is_empty() {
        line("move", "nothing: no device would be less full by it");
    }
    for (at, one) in balance.moves.iter().enumerate() {
        let text = format!(
            "{} of what {} does ({}) to {}",
            whole(one.share),
            one.from,
            number::per_second(one.iops),
            one.to
        );
        line(if at == 0 { "move" } else { "" }, &text);
    }
    line("assumes", &balance.assumes);
    line("price", &balance.price);
    line("refuted by", &balance.refuted_by);
    for reason in &balance.left_out {
        line("left out", reason);
    }
}

//! What `halfpower limits`, `zones` and `cost` print.
//!
//! The answer of `limits` is which component binds; the papers' table of advertised and real peaks
//! follows, and under it who says the one and how the other was measured, because a ratio without
//! both is hearsay. Then the tests behind it: memory as a matrix of test and place, bus, and hits.

mod price;
mod tests_behind;
mod zones;

pub use price::price_text;
pub use zones::zones_text;

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, profile, target};
use record::{
    Binding, Estimate, HalfPower, LimitsRun, Measured, PathComponent, Sizing, format_rate,
};

/// Column at which the values of labelled lines begin.
const VALUES: usize = 14;

/// A run of limits, answer first.
#[must_use]
pub fn limits_text(run: &LimitsRun, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new("Limits: ", Tone::Strong)];
    if run.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    let targets: Vec<String> = run.targets.iter().map(target::summary).collect();
    page.flowing(lead, 2, &targets.join("; "), Tone::Plain);
    finding::print_verdict(&mut page, &run.findings);
    page.blank();
    binding(&mut page, &run.binding);
    path(&mut page, &run.components);
    sources(&mut page, &run.components);
    tests_behind::bus(&mut page, &run.bus);
    tests_behind::hits(&mut page, &run.hits);
    tests_behind::memory(&mut page, &run.memory);
    if !run.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &run.findings);
    }
    page.blank();
    let mut parts = profile::environment_parts(run.environment.as_ref());
    parts.push(format!("{} trials", run.trial_ids.len()));
    parts.extend(run.profile_id.as_ref().map(|id| format!("device from profile {id}")));
    parts.extend(run.time.as_deref().map(number::when));
    conditions(&mut page, run.simulated, parts, &run.id, run.seed, &run.halfpower_version);
    page.finish()
}

/// The last lines of a page.
fn conditions(
    page: &mut Page,
    simulated: bool,
    mut parts: Vec<String>,
    id: &str,
    seed: u64,
    version: &str,
) {
    if simulated {
        parts.insert(0, "SIMULATED in virtual time".to_owned());
    }
    let lead = vec![Span::new("Conditions: ", Tone::Strong)];
    page.hanging(lead, &parts.join("; "), Tone::Plain);
    let lead = vec![Span::new("Id: ", Tone::Strong)];
    page.hanging(lead, &format!("{id}, seed {seed}, halfpower {version}"), Tone::Plain);
}

/// What binds.
fn binding(page: &mut Page, binding: &Measured<Binding>) {
    let lead = vec![Span::new("Binds: ", Tone::Strong)];
    let binding = match binding {
        Measured::NotMeasured { not_measured } => {
            return page.hanging(lead, &format!("cannot be told: {not_measured}"), Tone::Plain);
        }
        Measured::Value(binding) => binding,
    };
    let rate = number::with_interval(&binding.bytes_per_s, format_rate);
    let what = match binding.names.as_slice() {
        [one] => format!("the {one}, at {rate}"),
        several => format!("{}, which cannot be told apart, at {rate}", several.join(" or ")),
    };
    page.hanging(lead, &what, Tone::Strong);
    page.labelled("why", 8, &binding.because);
    for alternative in &binding.alternatives {
        page.labelled("but", 8, &format!("not excluded: {alternative}"));
    }
}

/// The table of advertised and real peaks.
fn path(page: &mut Page, components: &[PathComponent]) {
    page.heading(
        "The path",
        "advertised peak (PAP) and measured rate (RAP); ½: half of PAP reached; disks: how many \
         such disks fill it by sequential reads",
    );
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::left(1),
        Column::right(2),
        Column::left(2),
        Column::right(2),
    ]);
    table.titles(&["", "PAP", "RAP", "", "RAP/PAP", "½", "disks"]);
    for component in components {
        let pap = component.pap.value();
        let pap = pap.map_or_else(|| "not known".to_owned(), |pap| number::rate(pap.bytes_per_s));
        let rap = component.rap_bytes_per_s.value();
        let bound = if component.rap_is_lower_bound { "≥ " } else { "" };
        let rate = rap.map_or_else(
            || Entry::toned("not measured", Tone::Faint),
            |rap| Entry::toned(format!("{bound}{}", number::rate(rap.value)), Tone::Strong),
        );
        let interval = rap.map(|rap| Entry::text(number::interval(number::relative(rap))));
        let ratio = component.ratio.map(|ratio| Entry::text(number::percent(ratio)));
        table.row(vec![
            Entry::text(&component.name),
            Entry::text(pap),
            rate,
            interval.unwrap_or(Entry::Empty),
            ratio.unwrap_or(Entry::Empty),
            half_power(component.half_power),
            Entry::text(component.disks.as_ref().map_or(String::new(), sizing)),
        ]);
    }
    table.print(page);
}

fn half_power(half_power: HalfPower) -> Entry {
    match half_power {
        HalfPower::Reached => Entry::toned("yes", Tone::Good),
        HalfPower::Missed => Entry::toned("NO", Tone::Warn),
        HalfPower::CannotTell => Entry::text("?"),
        HalfPower::NotKnown => Entry::text(number::NONE),
    }
}

/// How many disks, with the sign of a component that may carry more.
fn sizing(sizing: &Sizing) -> String {
    let at_least = if sizing.at_least { "≥ " } else { "" };
    if sizing.quotient >= 99.95 {
        return format!("{at_least}{}", number::count(sizing.saturating as f64));
    }
    format!("{at_least}{:.1}", sizing.quotient)
}

/// Who says the one number and how the other was found.
fn sources(page: &mut Page, components: &[PathComponent]) {
    page.heading("Where the numbers come from", "");
    for component in components {
        let mut parts = Vec::new();
        parts.push(match &component.pap {
            Measured::Value(pap) => format!("PAP: {}", pap.source),
            Measured::NotMeasured { not_measured } => format!("PAP not known: {not_measured}"),
        });
        parts.push(match &component.rap_bytes_per_s {
            Measured::Value(_) => format!("RAP: {}", component.rap_method),
            Measured::NotMeasured { not_measured } => {
                format!("RAP not measured: {not_measured}")
            }
        });
        parts.extend(component.others.iter().map(|other| {
            format!("{} {}", other.name, number::with_interval(&other.bytes_per_s, format_rate))
        }));
        let lead = vec![Span::plain("  "), Span::new(&component.name, Tone::Strong)];
        page.flowing(lead, 4, &format!(": {}", parts.join("; ")), Tone::Plain);
    }
}

/// A rate with its interval.
fn rate(estimate: &Estimate) -> String {
    number::with_interval(estimate, format_rate)
}

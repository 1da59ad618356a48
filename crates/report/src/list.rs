//! Short lists: saved profiles and experiments, presets, what this machine can measure, what to do
//! next; and the page of the documentation that explains every reported quantity, from their one table.

use crate::page::{Page, Span, Tone};
use crate::profile::largest;
use crate::story::joined;
use crate::{Style, number, set, target};
use record::{Capability, Experiment, OpKind, Profile, QUANTITIES};

/// A name with a few words behind it.
fn entry(page: &mut Page, name: &str, words: &str) {
    page.line(vec![Span::new(name, Tone::Strong), Span::plain(format!("  {words}"))]);
}

fn when(time: Option<&str>, simulated: bool) -> String {
    match time {
        _ if simulated => "SIMULATED".to_owned(),
        Some(time) => number::when(time),
        None => "time unknown".to_owned(),
    }
}

/// The saved profiles, in the given order: identifier, time and target, then the largest rates.
#[must_use]
pub fn profile_list_text(profiles: &[Profile], style: &Style) -> String {
    let mut page = Page::new(style);
    if profiles.is_empty() {
        page.paragraph(0, "No profiles are saved here. `halfpower check` makes one.", Tone::Plain);
    }
    for profile in profiles {
        entry(&mut page, &profile.id, &when(profile.time.as_deref(), profile.simulated));
        page.paragraph(4, &target::summary(&profile.target), Tone::Plain);
        let rates = joined(OpKind::BOTH, "; ", |op| {
            let (iops, bytes_per_s) = largest(profile, op);
            let iops = iops.map(|it| number::per_second(it.value));
            let rates = iops.into_iter().chain(bytes_per_s.map(|it| number::rate(it.value)));
            let rates = joined(rates, ", ", |rate| rate);
            format!("{} {}", op.plural(), if rates.is_empty() { "not measured" } else { &rates })
        });
        page.paragraph(4, &rates, Tone::Plain);
    }
    page.finish()
}

/// One preset in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetRow {
    /// Its name.
    pub name: String,
    /// What it is, in one line.
    pub title: String,
    /// What it looks for and what it needs.
    pub about: String,
    /// Combinations in a block.
    pub combinations: usize,
    /// Blocks.
    pub blocks: u32,
    /// Names of its protocols.
    pub protocols: Vec<String>,
}

/// The presets with what they look for.
#[must_use]
pub fn preset_list_text(rows: &[PresetRow], style: &Style) -> String {
    let mut page = Page::new(style);
    for row in rows {
        let blocks = number::counted(f64::from(row.blocks), "block");
        entry(&mut page, &row.name, &format!("{} in {blocks}", row.combinations));
        page.paragraph(4, &format!("{}.", row.title), Tone::Plain);
        page.paragraph(4, &row.about.replace('\n', " "), Tone::Faint);
        if !row.protocols.is_empty() {
            let protocols = row.protocols.join(", ");
            page.paragraph(4, &format!("Protocols: {protocols}."), Tone::Faint);
        }
    }
    page.finish()
}

/// The saved experiments, in the given order.
#[must_use]
pub fn experiment_list_text(experiments: &[Experiment], style: &Style) -> String {
    let mut page = Page::new(style);
    if experiments.is_empty() {
        let text = "No experiments are saved here. `halfpower sweep` makes one.";
        page.paragraph(0, text, Tone::Plain);
    }
    for experiment in experiments {
        let time = when(experiment.time.as_deref(), experiment.simulated);
        entry(&mut page, &experiment.id, &time);
        let targets = joined(&experiment.targets, "; ", target::summary);
        let done = set::done(experiment);
        let text = format!("{} on {targets}: trials {done}", experiment.design);
        page.paragraph(4, &text, Tone::Plain);
        page.paragraph(4, &experiment.note, Tone::Faint);
    }
    page.finish()
}

/// What this machine can measure and what not, with the reason and the remedy.
#[must_use]
pub fn capabilities_text(rows: &[Capability], style: &Style) -> String {
    let mut page = Page::new(style);
    // A name of unreasonable length may push its own line aside, not everybody's.
    let names = rows.iter().map(|row| Span::plain(&row.name).width()).max().unwrap_or(0).min(28);
    for row in rows {
        let (mark, tone) = if row.available { ("yes", Tone::Good) } else { ("no ", Tone::Warn) };
        let name = Span::plain(&row.name);
        let pad = " ".repeat((names + 2).saturating_sub(name.width()).max(2));
        let lead = vec![Span::plain("  "), Span::new(mark, tone), Span::plain("  ")];
        if name.width() > names {
            let text = format!("{}: {}", row.name, row.detail);
            page.hanging(lead, &text, Tone::Plain);
        } else if row.detail.trim().is_empty() {
            page.line([lead, vec![name]].concat());
        } else {
            page.hanging([lead, vec![name, Span::plain(pad)]].concat(), &row.detail, Tone::Plain);
        }
        if !row.remedy.trim().is_empty() {
            let arrow = Span::plain(format!("{:1$}→ ", "", names + 9));
            page.hanging(vec![arrow], &row.remedy, Tone::Plain);
        }
    }
    page.finish()
}

/// The commands to try next, one a line. A command that is too long goes on after a backslash, so
/// that it can still be pasted into a shell.
#[must_use]
pub fn next_steps_text(steps: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    if !steps.is_empty() {
        page.heading("Next", "");
    }
    for step in steps {
        page.command(step);
    }
    page.finish()
}

/// `docs/quantities.md`: identifier, title, unit and meaning of each quantity.
#[must_use]
pub fn quantities_markdown() -> String {
    let mut text = String::from(
        "# Reported quantities\n\n\
         Every number that halfpower prints or stores, as the program itself defines it. This page is\n\
         generated from that table.\n\n\
         A terminal shows times, sizes and rates in the unit that fits, with three significant digits:\n\
         MB is 10^6 bytes, MiB is 2^20 bytes. `±` is the half-width of a 95 % confidence interval.\n\n\
         | identifier | in tables | stored as | meaning |\n|---|---|---|---|\n",
    );
    let cell = |text: &str| text.replace('|', "\\|");
    for quantity in QUANTITIES {
        let (title, help) = (cell(quantity.title), cell(quantity.help));
        let (stored, ..) = quantity.unit.stored();
        text.push_str(&format!("| `{}` | {title} | {stored} | {help} |\n", quantity.id));
    }
    text
}

//! Prints short lists: saved profiles and experiments, presets, the capabilities of this machine, next steps.

use crate::page::{Page, Span, Tone};
use crate::profile::largest;
use crate::story::joined;
use crate::{Style, number, set, target};
use record::{Capability, Experiment, KeptDocument, OpKind, Profile, short_id};
use workload::Design;

fn entry(page: &mut Page, name: &str, words: &str) {
    page.line(vec![Span::new(name, Tone::Strong), Span::plain(format!("  {words}"))]);
}

/// A new page, which says so if there is nothing to list.
fn page_of<T>(listed: &[T], none: &str, style: &Style) -> Page {
    let mut page = Page::new(style);
    if listed.is_empty() {
        page.paragraph(0, none, Tone::Plain);
    }
    page
}

fn when(time: Option<&str>, simulated: bool) -> String {
    match time {
        _ if simulated => "SIMULATED".to_owned(),
        Some(time) => number::when(time),
        None => "time unknown".to_owned(),
    }
}

/// The saved profiles in the given order: id, time and target, then the maximum rates.
#[must_use]
pub fn profile_list_text(profiles: &[Profile], style: &Style) -> String {
    let none = "No profiles are saved here. Run `halfpower check` to create one.";
    let mut page = page_of(profiles, none, style);
    for profile in profiles {
        let mut words = when(profile.time.as_deref(), profile.simulated);
        if profile.partial().is_some() {
            words.push_str(", partial");
        }
        entry(&mut page, &profile.id, &words);
        page.paragraph(4, &target::summary(&profile.target), Tone::Plain);
        let rates = joined(OpKind::ALL, "; ", |op| {
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

/// The saved documents in the given order: short id, kind, time and target, a line each. `inner` is
/// the number of trials that belong to listed documents and are not listed themselves.
#[must_use]
pub fn kept_list_text(kept: &[KeptDocument], inner: usize, style: &Style) -> String {
    let none = match inner {
        0 => "Nothing is saved here. Run `halfpower check` to measure a disk.",
        _ => "No complete result is saved here. Run `halfpower check` to measure a disk.",
    };
    let mut page = page_of(kept, none, style);
    let time = |one: &KeptDocument| when(one.time.as_deref(), one.simulated);
    let kinds = kept.iter().map(|one| one.kind.len()).max().unwrap_or_default();
    let times = kept.iter().map(|one| time(one).len()).max().unwrap_or_default();
    for one in kept {
        let words = format!("  {:kinds$}  {:times$}  ", one.kind, time(one));
        let id = Span::new(short_id(&one.id), Tone::Strong);
        page.hanging(vec![id, Span::plain(words)], &one.target, Tone::Plain);
    }
    if inner > 0 {
        let trials = number::counted(inner as f64, "trial");
        let command = format!("halfpower show list --kind trial {}", style.database);
        let of = if kept.is_empty() {
            "of runs that did not finish"
        } else {
            "that belong to these results"
        };
        let text = format!("and {trials} {of}: {}", command.trim_end());
        page.paragraph(0, &text, Tone::Faint);
    }
    page.finish()
}

/// The presets, each with its purpose.
#[must_use]
pub fn preset_list_text(designs: &[Design], style: &Style) -> String {
    let mut page = Page::new(style);
    for design in designs {
        let blocks = number::counted(f64::from(design.blocks), "block");
        entry(&mut page, &design.name, &format!("{} in {blocks}", design.combinations().len()));
        page.paragraph(4, &format!("{}.", design.title), Tone::Plain);
        page.paragraph(4, &design.about.replace('\n', " "), Tone::Faint);
        if !design.protocols.is_empty() {
            let protocols = joined(design.protocols.keys(), ", ", String::clone);
            page.paragraph(4, &format!("Protocols: {protocols}."), Tone::Faint);
        }
    }
    page.finish()
}

/// The saved experiments, in the given order.
#[must_use]
pub fn experiment_list_text(experiments: &[Experiment], style: &Style) -> String {
    let none = "No experiments are saved here. Run `halfpower sweep` to create one.";
    let mut page = page_of(experiments, none, style);
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

/// What this machine can and cannot measure, with reason and remedy.
#[must_use]
pub fn capabilities_text(rows: &[Capability], style: &Style) -> String {
    let mut page = Page::new(style);
    let missing: Vec<&str> =
        rows.iter().filter(|row| !row.available).map(|row| row.name.as_str()).collect();
    let (working, names) = (rows.len() - missing.len(), missing.join(", "));
    let verdict = match (rows.len(), missing.len()) {
        (0, _) => return page.finish(),
        (all, 0) => format!("All {all} features that halfpower can use work here."),
        (all, _) => format!(
            "{working} of {all} features that halfpower can use work here. Without the others, \
             halfpower still measures but reports less. Missing: {names}."
        ),
    };
    page.paragraph(0, &verdict, Tone::Strong);
    page.blank();
    // An extremely long name shifts its own line, but not the others.
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

/// The commands to try next, one per line. A long command continues after a backslash, so that it
/// can be pasted into a shell.
#[must_use]
pub fn next_steps_text(steps: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    if !steps.is_empty() {
        page.heading("Next", "");
    }
    steps.iter().for_each(|step| page.command(step));
    page.finish()
}

/// Codes, each with a sentence, under a title.
#[must_use]
pub fn codes_text(title: &str, rows: &[(&str, &str)], style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(title, "");
    for (code, sentence) in rows {
        page.line(vec![Span::plain("  "), Span::new(*code, Tone::Strong)]);
        page.paragraph(6, sentence, Tone::Plain);
    }
    page.finish()
}

/// The meaning of a code: paragraphs and list items.
#[must_use]
pub fn code_text(code: &str, paragraphs: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(code, "");
    for paragraph in paragraphs {
        match paragraph.strip_prefix("- ") {
            Some(item) => page.hanging(vec![Span::plain("  - ")], item, Tone::Plain),
            None => page.paragraph(2, paragraph, Tone::Plain),
        }
    }
    page.finish()
}

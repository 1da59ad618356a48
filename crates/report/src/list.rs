//! Short lists: saved profiles, what this machine can measure, what to do next.

use crate::page::{Page, Span, Tone};
use crate::story::joined;
use crate::{Style, number, set, target};
use record::{Capability, Experiment, Profile};

/// One saved profile in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileListRow {
    /// Identifier, as `profile show` takes it.
    pub id: String,
    /// When it was measured, RFC 3339 in UTC; `None` for a simulated target.
    pub time: Option<String>,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// The target in a few words.
    pub target: String,
    /// Most random reads per second.
    pub read_iops: Option<f64>,
    /// Most random writes per second.
    pub write_iops: Option<f64>,
    /// Most bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Most bytes written per second.
    pub write_bytes_per_s: Option<f64>,
}

impl From<&Profile> for ProfileListRow {
    fn from(profile: &Profile) -> Self {
        let limits = &profile.limits;
        Self {
            id: profile.id.clone(),
            time: profile.time.clone(),
            simulated: profile.simulated,
            target: target::summary(&profile.target),
            read_iops: limits.read_iops.map(|estimate| estimate.value),
            write_iops: limits.write_iops.map(|estimate| estimate.value),
            read_bytes_per_s: limits.read_bytes_per_s.map(|estimate| estimate.value),
            write_bytes_per_s: limits.write_bytes_per_s.map(|estimate| estimate.value),
        }
    }
}

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
pub fn profile_list_text(rows: &[ProfileListRow], style: &Style) -> String {
    let mut page = Page::new(style);
    if rows.is_empty() {
        page.paragraph(0, "No profiles are saved here. `halfpower check` makes one.", Tone::Plain);
    }
    for row in rows {
        entry(&mut page, &row.id, &when(row.time.as_deref(), row.simulated));
        page.paragraph(4, &row.target, Tone::Plain);
        let direction = |word, iops: Option<f64>, bytes_per_s: Option<f64>| {
            let rates = [iops.map(number::per_second), bytes_per_s.map(number::rate)];
            let rates = joined(rates.into_iter().flatten(), ", ", |rate| rate);
            format!("{word} {}", if rates.is_empty() { "not measured" } else { &rates })
        };
        let reads = direction("reads", row.read_iops, row.read_bytes_per_s);
        let writes = direction("writes", row.write_iops, row.write_bytes_per_s);
        page.paragraph(4, &format!("{reads}; {writes}"), Tone::Plain);
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

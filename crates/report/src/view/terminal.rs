//! Stories as pages of a terminal.
//!
//! Plots are not drawn; bars within tables and the tables' numbers stand for them.

use super::table::{self, fits};
use crate::page::{Page, Span, Tone};
use crate::story::{
    Action, Badge, Block, Cell, Fact, Section, Story, Table, named, prefix, severity,
};
use crate::{Style, finding};
use record::Finding;
use stats::grouped;

/// Columns of the longest name that others are aligned to.
const NAME_MAX: usize = 24;
const COMMANDS: usize = 4;
/// Titles of folded sections that are listed.
const FOLDS_MAX: usize = 5;
/// The name of a command that fits behind it.
const REPEAT: &str = "repeat by";

/// A story as a page.
#[must_use]
pub fn terminal(story: &Story, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new(format!("{}: ", story.kind), Tone::Strong)];
    if story.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    page.flowing(lead, 2, &story.subject, Tone::Plain);
    if let Some(finding) = story.not_valid() {
        let lead = vec![Span::new("NOT VALID: ", Tone::Bad)];
        page.hanging(lead, finding.claim.trim(), Tone::Bad);
    }
    page.blank();
    blocks(&mut page, &story.overview);
    for badge in story.verdicts() {
        if !badge.answers.is_empty() {
            page.blank();
        }
        verdict(&mut page, badge);
    }
    if story.verdicts().any(|badge| !badge.answers.is_empty()) {
        page.blank();
    }
    if !story.headline.is_empty() {
        page.paragraph(2, &story.headline, Tone::Strong);
    }
    figures(&mut page, story);
    if !story.actions.is_empty() {
        page.heading("What to do", "");
        story.actions.iter().for_each(|each| action(&mut page, each));
    }
    for each in story.sections.iter().filter(|section| !section.fold) {
        section(&mut page, each);
    }
    if !story.findings.is_empty() {
        page.heading("Findings", "");
        story.sorted_findings().into_iter().for_each(|each| print_finding(&mut page, each));
    }
    end(&mut page, story);
    page.finish()
}

/// Findings, the most severe first; empty text without any.
#[must_use]
pub fn findings_text(findings: &[Finding], style: &Style) -> String {
    let mut page = Page::new(style);
    let story = Story { findings: findings.to_vec(), ..Story::default() };
    story.sorted_findings().into_iter().for_each(|each| print_finding(&mut page, each));
    page.finish()
}

fn verdict(page: &mut Page, badge: &Badge) {
    let subject = Span::new(prefix(&badge.subject), Tone::Strong);
    let lead = vec![Span::plain("  "), subject];
    page.hanging(lead, &badge.words, badge.tone);
    page.paragraph(2, &badge.because, Tone::Plain);
    let width = widest(badge.answers.iter().map(|(name, _)| name));
    for (name, text) in &badge.answers {
        labelled(page, name, width, text, Tone::Plain);
    }
    for alternative in &badge.alternatives {
        let lead = vec![Span::plain("  "), Span::new("or ", Tone::Strong)];
        let text = format!("{}: {}", alternative.what, alternative.because);
        page.hanging(lead, &text, Tone::Plain);
        if !alternative.how_to_check.is_empty() {
            let text = format!("how to check: {}", alternative.how_to_check);
            page.hanging(vec![Span::plain("     → ")], &text, Tone::Faint);
        }
    }
}

/// The figures of the answer: those of one name side by side, or below each other where that is
/// too wide.
fn figures(page: &mut Page, story: &Story) {
    let facts = &story.facts;
    if facts.iter().all(|fact| fact.of.is_empty()) {
        let width = widest(facts.iter().map(|fact| &fact.name));
        for fact in facts {
            labelled(page, &fact.name, width, &fact.value, fact.tone);
        }
        return;
    }
    let parts = grouped(facts.iter().map(|fact| (&fact.of, fact)));
    let rows = grouped(facts.iter().map(|fact| (&fact.name, fact)));
    let table = Table::of(rows, |t| {
        t.left("", |(name, _)| name.as_str());
        for (part, _) in parts {
            let cell = |fact: &&Fact| Cell::toned(&fact.value, fact.tone);
            t.left(part, |(_, facts)| {
                facts.iter().find(|fact| fact.of == *part).map(cell).unwrap_or_default()
            });
        }
    });
    if fits(&table, page.width()) {
        return table::print(&table, page);
    }
    for fact in facts {
        let name = format!("{} {}", fact.name, fact.of);
        labelled(page, name.trim(), 0, &fact.value, fact.tone);
    }
}

fn widest<'a>(names: impl Iterator<Item = &'a String>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

fn action(page: &mut Page, action: &Action) {
    let subject = Span::plain(format!("  {}", prefix(&action.subject)));
    page.flowing(vec![subject], 4, &action.what, Tone::Strong);
    let width = widest(action.details.iter().map(|(name, _)| name));
    for (name, text) in &action.details {
        let lead = Span::new(format!("    {name:<width$}  "), Tone::Faint);
        page.hanging(vec![lead], text, Tone::Plain);
    }
}

fn section(page: &mut Page, section: &Section) {
    if section.title.is_empty() {
        page.blank();
    } else {
        page.heading(&section.title, &section.remark);
    }
    blocks(page, &section.blocks);
}

fn blocks(page: &mut Page, blocks: &[Block]) {
    let width = widest(blocks.iter().filter_map(|block| match block {
        Block::Row(name, _) => Some(name),
        _ => None,
    }));
    for block in blocks {
        match block {
            Block::Table(each) => table::print(each, page),
            Block::Row(name, text) => labelled(page, name, width, text, Tone::Plain),
            Block::Text(text, tone) => page.paragraph(2, text, *tone),
            Block::Item(text) => page.hanging(vec![Span::plain("  - ")], text, Tone::Plain),
        }
    }
}

/// A name, padded to `width`, and a text that wraps beside it.
fn labelled(page: &mut Page, name: &str, width: usize, text: &str, tone: Tone) {
    let width = width.min(NAME_MAX);
    let separator = if width == 0 { ": " } else { "  " };
    let lead = Span::plain(format!("  {name:<width$}{separator}"));
    let indent = if width == 0 { 4 } else { width + 4 };
    page.flowing(vec![lead], indent, text, tone);
}

/// A finding: what is wrong or worth knowing, then what to do about it behind an arrow.
fn print_finding(page: &mut Page, finding: &Finding) {
    let (label, tone) = severity(finding.severity);
    let lead = vec![Span::plain("  "), Span::new(format!("{label:<7}"), tone), Span::plain("  ")];
    let code = format!("[{}]", finding.code.name());
    let (claim, remedy) = (finding::supported(finding), finding.remedy.trim());
    if remedy.is_empty() {
        return page.hanging(lead, &format!("{claim} {code}"), Tone::Plain);
    }
    page.hanging(lead, &claim, Tone::Plain);
    let arrow = Span::plain(format!("{:11}→ ", ""));
    page.hanging(vec![arrow], &format!("{remedy} {code}"), Tone::Plain);
}

/// Conditions, commands and what a terminal does not show.
fn end(page: &mut Page, story: &Story) {
    let folds = story.sections.iter().filter(|section| section.fold).map(|section| &section.title);
    let more: Vec<String> =
        folds.chain(story.texts.iter().map(|(name, _)| name)).cloned().collect();
    if !story.conditions.is_empty() {
        page.heading("Conditions", "");
    }
    let mut rows: Vec<(&str, &str, Tone)> =
        story.conditions.iter().map(|(name, text)| (&**name, &**text, Tone::Plain)).collect();
    let more = named(&more, FOLDS_MAX);
    let text = match (story.unfold, story.id.is_empty()) {
        (_, _) if more.is_empty() => String::new(),
        ("", true) => String::new(),
        (flag, true) => format!("`{flag}`: {more}"),
        ("", false) => format!("`halfpower report ID`: {more}, plots"),
        (flag, false) => format!("`{flag}`, or `halfpower report ID` for a page: {more}, plots"),
    };
    if !text.is_empty() {
        rows.push(("more", &text, Tone::Faint));
    }
    let widest_row = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let width = widest_row.max(REPEAT.len());
    let alone = match story.commands.as_slice() {
        [command] if width + 4 + command.chars().count() <= page.width() => Some(command),
        _ => None,
    };
    rows.extend(alone.map(|command| (REPEAT, command.as_str(), Tone::Plain)));
    let width = if alone.is_some() { width } else { widest_row };
    for (name, text, tone) in rows {
        labelled(page, name, width, text, tone);
    }
    if alone.is_none() && !story.commands.is_empty() {
        page.heading("To repeat it", "");
        story.commands.iter().take(COMMANDS).for_each(|command| page.command(command));
    }
}

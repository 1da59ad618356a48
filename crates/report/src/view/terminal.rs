//! Renders stories as terminal pages: complete, short, or one line.
//!
//! Plots are not drawn; bars within tables and the tables' numbers replace them. The short page is
//! the complete one without the parts that its last line names. It never leaves out what makes the
//! numbers doubtful: that they are invalid, warnings, and verdicts that are not excluded.

use super::table::{self, fits};
use crate::page::{Page, Span, Tone, shortened};
use crate::story::{
    Action, Badge, Block, Cell, Fact, Level, REPEAT, Section, Story, Table, joined, named, prefix,
    severity,
};
use crate::{Extent, Style, finding};
use record::{Finding, Severity, counted};
use stats::grouped;

/// Width of the longest name that texts are aligned to.
const NAME_MAX: usize = 24;
const COMMANDS: usize = 4;
/// Largest number of listed parts that are missing on a short page.
const LEFT_OUT_MAX: usize = 3;
/// Width of the name of such a part.
const NAMED_MAX: usize = 32;

/// Renders a story as a page or as a line.
#[must_use]
pub fn terminal(story: &Story, style: &Style) -> String {
    if style.extent == Extent::Line {
        return format!("{}\n", crate::escape(&line(story)));
    }
    let short = style.extent == Extent::Short;
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
        verdict(&mut page, badge, short);
    }
    if story.verdicts().any(|badge| !badge.answers.is_empty()) {
        page.blank();
    }
    if !story.headline.is_empty() {
        page.paragraph(2, &story.headline, Tone::Strong);
    }
    figures(&mut page, story);
    let is_told = short && answered(story);
    if !is_told && !story.actions.is_empty() {
        page.heading("What to do", "");
        story.actions.iter().for_each(|each| action(&mut page, each, short));
    }
    for each in story.sections.iter().filter(|section| !short || is_essential(section)) {
        section(&mut page, each);
    }
    let findings = story.sorted_findings();
    let told = findings.into_iter().filter(|finding| !short || finding.severity != Severity::Info);
    for (at, each) in told.enumerate() {
        if at == 0 {
            page.heading("Findings", "");
        }
        print_finding(&mut page, each, short);
    }
    if short {
        if story.commands_answer {
            page.heading("To repeat it", "");
            story.commands.iter().take(COMMANDS).for_each(|command| page.command(command));
        }
        left_out(&mut page, story, style);
    } else {
        end(&mut page, story);
    }
    page.finish()
}

/// Largest number of alternatives with reasons on a short page.
const SHORT_ALTERNATIVES: usize = 2;

fn is_essential(section: &Section) -> bool {
    section.level == Level::Essential
}

/// Whether the verdicts include the first action.
fn answered(story: &Story) -> bool {
    story.verdicts().any(|badge| !badge.answers.is_empty())
}

/// The answer, and whether it is valid.
fn line(story: &Story) -> String {
    let told = story.badges.iter().filter(|badge| !badge.fold || badge.cause().is_some());
    let told: Vec<&Badge> = told.collect();
    let first = story.facts.first().map(|fact| format!("{} {}", fact.name, fact.value));
    let answer = match told.as_slice() {
        [] if !story.line.is_empty() => story.line.clone(),
        [] if !story.headline.is_empty() => story.headline.clone(),
        [] => first.unwrap_or_default(),
        [one] => {
            let cause = one.cause().map(|cause| format!(" Cause: {cause}"));
            let words = prefix(&one.subject) + &one.words;
            format!("{words}: {}{}", one.because, cause.unwrap_or_default())
        }
        several => joined(several, "; ", |one| {
            let cause =
                one.cause().map(|cause| format!(", cause: {}", cause.trim_end_matches('.')));
            format!("{}{}{}", prefix(&one.subject), one.words, cause.unwrap_or_default())
        }),
    };
    let answer = match answer.trim().trim_end_matches(['.', ':']) {
        "" => format!("{}: {}", story.kind, story.subject),
        answer => answer.to_owned(),
    };
    let simulated = if story.simulated { "simulated: " } else { "" };
    let holds = story.not_valid().map(|it| format!(", NOT VALID: {}", it.claim.trim()));
    let warnings = story.counted(Severity::Warning, "warning").map(|some| format!(", {some}"));
    let doubts: String = holds.into_iter().chain(warnings).collect();
    format!("{simulated}{answer}{doubts}")
}

/// The names of the parts that the short page leaves out.
fn left_out(page: &mut Page, story: &Story, style: &Style) {
    let mut more: Vec<String> = story.counted(Severity::Info, "note").into_iter().collect();
    let mut add = |applies: bool, name: &str| more.extend(applies.then(|| name.to_owned()));
    add(story.counted(Severity::Warning, "").is_some(), "remedies");
    let details = story.actions.iter().any(|action| !action.details.is_empty());
    add(details || (answered(story) && !story.actions.is_empty()), "reasons");
    for section in story.sections.iter().filter(|section| !is_essential(section)) {
        add(true, &shortened(&section.title, NAMED_MAX));
    }
    story.texts.iter().for_each(|(name, _)| add(true, &shortened(name, NAMED_MAX)));
    add(!story.conditions.is_empty(), "Conditions");
    add(!story.commands_answer && !story.commands.is_empty(), "To repeat it");
    if more.is_empty() {
        return;
    }
    let count = counted(more.len() as f64, "more part");
    let report = format!("halfpower report {}", story.id);
    let saved = match (story.again.as_str(), story.id.as_str(), story.charts.len()) {
        ("", "", _) | ("", _, 0) => None,
        ("", ..) => Some(("; as a page:", report.as_str())),
        (again, ..) => Some(("; to see all:", again)),
    };
    page.blank();
    let more = named(&more, LEFT_OUT_MAX);
    let text = format!("--verbose shows {count}: {more}{}", saved.map_or("", |(words, _)| words));
    page.flowing(Vec::new(), 2, &text, Tone::Faint);
    // On a separate line, so that it can be copied.
    if let Some((_, command)) = saved {
        page.command(format!("{command} {}", style.database).trim_end());
    }
}

/// Findings, the most severe first; an empty text without any.
#[must_use]
pub fn findings_text(findings: &[Finding], style: &Style) -> String {
    let mut page = Page::new(style);
    let story = Story { findings: findings.to_vec(), ..Story::default() };
    story.sorted_findings().into_iter().for_each(|each| print_finding(&mut page, each, false));
    page.finish()
}

fn verdict(page: &mut Page, badge: &Badge, short: bool) {
    let subject = Span::new(prefix(&badge.subject), Tone::Strong);
    let lead = vec![Span::plain("  "), subject];
    page.hanging(lead, &badge.words, badge.tone);
    page.paragraph(2, &badge.because, Tone::Plain);
    let width = widest(badge.answers.iter().map(|(name, _)| name));
    for (name, text) in &badge.answers {
        labelled(page, name, width, text, Tone::Plain);
    }
    let told = if short { SHORT_ALTERNATIVES } else { usize::MAX };
    for alternative in badge.alternatives.iter().take(told) {
        let lead = vec![Span::plain("  "), Span::new("or ", Tone::Strong)];
        let text = format!("{}: {}", alternative.what, alternative.because);
        page.hanging(lead, &text, Tone::Plain);
        if !alternative.how_to_check.is_empty() && !short {
            let text = format!("how to check: {}", alternative.how_to_check);
            page.hanging(vec![Span::plain("     → ")], &text, Tone::Faint);
        }
    }
    let rest = joined(badge.alternatives.iter().skip(told), ", ", |other| other.what.clone());
    if !rest.is_empty() {
        let text = format!("less likely: {rest} (--verbose shows why)");
        page.paragraph(2, &text, Tone::Faint);
    }
}

/// The figures of the answer. Figures with the same name are next to each other, or below each
/// other if that is too wide.
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
    if fits(&table, page.room()) {
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

fn action(page: &mut Page, action: &Action, short: bool) {
    let subject = Span::plain(format!("  {}", prefix(&action.subject)));
    page.flowing(vec![subject], 4, &action.what, Tone::Strong);
    if short {
        return;
    }
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

/// A name, padded to `width`, with a wrapped text next to it.
fn labelled(page: &mut Page, name: &str, width: usize, text: &str, tone: Tone) {
    let width = width.min(NAME_MAX);
    let separator = if width == 0 { ": " } else { "  " };
    let lead = Span::plain(format!("  {name:<width$}{separator}"));
    let indent = if width == 0 { 4 } else { width + 4 };
    page.flowing(vec![lead], indent, text, tone);
}

/// A finding and, after an arrow, its remedy. The short page has remedies and numbers only for
/// invalid results: the code leads to the rest.
fn print_finding(page: &mut Page, finding: &Finding, short: bool) {
    let (label, tone) = severity(finding.severity);
    let lead = vec![Span::plain("  "), Span::new(format!("{label:<7}"), tone), Span::plain("  ")];
    let code = format!("[{}]", finding.code.name());
    let remedy = finding.remedy.trim();
    if short && finding.severity != Severity::Invalid {
        let claim = finding::doubted(finding);
        return page.hanging(lead, &format!("{claim} {code}"), Tone::Plain);
    }
    let claim = finding::supported(finding);
    if remedy.is_empty() {
        return page.hanging(lead, &format!("{claim} {code}"), Tone::Plain);
    }
    page.hanging(lead, &claim, Tone::Plain);
    let arrow = Span::plain(format!("{:11}→ ", ""));
    page.hanging(vec![arrow], &format!("{remedy} {code}"), Tone::Plain);
}

/// Conditions, commands and the parts that a terminal does not show.
fn end(page: &mut Page, story: &Story) {
    if !story.conditions.is_empty() {
        page.heading("Conditions", "");
    }
    let mut rows: Vec<(&str, &str, Tone)> =
        story.conditions.iter().map(|(name, text)| (&**name, &**text, Tone::Plain)).collect();
    let texts = story.texts.iter().map(|(name, _)| name.clone());
    let plots = (!story.charts.is_empty()).then(|| "plots".to_owned());
    let more = joined(texts.chain(plots), ", ", |name| name);
    let text = format!("`halfpower report ID`: {more}");
    if !more.is_empty() && !story.id.is_empty() {
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

//! Renders stories as Markdown, to paste into a ticket.
//!
//! A ticket includes the answer, the actions, the support, the conclusions of the plots and the
//! conditions, but no plots. Text from outside is escaped twice: against terminal control
//! sequences, and against Markdown and HTML.

use crate::finding;
use crate::story::{Block, Section, Story, Table, joined, prefix, severity};
use std::fmt::Write;

fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in crate::escape(text).chars() {
        if "\\`*_[]<>|#&~".contains(letter) {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

/// Text as code, in which only backquotes have a meaning.
fn code(text: &str) -> String {
    format!("`{}`", crate::escape(text).replace('`', "'"))
}

/// Renders stories as Markdown.
#[must_use]
pub fn markdown(stories: &[Story]) -> String {
    stories.iter().map(one).collect()
}

fn one(story: &Story) -> String {
    let mut text = String::new();
    let simulated = if story.simulated { " (SIMULATED)" } else { "" };
    let _ = writeln!(text, "## {}: {}{simulated}\n", story.kind, plain(&story.subject));
    if let Some(finding) = story.not_valid() {
        let _ = writeln!(text, "**NOT VALID: {}**\n", plain(&finding.claim));
    }
    blocks(&mut text, &story.overview);
    for badge in story.verdicts() {
        let words = format!("{}{}", prefix(&badge.subject), badge.words);
        let _ = writeln!(text, "**{}** {}\n", plain(&words), plain(&badge.because));
        for (name, answer) in &badge.answers {
            let _ = writeln!(text, "- {}: {}", plain(name), plain(answer));
        }
        for other in &badge.alternatives {
            let _ = write!(text, "- or **{}**: {}", plain(&other.what), plain(&other.because));
            let _ = match other.how_to_check.as_str() {
                "" => writeln!(text),
                check => writeln!(text, "; how to check: {}", plain(check)),
            };
        }
        text.push('\n');
    }
    if !story.headline.is_empty() {
        let _ = writeln!(text, "**{}**\n", plain(&story.headline));
    }
    if !story.facts.is_empty() {
        text.push_str("| | |\n|---|---|\n");
        for fact in &story.facts {
            let name = format!("{} {}", fact.name, fact.of);
            let _ = writeln!(text, "| {} | {} |", plain(name.trim()), plain(&fact.value));
        }
        text.push('\n');
    }
    to_do(&mut text, story);
    found(&mut text, story);
    story.sections.iter().for_each(|each| section(&mut text, each));
    let named =
        |(name, condition): &(String, String)| format!("{}: {}", plain(name), plain(condition));
    list(&mut text, "Conditions", story.conditions.iter().map(named));
    list(&mut text, "To repeat it", story.commands.iter().map(|command| code(command)));
    // A text that is the purpose of the document. It is indented, so that Markdown does not interpret it.
    for (name, lines) in story.texts.iter().filter(|_| story.commands_answer) {
        let _ = writeln!(text, "### {}\n", plain(name));
        lines.lines().for_each(|line| text.push_str(&format!("    {}\n", crate::escape(line))));
        text.push('\n');
    }
    text
}

/// A list below its heading, unless it is empty.
fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: String = items.map(|item| format!("- {item}\n")).collect();
    if !items.is_empty() {
        let _ = writeln!(text, "### {title}\n\n{items}");
    }
}

fn found(text: &mut String, story: &Story) {
    let findings = story.sorted_findings().into_iter().map(|finding| {
        let remedy = Some(finding.remedy.trim()).filter(|remedy| !remedy.is_empty());
        let remedy = remedy.map_or_else(String::new, |remedy| format!(" → {}", plain(remedy)));
        let (label, claim) = (severity(finding.severity).0, plain(&finding::supported(finding)));
        format!("{label}: {claim}{remedy} {}", code(&finding.code.name()))
    });
    let charts = story.charts.iter().filter(|chart| !chart.finding.is_empty());
    let charts = charts.map(|chart| format!("{}: {}", plain(&chart.title), plain(&chart.finding)));
    list(text, "Findings", findings.chain(charts));
}

fn to_do(text: &mut String, story: &Story) {
    let actions = story.actions.iter().map(|action| {
        let details = joined(&action.details, "", |(name, detail)| {
            format!("\n  - {}: {}", plain(name), plain(detail))
        });
        format!("{}**{}**{details}", plain(&prefix(&action.subject)), plain(&action.what))
    });
    list(text, "What to do", actions);
}

fn section(text: &mut String, section: &Section) {
    for (mark, words) in [("### ", &section.title), ("", &section.remark)] {
        if !words.is_empty() {
            let _ = writeln!(text, "{mark}{}\n", plain(words));
        }
    }
    blocks(text, &section.blocks);
}

fn blocks(text: &mut String, blocks: &[Block]) {
    let mut list = false;
    for block in blocks {
        let is_item = matches!(block, Block::Row(..) | Block::Item(_));
        if list && !is_item {
            text.push('\n');
        }
        list = is_item;
        let _ = match block {
            Block::Table(each) => table(text, each),
            Block::Row(name, value) if name.is_empty() => writeln!(text, "- {}", plain(value)),
            Block::Row(name, value) => writeln!(text, "- {}: {}", plain(name), plain(value)),
            Block::Text(paragraph, _) => writeln!(text, "{}\n", plain(paragraph)),
            Block::Item(item) => writeln!(text, "- {}", plain(item)),
        };
    }
    if list {
        text.push('\n');
    }
}

fn table(text: &mut String, table: &Table) -> std::fmt::Result {
    for column in &table.columns {
        let title = format!("{} {}", column.group, column.title);
        write!(text, "| {} ", plain(title.trim()))?;
    }
    writeln!(text, "|")?;
    writeln!(text, "{}|", "|---".repeat(table.columns.len()))?;
    for row in &table.rows {
        for cell in row {
            let bar = cell.bar.map(|share| format!("{} ", crate::number::percent(share)));
            write!(text, "| {}{} ", bar.unwrap_or_default(), plain(cell.text.trim()))?;
        }
        writeln!(text, "|")?;
    }
    writeln!(text)
}

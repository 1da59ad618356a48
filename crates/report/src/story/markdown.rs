//! A report as Markdown, to paste into a ticket, and its data as CSV.
//!
//! A ticket has room for the answer, what to do, the sentences of the plots and the conditions, not
//! for the plots. Text from outside is escaped twice: what steers a terminal, and what Markdown
//! would take for markup or HTML.

use super::Story;
use crate::chart::CSV_HEADER;
use std::fmt::Write;

/// Text that Markdown shows as it is.
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

/// Text as code, in which nothing but backquotes means anything.
fn code(text: &str) -> String {
    format!("`{}`", crate::escape(text).replace('`', "'"))
}

/// The stories as Markdown.
#[must_use]
pub fn report_markdown(stories: &[Story]) -> String {
    let mut text = String::new();
    for story in stories {
        let simulated = if story.simulated { " (SIMULATED)" } else { "" };
        let _ = writeln!(text, "## {}: {}{simulated}\n", story.kind, plain(&story.subject));
        if let Some(finding) = story.not_valid() {
            let _ = writeln!(text, "**NOT VALID: {}**\n", plain(&finding.claim));
        }
        if !story.headline.is_empty() {
            let _ = writeln!(text, "**{}**\n", plain(&story.headline));
        }
        if !story.facts.is_empty() {
            text.push_str("| | |\n|---|---|\n");
            for fact in &story.facts {
                let _ = writeln!(text, "| {} | {} |", plain(&fact.name), plain(&fact.value));
            }
            text.push('\n');
        }
        found(&mut text, story);
        to_do(&mut text, story);
        if !story.conditions.is_empty() {
            text.push_str("### Conditions\n\n");
            for (name, condition) in &story.conditions {
                let _ = writeln!(text, "- {}: {}", plain(name), plain(condition));
            }
            text.push('\n');
        }
        if !story.commands.is_empty() {
            text.push_str("### To repeat it\n\n");
            for command in &story.commands {
                let _ = writeln!(text, "- {}", code(command));
            }
            text.push('\n');
        }
    }
    text
}

fn found(text: &mut String, story: &Story) {
    if story.findings.is_empty() && story.charts.is_empty() {
        return;
    }
    text.push_str("### What was found\n\n");
    for (finding, label, claim) in story.sorted_findings() {
        let _ = write!(text, "- {label}: {}", plain(&claim));
        if !finding.remedy.trim().is_empty() {
            let _ = write!(text, " → {}", plain(finding.remedy.trim()));
        }
        let _ = writeln!(text, " {}", code(&finding.code.name()));
    }
    for chart in story.charts.iter().filter(|chart| !chart.finding.is_empty()) {
        let _ = writeln!(text, "- {}: {}", plain(&chart.title), plain(&chart.finding));
    }
    text.push('\n');
}

fn to_do(text: &mut String, story: &Story) {
    if story.actions.is_empty() {
        return;
    }
    text.push_str("### What to do\n\n");
    for action in &story.actions {
        let subject = match action.subject.as_str() {
            "" => String::new(),
            subject => format!("{}: ", plain(subject)),
        };
        let _ = write!(text, "- {subject}**{}**", plain(&action.what));
        let _ = match action.why.as_str() {
            "" => writeln!(text),
            why => writeln!(text, ", because {}", plain(why)),
        };
    }
    text.push('\n');
}

/// The head line of [`report_csv`].
#[must_use]
pub fn report_csv_header() -> &'static str {
    CSV_HEADER.trim_end()
}

/// Every value of every plot as a row of CSV, with a head line.
#[must_use]
pub fn report_csv(stories: &[Story]) -> String {
    let mut csv = CSV_HEADER.to_owned();
    for story in stories {
        let document = match story.id.as_str() {
            "" => story.kind.clone(),
            id => format!("{} {id}", story.kind),
        };
        for chart in &story.charts {
            csv.push_str(&chart.csv(&document));
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::Action;

    #[test]
    fn text_from_outside_becomes_no_markup() {
        let hostile = "<img src=x> [a](javascript:b) `c` | **d** \u{1b}[2J".to_owned();
        let story = Story {
            kind: "Trial".to_owned(),
            subject: hostile.clone(),
            headline: hostile.clone(),
            actions: vec![Action {
                subject: String::new(),
                what: hostile.clone(),
                why: hostile.clone(),
            }],
            conditions: vec![("path".to_owned(), hostile.clone())],
            commands: vec![hostile],
            ..Story::default()
        };
        let text = report_markdown(&[story]);
        assert!(!text.contains('\u{1b}'), "{text}");
        let outside_code: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("- `")).collect();
        for markup in [" <img", " [a](", " | **d", " `c`"] {
            assert!(!outside_code.concat().contains(markup), "{markup}: {text}");
        }
        assert!(text.contains("- `<img src=x> [a](javascript:b) 'c' | **d** \\x1b[2J`"), "{text}");
    }
}

//! `halfpower explain`: the page of a finding or a cause, from the documentation that the program carries.

use crate::failure::usage;
use crate::output::{self, Verdict};
use clap::Args;
use record::CauseCode;

/// Findings, each under a heading of its own, and the table of causes.
const PAGE: &str = include_str!("../../../docs/findings.md");

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower explain                  all codes\n  \
    halfpower explain drift            a finding, printed as [drift]\n  \
    halfpower explain service_slower   a cause of a diagnosis")]
pub(crate) struct ExplainArgs {
    /// Code of a finding or a cause [default: list all].
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// A code with what is said of it, in paragraphs.
struct Entry {
    code: String,
    paragraphs: Vec<String>,
}

pub(crate) fn explain(arguments: &ExplainArgs) -> anyhow::Result<Verdict> {
    let style = output::style();
    let (findings, causes) = (findings(), causes());
    let Some(code) = &arguments.code else {
        let list = |title: &str, entries: &[Entry]| {
            let rows: Vec<(&str, &str)> =
                entries.iter().map(|one| (one.code.as_str(), first_sentence(one))).collect();
            report::codes_text(title, &rows, &style)
        };
        let all = [list("Findings", &findings), list("Causes", &causes)].join("\n");
        return output::print(&all);
    };
    let wanted = code.trim_matches(['[', ']', '`']).to_lowercase();
    match findings.iter().chain(&causes).find(|one| one.code == wanted) {
        Some(one) => output::print(&report::code_text(&one.code, &one.paragraphs, &style)),
        None => Err(usage(format!(
            "there is no finding or cause '{wanted}'; `halfpower explain` lists all codes"
        ))),
    }
}

fn first_sentence(entry: &Entry) -> &str {
    let text = entry.paragraphs.first().map(String::as_str).unwrap_or_default();
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// The findings: each is a heading with a code and what follows it.
fn findings() -> Vec<Entry> {
    let sections = PAGE.split("\n### `").skip(1);
    let entry = |section: &str| {
        let (code, text) = section.split_once('`')?;
        let text = text.split("\n## ").next().unwrap_or_default();
        Some(Entry { code: code.to_owned(), paragraphs: paragraphs(text) })
    };
    sections.filter_map(entry).collect()
}

/// The causes: what each is, and its row in the table of causes and remedies.
fn causes() -> Vec<Entry> {
    let rows = PAGE.lines().filter_map(|line| {
        let (causes, remedies) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once(" | ")?;
        Some((format!("`{causes}"), remedies))
    });
    let rows: Vec<(String, &str)> = rows.collect();
    let entry = |(code, meaning): (String, String)| {
        let named = format!("`{code}`");
        let row = rows.iter().find(|(causes, _)| causes.contains(&named));
        let told = row.map(|(causes, remedies)| {
            let condition = causes.split_once(&named).map_or("", |(_, behind)| behind.trim());
            let condition =
                condition.strip_prefix('(').map(|it| it.split(')').next().unwrap_or(it));
            let condition = condition.map(|it| format!("When: {it}."));
            condition.into_iter().chain([format!("Remedy: {}.", plain(remedies))])
        });
        let paragraphs = std::iter::once(meaning).chain(told.into_iter().flatten()).collect();
        Entry { code, paragraphs }
    };
    CauseCode::meanings().into_iter().map(entry).collect()
}

/// Paragraphs and list items of a section, each on one line and without links.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim_end) {
        let begins = !is_open || line.starts_with("- ");
        match (line.is_empty(), found.last_mut()) {
            (true, _) => is_open = false,
            (false, Some(last)) if !begins => *last += &format!(" {}", plain(line.trim_start())),
            (false, _) => {
                found.push(plain(line));
                is_open = true;
            }
        }
    }
    found
}

/// A text in which `[words](page.md)` is its words.
fn plain(text: &str) -> String {
    let (mut found, mut rest) = (String::new(), text);
    while let Some((before, words, behind)) = link(rest) {
        found += before;
        found += words;
        rest = behind;
    }
    found + rest
}

/// The first link: what stands before it, its words, what stands behind it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find("](")?;
    let begin = text[..end].rfind('[')?;
    let close = end + text[end..].find(')')?;
    Some((&text[..begin], &text[begin + 1..end], &text[close + 1..]))
}

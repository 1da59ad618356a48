//! `halfpower explain`: prints what a code means, from the documentation in the binary.
//!
//! One list holds findings, causes, verdicts and notes. A code can have several entries: `busy_doubtful` is a
//! finding on a recording and a note of a diagnosis.

use crate::failure::usage;
use crate::output::{self, Verdict};
use clap::Args;
use record::CauseCode;

/// Findings, each under its own heading, and the table of causes.
const PAGE: &str = include_str!("../../../docs/findings.md");
/// The tables of verdicts and of notes.
const DIAGNOSIS: &str = include_str!("../../../docs/diagnosis.md");
/// Maximum share of wrong letters in a code for which a similar code is suggested.
const TYPOS: f64 = 0.4;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower explain                  all codes\n  \
    halfpower explain drift            a finding, printed as [drift]\n  \
    halfpower explain service_slower   a cause of a diagnosis\n  \
    halfpower explain SLOW OR CAPPED   a verdict, as printed")]
pub(crate) struct ExplainArgs {
    /// Code of a finding, a cause, a verdict or a note [default: list all].
    #[arg(value_name = "CODE")]
    code: Vec<String>,
}

/// A code and its explanation in paragraphs.
struct Entry {
    code: String,
    paragraphs: Vec<String>,
}

pub(crate) fn explain(arguments: &ExplainArgs) -> anyhow::Result<Verdict> {
    let style = output::style();
    let groups = [
        ("Findings", findings()),
        ("Causes", causes()),
        ("Verdicts", rows("## Verdicts")),
        ("Notes of a diagnosis", rows("## Notes")),
    ];
    if arguments.code.is_empty() {
        let list = |(title, entries): &(&str, Vec<Entry>)| {
            let rows: Vec<(&str, &str)> =
                entries.iter().map(|one| (one.code.as_str(), first_sentence(one))).collect();
            report::codes_text(title, &rows, &style)
        };
        return output::print(&groups.iter().map(list).collect::<Vec<String>>().join("\n"));
    }
    let all: Vec<&Entry> = groups.iter().flat_map(|(_, entries)| entries).collect();
    let mut found: Vec<String> = Vec::new();
    for wanted in as_codes(&arguments.code.join(" ")) {
        let before = found.len();
        let named = all.iter().filter(|one| one.code == wanted);
        found.extend(named.map(|one| report::code_text(&one.code, &one.paragraphs, &style)));
        if found.len() == before {
            let offered = similar(&wanted, all.iter().map(|one| one.code.as_str()));
            let offered =
                offered.map_or(String::new(), |code| format!(" (did you mean '{code}'?)"));
            return Err(usage(format!(
                "no finding, cause, verdict or note has the code '{wanted}'{offered}; `halfpower \
                 explain` lists all codes"
            )));
        }
    }
    output::print(&found.join("\n"))
}

/// Verdicts as pages print them, if that is not their code with spaces: in the column of `watch`, and for a
/// constant rate.
const PRINTED: [(&str, &str); 4] = [
    ("slow+overl", "slow_and_overloaded"),
    ("not_disk", "not_the_disk"),
    ("unknown", "not_enough_evidence"),
    ("paced_by_the_application", "not_the_disk"),
];

/// The codes in a text as printed or typed: `[drift]`, `NOT THE DISK`, `areas-differ`, `slow or capped`,
/// `SLOW (likely, or overloaded)`.
fn as_codes(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(['_', '-'], " ");
    let (verdict, support) = text.split_once('(').unwrap_or((text.as_str(), ""));
    // The parentheses contain the confidence, the share of the time and a close alternative.
    let near = support.trim_end_matches(')').split(", ").filter_map(|it| it.strip_prefix("or "));
    verdict.split(" or ").chain(near).map(as_code).collect()
}

/// Normalises one code in lower case.
fn as_code(text: &str) -> String {
    let text = text.trim_matches(['[', ']', '`', ':', '.', '?', ' ']).replace(' ', "_");
    let printed = PRINTED.iter().find(|(words, _)| *words == text);
    printed.map_or(text, |(_, code)| (*code).to_owned())
}

/// The code most similar to a word, if any is close enough.
fn similar<'a>(word: &str, codes: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = codes.map(|code| (strsim::levenshtein(word, code), code)).min()?;
    let most = TYPOS * word.chars().count().max(nearest.1.chars().count()) as f64;
    (nearest.0 as f64 <= most).then_some(nearest.1)
}

fn first_sentence(entry: &Entry) -> &str {
    let text = entry.paragraphs.first().map(String::as_str).unwrap_or_default();
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// The findings: a heading with a code, and the text below it.
fn findings() -> Vec<Entry> {
    let sections = PAGE.split("\n### `").skip(1);
    let entry = |section: &str| {
        let (code, text) = section.split_once('`')?;
        let text = text.split("\n## ").next().unwrap_or_default();
        Some(Entry { code: code.to_owned(), paragraphs: paragraphs(text) })
    };
    sections.filter_map(entry).collect()
}

/// The causes: the meaning of each, and its row in the table of causes and remedies.
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

/// The rows of the table under a heading of the page on diagnoses: a code, its meaning, and the requirements
/// of a verdict.
fn rows(heading: &str) -> Vec<Entry> {
    let section = DIAGNOSIS.split_once(heading).map_or("", |(_, behind)| behind);
    let section = section.split("\n## ").next().unwrap_or_default();
    let entry = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ");
        let code = cells.next()?.trim_end_matches('`').to_owned();
        let meaning = report::capital(&plain(cells.next()?));
        let needs = cells.next().map(|needs| format!("Needs: {}.", plain(needs)));
        Some(Entry {
            code,
            paragraphs: std::iter::once(format!("{meaning}.")).chain(needs).collect(),
        })
    };
    section.lines().filter_map(entry).collect()
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

/// Replaces `[words](page.md)` by its words.
fn plain(text: &str) -> String {
    let (mut found, mut rest) = (String::new(), text);
    while let Some((before, words, behind)) = link(rest) {
        found += before;
        found += words;
        rest = behind;
    }
    found + rest
}

/// The first link: the text before it, its words, and the text after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find("](")?;
    let begin = text[..end].rfind('[')?;
    let close = end + text[end..].find(')')?;
    Some((&text[..begin], &text[begin + 1..end], &text[close + 1..]))
}

//! Renders the page of `halfpower report`: stories in one self-contained HTML file, answer first.
//!
//! A page needs no network: it is mailed, committed, and opened years later. A reader who opens it from a
//! mail has a minute. The first screen has the verdict or headline, one large plot, three conclusions and the
//! key figures; everything else is folded below its title. Folding uses the browser's own elements and needs
//! no script. Printing shows the folded parts. Each plot has a sentence with its conclusion, and a table of
//! its data for readers who cannot see it. Light or dark follows the reader's system or choice. A narrow
//! screen gets one column, and tables wider than that scroll separately.
//!
//! Mail programs and viewers strip the script, so no content of a page depends on it. At the end, characters
//! that control a terminal are written out in the whole page, because pages are viewed in terminals, too.
//! Rejected: all plots in a row after all sentences (readers of the first screen saw lists of twenty lines),
//! a tab per document (hidden tabs are not printed), and a plotting library from a server (the page would be
//! empty offline).

use crate::chart::{Chart, MARKS};
use crate::finding::supported;
use crate::page::{Tone, escape_lines, is_hostile};
use crate::story::{Badge, Block, Fact, Section, Side, Story, severity};
use askama::Template;
use askama::filters::Html;
use base64::prelude::{BASE64_STANDARD, Engine};
use record::Severity;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The first line of every page, which identifies the file.
pub const HTML_HEAD: &str = "<!DOCTYPE html><!-- halfpower page -->";

/// Number of conclusions at the top of a document.
const CONCLUSIONS: usize = 3;
/// Number of figures at the top; others are folded.
const FACTS: usize = 8;
/// Longest text in a tile or a badge, in characters.
const LONG: usize = 40;
/// Largest number of rows in a small plot. A small plot shares the top with the next one.
const SMALL_ROWS: usize = 3;

/// Layout, and the colours other than those of the drawings.
pub(crate) const STYLE: &str = include_str!("html/page.css");
/// The script of a page with plots: what draws them, then what makes them interactive.
pub(crate) const SCRIPT: &str =
    concat!(include_str!("html/drawing.js"), include_str!("html/page.js"));
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Renders stories as a self-contained page.
#[must_use]
pub fn report_html(stories: &[Story]) -> String {
    let charts = stories.iter().flat_map(|story| &story.charts);
    let charts: Vec<Value> = charts.map(Chart::data).collect();
    let mut numbers = 0..;
    let articles = stories
        .iter()
        .map(|story| Article::new(story, story.charts.iter().zip(&mut numbers).collect()));
    let mut page = Page { articles: articles.collect(), ..Page::default() };
    if !charts.is_empty() {
        let data = json!({ "charts": charts, "marks": MARKS });
        page.data = script_safe(&data.to_string());
        let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
        page.policy = format!(";script-src 'sha256-{hash}'");
    }
    escape_lines(&format!("{page}\n"))
}

#[derive(Default, Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    articles: Vec<Article<'a>>,
    /// The charts as JSON that is safe in a script element; empty without charts.
    data: String,
}

struct Article<'a> {
    story: &'a Story,
    /// Charts, each with its index among all charts of the page.
    figures: Vec<(&'a Chart, usize)>,
    conclusions: Vec<Conclusion>,
    /// The figures at the top, short ones first, so that tiles are adjacent.
    facts: Vec<&'a Fact>,
    more_facts: Vec<&'a Fact>,
    /// Whether the figures at the top are lines rather than tiles.
    in_lines: bool,
    /// Number of findings of each kind: ` (2 warnings, 1 note)`.
    found: String,
}

/// A conclusion for the reader, in one sentence.
struct Conclusion {
    label: String,
    tone: Tone,
    text: String,
}

impl<'a> Article<'a> {
    fn new(story: &'a Story, figures: Vec<(&'a Chart, usize)>) -> Self {
        let (first, others) = first_facts(&story.facts);
        let (long, short): (Vec<&Fact>, Vec<&Fact>) =
            first.iter().copied().partition(|fact| is_long(&fact.value));
        // A few tiles among lines would look more important.
        let in_lines = 2 * long.len() >= first.len();
        let mut article = Self {
            story,
            figures,
            conclusions: Vec::new(),
            facts: if in_lines { first } else { short.into_iter().chain(long).collect() },
            more_facts: others,
            in_lines,
            found: found(story),
        };
        article.conclusions = article.conclude();
        // A figure that repeats a conclusion is left out.
        let conclusions = &article.conclusions;
        article.facts.retain(|fact| conclusions.iter().all(|one| one.text != fact.value));
        article
    }

    /// Up to three sentences. If there is a single verdict with answers, these are used. Otherwise,
    /// in this order: the conclusions of the large plots, the first action, the worst finding,
    /// takeaways, and the conclusions of the other plots.
    fn conclude(&self) -> Vec<Conclusion> {
        let said = |label: &str, tone, text: &str| Conclusion {
            label: label.to_owned(),
            tone,
            text: text.to_owned(),
        };
        let verdict = self.story.verdicts().find(|badge| self.leads_with(badge));
        if let Some(badge) = verdict {
            let answers = badge.answers.iter().take(CONCLUSIONS);
            return answers.map(|(name, text)| said(name, Tone::Faint, text)).collect();
        }
        let findings = self.story.sorted_findings();
        let worst = findings.first().filter(|finding| finding.severity == Severity::Warning);
        let worst = worst.map(|finding| {
            let (label, tone) = severity(finding.severity);
            said(label, tone, &supported(finding))
        });
        let first = self.story.actions.first().map(|action| {
            let subject = if action.subject.is_empty() { "do" } else { &action.subject };
            said(subject, Tone::Faint, &action.what)
        });
        let sentences = |figures: &[(&Chart, usize)]| -> Vec<Conclusion> {
            let charts = figures.iter().filter(|(chart, _)| !chart.finding.is_empty());
            charts.map(|(chart, _)| said(part(&chart.title), Tone::Faint, &chart.finding)).collect()
        };
        let (large, other) = (sentences(self.large()), sentences(self.other()));
        let takeaways = self.story.takeaways.iter();
        let takeaways = takeaways.map(|(name, text)| said(name, Tone::Faint, text));
        let rest = worst.into_iter().chain(takeaways).chain(other);
        large.into_iter().chain(first).chain(rest).take(CONCLUSIONS).collect()
    }

    /// Whether the conclusions are a verdict's answers.
    fn leads_with(&self, badge: &Badge) -> bool {
        let alone = self.story.verdicts().count() == 1;
        alone && !badge.answers.is_empty() && !badge.fold
    }

    /// The plots at the top: the first one, and also the next if that is small.
    fn large(&self) -> &[(&'a Chart, usize)] {
        let is_small = |chart: &Chart| chart.is_rows() && chart.y.names.len() <= SMALL_ROWS;
        let count = match self.figures.first() {
            _ if self.story.lead > 0 => self.story.lead,
            Some((chart, _)) if is_small(chart) => 2,
            _ => 1,
        };
        &self.figures[..count.min(self.figures.len())]
    }

    fn other(&self) -> &[(&'a Chart, usize)] {
        &self.figures[self.large().len()..]
    }

    /// Plots whose conclusion is not at the top.
    fn sentences(&self) -> Vec<&(&'a Chart, usize)> {
        let untold = |chart: &Chart| !chart.finding.is_empty() && !self.is_told(chart);
        self.figures.iter().filter(|(chart, _)| untold(chart)).collect()
    }

    fn is_told(&self, chart: &Chart) -> bool {
        self.conclusions.iter().any(|one| one.text == chart.finding)
    }

    /// Whether the conclusions include those of the large plots.
    fn large_are_told(&self) -> bool {
        self.large().iter().all(|(chart, _)| self.is_told(chart))
    }

    /// Whether findings are shown unfolded: if there are serious ones and no conclusion states them.
    fn findings_are_open(&self) -> bool {
        let mut findings = self.story.findings.iter();
        findings.any(|finding| finding.severity != Severity::Info)
            && self.story.verdicts().any(|badge| self.leads_with(badge))
    }

    fn has_aside(&self) -> bool {
        !self.conclusions.is_empty() || !self.facts.is_empty()
    }

    /// Whether a section is shown unfolded. Without plots, the first one is.
    fn is_open(&self, section: &Section) -> bool {
        let first = self.story.sections.iter().find(|section| !section.folds());
        let stands_in =
            self.figures.is_empty() && first.is_some_and(|it| std::ptr::eq(it, section));
        section.open || stands_in
    }
}

/// The figures at the top, and the others. Of several parts (reads, writes) each gets as many.
fn first_facts(facts: &[Fact]) -> (Vec<&Fact>, Vec<&Fact>) {
    let mut parts: Vec<&str> = facts.iter().map(|fact| fact.of.as_str()).collect();
    parts.sort_unstable();
    parts.dedup();
    let most = if facts.len() > FACTS { FACTS / parts.len().max(1) } else { facts.len() };
    let before =
        |place: usize| facts[..place].iter().filter(|other| other.of == facts[place].of).count();
    let (first, others): (Vec<usize>, Vec<usize>) =
        (0..facts.len()).partition(|place| before(*place) < most);
    let at = |places: Vec<usize>| places.into_iter().map(|place| &facts[place]).collect();
    (at(first), at(others))
}

/// Whether a text is too long for a badge and needs a line of its own.
pub(crate) fn is_long(text: &str) -> bool {
    text.chars().count() > LONG
}

/// Converts a sentence to markup: text in backticks becomes code.
pub(crate) fn prose(text: impl AsRef<str>) -> String {
    let escaped = |part: &str| askama::filters::escape(part, Html).map(|it| it.to_string());
    let parts: Vec<&str> = text.as_ref().split('`').collect();
    let mut markup = String::new();
    for (place, part) in parts.iter().enumerate() {
        let part = escaped(part).unwrap_or_default();
        // An unpaired backtick is kept as it is.
        match (place % 2 == 1, place + 1 < parts.len()) {
            (true, true) => markup.push_str(&format!("<code>{part}</code>")),
            (true, false) => markup.push_str(&format!("`{part}")),
            _ => markup.push_str(&part),
        }
    }
    markup
}

/// The part of a document that a plot shows: the text in brackets at the end of its title.
fn part(title: &str) -> &str {
    let inner = title.strip_suffix(')').and_then(|title| title.rsplit_once('('));
    inner.map_or("", |(_, part)| part)
}

/// Number of findings of each kind, in words.
fn found(story: &Story) -> String {
    let kinds =
        [(Severity::Invalid, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")];
    let counts = kinds.into_iter().filter_map(|(severity, word)| story.counted(severity, word));
    crate::story::bracketed(counts, ", ")
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Plain | Self::Strong | Self::Picked => "",
            Self::Faint => "faint",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Good => "good",
        }
    }
}

impl Side {
    fn class(self) -> &'static str {
        if self == Self::Right { "number" } else { "" }
    }
}

/// Makes JSON safe in a `<script>` element. Characters that could end it or open a comment become
/// JSON escapes. Characters that could make a name look like another one are written out as text.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' => safe.push_str(&format!("\\u{:04x}", u32::from(letter))),
            hostile if is_hostile(hostile) => {
                safe.push_str(&format!("\\\\u{{{:x}}}", u32::from(hostile)));
            }
            other => safe.push(other),
        }
    }
    safe
}

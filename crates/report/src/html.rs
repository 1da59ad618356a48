//! The page of `halfpower report`: stories in one self-contained file, answer first.
//!
//! A page needs no network: it is mailed, committed, opened years later. A reader who opens it from a
//! mail has a minute: the answer, the findings and what to do stand above the first plot. Each plot
//! carries its sentence, so that it can be read without studying it, and a table of its data, so that
//! it can be read without seeing it. Light and dark follow the reader's system; a narrow screen gets
//! one column, and tables that are wider than it scroll by themselves.
//!
//! Mail and viewers strip the script, so nothing that a page says needs it. Characters that steer a
//! terminal are written out in the whole page at the end: pages are looked at in terminals, too.
//! Rejected: plots first (most readers never come to the text), a tab per document (what is hidden is
//! not printed), and a plotting library from a server (the page would be empty without it).

use crate::chart::{COLOURS, Chart, MARKS};
use crate::page::{Tone, escape_lines, is_hostile};
use crate::story::{Block, Side, Story};
use askama::Template;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The first line of every page, by which a file is known as one.
pub const HTML_HEAD: &str = "<!DOCTYPE html><!-- halfpower page -->";

/// Layout, and the colours that are not those of the drawings.
pub(crate) const STYLE: &str = include_str!("html/page.css");
/// The script of a page with plots.
pub(crate) const SCRIPT: &str = include_str!("html/page.js");
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Stories as a page that needs nothing else.
#[must_use]
pub fn report_html(stories: &[Story]) -> String {
    let charts = stories.iter().flat_map(|story| &story.charts);
    let charts: Vec<Value> = charts.map(Chart::data).collect();
    let mut numbers = 0..;
    let articles = stories
        .iter()
        .map(|story| Article { story, figures: story.charts.iter().zip(&mut numbers).collect() });
    let mut page = Page { articles: articles.collect(), ..Page::default() };
    if !charts.is_empty() {
        let data = json!({ "charts": charts, "marks": MARKS, "colours": COLOURS });
        page.data = script_safe(&data.to_string());
        let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
        page.policy = format!(";script-src 'sha256-{hash}'");
    }
    escape_lines(&page.to_string())
}

#[derive(Default, Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    articles: Vec<Article<'a>>,
    /// The charts as JSON that may stand in a script element; empty where there are none.
    data: String,
}

struct Article<'a> {
    story: &'a Story,
    /// Charts with their places among all of the page.
    figures: Vec<(&'a Chart, usize)>,
}

impl Article<'_> {
    fn has_findings(&self) -> bool {
        !self.story.findings.is_empty()
            || self.figures.iter().any(|(chart, _)| !chart.finding.is_empty())
    }
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

/// JSON that may stand in a `<script>` element: the letters that could end it or open a comment are
/// escapes of JSON; those that could make a name look like another one are written out as text.
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

//! The page of `halfpower report`: stories, answer first.
//!
//! A reader who opens the page from a mail has a minute: the answer, the findings and what to do
//! stand above the first plot. Each plot carries its sentence, so that it can be read without
//! studying it, and a table of its data, so that it can be read without seeing it. What the script
//! draws stands in one block of JSON, whose letters that mean something to HTML are written as
//! escapes of JSON. Rejected: plots first (most readers never come to the text), and a tab per
//! document (what is hidden is not printed).

use super::{SCRIPT, script_policy};
use crate::chart::{COLOURS, Chart, DASHES, MARKS};
use crate::page::{escape_lines, is_hostile};
use crate::story::{Block, Side, Story, Tone};
use askama::Template;
use serde_json::{Value, json};

/// Stories as a page that needs nothing else.
#[must_use]
pub fn report_html(stories: &[Story]) -> String {
    let charts = stories.iter().flat_map(|story| &story.charts);
    let charts: Vec<Value> = charts.map(Chart::data).collect();
    let mut numbers = 0..;
    let articles = stories.iter().map(|story| {
        let figures = story.charts.iter().zip(&mut numbers);
        let figures = figures.map(|(chart, number)| Figure { number, chart }).collect();
        Article { story, figures }
    });
    let articles = articles.collect();
    let page = if charts.is_empty() {
        Page { title: TITLE, policy: String::new(), articles, data: String::new() }
    } else {
        let data =
            json!({ "charts": charts, "marks": MARKS, "dashes": DASHES, "colours": COLOURS });
        let data = script_safe(&data.to_string());
        Page { title: TITLE, policy: script_policy(SCRIPT), articles, data }
    };
    escape_lines(&page.to_string())
}

const TITLE: &str = "halfpower report";

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'static str,
    policy: String,
    articles: Vec<Article<'a>>,
    /// The charts as JSON that may stand in a script element; empty where there are none.
    data: String,
}

struct Article<'a> {
    story: &'a Story,
    figures: Vec<Figure<'a>>,
}

struct Figure<'a> {
    /// Place among all charts of the page.
    number: usize,
    chart: &'a Chart,
}

impl Article<'_> {
    fn has_findings(&self) -> bool {
        !self.story.findings.is_empty()
            || self.figures.iter().any(|figure| !figure.chart.finding.is_empty())
    }
}

impl Tone {
    /// The class of a text in this tone.
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
    /// The class of a cell whose text stands on this side.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart;
    use crate::html::HTML_HEAD;
    use crate::story::{Action, Alternative, Badge, Cell, Column, Fact, Section, Table};

    fn hostile_story() -> Story {
        let bad = "</script><script>alert(1)</script><img src=x onerror='a()'> \u{1b}[2J\u{202e}&";
        let bad = || bad.to_owned();
        let finding = record::Finding::new(
            record::FindingCode::Drift,
            record::Severity::Invalid,
            bad(),
            bad(),
        );
        let mut chart = chart::tests::example();
        chart.title = bad();
        chart.finding = bad();
        chart.errors = bad();
        chart.x.title = bad();
        chart.y.title = bad();
        chart.series[0].name = bad();
        chart.series[0].points[0].remark = bad();
        chart.rules[0].name = bad();
        let mut section = Section { title: bad(), remark: bad(), ..Section::default() };
        let mut table = Table::new(vec![Column::left(bad()).group(bad())]);
        table.row(vec![Cell::bar(0.5, &bad())]);
        section.table(table);
        section.row(&bad(), bad());
        section.text(bad());
        section.item(bad());
        let mut rows = chart::tests::rows();
        rows.y.names = vec![bad(), bad(), bad()];
        Story {
            kind: bad(),
            subject: bad(),
            id: bad(),
            simulated: true,
            headline: bad(),
            badges: vec![Badge {
                subject: bad(),
                words: bad(),
                tone: Tone::Bad,
                because: bad(),
                alternatives: vec![Alternative {
                    what: bad(),
                    because: bad(),
                    how_to_check: bad(),
                }],
            }],
            facts: vec![Fact { name: bad(), of: bad(), value: bad(), tone: Tone::Strong }],
            actions: vec![Action::new(bad(), bad()).with("why", bad())],
            charts: vec![chart, rows],
            left_out: vec![bad()],
            sections: vec![section, Section { fold: true, ..Section::default() }],
            findings: vec![finding],
            conditions: vec![(bad(), bad())],
            commands: vec![bad()],
            texts: vec![(bad(), bad())],
        }
    }

    #[test]
    fn hostile_text_in_every_field_becomes_no_markup_and_no_script() {
        let page = report_html(&[hostile_story(), hostile_story()]);
        assert!(page.starts_with(HTML_HEAD));
        assert_eq!(page.matches("<script").count(), 2, "the data and the script, nothing else");
        assert!(page.contains(SCRIPT) && page.contains(&script_policy(SCRIPT)), "the hash holds");
        assert_eq!(page.matches("</script>").count(), 2);
        let without_script = page.replace(SCRIPT, "");
        for hostile in ["<img", "\u{1b}", "\u{202e}", "<script>alert"] {
            assert!(!without_script.contains(hostile), "{hostile:?}");
        }
    }

    #[test]
    fn the_scripts_data_read_back_as_they_were() {
        let page = report_html(&[hostile_story()]);
        let data = page.split("id=\"charts\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        let name = data["charts"][0]["s"][0]["n"].as_str().unwrap();
        assert!(name.starts_with("</script><script>") && name.contains("\\u{202e}"), "{name}");
    }

    #[test]
    fn the_script_makes_no_markup_of_text_and_reaches_nothing_outside() {
        for banned in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "fetch(",
            "XMLHttp",
            "import(",
            "http:",
            "https:",
            "localStorage",
            "</script",
        ] {
            assert!(!SCRIPT.contains(banned), "{banned}");
        }
    }

    #[test]
    fn the_page_refers_to_nothing_outside_itself() {
        let page = report_html(&[hostile_story()]);
        let without_text = page.replace("src=x", "");
        for outside in ["http:", "https:", "src=", "url(", "@import", "<link", "<iframe"] {
            assert!(!without_text.contains(outside), "{outside}");
        }
        for reference in page.split("href=\"").skip(1) {
            assert!(reference.starts_with('#'), "{}", &reference[..20]);
        }
    }

    #[test]
    fn the_answer_stands_before_the_plots_and_every_plot_has_its_sentence_and_its_table() {
        let page = report_html(&[hostile_story()]);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(place("class=\"answer") < place("What was found"));
        assert!(place("What was found") < place("What to do"));
        assert!(place("What to do") < place("<figure"));
        assert!(place("<figure") < place("Conditions"));
        let figures = page.matches("<figure").count();
        assert_eq!(figures, 2);
        assert_eq!(page.matches("<summary>The data of this plot").count(), figures);
        assert_eq!(page.matches("role=\"img\" aria-label=").count(), figures);
        assert!(page.contains("The disk binds."));
    }

    #[test]
    fn what_a_page_holds_beside_its_data_is_small() {
        assert!(report_html(&[Story::default()]).len() < 20_000);
        assert!(SCRIPT.len() < 60_000, "{}", SCRIPT.len());
    }
}

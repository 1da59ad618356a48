//! The page of `halfpower report`: stories, answer first.
//!
//! A reader who opens the page from a mail has a minute: the answer, the findings and what to do
//! stand above the first plot. Each plot carries its sentence, so that it can be read without
//! studying it, and a table of its data, so that it can be read without seeing it. What the script
//! draws stands in one block of JSON, whose letters that mean something to HTML are written as
//! escapes of JSON. Rejected: plots first (most readers never come to the text), and a tab per
//! document (what is hidden is not printed).

use super::{escape_html, page};
use crate::chart::{COLOURS, Chart, DASHES, Form, MARKS, legend};
use crate::finding;
use crate::story::{Action, Block, Cell, Section, Side, Story, Table, Tone, severity};
use serde_json::{Value, json};
use std::fmt::Write;

/// The page's script.
const SCRIPT: &str = include_str!("page.js");

/// Stories as a page that needs nothing else.
#[must_use]
pub fn report_html(stories: &[Story]) -> String {
    let mut body = String::new();
    if stories.is_empty() {
        body.push_str("<p>Nothing to report.</p>\n");
    }
    if stories.len() > 1 {
        contents(&mut body, stories);
    }
    let mut charts = Vec::new();
    for (number, story) in stories.iter().enumerate() {
        article(&mut body, number, story, &mut charts);
    }
    let _ = writeln!(
        body,
        "<footer class=\"faint\"><p>Made by halfpower {}. ± and bars are 95 % confidence intervals \
         unless a plot says otherwise; MB is 10<sup>6</sup> bytes, MiB is 2<sup>20</sup>.</p></footer>",
        env!("CARGO_PKG_VERSION")
    );
    if charts.is_empty() {
        return page("halfpower report", &body, "");
    }
    let data = json!({ "charts": charts, "marks": MARKS, "dashes": DASHES, "colours": COLOURS });
    let _ = writeln!(
        body,
        "<script type=\"application/json\" id=\"charts\">{}</script>",
        script_safe(&data.to_string())
    );
    page("halfpower report", &body, SCRIPT)
}

/// JSON that may stand in a `<script>` element: without the letters that could end it or open a
/// comment, and without the line ends that only JSON allows in a string.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(letter));
            }
            other => safe.push(other),
        }
    }
    safe
}

fn contents(body: &mut String, stories: &[Story]) {
    body.push_str("<nav aria-label=\"documents\"><ul>\n");
    for (number, story) in stories.iter().enumerate() {
        let _ = writeln!(
            body,
            "<li><a href=\"#d{number}\">{}: {}</a>. {}</li>",
            escape_html(&story.kind),
            escape_html(&story.subject),
            escape_html(&story.headline)
        );
    }
    body.push_str("</ul></nav>\n");
}

fn article(body: &mut String, number: usize, story: &Story, charts: &mut Vec<Value>) {
    let text = escape_html;
    let _ = writeln!(
        body,
        "<article id=\"d{number}\">\n<h2>{}: {}</h2>",
        text(&story.kind),
        text(&story.subject)
    );
    if story.simulated {
        body.push_str("<p class=\"warn\">Simulated, in virtual time: no real disk.</p>\n");
    }
    if let Some(finding) = story.not_valid() {
        let _ = writeln!(body, "<p class=\"bad\">Not valid: {}</p>", text(&finding.claim));
    }
    for badge in &story.badges {
        let subject = match badge.subject.as_str() {
            "" => String::new(),
            subject => format!("{}: ", text(subject)),
        };
        let _ = writeln!(
            body,
            "<p class=\"answer prose\">{subject}<span class=\"{}\">{}</span></p>\n<p class=\"prose\">{}</p>",
            class(badge.tone),
            text(&badge.words),
            text(&badge.because)
        );
        for other in &badge.alternatives {
            let _ = writeln!(
                body,
                "<p class=\"prose\">or <b>{}</b>: {}<br><span class=\"faint\">how to check: {}</span></p>",
                text(&other.what),
                text(&other.because),
                text(&other.how_to_check)
            );
        }
    }
    if !story.headline.is_empty() {
        let _ = writeln!(body, "<p class=\"answer prose\">{}</p>", text(&story.headline));
    }
    if !story.facts.is_empty() {
        body.push_str("<dl class=\"facts\">\n");
        for fact in &story.facts {
            let name = format!("{} {}", fact.name, fact.of);
            let (name, value) = (text(name.trim()), text(&fact.value));
            let _ = writeln!(body, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        body.push_str("</dl>\n");
    }
    found(body, story, charts.len());
    to_do(body, story);
    if !story.charts.is_empty() || !story.left_out.is_empty() {
        body.push_str("<h3>Plots</h3>\n");
    }
    body.push_str("<div class=\"plots\">\n");
    for chart in &story.charts {
        figure(body, charts.len(), chart);
        charts.push(chart.data());
    }
    body.push_str("</div>\n");
    for sentence in &story.left_out {
        let _ = writeln!(body, "<p class=\"faint\">{}</p>", text(sentence));
    }
    story.sections.iter().for_each(|each| section(body, each));
    conditions(body, story);
    body.push_str("</article>\n");
}

fn found(body: &mut String, story: &Story, first_chart: usize) {
    let said = story.charts.iter().any(|chart| !chart.finding.is_empty());
    if story.findings.is_empty() && !said {
        return;
    }
    body.push_str("<h3>What was found</h3>\n<ul class=\"prose\">\n");
    for finding in story.sorted_findings() {
        let (label, tone) = severity(finding.severity);
        let (class, claim) = (class(tone), finding::supported(finding));
        let _ = write!(body, "<li><span class=\"{class}\">{label}:</span> {}", escape_html(&claim));
        if !finding.remedy.trim().is_empty() {
            let _ = write!(body, " → {}", escape_html(finding.remedy.trim()));
        }
        let _ = writeln!(body, " <code>{}</code></li>", finding.code.name());
    }
    for (number, chart) in story.charts.iter().enumerate() {
        if !chart.finding.is_empty() {
            let _ = writeln!(
                body,
                "<li>{} <a href=\"#p{}\">{}</a></li>",
                escape_html(&chart.finding),
                first_chart + number,
                escape_html(&chart.title)
            );
        }
    }
    body.push_str("</ul>\n");
}

fn to_do(body: &mut String, story: &Story) {
    if story.actions.is_empty() {
        return;
    }
    body.push_str("<h3>What to do</h3>\n<ul class=\"prose\">\n");
    for Action { subject, what, details } in &story.actions {
        let subject = match subject.as_str() {
            "" => String::new(),
            subject => format!("{}: ", escape_html(subject)),
        };
        let _ = write!(body, "<li>{subject}<b>{}</b>", escape_html(what));
        for (name, detail) in details {
            let (name, detail) = (escape_html(name), escape_html(detail));
            let _ = write!(body, "<br><span class=\"faint\">{name}: {detail}</span>");
        }
        body.push_str("</li>\n");
    }
    body.push_str("</ul>\n");
}

fn figure(body: &mut String, number: usize, chart: &Chart) {
    let title = escape_html(&chart.title);
    let _ = write!(
        body,
        "<figure class=\"chart\" id=\"p{number}\" data-chart=\"{number}\"><figcaption><h4>{title}</h4>\
         <p>{}</p></figcaption>\n{}",
        escape_html(&chart.finding),
        chart.svg("")
    );
    if chart.series.len() > 1 {
        let looks: Vec<(&str, Form)> =
            chart.series.iter().map(|series| (series.name.as_str(), series.form)).collect();
        body.push_str(&legend(looks.into_iter()));
    }
    if !chart.errors.is_empty() {
        let _ = writeln!(body, "<p class=\"faint\">{}</p>", escape_html(&chart.errors));
    }
    let _ = writeln!(
        body,
        "<details><summary>The data of this plot</summary>{}</details></figure>",
        chart.table()
    );
}

/// The class of a tone.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Strong | Tone::Picked => "",
        Tone::Faint => "faint",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
        Tone::Good => "good",
    }
}

fn section(body: &mut String, section: &Section) {
    let title = escape_html(&section.title);
    let _ = match section.fold {
        true => writeln!(body, "<details><summary>{title}</summary>"),
        false => writeln!(body, "<h3>{title}</h3>"),
    };
    if !section.remark.is_empty() {
        let _ = writeln!(body, "<p class=\"faint\">{}</p>", escape_html(&section.remark));
    }
    for block in &section.blocks {
        let _ = match block {
            Block::Table(each) => {
                table(body, each);
                Ok(())
            }
            Block::Row(name, text) => {
                writeln!(body, "<p>{}: {}</p>", escape_html(name), escape_html(text))
            }
            Block::Text(text, tone) => {
                writeln!(body, "<p class=\"{}\">{}</p>", class(*tone), escape_html(text))
            }
            Block::Item(text) => writeln!(body, "<p>- {}</p>", escape_html(text)),
        };
    }
    if section.fold {
        body.push_str("</details>\n");
    }
}

fn table(body: &mut String, table: &Table) {
    body.push_str("<div class=\"wide\"><table><tr>");
    let align = |side| if side == Side::Right { " class=\"number\"" } else { "" };
    for column in &table.columns {
        let title = format!("{} {}", column.group, column.title);
        let (title, help) = (escape_html(title.trim()), escape_html(column.help));
        let _ = write!(body, "<th{} title=\"{help}\">{title}</th>", align(column.side));
    }
    body.push_str("</tr>\n");
    for row in &table.rows {
        body.push_str("<tr>");
        for (column, Cell { text, tone, bar }) in table.columns.iter().zip(row) {
            let (class, text) = (class(*tone), escape_html(text));
            let bar = bar.map(|share| format!("<meter value=\"{share:.3}\"></meter>"));
            let bar = bar.unwrap_or_default();
            let side = align(column.side);
            let _ = write!(body, "<td{side}>{bar}<span class=\"{class}\">{text}</span></td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

fn conditions(body: &mut String, story: &Story) {
    if !story.conditions.is_empty() {
        body.push_str("<h3>Conditions</h3>\n<dl>\n");
        for (name, condition) in &story.conditions {
            let (name, condition) = (escape_html(name), escape_html(condition));
            let _ = writeln!(body, "<dt>{name}</dt><dd>{condition}</dd>");
        }
        body.push_str("</dl>\n");
    }
    if !story.commands.is_empty() {
        body.push_str("<h3>To repeat it</h3>\n<pre>");
        for command in &story.commands {
            let _ = writeln!(body, "{}", escape_html(command));
        }
        body.push_str("</pre>\n");
    }
    for (name, text) in &story.texts {
        let lines: Vec<String> = text.lines().map(escape_html).collect();
        let _ = writeln!(
            body,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape_html(name),
            lines.join("\n")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart;
    use crate::story::{Alternative, Badge, Column, Fact};

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
        assert_eq!(page.matches("<script").count(), 2, "the data and the script, nothing else");
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

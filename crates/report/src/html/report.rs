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
use crate::story::{Sheet, Story};
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
    if !story.headline.is_empty() {
        let _ = writeln!(body, "<p class=\"answer prose\">{}</p>", text(&story.headline));
    }
    if !story.facts.is_empty() {
        body.push_str("<dl class=\"facts\">\n");
        for fact in &story.facts {
            let (name, value) = (text(&fact.name), text(&fact.value));
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
    for sheet in &story.sheets {
        table(body, sheet);
    }
    conditions(body, story);
    body.push_str("</article>\n");
}

fn found(body: &mut String, story: &Story, first_chart: usize) {
    let said = story.charts.iter().any(|chart| !chart.finding.is_empty());
    if story.findings.is_empty() && !said {
        return;
    }
    body.push_str("<h3>What was found</h3>\n<ul class=\"prose\">\n");
    for (finding, label, claim) in story.sorted_findings() {
        let class = match label {
            "not valid" => "bad",
            "warning" => "warn",
            _ => "faint",
        };
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
    for action in &story.actions {
        let subject = match action.subject.as_str() {
            "" => String::new(),
            subject => format!("{}: ", escape_html(subject)),
        };
        let why = match action.why.as_str() {
            "" => String::new(),
            why => format!("<br><span class=\"faint\">{}</span>", escape_html(why)),
        };
        let _ = writeln!(body, "<li>{subject}<b>{}</b>{why}</li>", escape_html(&action.what));
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

fn table(body: &mut String, sheet: &Sheet) {
    let _ = write!(body, "<h3>{}</h3>\n<div class=\"wide\"><table><tr>", escape_html(&sheet.title));
    let class = |column: usize| if column == 0 { "" } else { " class=\"number\"" };
    for (column, title) in sheet.columns.iter().enumerate() {
        let _ = write!(body, "<th{}>{}</th>", class(column), escape_html(title));
    }
    body.push_str("</tr>\n");
    for row in &sheet.rows {
        body.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(body, "<td{}>{}</td>", class(column), escape_html(cell));
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
        let mut rows = chart::tests::rows();
        rows.y.names = vec![bad(), bad(), bad()];
        Story {
            kind: bad(),
            subject: bad(),
            id: bad(),
            simulated: true,
            headline: bad(),
            facts: vec![crate::Fact { name: bad(), value: bad() }],
            actions: vec![crate::Action { subject: bad(), what: bad(), why: bad() }],
            charts: vec![chart, rows],
            left_out: vec![bad()],
            sheets: vec![Sheet { title: bad(), columns: vec![bad()], rows: vec![vec![bad()]] }],
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

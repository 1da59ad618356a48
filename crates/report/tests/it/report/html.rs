//! Tests the HTML page: no text becomes markup, nothing is fetched, the answer comes first.

use crate::report::charts;
use base64::prelude::{BASE64_STANDARD, Engine};
use report::{
    Action, Alternative, Badge, Block, Cell, Column, Fact, HTML_HEAD, Level, Section, Story, Table,
    Tone, report_html,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The script of a page.
fn script(page: &str) -> &str {
    page.rsplit_once("<script>").unwrap().1.split("</script>").next().unwrap()
}

fn hostile_story() -> Story {
    let bad = "</script><script>alert(1)</script><img src=x onerror='a()'> \u{1b}[2J\u{202e}&";
    let bad = || bad.to_owned();
    let finding =
        record::Finding::new(record::FindingCode::Drift, record::Severity::Invalid, bad(), bad());
    let mut chart = charts::example();
    chart.title = bad();
    chart.finding = bad();
    chart.errors = bad();
    chart.x.title = bad();
    chart.y.title = bad();
    chart.series[0].name = bad();
    chart.series[0].points[0].remark = bad();
    chart.rules[0].name = bad();
    let cell = Cell { text: bad(), tone: Tone::Strong, bar: Some(0.5) };
    let column = Column { title: bad(), group: bad(), ..Column::default() };
    let blocks = vec![
        Block::Table(Table { columns: vec![column], rows: vec![vec![cell]] }),
        Block::Row(bad(), bad()),
        Block::Text(bad(), Tone::Plain),
        Block::Item(bad()),
    ];
    let section =
        Section { title: bad(), remark: bad(), blocks, ticket: Some(bad()), ..Section::default() };
    let mut rows = charts::rows();
    rows.y.names = vec![bad(), bad(), bad()];
    Story {
        kind: bad(),
        subject: bad(),
        id: bad(),
        simulated: true,
        overview: vec![Block::Row(bad(), bad()), Block::Text(bad(), Tone::Plain)],
        headline: bad(),
        line: bad(),
        lead: 1,
        takeaways: vec![(bad(), bad())],
        again: bad(),
        commands_answer: true,
        badges: vec![Badge {
            subject: bad(),
            words: bad(),
            tone: Tone::Bad,
            because: bad(),
            answers: vec![(bad(), bad())],
            fold: false,
            alternatives: vec![Alternative { what: bad(), because: bad(), how_to_check: bad() }],
        }],
        facts: vec![Fact { name: bad(), of: bad(), value: bad() + "!", tone: Tone::Strong }],
        actions: vec![Action {
            subject: bad(),
            what: bad(),
            details: vec![("why".to_owned(), bad())],
        }],
        charts: vec![chart, rows],
        left_out: vec![bad()],
        sections: vec![section, Section { level: Level::Detail, ..Section::default() }],
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
    assert_eq!(page.matches("</script>").count(), 2);
    let without_script = page.replace(script(&page), "");
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
    let page = report_html(&[hostile_story()]);
    let script = script(&page);
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
    ] {
        assert!(!script.contains(banned), "{banned}");
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
fn the_policy_names_the_hash_of_the_script() {
    let policy = |script: &str| {
        format!(";script-src 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)))
    };
    // By `printf 'let a = 1;' | openssl dgst -sha256 -binary | base64`.
    let hash = "xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck=";
    assert_eq!(policy("let a = 1;"), format!(";script-src 'sha256-{hash}'"));
    let page = report_html(&[hostile_story()]);
    assert!(page.contains(&policy(script(&page))));
}

#[test]
fn the_answer_stands_before_the_plots_and_every_plot_has_its_sentence_and_its_table() {
    let page = report_html(&[hostile_story()]);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = ["class=\"answer", "<figure", "class=\"conclusions", "class=\"facts", "What to do"];
    let rest = ["What was found", "More plots (1)", "Conditions"];
    let places: Vec<usize> = order.into_iter().chain(rest).map(place).collect();
    assert!(places.is_sorted(), "{places:?}");
    let figures = page.matches("<figure").count();
    assert_eq!(figures, 2);
    assert_eq!(page.matches("<summary>The data of this plot").count(), figures);
    assert_eq!(page.matches("role=\"img\" aria-label=").count(), figures);
    assert!(page.contains("The disk binds."));
}

#[test]
fn what_a_page_holds_beside_its_data_is_small() {
    assert!(report_html(&[Story::default()]).len() < 20_000);
    let page = report_html(&[hostile_story()]);
    assert!(script(&page).len() < 60_000, "{}", script(&page).len());
}

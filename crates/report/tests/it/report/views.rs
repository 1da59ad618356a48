//! Tests the views of every document: none loses what another shows, and the severity of a thing is
//! the same in all of them.

use crate::report::common::{self, advice, bare, diagnosis, prediction, whatif};
use record::{Cause, CauseCode, Estimate, Observation, SavedDocument, Severity};
use report::{self, Action, Block, Extent, Level, Section, Story, Style, Tone};

#[test]
fn an_answer_opens_with_what_follows_from_it() {
    let story = |document| report::stories(&[document]).remove(0);
    let headline = |document| story(document).headline;
    let better = story(SavedDocument::WhatIf(Box::new(whatif())));
    assert!(better.headline.starts_with("50 % elsewhere: a request takes 8.00 ms"), "{better:?}");
    let mut worse = whatif();
    worse.cases[0].latency_ratio = Some(Estimate::within_ratio(1.4, 0.05));
    let worse = headline(SavedDocument::WhatIf(Box::new(worse)));
    assert!(worse.contains(": requests do not become faster, 1.40"), "{worse}");
    let mut open = whatif();
    open.cases[0].latency_ratio = Some(Estimate::within_ratio(0.98, 0.1));
    let open = headline(SavedDocument::WhatIf(Box::new(open)));
    assert!(open.contains(": no measurable difference, 0.98"), "{open}");
    let mut unsure = whatif();
    unsure.cases[0].latency_ratio = Some(Estimate::spanning(3.0, 0.99, 3.15, 3));
    let unsure = headline(SavedDocument::WhatIf(Box::new(unsure)));
    assert!(unsure.contains(": the effect is uncertain, 3.00 (0.99 to 3.15) times"), "{unsure}");
    let curve = &story(SavedDocument::Prediction(Box::new(prediction()))).charts[0];
    assert_eq!(curve.finding, "At QD 4 a request takes 4.00 ms; at 8 it takes 8.00 ms.");
    let settings = story(SavedDocument::Settings(Box::new(advice())));
    assert_eq!(settings.texts[0].1, report::settings_text(&advice()));
    let summary = report::markdown(std::slice::from_ref(&settings));
    assert!(summary.contains("\n    random_page_cost = 3\n"), "{summary}");
    let page = report::report_html(&[settings]);
    assert!(page.contains("from <code>a</code> &#38; b"), "{page}");
    assert!(page.contains("<details open><summary>For postgresql.conf"), "{page}");
}

#[test]
fn a_command_that_asks_for_a_saved_document_names_the_database_that_a_flag_named() {
    let story = report::profile(&common::fast_profile(), &[]);
    let page = |database| {
        let style = Style { extent: Extent::Short, width: 120, database, ..Style::default() };
        report::terminal(&story, &style)
    };
    assert!(page("--db kept.db").contains("--verbose --db kept.db\n"), "{}", page("--db kept.db"));
    assert!(page("").ends_with("--verbose\n"), "{}", page(""));
}

/// The stories of many kinds of documents.
fn stories() -> Vec<Story> {
    let observed = Observation { source: "sar".to_owned(), ..Observation::default() };
    report::stories(&[
        SavedDocument::Profile(Box::new(common::fast_profile()), Vec::new()),
        SavedDocument::Profile(Box::new(common::read_only_simulated_profile()), Vec::new()),
        SavedDocument::Trial(Box::new(common::failing_trial())),
        SavedDocument::Trial(Box::new(common::open_loop_trial())),
        SavedDocument::Trial(Box::new(common::trial_with_intervals())),
        SavedDocument::Diagnosis(Box::new(diagnosis())),
        SavedDocument::Observation(Box::new(observed)),
        SavedDocument::WhatIf(Box::new(whatif())),
        SavedDocument::Prediction(Box::new(prediction())),
        SavedDocument::Settings(Box::new(advice())),
    ])
}

/// Everything that no view may leave out.
fn essentials(story: &Story) -> Vec<String> {
    let mut texts = vec![story.subject.clone(), story.headline.clone()];
    texts.extend(block_texts(&story.overview));
    for badge in story.badges.iter().filter(|badge| !badge.fold) {
        texts.extend([badge.subject.clone(), badge.words.clone(), badge.because.clone()]);
        texts.extend(badge.answers.iter().flat_map(|(name, text)| [name.clone(), text.clone()]));
        for other in &badge.alternatives {
            texts.extend([other.what.clone(), other.because.clone(), other.how_to_check.clone()]);
        }
    }
    texts.extend(story.facts.iter().flat_map(|fact| [fact.name.clone(), fact.value.clone()]));
    for action in &story.actions {
        texts.extend([action.subject.clone(), action.what.clone()]);
        texts.extend(action.details.iter().map(|(_, text)| text.clone()));
    }
    for finding in &story.findings {
        let (label, _) = report::severity(finding.severity);
        texts.extend([format!("{label} {}", finding.claim), finding.remedy.clone()]);
        texts.push(finding.code.name());
    }
    for section in story.sections.iter().filter(|section| section.level != Level::Detail) {
        texts.push(section.title.clone());
        texts.extend(block_texts(&section.blocks));
    }
    texts.extend(story.conditions.iter().map(|(_, text)| text.clone()));
    texts
}

fn block_texts(blocks: &[Block]) -> Vec<String> {
    let texts = |block: &Block| match block {
        // A narrow view may drop columns, except for the first.
        Block::Table(table) => table.rows.iter().map(|row| row[0].text.clone()).collect(),
        Block::Row(name, text) => vec![name.clone(), text.clone()],
        Block::Text(text, _) | Block::Item(text) => vec![text.clone()],
    };
    blocks.iter().flat_map(texts).collect()
}

#[test]
fn no_view_loses_a_verdict_a_figure_a_finding_or_an_action() {
    for story in stories() {
        let one = std::slice::from_ref(&story);
        let views = [
            (
                "terminal",
                report::terminal(&story, &Style { color: false, width: 80, ..Style::default() }),
            ),
            (
                "narrow",
                report::terminal(&story, &Style { color: false, width: 60, ..Style::default() }),
            ),
            (
                "wide",
                report::terminal(&story, &Style { color: true, width: 200, ..Style::default() }),
            ),
            ("Markdown", report::markdown(one)),
            ("HTML", report::report_html(one)),
        ];
        for (view, text) in views {
            let text = strip(&text);
            let shown = bare(&text);
            for essential in essentials(&story) {
                let wanted = bare(&essential);
                assert!(shown.contains(&wanted), "{view} of {}: {essential:?}", story.kind);
            }
        }
    }
}

#[test]
fn the_short_page_keeps_the_answer_and_every_doubt_and_names_the_rest() {
    let short = Style { extent: Extent::Short, ..Style::default() };
    for story in stories() {
        let text = report::terminal(&story, &short);
        let shown = bare(&text);
        let mut kept: Vec<String> = vec![story.headline.clone()];
        kept.extend(story.facts.iter().map(|fact| fact.value.clone()));
        for badge in story.badges.iter().filter(|badge| !badge.fold) {
            kept.extend([badge.words.clone(), badge.because.clone()]);
            kept.extend(badge.alternatives.iter().map(|other| other.because.clone()));
        }
        let doubts = story.findings.iter().filter(|finding| finding.severity != Severity::Info);
        kept.extend(doubts.map(|finding| finding.claim.clone()));
        for words in kept {
            assert!(shown.contains(&bare(&words)), "{}: {words:?} is not in {text}", story.kind);
        }
        let left_out = story.sections.iter().any(|section| section.level != Level::Essential);
        let named = text.contains("--verbose shows ");
        assert!(named || !left_out, "{}: {text}", story.kind);
        let whole = report::terminal(&story, &Style::default());
        assert!(text.lines().count() <= whole.lines().count() + 2, "{}: {text}", story.kind);
    }
}

#[test]
fn one_line_says_the_answer_and_whether_it_holds() {
    let line = |story: &Story| {
        let text = report::terminal(story, &Style { extent: Extent::Line, ..Style::default() });
        assert_eq!(text.matches('\n').count(), 1, "{text:?}");
        text.trim_end().to_owned()
    };
    for story in stories() {
        assert!(line(&story).len() > 8, "{}: {}", story.kind, line(&story));
    }
    let clean = line(&report::trial(&common::clean_trial()));
    assert!(clean.starts_with("reads ") && clean.contains(" ±"), "{clean}");
    assert!(clean.contains(", valid"), "{clean}");
    let failing = line(&report::trial(&common::failing_trial()));
    assert!(failing.contains(", NOT VALID: ") && !failing.contains(", valid"), "{failing}");
    let mut open = common::fast_profile();
    open.limits.read_iops = Some(Estimate::spanning(1e4, 1e3, 1e5, 3));
    let open = line(&report::profile(&open, &[]));
    assert!(open.contains("uncertain: reads") && !open.contains(", valid"), "{open}");
    let several = line(&report::diagnosis(&diagnosis()));
    assert!(several.starts_with("sdb: SLOW (likely, or overloaded)"), "{several}");
    let mut above = diagnosis();
    above.devices.truncate(1);
    let device = &mut above.devices[0];
    device.advice.clear();
    let shown = device.shown().unwrap();
    let claim = "The kernel pauses programs that write.".to_owned();
    device.episodes[shown].causes = vec![Cause::of(CauseCode::WriteBackLimit, claim, Vec::new())];
    let above = line(&report::diagnosis(&above));
    assert!(above.ends_with(" Cause: The kernel pauses programs that write"), "{above}");
    let hostile = Story { headline: "a\nb\x1b[2J".to_owned(), ..Story::default() };
    assert!(!line(&hostile).contains('\x1b'));
}

/// Removes colour codes, tags and list labels.
fn strip(text: &str) -> String {
    let mut plain = String::new();
    for (place, part) in text.split("\x1b[").enumerate() {
        plain.push_str(if place == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    if !plain.starts_with(report::HTML_HEAD) {
        return plain;
    }
    let outside = |part: &str| part.split_once('>').map_or(part, |(_, text)| text).to_owned();
    plain.split('<').map(outside).collect()
}

#[test]
fn no_value_of_any_plot_lies_outside_its_axes() {
    let mut values = 0;
    for story in stories() {
        for chart in &story.charts {
            for point in chart.series.iter().flat_map(|series| &series.points) {
                for (axis, value) in [(&chart.x, point.x), (&chart.y, point.y)] {
                    let share = axis.share(value);
                    let inside = (-1e-9..=1.0 + 1e-9).contains(&share);
                    assert!(inside, "{}: {}: {value} at {share}", story.kind, chart.title);
                    values += 1;
                }
            }
        }
    }
    assert!(values > 500, "{values}");
}

#[test]
fn how_bad_a_thing_is_does_not_depend_on_the_view() {
    let mut story = Story { findings: common::failing_trial().findings, ..Story::default() };
    story.badges = report::diagnosis(&diagnosis()).badges;
    let page = report::terminal(&story, &Style { color: true, width: 80, ..Style::default() });
    let html = report::report_html(&[story.clone()]);
    for badge in story.badges.iter().filter(|badge| !badge.fold) {
        let (code, class) = match badge.tone {
            Tone::Good => ("32", "good"),
            Tone::Warn => ("1;33", "warn"),
            Tone::Bad => ("1;31", "bad"),
            other => panic!("{other:?}"),
        };
        assert!(page.contains(&format!("\x1b[{code}m{}", badge.words)), "{page}");
        assert!(html.contains(&format!("class=\"{class}\">{}", badge.words)), "{html}");
    }
    let markdown = report::markdown(&[story.clone()]);
    for finding in &story.findings {
        let (label, tone) = report::severity(finding.severity);
        let bad = finding.severity == Severity::Invalid;
        assert_eq!(bad, tone == Tone::Bad);
        assert!(markdown.contains(&format!("- {label}: ")), "{markdown}");
    }
}

#[test]
fn text_from_outside_becomes_no_markup() {
    let hostile = "<img src=x> [a](javascript:b) `c` | **d** \u{1b}[2J".to_owned();
    let story = Story {
        kind: "Trial".to_owned(),
        subject: hostile.clone(),
        headline: hostile.clone(),
        actions: vec![Action {
            subject: hostile.clone(),
            what: hostile.clone(),
            details: vec![("why".to_owned(), hostile.clone())],
        }],
        conditions: vec![("path".to_owned(), hostile.clone())],
        commands: vec![hostile.clone()],
        sections: vec![Section {
            title: hostile.clone(),
            remark: hostile.clone(),
            blocks: vec![Block::Item(hostile.clone())],
            level: Level::Essential,
            open: false,
            ticket: None,
        }],
        ..Story::default()
    };
    let text = report::markdown(&[story]);
    assert!(!text.contains('\u{1b}'), "{text}");
    let outside_code: Vec<&str> = text.lines().filter(|line| !line.starts_with("- `")).collect();
    for markup in [" <img", " [a](", " | **d", " `c`"] {
        assert!(!outside_code.concat().contains(markup), "{markup}: {text}");
    }
    assert!(text.contains("- `<img src=x> [a](javascript:b) 'c' | **d** \\x1b[2J`"), "{text}");
}

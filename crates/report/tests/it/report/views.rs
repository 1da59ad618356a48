//! Tests the views of every document: none loses what another shows, and the severity of a thing is
//! the same in all of them.

use crate::report::common;
use record::{
    Activity, Change, Comparison, Confidence, Diagnosis, Estimate, Excluded, FLEET_SCHEMA, Finding,
    FindingCode, FleetDiagnosis, LoadState, Locality, Measured, Mix, Observation, Offered, OpKind,
    PredictedPoint, PredictionDocument, SavedDocument, Setting, Settings, Severity, Verdict,
    WhatIf, WhatIfCase,
};
use report::{
    self, Action, Block, Cell, Column, Extent, Level, Section, Side, Story, Style, Table, Tone,
};
use serde_json::json;

/// A diagnosis of two devices, one of them slow.
fn diagnosis() -> Diagnosis {
    let numbers = json!({
        "requests": 900.0, "iops": 30.0, "read_share": 0.5, "bytes_per_s": 1.2e5,
        "request_bytes": 4096.0, "latency_ns": 2.2e7, "read_latency_ns": null,
        "write_latency_ns": null, "concurrency": 0.66, "utilization": 0.6,
    });
    let episode = |verdict: &str, alternatives: serde_json::Value| {
        json!({
            "begin_ns": 0, "duration_ns": 30_000_000_000_u64, "intervals": 30,
            "share_of_time": 1.0, "activity": "quiet", "verdict": verdict,
            "confidence": "likely", "probability": 0.8, "claim": format!("The claim of {verdict}."), "evidence": [],
            "alternatives": alternatives,
            "causes": [{"code": "service_slower", "claim": "The cause.", "evidence": []}],
            "operations": [],
            "numbers": numbers, "response_ci95_rel": null, "utilization_law": null,
            "calibrated": null,
            "misleading": {"disk_time_percent": 66.0, "queue_length": null, "svctm_ns": null,
                "iostat_busy_percent": 60.0},
            "extrapolated": ["An assumption."],
        })
    };
    let device = |name: &str, worst: Option<u32>, episode: serde_json::Value| {
        json!({
            "device": name, "model": "M", "profile": {"not_measured": "nothing fits"},
            "duration_ns": 30_000_000_000_u64,
            "shares": [{"verdict": episode["verdict"], "share_of_time": 1.0}],
            "episodes": [episode], "worst": worst, "hit_share": {"not_measured": "no reads"},
            "splits_compared": "They agree.",
            "notes": [{"code": "steal", "claim": "A note.", "evidence": []}],
            "advice": [{
                "strategy": "restore", "action": "Look at the log.", "cause": "service_slower",
                "episode": 0, "effect": {"not_measured": "no model"}, "gain": null,
                "assumes": "A.", "cost": "B.", "how_to_check": "C.", "change": null,
            }],
            "series": [],
        })
    };
    let other = json!([
        {"verdict": "overloaded", "doubt": "near_slow", "probability": 0.2, "because": "The queue.", "decided_by": "A longer look."}
    ]);
    serde_json::from_value(json!({
        "schema": "halfpower/diagnosis/1", "halfpower_version": "0", "id": "d1", "time": null,
        "observation_id": "o1", "source": "procfs", "host": "h",
        "devices": [
            device("sda", None, episode("healthy", json!([]))),
            device("sdb", Some(0), episode("slow", other)),
        ],
        "left_out": ["loop0: nothing is on it"], "findings": [],
    }))
    .unwrap()
}

fn mix() -> Mix {
    Mix::one(OpKind::Read, Locality::Random, 4096)
}

/// A load with a latency of 20 ms. Without half of the load it would be 8 ms. The effect of a
/// faster disk is unknown.
fn whatif() -> WhatIf {
    let state = |latency: f64, saturation: f64| {
        let rate = Estimate::symmetric(100.0, 5.0, 3);
        LoadState {
            mix: mix(),
            offered: Offered::PoissonPerS(100.0),
            latency_ns: Estimate::within_ratio(latency, 0.1),
            iops: rate,
            max_iops: rate.scaled(saturation.recip()),
            saturation,
            concurrency: 2.0,
        }
    };
    let case = |changes: Vec<Change>, after, ratio| WhatIfCase {
        changes,
        after,
        latency_ratio: ratio,
        assumes: vec!["the other disk <2> is idle".to_owned()],
        cost: vec!["moving".to_owned()],
        how_to_check: vec!["run `halfpower check` there".to_owned()],
        evidence: Vec::new(),
    };
    let half = Change::Without { share: 0.5, process: None };
    let ratio = Estimate::within_ratio(0.4, 0.05);
    WhatIf {
        target: Some("/dev/sdz".to_owned()),
        before: Some(state(2e7, 0.8)),
        cases: vec![
            case(vec![half], Measured::Value(state(8e6, 0.4)), Some(ratio)),
            case(vec![Change::Faster(0.3)], Measured::not("no profile"), None),
        ],
        ..WhatIf::default()
    }
}

/// A prediction for sessions from a document of commits, without any model's answer.
fn prediction() -> PredictionDocument {
    let point = |at: f64| PredictedPoint {
        at,
        latency_ns: Estimate::within_ratio(1e6 * at, 0.1),
        p99_ns: None,
        per_s: Estimate::symmetric(at, 0.0, 1),
    };
    PredictionDocument {
        target: Some("/dev/sdz".to_owned()),
        mix: mix(),
        offered: Some(Offered::Depth(4.0)),
        curve: [1.0, 2.0, 4.0, 8.0].map(point).to_vec(),
        ..PredictionDocument::default()
    }
}

fn advice() -> Settings {
    let setting = |name: &str, value: Measured<String>| Setting {
        name: name.to_owned(),
        value,
        derivation: "from `a` & b".to_owned(),
        lines: vec![format!("{name} = 3")],
    };
    Settings {
        schema: String::new(),
        halfpower_version: "0".to_owned(),
        program: "postgresql".to_owned(),
        place: "postgresql.conf".to_owned(),
        profile_id: "p1".to_owned(),
        target: "/dev/sdz".to_owned(),
        profile_time: None,
        simulated: false,
        head: Vec::new(),
        settings: vec![
            setting("random_page_cost", Measured::Value("3".to_owned())),
            setting("commit_delay", Measured::not("no commits")),
        ],
    }
}

#[test]
fn an_answer_opens_with_what_follows_from_it() {
    let story = |document| report::stories(&[document]).remove(0);
    let headline = |document| story(document).headline;
    let better = story(SavedDocument::WhatIf(Box::new(whatif())));
    assert!(better.headline.starts_with("50 % elsewhere: a request takes 8.00 ms"), "{better:?}");
    let mut worse = whatif();
    worse.cases[0].latency_ratio = Some(Estimate::within_ratio(1.4, 0.05));
    let worse = headline(SavedDocument::WhatIf(Box::new(worse)));
    assert!(worse.starts_with("Requests do not become faster"), "{worse}");
    let mut open = whatif();
    open.cases[0].latency_ratio = Some(Estimate::within_ratio(0.98, 0.1));
    let open = headline(SavedDocument::WhatIf(Box::new(open)));
    assert!(open.starts_with("No measurable difference"), "{open}");
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

/// A fleet of 16 disks, one of which could not be compared, and others built of these.
fn fleet(compared: u32) -> FleetDiagnosis {
    let left_out = |reason: &str| json!({"reason": reason, "devices": 1, "examples": ["db sda"]});
    serde_json::from_value(json!({
        "schema": FLEET_SCHEMA, "halfpower_version": "0.1.0", "source": "prometheus",
        "simulated": false, "begin_s": 0, "end_s": 240, "window_s": 60, "devices": 16,
        "false_share": 0.01, "common": [], "slow": [], "findings": [],
        "kinds": [{"labels": {"model": "M"}, "devices": 16, "compared": compared,
            "level_deviation": 0.02, "noise_deviation": 0.01}],
        "left_out": [left_out("few"), left_out("of memory")],
    }))
    .unwrap()
}

#[test]
fn a_fleet_says_how_many_disks_it_cannot_tell_of_and_no_spread_of_none() {
    let page = |compared| {
        let document = serde_json::to_string(&fleet(compared)).unwrap();
        let saved = SavedDocument::from_json(&document).unwrap();
        report::terminal(&report::stories(&[saved]).remove(0), &Style::default())
    };
    let some = page(15);
    assert!(
        some.contains("None of 15 compared devices is slow; 1 could not be compared."),
        "{some}"
    );
    assert!(some.contains("±2 %") && some.matches("Not judged").count() == 1, "{some}");
    assert!(page(16).contains("None of 16 compared devices is slow."), "{}", page(16));
    let none = page(0);
    assert!(none.contains("No device could be compared") && none.contains("unknown"), "{none}");
    assert!(!none.contains('±'), "{none}");
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

/// Letters and digits only: the part of a text that no view wraps, escapes or marks.
fn bare(text: &str) -> String {
    let text = text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&#39;", "'");
    let text = text.replace("&#34;", "\"").replace("&#38;", "&");
    let text = text.replace("&#60;", "<").replace("&#62;", ">");
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
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
    let several = line(&report::diagnosis(&diagnosis()));
    assert!(several.starts_with("sdb: SLOW (likely, or overloaded)"), "{several}");
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
fn of_several_devices_the_worst_comes_first_and_slow_is_bad_everywhere() {
    let story = report::diagnosis(&diagnosis());
    let subjects: Vec<&str> = story.badges.iter().map(|badge| badge.subject.as_str()).collect();
    assert_eq!(subjects, ["sdb", "sda"]);
    assert_eq!(story.badges[0].tone, Tone::Bad);
    assert_eq!(story.badges[0].words, "SLOW (likely, or overloaded)");
    let [Block::Table(table)] = story.overview.as_slice() else { panic!("{:?}", story.overview) };
    let rows: Vec<[&str; 2]> =
        table.rows.iter().map(|row| [0, 1].map(|column| row[column].text.as_str())).collect();
    assert_eq!(rows, [["sdb", "slow (likely)"], ["sda", "healthy (likely)"]]);
}

#[test]
fn a_named_device_comes_before_the_slow_disk_below_it_and_refers_to_it() {
    let mut named = diagnosis();
    named.devices[1].above = Some("sda".to_owned());
    let story = report::diagnosis(&named);
    let subjects: Vec<(&str, bool)> =
        story.badges.iter().map(|badge| (badge.subject.as_str(), badge.fold)).collect();
    assert_eq!(subjects, [("sda", false), ("sdb", false)]);
    let [_, Block::Text(text, _)] = story.overview.as_slice() else {
        panic!("{:?}", story.overview)
    };
    assert_eq!(text, "The requests of sda go to sdb, which is slow.");
}

/// A diagnosis of the slow device only, with long sentences.
fn slow_alone() -> Diagnosis {
    let mut alone = diagnosis();
    alone.devices.remove(0);
    let device = &mut alone.devices[0];
    let sentence = |words: &str| format!("{}.", [words; 16].join(" "));
    device.episodes[0].claim = sentence("claimed");
    device.episodes[0].causes[0].claim = format!("{} And more of it.", sentence("because"));
    device.advice[0].action = format!("{} And how.", sentence("looked"));
    alone
}

#[test]
fn the_first_ten_lines_hold_verdict_cause_what_to_do_its_gain_and_how_sure_it_is() {
    let story = report::diagnosis(&slow_alone());
    for text in [
        report::terminal(&story, &Style::default()),
        report::markdown(std::slice::from_ref(&story)),
    ] {
        let top = text.lines().take(10).collect::<Vec<_>>().join(" ");
        let top = bare(&top);
        for words in
            ["SLOW (likely, or overloaded)", "because because.", "looked looked.", "no model"]
        {
            assert!(top.contains(&bare(words)), "{words}: {text}");
        }
        assert!(!top.contains(&bare("And more")) && !top.contains(&bare("And how")), "{text}");
    }
}

#[test]
fn a_page_says_why_a_profile_is_not_used() {
    let mut unused = slow_alone();
    unused.devices[0].unused_profile = Some("Profile 7 does not fit: it is older.".to_owned());
    let story = report::diagnosis(&unused);
    for extent in [Extent::Short, Extent::Whole] {
        let text = report::terminal(&story, &Style { extent, ..Style::default() });
        assert!(bare(&text).contains(&bare("profile Profile 7 does not fit")), "{text}");
    }
}

#[test]
fn what_is_not_known_has_no_word_of_confidence() {
    let mut unknown = diagnosis();
    for device in &mut unknown.devices {
        device.episodes[0].verdict = Verdict::NotEnoughEvidence;
        device.episodes[0].confidence = Confidence::Certain;
        device.advice.clear();
    }
    let several = report::diagnosis(&unknown);
    unknown.devices.truncate(1);
    for story in [several, report::diagnosis(&unknown)] {
        let text = report::terminal(&story, &Style::default());
        assert!(text.to_lowercase().contains("not enough evidence"), "{text}");
        assert!(!text.contains("certain"), "{text}");
    }
}

#[test]
fn of_several_devices_the_idle_share_a_line_and_the_well_are_folded() {
    let mut several = diagnosis();
    for name in ["loop0", "loop1"] {
        let mut idle = several.devices[0].clone();
        idle.device = name.to_owned();
        idle.episodes[0].activity = Activity::Idle;
        several.devices.insert(0, idle);
    }
    let story = report::diagnosis(&several);
    let short = Style { extent: Extent::Short, ..Style::default() };
    let text = report::terminal(&story, &short);
    assert_eq!(text.matches("loop1").count(), 1, "{text}");
    assert!(text.contains("\n  Idle: loop1, loop0.\n"), "{text}");
    assert!(text.contains("SLOW") && !text.contains("The claim of healthy."), "{text}");
    assert!(text.contains("--verbose shows"), "{text}");
    let all = report::terminal(&story, &Style::default());
    assert!(all.contains("The claim of healthy.") && all.contains("sdb: Why"), "{all}");
    assert!(!all.contains("--verbose"), "{all}");
    let html = report::report_html(&[story]);
    assert!(html.contains("<details><summary>sda: HEALTHY (likely)</summary>"), "{html}");
}

#[test]
fn a_ticket_begins_with_the_claim_and_says_nothing_that_the_page_does_not() {
    let mut excluding = diagnosis();
    let episode = &mut excluding.devices[1].episodes[0];
    episode.excluded =
        vec![Excluded { verdict: Verdict::Capped, because: "The rate varies by 9 %.".to_owned() }];
    episode.begin_ns = 1_764_001_800_000_000_000;
    let story = report::diagnosis_of(&excluding, Some("night.json"));
    let tickets = report::tickets(&story);
    let text = report::markdown(&tickets);
    assert!(text.starts_with("## SLOW (likely, or overloaded): sdb: "), "{text}");
    let mut from = 0;
    for words in [
        "**The claim of slow.**",
        "2025-11-24 16:30:00 to 2025-11-24 16:30:30 UTC: 30.0 s",
        "Impact on users",
        "latency 22.0 ms at 30 IOPS",
        "Evidence",
        "capped: The rate varies by 9 %.",
        "overloaded: The queue. To decide: A longer look.",
        "Look at the log.",
        "To repeat it",
        "- `halfpower diagnose night.json`",
    ] {
        let place = text[from..].find(words);
        from += place.unwrap_or_else(|| panic!("{words} after {from}: {text}"));
    }
    assert!(!text.contains("healthy") && !text.contains("nothing fits"), "{text}");
    let page = bare(&report::terminal(&story, &Style::default()));
    for section in &tickets[0].sections {
        for block in &section.blocks {
            let Block::Row(name, text) = block else { continue };
            let said = text.split(" To decide: ").all(|part| page.contains(&bare(part)));
            assert!(said, "{}: {name}: {text}", section.title);
        }
    }
}

#[test]
fn a_ticket_of_a_recording_without_a_known_name_says_so_in_words() {
    let text = report::markdown(&report::tickets(&report::diagnosis(&diagnosis())));
    assert!(text.contains("diagnose\\` on your recording"), "{text}");
    assert!(!text.contains("FILE") && !text.contains("To repeat it"), "{text}");
}

#[test]
fn a_ticket_of_machines_that_are_well_is_one_and_shows_hostile_names_as_text() {
    let mut well = diagnosis();
    well.devices.truncate(1);
    well.devices.push(well.devices[0].clone());
    for device in &mut well.devices {
        device.device = "<img src=x>\u{1b}[2J".to_owned();
    }
    well.host = Some("[a](javascript:b)".to_owned());
    let tickets = report::tickets(&report::diagnosis(&well));
    assert_eq!(tickets.len(), 1);
    let text = report::markdown(&tickets);
    let outside_code: String = text.lines().filter(|line| !line.starts_with("- `")).collect();
    for markup in [" <img", "[a]("] {
        assert!(!outside_code.contains(markup), "{markup:?}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
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

/// A page with a single table.
pub(crate) fn printed(columns: Vec<Column>, rows: &[&[&str]]) -> String {
    let cell = |text: &&str| Cell { text: (*text).to_owned(), ..Cell::default() };
    let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let blocks = vec![Block::Table(Table { columns, rows })];
    let sections = vec![Section { blocks, ..Section::default() }];
    report::terminal(&Story { sections, ..Story::default() }, &Style::default())
}

#[test]
fn a_table_that_is_too_wide_loses_its_most_expendable_column_whole() {
    let right = Column { side: Side::Right, gap: 2, ..Column::default() };
    let left = Column { gap: 2, ..Column::default() };
    let columns = vec![left.clone(), Column { expendable: 1, ..left }, right];
    let long = "x".repeat(40);
    let text = printed(columns, &[&[&long, "gone", &long[..34]], &["a", "gone", "b"]]);
    assert!(!text.contains("gone"), "{text}");
    assert_eq!(text.lines().map(|line| line.chars().count()).max(), Some(78));
}

#[test]
fn a_title_over_a_group_spans_its_columns() {
    let grouped = Column { side: Side::Right, group: "g".to_owned(), ..Column::default() };
    let columns =
        vec![Column::default(), Column { gap: 2, ..grouped.clone() }, Column { gap: 1, ..grouped }];
    let text = printed(columns, &[&["ab", "1234", "56"]]);
    assert!(text.ends_with("    g ─────\nab  1234 56\n"), "{text}");
}

/// A finding as printed on a page.
fn support(claim: &str, numbers: &[(f64, &str)]) -> String {
    let finding = Finding::new(FindingCode::Drift, Severity::Info, claim, "");
    let finding =
        numbers.iter().fold(finding, |finding, (value, unit)| finding.with("n", *value, unit));
    let text = report::findings_text(&[finding], &Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_prefix("note ").unwrap().strip_suffix(" [drift]").unwrap().to_owned()
}

#[test]
fn a_number_that_the_claim_states_is_not_repeated_and_at_most_two_are_printed() {
    let claim = "It became 7.9 % faster, 64 of 67 cells, 2 GiB, ±14 %.";
    let stated = [(-0.0794, "share"), (64.0, ""), (67.0, ""), (0.138, "share")];
    assert_eq!(support(claim, &stated), claim);
    assert_eq!(support(claim, &[((2u64 << 30) as f64, "bytes")]), claim);
    assert_eq!(support(claim, &[(6.0, "")]), format!("{claim} (n: 6)"), "not a part of 64");
    assert_eq!(support(claim, &[(0.123, "share")]), format!("{claim} (n: 12 %)"));
    assert_eq!(support("So.", &[(1.0, ""), (2.0, ""), (3.0, "")]), "So. (n: 1, n: 2)");
}

#[test]
fn an_interval_of_a_comparison_is_written_out_where_its_ends_say_something() {
    let interval = |low: f64, high: f64| {
        let row = json!({
            "metric": "rate_per_s", "a": 1.0, "b": 1.0, "n_a": 3, "n_b": 3, "paired": false,
            "ratio": 1.0, "ratio_low": low, "ratio_high": high, "p_adjusted": null,
            "verdict": "same", "reason": null, "fails": false,
        });
        let side = json!({
            "given": "x", "kind": "trial", "ids": ["x"], "arm": {}, "time": null,
            "simulated": false, "target": "/data", "unit": "run", "trials_left_out": 0,
            "level_se_rel": null,
        });
        let comparison: Comparison = serde_json::from_value(json!({
            "schema": "", "halfpower_version": "0", "id": "", "a": side, "b": side,
            "conditions": [], "cells": [], "overall": row, "groups": [],
            "false_alarm_rate": 0.05, "tests": 1, "fail_on_worse_rel": null, "notes": [],
        }))
        .unwrap();
        report::comparison(&comparison).facts[0].value.clone()
    };
    assert!(interval(0.86, 0.94).contains("(-14 to -6 %)"), "{}", interval(0.86, 0.94));
    assert!(interval(0.5, 4.2).contains("(0.500 to 4.20)"));
    assert!(interval(1e-8, 8.6e13).contains("(not bounded)"));
}

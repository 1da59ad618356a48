//! Tests the page and the tickets of a diagnosis of one device and of several.

use crate::report::common::{bare, diagnosis};
use record::{Activity, CauseCode, Confidence, Diagnosis, Excluded, Verdict};
use report::{Block, Extent, Style, Tone};

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
fn the_first_action_is_for_the_shown_episode_or_names_its_own() {
    let mut two = diagnosis();
    two.devices.remove(0);
    let device = &mut two.devices[0];
    let mut later = device.episodes[0].clone();
    later.causes[0].claim = "The later cause.".to_owned();
    device.episodes.push(later);
    device.worst = Some(1);
    let text = |of: &Diagnosis| {
        let short = Style { extent: Extent::Short, ..Style::default() };
        bare(&report::terminal(&report::diagnosis(of), &short))
    };
    let other = text(&two);
    for words in ["The later cause.", "episode 1: Look at the log.", "episode 1: unknown: no model"]
    {
        assert!(other.contains(&bare(words)), "{words}: {other}");
    }
    let device = &mut two.devices[0];
    let mut own = device.advice[0].clone();
    (own.episode, own.action) = (1, "Wait.".to_owned());
    device.advice.push(own);
    let own = text(&two);
    assert!(own.contains(&bare("do first Wait.")) && !own.contains(&bare("episode 1:")), "{own}");
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
fn a_ticket_of_a_capped_group_says_which_wait_the_latency_excludes() {
    let mut capped = diagnosis();
    let ticket = |of: &Diagnosis| report::markdown(&report::tickets(&report::diagnosis(of)));
    assert!(!ticket(&capped).contains("not included"), "{}", ticket(&capped));
    capped.devices[1].episodes[0].causes[0].code = CauseCode::CgroupLimit;
    let text = ticket(&capped);
    assert!(text.contains("- not included: the wait before the limit"), "{text}");
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

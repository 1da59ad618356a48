//! Prints settings to paste: the derivation as comments, then the line.
//!
//! On a terminal the page is the file. Everything else is a comment in the syntax of the target program, so
//! that the whole output can be redirected into place. A setting without a value is a comment, too.

use crate::page::{escape, wrap};
use crate::story::{Story, joined, number};
use record::{Setting, Settings};
use std::collections::BTreeSet;

/// Width of a comment in columns.
const COLUMNS: usize = 80;

/// The story of settings, including the file.
pub fn settings(settings: &Settings) -> Story {
    let subject = format!("{} for {}", settings.program, settings.target);
    let mut story = Story::new("Settings", subject, settings.simulated);
    let known = settings.settings.iter().filter(|one| one.value.value().is_some()).count();
    let missing = settings.settings.len() - known;
    let without = match missing {
        0 => String::new(),
        1 => "; 1 has no value (reason below)".to_owned(),
        _ => format!("; {} have no value (reasons below)", number::count(missing as f64)),
    };
    let (all, follow) =
        (number::counted(known as f64, "setting"), if known == 1 { "follows" } else { "follow" });
    story.headline = format!("{all} {follow} from the profile{without}.");
    let section = story.section("Each setting and why", "");
    for one in &settings.settings {
        match one.value.known() {
            Ok(value) => section.row(&format!("{} = {value}", one.name), &one.derivation),
            Err(reason) => section.row(&one.name, format!("no value: {reason}")),
        }
    }
    story.texts.push((format!("For {}", settings.place), settings_text(settings)));
    story.commands_answer = true;
    story.condition("profile", &settings.profile_id);
    let measured = settings.profile_time.as_deref().map(number::when);
    story.condition("measured", measured.unwrap_or_default());
    story.written_by(&settings.halfpower_version);
    story
}

/// The text of the file.
#[must_use]
pub fn settings_text(settings: &Settings) -> String {
    let mut text = String::new();
    let mut target = escape(&settings.target);
    target.extend(settings.simulated.then_some(", SIMULATED"));
    let measured = settings.profile_time.as_deref().map(number::when);
    target.extend(measured.map(|time| format!(", measured {time}")));
    comment(&mut text, &format!("{} for {target}", settings.program));
    comment(&mut text, &format!("profile {}; goes in {}", settings.profile_id, settings.place));
    let any = settings.settings.iter().any(|setting| !setting.lines.is_empty());
    if any && !settings.head.is_empty() {
        text.push('\n');
        settings.head.iter().for_each(|line| push(&mut text, line));
    }
    if !any {
        text.push('\n');
        comment(&mut text, &without_settings(settings));
    }
    for setting in settings.settings.iter().filter(|one| any || one.value.value().is_some()) {
        text.push('\n');
        one(&mut text, setting);
    }
    text
}

/// Why a profile supports no setting, each reason once, and what would help.
fn without_settings(settings: &Settings) -> String {
    let reasons = settings.settings.iter().filter_map(|one| one.value.reason());
    let reasons: BTreeSet<&str> = reasons.collect();
    let (reasons, program) = (joined(reasons, "; ", str::to_owned), &settings.program);
    // A reason that names its own check needs a larger budget than the usual one.
    let check = match reasons.contains("halfpower check ") {
        true => "",
        false => " `halfpower check DIR` on the disk measures the missing values.",
    };
    format!("This profile does not determine any setting of {program}: {reasons}.{check}")
}

fn one(text: &mut String, setting: &Setting) {
    let about = match setting.value.known() {
        Ok(value) if setting.lines.is_empty() => {
            format!("{} = {value}: {}", setting.name, setting.derivation)
        }
        Ok(_) => setting.derivation.clone(),
        Err(reason) => format!("{}: no value: {reason}", setting.name),
    };
    comment(text, &about);
    if setting.value.value().is_some() {
        setting.lines.iter().for_each(|line| push(text, &escape(line)));
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn comment(text: &mut String, words: &str) {
    for line in wrap(&escape(words), COLUMNS - 2, COLUMNS - 2) {
        push(text, &format!("# {line}"));
    }
}

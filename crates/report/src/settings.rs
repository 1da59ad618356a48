//! Settings to paste: comments with the derivation, then the line.
//!
//! The page is the file. Everything that is not a setting is a comment of that program's, so that
//! the whole output can be redirected into place; a setting without a value is a comment, too.

use crate::number;
use crate::page::{escape, wrap};
use record::{Measured, Setting, Settings};

/// Columns of a comment.
const COLUMNS: usize = 80;

/// The file.
#[must_use]
pub fn settings_text(settings: &Settings) -> String {
    let mut text = String::new();
    let mut target = escape(&settings.target);
    if settings.simulated {
        target.push_str(", SIMULATED");
    }
    if let Some(time) = &settings.profile_time {
        target.push_str(&format!(", measured {}", number::when(time)));
    }
    comment(&mut text, &format!("{} for {target}", settings.program));
    comment(
        &mut text,
        &format!("profile {}; belongs into {}", settings.profile_id, settings.place),
    );
    let any = settings.settings.iter().any(|setting| !setting.lines.is_empty());
    if any && !settings.head.is_empty() {
        text.push('\n');
        settings.head.iter().for_each(|line| push(&mut text, line));
    }
    for setting in &settings.settings {
        text.push('\n');
        one(&mut text, setting);
    }
    text
}

fn one(text: &mut String, setting: &Setting) {
    match &setting.value {
        Measured::Value(value) => {
            let about = if setting.lines.is_empty() {
                format!("{} = {}: {}", setting.name, escape(value), setting.derivation)
            } else {
                setting.derivation.clone()
            };
            if !about.is_empty() {
                comment(text, &about);
            }
            setting.lines.iter().for_each(|line| push(text, &escape(line)));
        }
        Measured::NotMeasured { not_measured } => {
            comment(text, &format!("{}: not measured: {not_measured}", setting.name));
        }
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

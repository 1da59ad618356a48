//! Renders stories as a terminal page, as Markdown, and as the findings without the data (`report
//! --json`). The web page is in `html`, CSV is in `csv`.

mod markdown;
pub(crate) mod table;
mod terminal;
mod ticket;

pub use markdown::markdown;
pub use terminal::{findings_text, terminal};
pub use ticket::tickets;

use crate::story::Story;
use serde_json::{Value, json};

/// The findings of the documents. `written` are the files written in addition.
#[must_use]
pub fn summary(stories: &[Story], halfpower_version: &str, written: &[String]) -> Value {
    json!({
        "schema": "halfpower/report/1",
        "halfpower_version": halfpower_version,
        "documents": stories.iter().map(of_story).collect::<Vec<_>>(),
        "written": written,
    })
}

fn of_story(story: &Story) -> Value {
    fn list<T>(all: &[T], value: impl Fn(&T) -> Value) -> Vec<Value> {
        all.iter().map(value).collect()
    }
    json!({
        "kind": story.kind,
        "subject": story.subject,
        "id": story.id,
        "simulated": story.simulated,
        "clean": story.not_valid().is_none(),
        "verdicts": list(&story.badges, |badge| {
            json!({"subject": badge.subject, "verdict": badge.words, "because": badge.because,
                "answers": badge.answers})
        }),
        "headline": story.headline,
        "facts": list(&story.facts, |fact| {
            json!({"name": fact.name, "of": fact.of, "value": fact.value})
        }),
        "actions": list(&story.actions, |action| {
            json!({"subject": action.subject, "what": action.what, "details": action.details})
        }),
        "plots": list(&story.charts, |chart| {
            json!({"title": chart.title, "finding": chart.finding})
        }),
        "left_out": story.left_out,
        "commands": story.commands,
    })
}

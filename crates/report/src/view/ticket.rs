//! Turns a story into a ticket for another team: the claim first, then time and place, the cost,
//! the evidence, what it excludes, the alternatives and how to decide between them, the request,
//! and the commands that show the problem.
//!
//! A ticket contains only what the story contains: it leaves parts out, reorders them, and states
//! the request. It is therefore a story too, and every view can render it.

use crate::story::{Action, Badge, Level, REPEAT, Section, Story, joined, prefix, sentence};

/// Number of requested actions: the first advice, and others as alternatives.
const ASKED: usize = 3;

/// Conditions that identify the document or repeat it. Others may contain private names.
const MADE_OF: [&str; 4] = ["observation", "version", "id", REPEAT];

/// A ticket for each verdict that is not folded; if there is none, for the first verdict.
#[must_use]
pub fn tickets(story: &Story) -> Vec<Story> {
    let own: Vec<&Badge> = story.verdicts().collect();
    let badges = if own.is_empty() { story.badges.iter().take(1).collect() } else { own };
    badges.into_iter().map(|badge| ticket(story, badge)).collect()
}

fn ticket(story: &Story, badge: &Badge) -> Story {
    let subject = format!("{}{}", prefix(&badge.subject), story.subject);
    let mut ticket = Story::new(&badge.words, subject, story.simulated);
    ticket.headline.clone_from(&badge.because);
    let own = |section: &&Section| section.ticket.as_ref() == Some(&badge.subject);
    let open = |section: &Section| {
        let title = section.title.strip_prefix(&prefix(&badge.subject)).unwrap_or(&section.title);
        Section { title: title.to_owned(), level: Level::Essential, ..section.clone() }
    };
    ticket.sections.extend(story.sections.iter().filter(own).map(open));
    if !badge.alternatives.is_empty() {
        let section = ticket.section("What else it may be", "");
        for other in &badge.alternatives {
            section
                .row(&other.what, format!("{} To decide: {}", other.because, other.how_to_check));
        }
    }
    let section = ticket.section("What we need from you", "");
    let asked = story.actions.iter().filter(|action| action.subject == badge.subject);
    asked.take(ASKED).for_each(|action| section.item(asking(action)));
    let made_of = |(name, _): &&(String, String)| MADE_OF.contains(&name.as_str());
    ticket.conditions.extend(story.conditions.iter().filter(made_of).cloned());
    ticket.commands.clone_from(&story.commands);
    ticket
}

fn asking(action: &Action) -> String {
    let details = action.details.iter().filter(|(name, _)| name != "cause");
    let details = details.map(|(name, text)| sentence([format!("{name}: {text}")], ""));
    joined(std::iter::once(action.what.clone()).chain(details), " ", |words| words)
}

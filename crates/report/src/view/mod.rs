//! The views of stories: a page of a terminal, Markdown and CSV. The web page is `html`.

mod csv;
mod markdown;
mod summary;
mod table;
mod terminal;

pub use csv::{csv, csv_header};
pub use markdown::markdown;
pub use summary::summary;
pub use terminal::{findings_text, terminal};

/// A subject before its text; nothing for an empty one.
fn prefix(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!("{subject}: ") }
}

//! The views of stories: a page of a terminal, Markdown and CSV. The web page is `html`.

mod csv;
mod markdown;
mod summary;
pub(crate) mod table;
mod terminal;

pub use csv::{csv, csv_header};
pub use markdown::markdown;
pub use summary::summary;
pub use terminal::{findings_text, terminal};

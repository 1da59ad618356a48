//! The views of stories: a page of a terminal, Markdown and a summary. The web page is `html`, CSV is
//! `csv`.

mod markdown;
mod summary;
pub(crate) mod table;
mod terminal;

pub use markdown::markdown;
pub use summary::summary;
pub use terminal::{findings_text, terminal};

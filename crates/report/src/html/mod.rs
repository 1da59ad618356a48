//! Self-contained HTML pages.
//!
//! A page is one file that needs no network: it is mailed, committed, opened years later. Light and
//! dark follow the reader's system; a narrow screen gets one column, and tables that are wider than
//! it scroll by themselves. Nothing that a page says needs its script, which mail and viewers strip.
//! A policy in the head lets the browser run that one script, known by its hash, and fetch nothing,
//! so that a mistake in escaping would still not become code. Rejected: a plotting library from a
//! server (the page would be empty without it) or in the page (ten times its size, for plots that
//! are not those of the papers).
//!
//! The pages are templates (`templates/*.html`), which escape whatever they write; the frame is
//! `page.html`. Characters that steer a terminal are written out in the whole page at the end: pages
//! are looked at in terminals, too.

mod report;

pub use report::report_html;

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};

/// The first line of every page, by which a file is known as one.
pub const HTML_HEAD: &str = "<!DOCTYPE html><!-- halfpower page -->";

/// Layout, and the colours that are not those of the drawings.
pub(crate) const STYLE: &str = include_str!("page.css");
/// The script of a page with plots.
pub(crate) const SCRIPT: &str = include_str!("page.js");
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

fn script_policy(script: &str) -> String {
    format!(";script-src 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)))
}

//! Self-contained HTML pages: escaping, the frame, the look.
//!
//! A page is one file that needs no network: it is mailed, committed, opened years later. Light and
//! dark follow the reader's system; a narrow screen gets one column, and tables that are wider than
//! it scroll by themselves. Nothing that a page says needs its script, which mail and viewers strip.
//! A policy in the head lets the browser run that one script, known by its hash, and fetch nothing,
//! so that a mistake in escaping would still not become code. Rejected: a plotting library from a
//! server (the page would be empty without it) or in the page (ten times its size, for plots that
//! are not those of the papers).
//!
//! `report` is the page of `halfpower report`.

mod report;

pub use report::report_html;

use crate::chart::CHART_STYLE;
use sha2::{Digest, Sha256};

/// The first line of every page, by which a file is known as one.
pub const HTML_HEAD: &str = "<!DOCTYPE html><!-- halfpower page -->";

/// Layout, and the colours that are not those of the drawings.
const STYLE: &str = include_str!("page.css");

/// Text as it may stand in HTML, in an element or in a quoted attribute. Characters that steer a
/// terminal are written out as well: pages are looked at in terminals, too.
#[must_use]
pub(crate) fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in crate::escape(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A whole page. `title` is text, `body` is HTML, `script` is ours and may be empty.
pub(crate) fn page(title: &str, body: &str, script: &str) -> String {
    let title = escape_html(title);
    let (policy, script) = if script.is_empty() {
        (String::new(), String::new())
    } else {
        let hash = base64(&Sha256::digest(script.as_bytes()));
        (format!(";script-src 'sha256-{hash}'"), format!("<script>{script}</script>\n"))
    };
    format!(
        "{HTML_HEAD}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';\
         style-src 'unsafe-inline';base-uri 'none';form-action 'none'{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{CHART_STYLE}\n{STYLE}</style></head>\n<body>\n\
         <h1>{title}</h1>\n{body}{script}</body></html>\n"
    )
}

/// Base 64 (RFC 4648, section 4), in which a policy names a hash.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let text = escape_html("<img src=x onerror=\"a('b')\"> & \u{1b}[2J");
        assert_eq!(text, "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt; &amp; \\x1b[2J");
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let page = page("a < b", "<p>c</p>\n", "");
        assert!(page.starts_with(HTML_HEAD));
        assert!(page.contains("<title>a &lt; b</title>"));
        for outside in ["http:", "https:", "src=", "url(", "@import", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_policy_lets_the_pages_own_script_run_and_no_other() {
        let page = page("", "", "let a = 1;");
        // By `printf 'let a = 1;' | openssl dgst -sha256 -binary | base64`.
        let hash = "xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck=";
        assert!(page.contains(&format!("script-src 'sha256-{hash}'\"")), "{page}");
        assert!(!page.contains("script-src 'unsafe"), "{page}");
    }

    #[test]
    fn base64_pads_what_is_left_over() {
        // RFC 4648, section 10.
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(texts.map(|text| base64(text.as_bytes())), expected);
    }
}

//! Self-contained HTML pages: escaping, the frame, the look.
//!
//! A page is one file that needs no network and no script: it is mailed, committed, opened years
//! later. Light and dark follow the reader's system; a narrow screen gets one column, and tables
//! that are wider than it scroll by themselves. Rejected: a plotting library from a server (the page
//! would be empty without it), and a script in the page (mail and viewers strip it).

/// The first line of every page, by which a file is known as one.
pub const HTML_HEAD: &str = "<!DOCTYPE html><!-- halfpower page -->";

/// Colours and layout. Series colours are those of Okabe and Ito, darkened or lightened until each
/// has a contrast of at least 3 to the page; series differ by marker and dash as well.
const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--ink:#1a1a1a;--faint:#5c5c5c;--rule:#d4d4d4;--good:#00634a;\
--bad:#a83200;--s0:#0065a3;--s1:#b84a00;--s2:#00795a;--s3:#a04488;--s4:#7a5a00;--s5:#4f4f4f}\
@media(prefers-color-scheme:dark){:root{--page:#15171a;--ink:#e8e8e8;--faint:#a8a8a8;--rule:#3c4046;\
--good:#3fd0a4;--bad:#ff9a66;--s0:#6cbcf0;--s1:#ff9a57;--s2:#3fd0a4;--s3:#eaa0d0;--s4:#e2be3c;--s5:#bdbdbd}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--page);color:var(--ink);\
font:16px/1.45 system-ui,sans-serif}\
h1{font-size:1.5rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:2px solid var(--rule)}\
h3{font-size:1.05rem;margin:1.8rem 0 .4rem}h4{font-size:.95rem;margin:1.2rem 0 .3rem}\
.faint{color:var(--faint)}.good{color:var(--good)}.bad{color:var(--bad);font-weight:600}\
.answer{font-size:1.3rem;font-weight:600}\
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1rem}\
figure{margin:0}figcaption{color:var(--faint);font-size:.85rem}\
svg{display:block;width:100%;height:auto}\
svg text{fill:var(--ink);font:11px system-ui,sans-serif}\
.axis{stroke:var(--faint);fill:none}.grid{stroke:var(--rule);fill:none}\
.legend{list-style:none;padding:0;margin:.4rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem}\
.legend svg{display:inline-block;width:34px;height:12px;vertical-align:middle}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0;width:100%}\
th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule);vertical-align:top}\
td.number,th.number{text-align:right;white-space:nowrap}\
details{font-size:.85rem}code{font-size:.8rem;overflow-wrap:anywhere}";

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

/// A whole page. `title` is text, `body` is HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escape_html(title);
    format!(
        "{HTML_HEAD}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n{body}\
         </body></html>\n"
    )
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
        let page = page("a < b", "<p>c</p>\n");
        assert!(page.starts_with(HTML_HEAD));
        assert!(page.contains("<title>a &lt; b</title>"));
        for outside in ["http:", "https:", "src=", "url(", "@import", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}

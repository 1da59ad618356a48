//! Findings: what is wrong or worth knowing, on which numbers it rests, what to do about it.
//!
//! The worst come first. The code of a finding is printed, because it is what one searches for in
//! the documentation and in other people's logs. The remedy has a line of its own: a reader in a
//! hurry looks for arrows.

use crate::page::{Page, Span, Tone};
use crate::{Style, number};
use record::{Confidence, Evidence, Finding, Severity};

/// Findings, the most severe first; empty text without any.
#[must_use]
pub fn findings_text(findings: &[Finding], style: &Style) -> String {
    let mut page = Page::new(style);
    print(&mut page, findings);
    page.finish()
}

/// The same, on a page.
pub(crate) fn print(page: &mut Page, findings: &[Finding]) {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in sorted {
        let (label, tone) = match finding.severity {
            Severity::Invalid => ("INVALID", Tone::Bad),
            Severity::Warning => ("warning", Tone::Warn),
            Severity::Info => ("note", Tone::Strong),
        };
        let lead =
            vec![Span::plain("  "), Span::new(format!("{label:<7}"), tone), Span::plain("  ")];
        page.hanging(lead, &supported(finding), Tone::Plain);
        if !finding.remedy.trim().is_empty() {
            let arrow = Span::plain(format!("{:11}→ ", ""));
            page.hanging(vec![arrow], &finding.remedy, Tone::Plain);
        }
    }
}

/// A line that says how many findings make the document invalid; nothing where none does.
pub(crate) fn print_verdict(page: &mut Page, findings: &[Finding]) {
    let invalid: Vec<&Finding> =
        findings.iter().filter(|finding| finding.severity == Severity::Invalid).collect();
    if let [first, rest @ ..] = invalid.as_slice() {
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" ({count} more under Findings)"),
        };
        page.hanging(
            vec![Span::new("NOT VALID: ", Tone::Bad)],
            &format!("{}{more}", first.claim.trim()),
            Tone::Bad,
        );
    }
}

/// The claim with its support and its code: `It drifted. (likely; change: 12 %) [drift]`.
fn supported(finding: &Finding) -> String {
    let numbers: Vec<String> = finding.evidence.iter().map(evidence).collect();
    let sure = match finding.confidence {
        Confidence::Certain => None,
        Confidence::Likely => Some("likely".to_owned()),
        Confidence::Possible => Some("possible".to_owned()),
    };
    let numbers = Some(numbers.join(", ")).filter(|numbers| !numbers.is_empty());
    let support: Vec<String> = [sure, numbers].into_iter().flatten().collect();
    let support =
        if support.is_empty() { String::new() } else { format!(" ({})", support.join("; ")) };
    format!("{}{support} [{}]", finding.claim.trim(), finding.code.name())
}

/// One number with its unit; units that have a format of their own get it.
fn evidence(evidence: &Evidence) -> String {
    let value = evidence.value;
    let text = match evidence.unit.as_str() {
        "ns" => number::time(value),
        "us" | "µs" => number::time(value * 1e3),
        "ms" => number::time(value * 1e6),
        "s" => number::time(value * 1e9),
        "bytes" | "B" => number::in_unit(record::Unit::Bytes, value),
        "bytes/s" | "B/s" | "bytes_per_s" => number::rate(value),
        "/s" | "1/s" | "per_s" | "per s" | "IOPS" | "iops" => number::per_second(value),
        "share" => number::percent_text(value),
        "" => number::count(value),
        unit => format!("{} {unit}", number::count(value)),
    };
    format!("{}: {text}", evidence.what)
}

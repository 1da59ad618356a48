//! Formats findings: what is wrong or worth knowing, the supporting numbers, and what to do.
//!
//! The worst come first. The code of a finding is printed at its end, because users search for it
//! in the documentation and in other logs. The remedy has a separate line, because a reader in a
//! hurry looks for arrows. At most two of the numbers are printed, and none that the claim already
//! states: the document has all of them.

use crate::story::{bracketed, doubt, joined};
use record::{Evidence, Finding, format_with_unit};

const NUMBERS: usize = 2;

/// The claim with its confidence, if below certain: `It drifted. (likely)`.
pub(crate) fn doubted(finding: &Finding) -> String {
    format!("{}{}", finding.claim.trim(), bracketed(doubt(finding.confidence), ""))
}

/// The claim with confidence and numbers: `It drifted. (likely; change: 12 %)`.
pub(crate) fn supported(finding: &Finding) -> String {
    let new = finding.evidence.iter().filter(|evidence| !states(&finding.claim, evidence));
    let numbers = joined(new.take(NUMBERS), ", ", |evidence| {
        format!("{}: {}", evidence.what, number_text(evidence))
    });
    let support = doubt(finding.confidence).into_iter().chain([numbers]);
    let support = support.filter(|words| !words.is_empty());
    format!("{}{}", finding.claim.trim(), bracketed(support, "; "))
}

/// Whether a claim contains a number: as it would be printed here or, for counts and shares,
/// rounded to the claim's digits; without its sign, which a claim expresses in words.
fn states(claim: &str, evidence: &Evidence) -> bool {
    let plain = match evidence.unit.as_str() {
        "share" => evidence.value.abs() * 100.0,
        "" => evidence.value.abs(),
        _ => return claim.contains(&number_text(evidence)),
    };
    let numbers = claim.split(|c: char| !c.is_ascii_digit() && c != '.');
    numbers.map(|text| text.trim_matches('.')).filter(|text| !text.is_empty()).any(|text| {
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        format!("{plain:.decimals$}") == text
    })
}

/// A number with its unit, in the unit's own format if there is one.
pub(crate) fn number_text(evidence: &Evidence) -> String {
    match (evidence.value, evidence.unit.as_str()) {
        (value, "") if value > 0.0 && value < 0.0005 => "<0.001".to_owned(),
        (value, unit) => format_with_unit(value, unit),
    }
}

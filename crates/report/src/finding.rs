//! Findings: what is wrong or worth knowing, on which numbers it rests, what to do about it.
//!
//! The worst come first. The code of a finding is printed at its end, because it is what one searches for in
//! the documentation and in other people's logs. The remedy has a line of its own: a reader in a
//! hurry looks for arrows. Of the numbers behind a finding two are printed, and none that its claim
//! states already: the document has them all.

use crate::number;
use record::{Confidence, Evidence, Finding};

/// Numbers that are printed behind a claim.
const NUMBERS: usize = 2;

/// The claim with its support: `It drifted. (likely; change: 12 %)`.
pub(crate) fn supported(finding: &Finding) -> String {
    let new = finding.evidence.iter().filter(|evidence| !states(&finding.claim, evidence));
    let numbers: Vec<String> = new.take(NUMBERS).map(evidence).collect();
    let sure = match finding.confidence {
        Confidence::Certain => None,
        Confidence::Likely => Some("likely".to_owned()),
        Confidence::Possible => Some("possible".to_owned()),
    };
    let numbers = Some(numbers.join(", ")).filter(|numbers| !numbers.is_empty());
    let support: Vec<String> = [sure, numbers].into_iter().flatten().collect();
    let support =
        if support.is_empty() { String::new() } else { format!(" ({})", support.join("; ")) };
    format!("{}{support}", finding.claim.trim())
}

/// Whether a claim holds a number: as it would be printed here, or, for counts and shares, rounded
/// to the digits that the claim gives; without its sign, which a claim puts in words.
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

fn evidence(evidence: &Evidence) -> String {
    format!("{}: {}", evidence.what, number_text(evidence))
}

/// A number with its unit; units that have a format of their own get it.
fn number_text(evidence: &Evidence) -> String {
    let value = evidence.value;
    match evidence.unit.as_str() {
        "ns" => number::time(value),
        "us" | "µs" => number::time(value * 1e3),
        "ms" => number::time(value * 1e6),
        "s" => number::time(value * 1e9),
        "bytes" | "B" => number::in_unit(record::Unit::Bytes, value),
        "bytes/s" | "B/s" | "bytes_per_s" => number::rate(value),
        "IOPS" => number::per_second(value),
        "share" => number::percent(value),
        "" if value > 0.0 && value < 0.0005 => "<0.001".to_owned(),
        "" => number::count(value),
        unit => format!("{} {unit}", number::count(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{FindingCode, Severity};

    fn support(claim: &str, numbers: &[(f64, &str)]) -> String {
        let finding = Finding::new(FindingCode::Drift, Severity::Info, claim, "");
        let finding =
            numbers.iter().fold(finding, |finding, (value, unit)| finding.with("n", *value, unit));
        supported(&finding)
    }

    #[test]
    fn a_number_that_the_claim_states_is_not_repeated() {
        let claim = "It became 7.9 % faster, 64 of 67 cells, 2 GiB, ±14 %.";
        let stated = [(-0.0794, "share"), (64.0, ""), (67.0, ""), (0.138, "share")];
        assert_eq!(support(claim, &stated), claim);
        assert_eq!(support(claim, &[((2u64 << 30) as f64, "bytes")]), claim);
        assert_eq!(support(claim, &[(6.0, "")]), format!("{claim} (n: 6)"), "not a part of 64");
        assert_eq!(support(claim, &[(0.123, "share")]), format!("{claim} (n: 12 %)"));
    }

    #[test]
    fn at_most_two_numbers_are_printed() {
        let numbers = [(1.0, ""), (2.0, ""), (3.0, "")];
        assert_eq!(support("So.", &numbers), "So. (n: 1, n: 2)");
    }
}

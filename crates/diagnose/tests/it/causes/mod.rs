//! Tests that the table of checks and the documentation page agree.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use diagnose::causes::{self, Basis, TABLE};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../../docs/causes.md");

/// The columns of each row of the page, by row number.
fn rows() -> BTreeMap<u8, Vec<&'static str>> {
    let columns = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    let rows = PAGE.lines().filter(|line| line.starts_with("| "));
    let rows = rows.map(|line| -> Vec<&'static str> { columns(line) });
    // Other tables of the page also number their rows, but have fewer columns.
    let rows = rows.filter(|row| row.len() == 6);
    rows.filter_map(|row| Some((row.first()?.parse().ok()?, row))).collect()
}

/// Texts formatted as code.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_cause_has_a_row_with_the_checks_and_rules_that_name_it_and_how_it_was_staged() {
    let rows = rows();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), (1..=27).collect::<Vec<_>>());
    for (number, row) in &rows {
        assert_eq!(row.len(), 6, "row {number}");
        assert!(row.iter().all(|column| !column.is_empty()), "row {number}");
        let mut known: Vec<String> = Vec::new();
        for check in TABLE.iter().filter(|check| check.causes.contains(number)) {
            known.push(check.name.to_owned());
            if let Basis::Rule(codes) = check.basis {
                known.extend(codes.iter().map(|code| code.name()));
            }
        }
        // A rule on counters also names flushes, but it shows nothing about the drive.
        if *number == 1 {
            known.push("many_flushes".to_owned());
        }
        let mut told: Vec<String> = names(row[3]).into_iter().map(str::to_owned).collect();
        known.sort();
        known.dedup();
        told.sort();
        told.dedup();
        assert_eq!(told, known, "row {number}");
    }
}

#[test]
fn a_row_that_says_fixture_has_a_check_that_reads_or_judges() {
    for (number, row) in rows() {
        let judged = |check: &&causes::Check| matches!(check.basis, Basis::Facts { .. });
        let own = TABLE.iter().filter(judged).any(|check| check.causes.contains(&number));
        assert_eq!(row[5].contains("fixture"), own, "row {number}");
    }
}

#[test]
fn the_page_says_what_each_check_reads_and_where_that_is_documented() {
    for check in &TABLE {
        let begin = format!("| `{}` | {} | [source]({}) |", check.name, check.reads, check.source);
        assert!(PAGE.contains(&begin), "{begin}");
    }
}

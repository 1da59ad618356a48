//! Compares the page of all parameters with the tables of the simulator.
//!
//! `HALFPOWER_BLESS=1` rewrites the page; review the difference before you commit it.

use simdisk::{FAMILIES, parts};
use std::path::Path;

const PAGE: &str = "docs/parameters.md";

/// A number with its digits grouped in threes.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn page() -> String {
    let mut text = "# Parameters of the simulated machines\n\nThis page lists every number of the \
                    simulated disks, buses, adapters and hosts, with its source. A value is from a \
                    **paper**, **derived** from published values, **assumed** (if nothing is \
                    published and little depends on it), or **fitted** to the one figure that is \
                    named and not changed since. [Machines](machines.md#names-of-parameters) \
                    explains the parts and the names of parameters. This page is generated from the \
                    files in `crates/simdisk/catalogue` and the tables of keys (`HALFPOWER_BLESS=1 \
                    cargo test -p halfpower-simdisk parameters`); do not edit it.\n"
        .to_owned();
    for part in parts() {
        text.push_str(&format!("\n## {}: {}\n\n{}\n\n", part.kind, part.name, part.help));
        text.push_str("| parameter | value | unit | source |\n|---|---:|---|---|\n");
        for row in &part.parameters {
            let (value, source) = (grouped(row.value), &row.source);
            text.push_str(&format!("| {} | {value} | {} | {source} |\n", row.name, row.unit));
        }
    }
    for family in FAMILIES {
        text.push_str(&format!("\n## Keys: {}\n\n", family.title));
        text.push_str("| name | meaning |\n|---|---|\n");
        for kind in family.kinds {
            let changes: Vec<String> = family
                .changes(kind)
                .iter()
                .map(|(key, value)| format!("`{key}={value}`"))
                .collect();
            let changes = if changes.is_empty() {
                String::new()
            } else {
                format!(" ({})", changes.join(" "))
            };
            text.push_str(&format!("| `{}` | {}{changes} |\n", kind.name, kind.help));
        }
        text.push_str("\n| key | default | meaning |\n|---|---|---|\n");
        for key in family.keys() {
            text.push_str(&format!("| `{}` | {} | {} |\n", key.name, key.default, key.help));
        }
    }
    text
}

#[test]
fn the_page_of_parameters_says_what_the_simulator_is_made_of() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = page();
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is stale: HALFPOWER_BLESS=1 cargo test -p halfpower-simdisk parameters",
        path.display()
    );
}

#[test]
fn every_parameter_says_where_it_comes_from_and_what_was_fitted_names_its_figure() {
    let mut rows = 0;
    for part in parts() {
        for row in &part.parameters {
            rows += 1;
            let (word, text) = row.source.split_once(": ").unwrap_or_default();
            let known = ["paper", "derived", "assumed", "fitted"].contains(&word);
            assert!(known && text.len() > 3, "{}: {}: {}", part.name, row.name, row.source);
            let named = ["figure", "Table", "table", "section"].iter().any(|w| text.contains(w));
            assert!(word != "fitted" || named, "{}: {}: {text}", part.name, row.name);
        }
    }
    assert!(rows > 100, "{rows}");
}

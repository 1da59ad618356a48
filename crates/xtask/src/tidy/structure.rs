//! Checks the table in ARCHITECTURE.md: crates depend only on crates above them.
//!
//! The dependencies come from `cargo metadata`. Dependencies of tests do not count.

use super::{File, Problem};
use crate::{child, place};
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The page with the table of crates.
const MAP: &str = "ARCHITECTURE.md";

/// Checks the table of crates.
pub(super) fn check(root: &Path, files: &[File], problems: &mut Vec<Problem>) -> Result<()> {
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| &file.text);
    crates(&metadata(root)?, map, problems);
    Ok(())
}

fn metadata(root: &Path) -> Result<Value> {
    let words = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = child::output(place::cargo().args(words).current_dir(root), &[0])?;
    Ok(serde_json::from_slice(&output)?)
}

/// Compares the dependencies of crates with the table.
fn crates(metadata: &Value, map: &str, problems: &mut Vec<Problem>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let folder = |path: &Value| {
        let path = Path::new(path.as_str().unwrap_or_default());
        let folder = if path.ends_with("Cargo.toml") { path.parent() } else { Some(path) };
        let name = folder.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let mut problem = |line: usize, what: String| {
        problems.push(Problem { file: MAP.to_owned(), line, what });
    };
    let rows = table(map);
    let row = |name: &str| rows.iter().position(|(_, row)| row == name);
    let packages = list(&metadata["packages"]);
    let names: BTreeSet<String> =
        packages.iter().map(|package| folder(&package["manifest_path"])).collect();
    for (line, name) in rows.iter().filter(|(_, name)| !names.contains(name)) {
        problem(*line, format!("the table names {name}, which is no crate"));
    }
    for package in &packages {
        let name = folder(&package["manifest_path"]);
        let Some(own) = row(&name) else {
            problem(0, format!("the table of crates has no row for {name}"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            if dependency["kind"] == "dev" || dependency["path"].is_null() {
                continue;
            }
            let other = folder(&dependency["path"]);
            if row(&other).is_some_and(|other| other >= own) {
                let what = format!("{name} depends on {other}, which is not above it in the table");
                problem(rows[own].0, what);
            }
        }
    }
}

/// The crates of the table, with their lines: the rows below the heading `| crate |`.
fn table(map: &str) -> Vec<(usize, String)> {
    map.lines()
        .enumerate()
        .skip_while(|(_, line)| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .filter_map(|(index, line)| Some((index + 1, line.split('`').nth(1)?.to_owned())))
        .collect()
}

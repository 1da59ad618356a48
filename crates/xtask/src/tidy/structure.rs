//! The map in ARCHITECTURE.md is true: crates depend only on crates above them in its table, and no
//! modules of a crate depend on each other in a circle.
//!
//! Crate edges come from `cargo metadata`; dependencies of tests alone do not count. A module is a
//! file or folder directly below `src`; files of tests alone are named `tests` or `..._tests`, and do
//! not count either. It depends on another one where its code, tests left out,
//! names a path into it: in `use`, after `crate::` or `super::`, or by a name that the crate's root
//! takes from it. The root itself is no module: it declares and re-exports all of them.
//! Rejected: the compiler's own resolution (no stable interface shows it), and a parser library
//! (paths are all that is needed).

use super::code::{self, Token};
use super::{File, Problem};
use crate::place;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The page with the table of crates.
const MAP: &str = "ARCHITECTURE.md";

/// Checks all crates and modules of the repository.
pub(super) fn check(root: &Path, files: &[File], problems: &mut Vec<Problem>) -> Result<()> {
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| &file.text);
    crates(&metadata(root)?, map, problems);
    let mut sources: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in files {
        let Some((name, path)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if let Some(path) = path.strip_suffix(".rs").filter(|path| !path.ends_with("tests")) {
            sources.entry(name).or_default().push((path, &file.text));
        }
    }
    for (name, files) in sources {
        circles(name, &files, problems);
    }
    Ok(())
}

/// What cargo says of the workspace.
fn metadata(root: &Path) -> Result<Value> {
    let output = place::cargo()
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata: {}", words.trim());
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Holds the dependencies of crates against the table of the map.
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

/// The crates of the map's table, with their lines: the rows below a heading `| crate |`.
fn table(map: &str) -> Vec<(usize, String)> {
    map.lines()
        .enumerate()
        .skip_while(|(_, line)| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .filter_map(|(index, line)| Some((index + 1, line.split('`').nth(1)?.to_owned())))
        .collect()
}

/// Where a module names another one: file, line and path.
type Place<'a> = (&'a str, usize, String);
/// The places by module and the module named there.
type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<Place<'a>>>>;

/// Finds the circles between the modules of one crate.
fn circles(name: &str, files: &[(&str, &str)], problems: &mut Vec<Problem>) {
    let edges = edges(files);
    for (&from, targets) in &edges {
        for (&to, places) in targets.iter().filter(|(to, _)| reached(&edges, to).contains(from)) {
            for (path, line, named) in places {
                problems.push(Problem {
                    file: format!("crates/{name}/src/{path}.rs"),
                    line: *line,
                    what: format!(
                        "{from} uses {named}, and {to} needs {from} again: a circle of modules"
                    ),
                });
            }
        }
    }
}

/// The modules that one leads to.
fn reached<'a>(edges: &Edges<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut ahead: Vec<&str> =
        edges.get(from).into_iter().flat_map(BTreeMap::keys).copied().collect();
    while let Some(module) = ahead.pop() {
        if all.insert(module) {
            ahead.extend(edges.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    all
}

/// Which module names which other one, and where.
fn edges<'a>(files: &[(&'a str, &str)]) -> Edges<'a> {
    let parts =
        |path: &'a str| -> Vec<&'a str> { path.split('/').filter(|part| *part != "mod").collect() };
    let is_root = |path: &str| path == "lib" || path == "main";
    let modules: BTreeSet<&'a str> = files
        .iter()
        .filter(|(path, _)| !is_root(path))
        .filter_map(|(path, _)| path.split('/').next())
        .collect();
    let mut taken: BTreeMap<String, &'a str> = BTreeMap::new();
    for (_, text) in files.iter().filter(|(path, _)| is_root(path)) {
        for (_, path) in paths(text, &[]) {
            if let (Some(&module), Some(name)) =
                (path.first().and_then(|first| modules.get(first.as_str())), path.last())
            {
                taken.insert(name.clone(), module);
            }
        }
    }
    let mut edges: Edges<'a> = BTreeMap::new();
    for &(path, text) in files.iter().filter(|(path, _)| !is_root(path)) {
        let own = parts(path);
        for (line, named) in paths(text, &own) {
            let Some(first) = named.first() else { continue };
            let target = modules.get(first.as_str()).or_else(|| taken.get(first));
            if let Some(&target) = target.filter(|&&target| target != own[0]) {
                let places = edges.entry(own[0]).or_default().entry(target).or_default();
                places.push((path, line, named.join("::")));
            }
        }
    }
    edges
}

/// The paths into the own crate that code outside of tests names, from the crate's root on, with
/// their lines. `own` is the module of the file. In the root, whose paths need no `crate`, every
/// path of a `use` counts.
fn paths(text: &str, own: &[&str]) -> Vec<(usize, Vec<String>)> {
    // What does not read as Rust is a problem by itself.
    let tokens = code::tokens(text).unwrap_or_default();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.1.as_str());
    let mut found = Vec::new();
    // Modules written within the file, each with the depth of its braces.
    let mut within: Vec<(&str, usize)> = Vec::new();
    let (mut depth, mut at) = (0, 0);
    while at < tokens.len() {
        let absolute = |path: Vec<&str>| {
            let base = own.iter().copied().chain(within.iter().map(|(name, _)| *name));
            absolute(base.collect(), &path)
        };
        match word(at) {
            "#" if (1..6).map(|next| word(at + next)).eq(["[", "cfg", "(", "test", ")"]) => {
                at = item_end(&tokens, at + 1);
                continue;
            }
            "mod" if word(at + 2) == "{" => within.push((word(at + 1), depth)),
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if within.last().is_some_and(|(_, outside)| *outside == depth) {
                    within.pop();
                }
            }
            "use" => {
                let line = tokens[at].0;
                let mut ends = Vec::new();
                at = tree(&tokens, at + 1, &[], &mut ends);
                found.extend(ends.into_iter().filter_map(|path| Some((line, absolute(path)?))));
                continue;
            }
            "crate" | "super" | "self" if word(at + 1) == "::" => {
                let line = tokens[at].0;
                let mut path = vec![word(at)];
                while word(at + 1) == "::" && word(at + 2).starts_with(char::is_alphabetic) {
                    path.push(word(at + 2));
                    at += 2;
                }
                found.extend(absolute(path).map(|path| (line, path)));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// A path from the crate's root on; `None` where it leads to another crate or nowhere.
fn absolute(mut base: Vec<&str>, path: &[&str]) -> Option<Vec<String>> {
    let mut rest = path;
    match *path.first()? {
        "crate" => (base, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while let Some((&"super", more)) = rest.split_first() {
                base.pop();
                rest = more;
            }
        }
        // Only in the root does a path begin with a module.
        _ if !base.is_empty() => return None,
        _ => {}
    }
    let all: Vec<String> =
        base.into_iter().chain(rest.iter().copied()).map(str::to_owned).collect();
    (!all.is_empty()).then_some(all)
}

/// The ends of the tree of a `use` from `at` on; where the tree ends.
fn tree<'a>(
    tokens: &'a [Token],
    mut at: usize,
    before: &[&'a str],
    ends: &mut Vec<Vec<&'a str>>,
) -> usize {
    let mut path = before.to_vec();
    while let Some((_, token)) = tokens.get(at) {
        match token.as_str() {
            "{" => loop {
                at = tree(tokens, at + 1, &path, ends);
                if tokens.get(at).is_none_or(|token| token.1 != ",") {
                    return at + 1;
                }
            },
            "," | "}" | ";" => break,
            "::" => {}
            // The name by which it is taken stands for it.
            "as" => drop(path.pop()),
            // `a::{self}` is `a`.
            "self" if !path.is_empty() => {}
            name => path.push(name),
        }
        at += 1;
    }
    if path.len() > before.len() || !before.is_empty() {
        ends.push(path);
    }
    at
}

/// Behind the item that begins at `at`: its `;`, or the brace that closes its block.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some((_, token)) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth <= 1 => break,
            "}" => depth -= 1,
            ";" if depth == 0 => break,
            _ => {}
        }
    }
    at
}

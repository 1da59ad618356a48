//! The map in ARCHITECTURE.md is true: crates depend only on crates above them in its table, and no
//! modules of a crate depend on each other in a circle.
//!
//! Crate edges come from `cargo metadata`; dependencies of tests alone do not count. A module is a
//! file or folder directly below `src`; files of tests alone are named `tests` or `..._tests`, and do
//! not count either. It depends on another one where its code, tests left out,
//! names a path into it: in `use`, after `crate::` or `super::`, or by a name that the crate's root
//! takes from it. The root itself is no module: it declares and re-exports all of them. A name that the
//! root gives to one of several modules (`use linux as platform`, by the system) stands for all of them.
//! Rejected: the compiler's own resolution (no stable interface shows it), and a parser library
//! (paths are all that is needed).

use super::{File, Problem};
use crate::{child, place};
use anyhow::Result;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
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

fn metadata(root: &Path) -> Result<Value> {
    let words = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = child::output(place::cargo().args(words).current_dir(root), &[0])?;
    Ok(serde_json::from_slice(&output)?)
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
    let is_root = |path: &str| path == "lib" || path == "main";
    let module = |path: &'a str| path.split('/').next().unwrap_or(path);
    let (roots, others): (Vec<_>, Vec<_>) =
        files.iter().copied().partition(|(path, _)| is_root(path));
    let modules: BTreeSet<&'a str> = others.iter().map(|(path, _)| module(path)).collect();
    let named = |text: &str, own: &[String]| {
        let mut found = Vec::new();
        // What does not read as Rust is a problem by itself.
        paths(text.parse().unwrap_or_default(), own, &mut found);
        found
    };
    let mut taken: BTreeMap<String, BTreeSet<&'a str>> = BTreeMap::new();
    for (module, alias) in roots.iter().flat_map(|(_, text)| aliases(text)) {
        let module = modules.get(module.as_str());
        taken.entry(alias).or_default().extend(module);
    }
    for (_, path) in roots.iter().flat_map(|(_, text)| named(text, &[])) {
        let Some(name) = path.last().filter(|_| path.len() > 1) else { continue };
        let from = match modules.get(path[0].as_str()) {
            Some(&module) => BTreeSet::from([module]),
            None => taken.get(&path[0]).cloned().unwrap_or_default(),
        };
        taken.entry(name.clone()).or_default().extend(from);
    }
    let mut edges: Edges<'a> = BTreeMap::new();
    for (path, text) in others {
        let parts = path.split('/').filter(|part| *part != "mod").map(str::to_owned);
        for (line, named) in named(text, &parts.collect::<Vec<String>>()) {
            let targets = match modules.get(named[0].as_str()) {
                Some(&target) => BTreeSet::from([target]),
                None => taken.get(&named[0]).cloned().unwrap_or_default(),
            };
            // Of modules that share a name, each means itself by it.
            let own = targets.contains(module(path));
            for target in targets.into_iter().filter(|_| !own) {
                let places = edges.entry(module(path)).or_default().entry(target).or_default();
                places.push((path, line, named.join("::")));
            }
        }
    }
    edges
}

/// The modules that a root gives another name by `use MODULE as NAME;`, with that name.
fn aliases(text: &str) -> Vec<(String, String)> {
    let trees: Vec<TokenTree> =
        text.parse::<TokenStream>().unwrap_or_default().into_iter().collect();
    let found = trees.windows(5).filter_map(|trees| match trees {
        [start, TokenTree::Ident(module), by, TokenTree::Ident(alias), end]
            if start.to_string() == "use" && by.to_string() == "as" && is_mark(end, ';') =>
        {
            Some((module.to_string(), alias.to_string()))
        }
        _ => None,
    });
    found.collect()
}

fn is_mark(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(it) if it.as_char() == mark)
}

/// The paths into the own crate that code outside of tests names, from the crate's root on, with
/// their lines. `own` is the module of the code. In the root, whose paths need no `crate`, every
/// path of a `use` counts.
fn paths(code: TokenStream, own: &[String], found: &mut Vec<(usize, Vec<String>)>) {
    let trees: Vec<TokenTree> = code.into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        at += 1;
        let (line, rest) = (tree.span().start().line, &trees[at..]);
        if let TokenTree::Group(group) = tree {
            paths(group.stream(), own, found);
            continue;
        }
        let word = tree.to_string();
        match (word.as_str(), rest) {
            ("#", [TokenTree::Group(attribute), ..])
                if attribute.stream().to_string().replace(' ', "") == "cfg(test)" =>
            {
                let ends_item = |tree: &TokenTree| match tree {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    other => is_mark(other, ';'),
                };
                at += rest.iter().position(ends_item).map_or(rest.len(), |end| end + 1);
            }
            ("mod", [TokenTree::Ident(name), TokenTree::Group(body), ..]) => {
                paths(body.stream(), &[own, &[name.to_string()]].concat(), found);
                at += 2;
            }
            // `use<...>` names what a type captures.
            ("use", [first, ..]) if !is_mark(first, '<') => {
                let end = rest.iter().position(|tree| is_mark(tree, ';')).unwrap_or(rest.len());
                let mut ends = Vec::new();
                use_ends(&rest[..end], &[], &mut ends);
                found.extend(ends.iter().filter_map(|path| Some((line, absolute(own, path)?))));
                at += end;
            }
            ("crate" | "super" | "self", [first, ..]) if is_mark(first, ':') => {
                let mut path = vec![word];
                while let [one, other, TokenTree::Ident(name), ..] = &trees[at..]
                    && is_mark(one, ':')
                    && is_mark(other, ':')
                {
                    path.push(name.to_string());
                    at += 3;
                }
                found.extend(absolute(own, &path).map(|path| (line, path)));
            }
            _ => {}
        }
    }
}

/// A path from the crate's root on; `None` where it leads to another crate or nowhere.
fn absolute(own: &[String], path: &[String]) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let all = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "self" => [own, &path[1..]].concat(),
        "super" => [&own[..own.len().saturating_sub(supers)], &path[supers..]].concat(),
        // Only in the root does a path begin with a module.
        _ if !own.is_empty() => return None,
        _ => path.to_vec(),
    };
    (!all.is_empty()).then_some(all)
}

/// The paths at the ends of the tree of a `use`.
fn use_ends(tree: &[TokenTree], before: &[String], ends: &mut Vec<Vec<String>>) {
    for branch in tree.split(|tree| is_mark(tree, ',')).filter(|branch| !branch.is_empty()) {
        let mut path = before.to_vec();
        for tree in branch {
            match tree {
                TokenTree::Group(group) => {
                    let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                    use_ends(&trees, &std::mem::take(&mut path), ends);
                }
                // The name by which it is taken stands for it.
                TokenTree::Ident(word) if word == "as" => drop(path.pop()),
                // `a::{self}` is `a`.
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                _ => {}
            }
        }
        ends.push(path);
    }
}

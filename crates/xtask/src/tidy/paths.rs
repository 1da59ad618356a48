//! Finds the paths into its own crate that Rust source names outside tests.

use super::code::{is_mark, without_tests};
use proc_macro2::{TokenStream, TokenTree};

/// A path that code names.
pub(super) struct Named {
    /// Line, from 1.
    pub(super) line: usize,
    /// From the root of the crate.
    pub(super) path: Vec<String>,
    /// Number of names at the start of the path that a module must have for the path to be in this crate. A
    /// `use` without `crate`, `self` or `super` may also name another crate.
    pub(super) begins_in: usize,
    /// The name under which a `use` imports it.
    pub(super) taken_as: Option<String>,
}

/// All paths of a source. `own` is the module of the source.
pub(super) fn named(source: &str, own: &[String]) -> Vec<Named> {
    let mut found = Vec::new();
    // A source that cannot be parsed is reported elsewhere.
    collect(source.parse().unwrap_or_default(), own, &mut found);
    found
}

fn collect(code: TokenStream, own: &[String], found: &mut Vec<Named>) {
    let trees = without_tests(code);
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        at += 1;
        let (line, rest) = (tree.span().start().line, &trees[at..]);
        if let TokenTree::Group(group) = tree {
            collect(group.stream(), own, found);
            continue;
        }
        let word = tree.to_string();
        match (word.as_str(), rest) {
            ("mod", [TokenTree::Ident(name), TokenTree::Group(body), ..]) => {
                collect(body.stream(), &[own, &[name.to_string()]].concat(), found);
                at += 2;
            }
            // `use<...>` names what a type captures.
            ("use", [first, ..]) if !is_mark(first, '<') => {
                let end = rest.iter().position(|tree| is_mark(tree, ';')).unwrap_or(rest.len());
                let mut ends = Vec::new();
                use_ends(&rest[..end], &[], &mut ends);
                found.extend(ends.into_iter().filter_map(|(path, name)| {
                    let named = absolute(own, &path, line)?;
                    Some(Named { taken_as: Some(name), ..named })
                }));
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
                found.extend(absolute(own, &path, line));
            }
            _ => {}
        }
    }
}

/// A path from the crate's root; `None` for the root itself.
fn absolute(own: &[String], path: &[String], line: usize) -> Option<Named> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let (path, begins_in) = match path.first()?.as_str() {
        "crate" => (path[1..].to_vec(), 0),
        "self" => ([own, &path[1..]].concat(), 0),
        "super" => ([&own[..own.len().saturating_sub(supers)], &path[supers..]].concat(), 0),
        _ => ([own, path].concat(), own.len() + 1),
    };
    (!path.is_empty()).then_some(Named { line, path, begins_in, taken_as: None })
}

/// The leaves of the tree of a `use`, each with the name under which it is imported.
fn use_ends(tree: &[TokenTree], before: &[String], ends: &mut Vec<(Vec<String>, String)>) {
    for branch in tree.split(|tree| is_mark(tree, ',')).filter(|branch| !branch.is_empty()) {
        let (mut path, mut name) = (before.to_vec(), None);
        let mut trees = branch.iter();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Group(group) => {
                    let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                    use_ends(&trees, &std::mem::take(&mut path), ends);
                }
                TokenTree::Ident(word) if word == "as" => {
                    name = trees.next().map(ToString::to_string);
                }
                // `a::{self}` is `a`.
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                _ => {}
            }
        }
        if let Some(last) = path.last() {
            let name = name.unwrap_or_else(|| last.clone());
            ends.push((path, name));
        }
    }
}

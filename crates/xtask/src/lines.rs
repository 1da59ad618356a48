//! Counts the lines of code of each crate: `cargo xtask lines`.
//!
//! A line counts if it has a token outside comments and tests. Tests are items below `#[cfg(test)]`, files
//! whose name ends in `tests`, and the folders `tests`. Rejected: other line counters, which count inline
//! tests as code.

use crate::{place, tidy};
use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crate that no user builds.
const OWN: &str = "xtask";

/// Prints the lines of each crate, and the sums.
pub(crate) fn run() -> Result<bool> {
    let crates = of_crates(&place::root())?;
    for (name, lines) in &crates {
        println!("{name:<12} {lines:>7}");
    }
    let own = crates.get(OWN).copied().unwrap_or_default();
    let all: usize = crates.values().sum();
    println!("{} crates, {} lines of code without {OWN}, {own} in {OWN}", crates.len(), all - own);
    Ok(true)
}

/// Lines of code by crate.
///
/// # Errors
/// If the files cannot be listed or read, or one of them is not valid Rust.
pub fn of_crates(root: &Path) -> Result<BTreeMap<String, usize>> {
    let mut crates = BTreeMap::new();
    for file in tidy::list(root)? {
        let path = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix(".rs"));
        let Some((name, path)) = path.and_then(|path| path.split_once('/')) else { continue };
        if !path.starts_with("tests/") && !path.ends_with("tests") {
            let lines = count(&file.text).with_context(|| format!("{} is no Rust", file.path))?;
            *crates.entry(name.to_owned()).or_default() += lines;
        }
    }
    Ok(crates)
}

/// Lines of code of a source; `None` if it is not valid Rust.
pub(crate) fn count(source: &str) -> Option<usize> {
    let mut lines = BTreeSet::new();
    collect(source.parse().ok()?, &mut lines);
    Some(lines.len())
}

fn collect(code: TokenStream, lines: &mut BTreeSet<usize>) {
    let trees = tidy::without_tests(code);
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        let length = doc_comment(&trees[at..]);
        at += length.max(1);
        match tree {
            _ if length > 0 => {}
            TokenTree::Group(group) => {
                add(group.span_open(), lines);
                add(group.span_close(), lines);
                collect(group.stream(), lines);
            }
            other => add(other.span(), lines),
        }
    }
}

/// Number of leading tokens that are a doc comment.
fn doc_comment(trees: &[TokenTree]) -> usize {
    let is = |at: usize, mark| trees.get(at).is_some_and(|tree| tidy::is_mark(tree, mark));
    let words = if is(1, '!') { 2 } else { 1 };
    match trees.get(words) {
        Some(TokenTree::Group(group))
            if is(0, '#') && group.stream().to_string().replace(' ', "").starts_with("doc=") =>
        {
            words + 1
        }
        _ => 0,
    }
}

/// Adds all lines of a token; a string may span several.
fn add(span: Span, lines: &mut BTreeSet<usize>) {
    lines.extend(span.start().line..=span.end().line);
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn comments_blank_lines_and_tests_are_no_code() {
        let source = "//! Essay.\n\n/// Says what it is.\n#[must_use]\npub fn f() -> u32 {\n    // Why.\n    /* two\n    lines */\n    1\n}\n\
                      #[cfg(test)]\nuse a::b;\n#[cfg(test)]\n#[derive(Debug)]\nmod tests {\n    fn g() {}\n}\nstatic S: &str = \"a\nb\n\nc\";\n";
        assert_eq!(count(source), Some(4 + 4));
        assert_eq!(count("fn f() {"), None);
    }
}

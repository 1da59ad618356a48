//! Splits Rust source into tokens without comments and literals, so that rules on names see names only. The
//! lexer is that of proc-macro2, which is built for the derive macros anyway.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A word or a punctuation mark, with its line from 1; `::` is one mark.
pub(super) type Token = (usize, String);

/// The tokens of a source, with or without its tests; `None` if it is not valid Rust.
pub(super) fn tokens(source: &str, with_tests: bool) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    flatten(source.parse().ok()?, with_tests, &mut tokens);
    Some(tokens)
}

/// Whether a token is this punctuation mark.
pub(crate) fn is_mark(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(it) if it.as_char() == mark)
}

/// Length of the test item that tokens begin with: `#[cfg(test)]` and what follows. 0 if they begin with
/// another item.
fn test_item(trees: &[TokenTree]) -> usize {
    let [mark, TokenTree::Group(attribute), rest @ ..] = trees else { return 0 };
    if !is_mark(mark, '#') || attribute.stream().to_string().replace(' ', "") != "cfg(test)" {
        return 0;
    }
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_mark(other, ';'),
    };
    rest.iter().position(ends).map_or(trees.len(), |end| end + 3)
}

/// The tokens of code that no test needs.
pub(crate) fn without_tests(code: TokenStream) -> Vec<TokenTree> {
    let all: Vec<TokenTree> = code.into_iter().collect();
    let (mut kept, mut at) = (Vec::with_capacity(all.len()), 0);
    while let Some(tree) = all.get(at) {
        let test = test_item(&all[at..]);
        at += test.max(1);
        kept.extend((test == 0).then(|| tree.clone()));
    }
    kept
}

fn flatten(stream: TokenStream, with_tests: bool, tokens: &mut Vec<Token>) {
    let trees = if with_tests { stream.into_iter().collect() } else { without_tests(stream) };
    let mut joins = false;
    for tree in &trees {
        let line = tree.span().start().line;
        let joined = std::mem::take(&mut joins);
        match tree {
            TokenTree::Ident(name) => tokens.push((line, name.to_string())),
            TokenTree::Punct(mark) => match tokens.last_mut() {
                Some((_, last)) if joined && last == ":" && mark.as_char() == ':' => last.push(':'),
                _ => {
                    joins = mark.spacing() == Spacing::Joint;
                    tokens.push((line, mark.to_string()));
                }
            },
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push((line, open.to_owned()));
                flatten(group.stream(), with_tests, tokens);
                tokens.push((group.span_close().start().line, close.to_owned()));
            }
        }
    }
}

/// The words of an identifier in lower case: `bucketIndex`, `BucketIndex` and `BUCKET_INDEX` all give
/// "bucket", "index".
pub(super) fn words(identifier: &str) -> Vec<String> {
    let (mut apart, mut previous) = (String::new(), '_');
    for letter in identifier.chars() {
        if letter.is_uppercase() && previous.is_lowercase() {
            apart.push('_');
        }
        apart.extend(letter.to_lowercase());
        previous = letter;
    }
    apart.split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

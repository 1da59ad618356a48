//! Splits Rust source into tokens without comments and literals, so that rules on names see names only. The
//! lexer is that of proc-macro2, which is built for the derive macros anyway.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A word or a punctuation mark, with its line from 1; `::` is one mark.
pub(super) type Token = (usize, String);

/// The tokens of a source; `None` if it is not valid Rust.
pub(super) fn tokens(source: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    flatten(source.parse().ok()?, &mut tokens);
    Some(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut joins = false;
    for tree in stream {
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
                flatten(group.stream(), tokens);
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

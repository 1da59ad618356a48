//! What comes from outside is read by `engine::input` alone, because only there does a read have a limit.
//!
//! The names of the standard library's readers without a limit are refused in the code of all other crates. Tests,
//! their kit and this crate read what they wrote themselves. A loop over `read` with a buffer of its own passes: its
//! author decides what is kept.

use super::code::{self, Token};
use super::{File, Problem};

/// Crates that may.
const MAY: [&str; 3] = ["crates/engine/src/input/", "crates/testkit/", "crates/xtask/"];
/// What a method or function of any type is called.
const READERS: [&str; 5] =
    ["read_to_end", "read_to_string", "read_until", "pem_file_iter", "from_pem_file"];

pub(super) fn check(file: &File, problems: &mut Vec<Problem>) {
    let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
    let is_test = file.path.ends_with("tests.rs") || file.path.contains("/tests/");
    if !is_code || is_test || MAY.iter().any(|folder| file.path.starts_with(folder)) {
        return;
    }
    // What does not read as Rust is a problem by itself.
    let tokens = code::tokens(&file.text).unwrap_or_default();
    let tokens = &tokens[..beginning_of_tests(&tokens)];
    for (at, (line, word)) in tokens.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| tokens[at].1.as_str());
        let is_reader = READERS.contains(&word.as_str())
            || word == "read" && before(1) == "::" && before(2) == "fs"
            || word == "read_line" && before(1) == ".";
        if is_reader {
            let what = format!("{word} has no limit: read with engine::input, which has one");
            problems.push(file.problem(*line, what));
        }
    }
}

/// Where the module of tests begins, which ends a file; else its end.
fn beginning_of_tests(tokens: &[Token]) -> usize {
    let begins = |rest: &[Token]| {
        let mut words = rest.iter().map(|(_, word)| word.as_str());
        let is_for_tests = ["#", "[", "cfg", "(", "test", ")", "]"]
            .iter()
            .all(|expected| words.next() == Some(expected));
        // Another attribute may stand before the module.
        is_for_tests && words.take(8).any(|word| word == "mod")
    };
    (0..tokens.len()).find(|&at| begins(&tokens[at..])).unwrap_or(tokens.len())
}

//! Requires that external data is read only by `engine::input`, because only its reads have a limit.
//!
//! The standard library's readers without a limit are rejected in the code of all other crates. Tests, the
//! test kit and this crate may use them, because they read what they wrote themselves. A loop over `read`
//! with its own buffer is allowed: its author limits the size.

use super::{File, Problem, code};

/// Crates that may use these readers.
const MAY: [&str; 3] = ["crates/engine/src/input/", "crates/testkit/", "crates/xtask/"];
/// Names of readers that are methods or functions of any type.
const READERS: [&str; 5] =
    ["read_to_end", "read_to_string", "read_until", "pem_file_iter", "from_pem_file"];

pub(super) fn check(file: &File, problems: &mut Vec<Problem>) {
    let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
    let is_test = file.path.ends_with("tests.rs") || file.path.contains("/tests/");
    if !is_code || is_test || MAY.iter().any(|folder| file.path.starts_with(folder)) {
        return;
    }
    // A source that cannot be parsed is reported elsewhere.
    let tokens = code::tokens(&file.text, false).unwrap_or_default();
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

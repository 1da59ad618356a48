//! Rules for Rust source: a header comment, a maximum length, meaningful names, and a reason for each
//! exception from the compiler's lints.

use super::code::{self, Token};
use super::{File, Problem};

/// Maximum length of a file. A file has one subject; the longest in this tree is well below the limit.
const MOST_LINES: usize = 500;
/// Minimum number of words in a header comment: a sentence.
const ESSAY_WORDS: usize = 5;

/// Words that mean nothing in an identifier or a file name.
const EMPTY_WORDS: [&str; 7] = ["util", "utils", "helper", "helpers", "misc", "foo", "stuff"];
/// Type names that are pronouns or similar words instead of nouns.
const PRONOUNS: &str =
    "Here Something Somebody Nobody That Then There This Told What Which Whoever";

pub(super) fn check(file: &File, problems: &mut Vec<Problem>) {
    let mut problem = |line: usize, what: String| problems.push(file.problem(line, what));
    if file.path.contains("/src/")
        && let Some(what) = essay_problem(&file.text)
    {
        problem(1, what.to_owned());
    }
    let lines = file.text.lines().count();
    if lines > MOST_LINES {
        problem(0, format!("{lines} lines, more than {MOST_LINES}: give each subject its file"));
    }
    for part in file.path.trim_end_matches(".rs").split('/').filter(|part| is_empty(part)) {
        problem(0, format!("the path part {part}: name what it is about"));
    }
    let Some(tokens) = code::tokens(&file.text, true) else {
        return problem(0, "does not read as Rust".to_owned());
    };
    let mut before = "";
    for (line, name) in &tokens {
        let declared = matches!(before, "struct" | "enum" | "trait" | "type");
        if is_empty(name) || declared && PRONOUNS.split(' ').any(|word| word == name.as_str()) {
            problem(*line, format!("the name {name}: name what it is about"));
        }
        before = name;
    }
    attributes(&file.text, &tokens, &mut problem);
}

/// What is wrong with the module's first comment.
fn essay_problem(text: &str) -> Option<&'static str> {
    let essay: Vec<&str> = text
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .map_while(|line| line.strip_prefix("//!"))
        .collect();
    let essay = essay.join(" ");
    let ends = essay.contains(". ") || essay.trim_end().ends_with(['.', '`', ')', '|']);
    if essay.split_whitespace().count() >= ESSAY_WORDS && ends {
        return None;
    }
    Some("begins without a comment (//!) of at least one sentence: what it decides, and why")
}

/// Whether a name contains a meaningless word.
fn is_empty(name: &str) -> bool {
    code::words(name).iter().any(|word| EMPTY_WORDS.contains(&word.as_str()))
}

/// Requires a reason next to each exception. An ignored test is rejected, because it never runs.
fn attributes(text: &str, tokens: &[Token], problem: &mut impl FnMut(usize, String)) {
    let lines: Vec<&str> = text.lines().collect();
    // A doc comment does not count as a reason.
    let is_remark = |line: &str| {
        let start = line.trim_start();
        line.contains("//") && !start.starts_with("///") && !start.starts_with("//!")
    };
    for (at, (line, mark)) in tokens.iter().enumerate() {
        let mut next = tokens[at + 1..].iter().map(|(_, word)| word.as_str());
        let begins = mark == "#" && next.find(|word| *word != "!") == Some("[");
        match next.next().filter(|_| begins) {
            Some("ignore") => {
                problem(*line, "an ignored test: make it run, or use requires!".to_owned());
            }
            Some("allow" | "expect") => {
                // The attribute may span a few lines.
                let length = lines[line - 1..].iter().take(4).position(|it| it.contains(")]"));
                let mut own = lines[line - 1..].iter().take(length.map_or(4, |last| last + 1));
                let above = *line > 1 && is_remark(lines[line - 2]);
                if !above && !own.any(|it| it.contains("reason") || it.contains("//")) {
                    problem(*line, "an exception without a reason beside it".to_owned());
                }
            }
            _ => {}
        }
    }
}

//! Rules for Rust source: an essay at the head, a length that one subject needs, names that say
//! something, and a reason for each exception from the compiler's lints.

use super::{File, Problem, code};

/// Longest file. A file has one subject; the longest that this tree needs is well below.
const MOST_LINES: usize = 900;
/// Fewest words of an essay: a sentence.
const ESSAY_WORDS: usize = 5;

/// Words that say nothing in an identifier or a file name.
const EMPTY_WORDS: [&str; 7] = ["util", "utils", "helper", "helpers", "misc", "foo", "stuff"];
/// Names of types that stand for a noun without being one.
const PRONOUNS: [&str; 12] = [
    "Here",
    "Something",
    "Somebody",
    "Nobody",
    "That",
    "Then",
    "There",
    "This",
    "Told",
    "What",
    "Which",
    "Whoever",
];

/// Checks one file.
pub(super) fn check(file: &File, problems: &mut Vec<Problem>) {
    let mut problem = |line: usize, what: String| {
        problems.push(Problem { file: file.path.clone(), line, what });
    };
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
    let blanked = code::blanked(&file.text);
    let mut before = "";
    for (line, name) in code::identifiers(&blanked) {
        let declared = matches!(before, "struct" | "enum" | "trait" | "type");
        if is_empty(name) || declared && PRONOUNS.contains(&name) {
            problem(line, format!("the name {name}: name what it is about"));
        }
        before = name;
    }
    attributes(&file.text, &blanked, &mut problem);
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

/// Whether a name contains a word that says nothing.
fn is_empty(name: &str) -> bool {
    code::words(name).iter().any(|word| EMPTY_WORDS.contains(&word.as_str()))
}

/// Exceptions need a reason beside them; an ignored test is a test that nobody has.
fn attributes(text: &str, blanked: &str, problem: &mut impl FnMut(usize, String)) {
    let originals: Vec<&str> = text.lines().collect();
    for (index, line) in blanked.lines().enumerate() {
        if line.contains("#[ignore") {
            problem(index + 1, "an ignored test: make it run, or use requires!".to_owned());
        }
        let exception = ["#[allow(", "#![allow(", "#[expect(", "#![expect("]
            .iter()
            .any(|start| line.trim_start().starts_with(start));
        if !exception {
            continue;
        }
        let above = index.checked_sub(1).is_some_and(|above| is_remark(originals[above]));
        // The attribute may go over a few lines.
        let beside = originals[index..]
            .iter()
            .take(4)
            .take_while_inclusive(|line| !line.contains(")]"))
            .any(|line| line.contains("reason") || line.contains("//"));
        if !above && !beside {
            problem(index + 1, "an exception without a reason beside it".to_owned());
        }
    }
}

/// Whether the line holds a comment for readers of the code; documentation tells something else.
fn is_remark(line: &str) -> bool {
    let start = line.trim_start();
    line.contains("//") && !start.starts_with("///") && !start.starts_with("//!")
}

/// The items up to and with the first for which the condition fails.
trait TakeWhileInclusive: Iterator + Sized {
    fn take_while_inclusive(
        self,
        condition: impl Fn(&Self::Item) -> bool,
    ) -> impl Iterator<Item = Self::Item> {
        let mut over = false;
        self.map_while(move |item| {
            if over {
                return None;
            }
            over = !condition(&item);
            Some(item)
        })
    }
}

impl<I: Iterator> TakeWhileInclusive for I {}

#[cfg(test)]
mod tests {
    use super::*;

    const ESSAY: &str = "//! This file stands for a good one.\n";

    fn problems(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check(&File { path: path.into(), text: text.into() }, &mut found);
        found.into_iter().map(|problem| problem.to_string()).collect()
    }

    /// The only problem of a file with an essay and this code.
    fn only(code: &str) -> String {
        let found = problems("crates/x/src/a.rs", &format!("{ESSAY}{code}\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    #[test]
    fn a_good_file_passes() {
        let code = "// The latency of a helper.\nlet utilization = \"util latency\";\n\
                    #[allow(dead_code, reason = \"shown\")]\n#[allow(unused)] // because\n\
                    let queue = depth;\n";
        assert_eq!(problems("crates/x/src/a.rs", &format!("{ESSAY}{code}")), [""; 0]);
        assert_eq!(problems("crates/x/tests/a.rs", "fn main() {}\n"), [""; 0]);
    }

    #[test]
    fn a_missing_or_meagre_essay_is_found() {
        for text in ["fn main() {}\n", "//! store\n", "\n//! a b c d e f\nfn main() {}\n"] {
            let found = problems("crates/x/src/a.rs", text);
            assert_eq!(found.len(), 1, "{text:?}: {found:?}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_found() {
        assert!(only(&"\n".repeat(MOST_LINES)).contains("give each subject its file"));
    }

    #[test]
    fn a_name_that_says_nothing_is_found_where_it_stands() {
        assert!(only("\nfn read_helper() {}").contains(":3: the name read_helper"));
        assert!(only("struct Told;").contains("the name Told"));
        assert!(problems("crates/x/src/utils.rs", ESSAY)[0].contains("path part utils"));
        let code = format!("{ESSAY}struct QueueDepth;\nlet latency_ns = Which;\n");
        assert_eq!(problems("crates/x/src/a.rs", &code), [""; 0]);
    }

    #[test]
    fn an_exception_without_a_reason_and_an_ignored_test_are_found() {
        assert!(only("#[allow(dead_code)]\nfn x() {}").contains("without a reason"));
        assert!(only(&["#[ig", "nore]\nfn x() {}"].concat()).contains("ignored test"));
    }
}

//! Rules for Rust source: an essay at the head, a length that one subject needs, names that say
//! something, and a reason for each exception from the compiler's lints.

use super::{File, Problem, code};

/// Longest file. A file has one subject; the longest that this tree needs is well below.
const MOST_LINES: usize = 900;
/// Fewest words of an essay: a sentence.
const ESSAY_WORDS: usize = 5;

/// A name that is not used, what to use, and whether it is a word of the field that may stand
/// where another tool's format is read.
struct Banned {
    words: &'static [&'static str],
    instead: &'static str,
    foreign: bool,
}

/// Words of identifiers and file names. The second half is the vocabulary: one word per thing.
const BANNED: [Banned; 11] = [
    Banned { words: &["util"], instead: SUBJECT, foreign: false },
    Banned { words: &["utils"], instead: SUBJECT, foreign: false },
    Banned { words: &["helper"], instead: SUBJECT, foreign: false },
    Banned { words: &["helpers"], instead: SUBJECT, foreign: false },
    Banned { words: &["misc"], instead: SUBJECT, foreign: false },
    Banned { words: &["foo"], instead: SUBJECT, foreign: false },
    Banned { words: &["stuff"], instead: SUBJECT, foreign: false },
    Banned {
        words: &["latency"],
        instead: "response (from arrival) or completion (from submission)",
        foreign: true,
    },
    Banned { words: &["bandwidth"], instead: "throughput or bytes_per_s", foreign: true },
    Banned { words: &["queue", "depth"], instead: "iodepth (per job) or depth", foreign: true },
    Banned { words: &["qd"], instead: "iodepth (per job) or depth", foreign: true },
];

const SUBJECT: &str = "the name of what it is about";

/// Parts of paths of files that read or write other tools' formats.
const FOREIGN: [&str; 3] = ["fio", "import", "export"];

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
    let foreign = FOREIGN.iter().any(|part| file.path.contains(part));
    for part in file.path.trim_end_matches(".rs").split('/') {
        if let Some(banned) = banned(part, foreign) {
            problem(0, format!("the path part {part}: say {}", banned.instead));
        }
    }
    let blanked = code::blanked(&file.text);
    for (line, name) in code::identifiers(&blanked) {
        if let Some(banned) = banned(name, foreign) {
            problem(line, format!("the name {name}: say {}", banned.instead));
        }
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

/// The banned words that a name contains.
fn banned(name: &str, foreign: bool) -> Option<&'static Banned> {
    let words = code::words(name);
    BANNED.iter().filter(|banned| !(foreign && banned.foreign)).find(|banned| {
        words.windows(banned.words.len()).any(|window| window.iter().eq(banned.words.iter()))
    })
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
    fn a_name_that_says_nothing_or_is_not_our_word_is_found_where_it_stands() {
        assert!(only("\nfn read_helper() {}").contains(":3: the name read_helper"));
        assert!(only("struct QueueDepth;").contains("iodepth"));
        assert!(only("let latency_ns = 1;").contains("response"));
        assert!(problems("crates/x/src/utils.rs", ESSAY)[0].contains("path part utils"));
    }

    #[test]
    fn a_reader_of_another_tools_format_may_use_its_words_but_no_empty_ones() {
        let code = format!("{ESSAY}let latency_ns = misc;\n");
        let found = problems("crates/x/src/fio.rs", &code);
        assert!(found.len() == 1 && found[0].contains("misc"), "{found:?}");
    }

    #[test]
    fn an_exception_without_a_reason_and_an_ignored_test_are_found() {
        assert!(only("#[allow(dead_code)]\nfn x() {}").contains("without a reason"));
        assert!(only(&["#[ig", "nore]\nfn x() {}"].concat()).contains("ignored test"));
    }
}

//! Rules for every text file: no path of one machine, no trailing blanks, no notes to self.

use super::{File, Problem};

/// Folders that exist on one machine or for one user, in two halves so that this file passes.
const MACHINE_PATHS: [(&str, &str); 3] = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/")];
/// Marks of unfinished work, also in two halves.
const MARKS: [(&str, &str); 3] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X")];

pub(super) fn check(file: &File, problems: &mut Vec<Problem>) {
    // Generated, and full of random hashes.
    if file.path == "Cargo.lock" {
        return;
    }
    for (index, line) in file.text.split('\n').enumerate() {
        let mut problem = |what: String| problems.push(file.problem(index + 1, what));
        if line.ends_with([' ', '\t', '\r']) {
            problem("ends in white space".to_owned());
        }
        for (first, second) in MACHINE_PATHS {
            let path = [first, second].concat();
            if has_root_path(line, &path) {
                problem(format!("names {path}, a path of one machine: use a relative one"));
            }
        }
        for (first, second) in MARKS {
            let mark = [first, second].concat();
            if has_word(line, &mark) {
                problem(format!("{mark}: do it, or write down why it is as it is"));
            }
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let last = file.text.lines().count();
        problems.push(file.problem(last, "does not end with a line feed"));
    }
}

/// Whether the path starts at the root, and is not part of a longer path or an address.
fn has_root_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"._-~}/".contains(letter))
    })
}

/// Whether the line contains the word as a whole.
fn has_word(line: &str, word: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

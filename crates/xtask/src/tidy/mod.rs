//! The project's own lint, for rules that no compiler checks.
//!
//! It reads the files that git tracks or would track, so a new file is checked before it is added. Each rule
//! is a function from a file's text to problems, and has a test with a planted fault. Rejected: clippy
//! plug-ins (tied to a compiler version) and regular expressions over whole files (they match words in
//! strings and comments).

mod circles;
mod code;
mod files;
mod links;
mod paths;
mod reads;
mod source;
mod structure;
mod text;

pub(crate) use code::{is_mark, without_tests};
pub(crate) use files::{File, list};
pub(crate) use links::{PageLine, prose_and_fences};

use anyhow::Result;
use std::fmt::{Display, Formatter};
use std::path::Path;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path from the root of the repository.
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

impl Display for Problem {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// All problems of the files below `root`, in the order of files and lines.
///
/// # Errors
/// If the files cannot be listed or read.
pub fn check(root: &Path) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let files = list(root)?;
    for file in &files {
        text::check(file, &mut problems);
        if file.path.ends_with(".rs") {
            source::check(file, &mut problems);
            reads::check(file, &mut problems);
        }
        if file.path.ends_with(".md") {
            links::check(root, file, &mut problems);
        }
    }
    circles::check(&files, &mut problems);
    structure::check(root, &files, &mut problems)?;
    for needed in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        if !root.join(needed).is_file() {
            problems.push(Problem { file: needed.to_owned(), line: 0, what: "is missing".into() });
        }
    }
    problems.sort();
    Ok(problems)
}

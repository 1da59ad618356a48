//! The text files of the repository.

use super::Problem;
use crate::child;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

pub(crate) struct File {
    /// Path from the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Makes a problem of this file; line 0 means the whole file.
    pub(crate) fn problem(&self, line: usize, what: impl Into<String>) -> Problem {
        Problem { file: self.path.clone(), line, what: what.into() }
    }
}

/// Every text file that git tracks, or would track if it were added. A file that is not UTF-8 is not a text
/// file.
pub(crate) fn list(root: &Path) -> Result<Vec<File>> {
    let words = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = child::output(Command::new("git").args(words).current_dir(root), &[0])?;
    let names = String::from_utf8(output).context("a file name is not UTF-8")?;
    let mut files = Vec::new();
    for name in names.split_terminator('\0') {
        let full = root.join(name);
        // A tracked file may be deleted but the deletion not yet committed.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("cannot read {name}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: name.to_owned(), text });
        }
    }
    Ok(files)
}

//! One page of every kind, made by the program itself on simulated devices.
//!
//! A simulated trial takes no real time and has the same result on every machine, so a page changes only if
//! the program does.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kind of page. They stand in `kinds.toml`, which describes the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kind {
    pub(super) name: String,
    #[serde(default)]
    pub(super) short: bool,
    #[serde(default)]
    documents: Vec<(String, String)>,
    page: Option<String>,
}

/// The kind whose page is the picture of the README, and the path of the picture below the root.
pub(super) const PICTURED: (&str, &str) = ("readme", "docs/check-page.png");

/// The kinds that are wanted.
pub(super) fn kinds(wanted: impl Fn(&Kind) -> bool) -> Result<Vec<Kind>> {
    let mut all: BTreeMap<String, Vec<Kind>> = toml::from_str(include_str!("kinds.toml"))?;
    let all = all.remove("kind").unwrap_or_default();
    let names = all.iter().map(|kind| &*kind.name).collect::<Vec<_>>().join(", ");
    let kinds: Vec<Kind> = all.into_iter().filter(wanted).collect();
    ensure!(!kinds.is_empty(), "the kinds of pages are {names}");
    Ok(kinds)
}

/// Makes pages in a folder.
pub(super) struct Maker<'a> {
    pub(super) binary: PathBuf,
    pub(super) folder: &'a Path,
    pub(super) root: PathBuf,
}

impl Maker<'_> {
    /// Makes a page and returns its path.
    pub(super) fn make(&self, kind: &Kind) -> Result<PathBuf> {
        for (name, words) in &kind.documents {
            let said = self.run(words, true).with_context(|| format!("halfpower {words}"))?;
            std::fs::write(self.document(name), said)?;
        }
        let page = self.folder.join(format!("{}.html", kind.name));
        let report = || kind.documents.last().map(|(last, _)| format!("report @{last}"));
        let words = kind.page.clone().or_else(report).context("a kind without a page")?;
        let flag = if words.starts_with("report") { " -o" } else { "" };
        self.run(&format!("{words}{flag} {}", page.display()), false)?;
        ensure!(page.is_file(), "halfpower {words} wrote no page");
        Ok(page)
    }

    fn document(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Runs the program and returns its output. Exit code 1 is accepted: the result is complete but not
    /// clean.
    fn run(&self, words: &str, json: bool) -> Result<String> {
        let mut command = Command::new(&self.binary);
        for word in words.split_whitespace() {
            let word = word.replace('$', &self.root.display().to_string());
            command.arg(match (word.strip_prefix('@'), word.strip_prefix('#')) {
                // Pages print the names of compared files, so these must not contain this run's folder.
                (Some(name), _) => format!("{name}.json"),
                (_, Some(name)) => self.id(name)?,
                // One value with several words.
                _ if word.starts_with("rw=") => word.replace('_', " "),
                _ => word,
            });
        }
        command.args(json.then_some("--json")).env("HALFPOWER_DB", self.folder.join("kept.db"));
        crate::child::text(command.current_dir(self.folder).stdin(Stdio::null()), &[0, 1])
    }

    fn id(&self, name: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.document(name))?;
        let document: serde_json::Value = serde_json::from_str(&text)?;
        Ok(document["id"].as_str().context("a document without an id")?.to_owned())
    }
}

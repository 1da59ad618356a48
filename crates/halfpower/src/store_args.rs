//! Where results are kept: the flag and the variable.

use crate::output::{self, Verdict};
use anyhow::Context;
use clap::Args;
use record::{Finding, Severity};
use report::Story;
use serde::Serialize;
use session::Driver;
use std::path::PathBuf;
use store::{Store, StoreError};

/// Names the database where `--db` does not.
const DB_VARIABLE: &str = "HALFPOWER_DB";

/// What is said, with the reason, where the page is shown but the database takes no more.
pub(crate) const NOT_SAVED: &str = "the result was printed, but not saved";

/// Where results are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Database of results [default: $HALFPOWER_DB, else halfpower/halfpower.db in the XDG data
    /// directory].
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    db: Option<PathBuf>,
}

impl StoreArgs {
    /// The file of the database. An empty variable is one that is not set, as for a shell's
    /// `${HALFPOWER_DB:-...}`; the parser's own variables would take it for an empty path.
    ///
    /// # Errors
    /// If no file is named and there is no default one.
    pub(crate) fn file(&self) -> Result<PathBuf, StoreError> {
        let variable = || std::env::var_os(DB_VARIABLE).filter(|value| !value.is_empty());
        match self.db.clone().or_else(|| variable().map(PathBuf::from)) {
            Some(path) => Ok(path),
            None => Store::default_path(),
        }
    }

    /// The database, made where it is missing.
    pub(crate) fn open(&self) -> anyhow::Result<Store> {
        let opened = self.file().and_then(|path| Store::open(&path));
        opened.context("results cannot be saved (--no-save goes without)")
    }

    /// The database, which must exist.
    pub(crate) fn existing(&self) -> Result<Store, StoreError> {
        Store::open_existing(&self.file()?)
    }
}

/// How a command shows what follows from saved documents, and where these are.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

impl ViewArgs {
    /// Prints a document, as JSON or as the page of its story.
    pub(crate) fn show(&self, document: &impl Serialize, story: &Story) -> anyhow::Result<Verdict> {
        output::document(self.json, document, || output::page(story))?;
        Ok(Verdict::Clean)
    }
}

/// What becomes of a new document.
#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// Print the document as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Do not save the results.
    #[arg(long, help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

/// The seed and the results of a command that measures.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

impl SaveArgs {
    /// The database, unless nothing is to be saved.
    pub(crate) fn store(&self) -> anyhow::Result<Option<Store>> {
        if self.no_save {
            return Ok(None);
        }
        self.keeping.open().map(Some)
    }

    /// Prints a document that was given to the driver's store. What was measured is shown in any
    /// case, also where it could not be saved.
    pub(crate) fn show(
        &self,
        driver: &mut Driver<'_>,
        document: &impl Serialize,
        findings: &[Finding],
        page: impl FnOnce(&Driver<'_>) -> String,
    ) -> anyhow::Result<Verdict> {
        output::document(self.json, document, || page(driver))?;
        driver.unsaved().map_or(Ok(()), Err).context(NOT_SAVED)?;
        Ok(Verdict::of(findings.iter().all(|finding| finding.severity < Severity::Invalid)))
    }
}

//! The flags and the environment variable that locate the database of results.

use crate::output::{self, Verdict};
use anyhow::Context;
use clap::Args;
use diagnose::ProfileSet;
use engine::input;
use host::target::InUse;
use plan::session::Driver;
use record::{DocumentKind, Finding, Profile, short_id};
use report::Story;
use serde::Serialize;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// Environment variable with the database's path, used without `--db`.
const DB_VARIABLE: &str = "HALFPOWER_DB";

/// Only this many of the latest profiles are searched for a match: reading thousands would take too long.
const LATEST_PROFILES: usize = 200;

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Database of results [default: $HALFPOWER_DB, else halfpower/halfpower.db in the XDG data
    /// directory, on Windows in %LOCALAPPDATA%].
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) db: Option<PathBuf>,
}

impl StoreArgs {
    /// The path of the database. An empty variable counts as unset, as in a shell's `${HALFPOWER_DB:-...}`.
    /// The parser's own support for variables would read it as an empty path.
    pub(crate) fn file(&self) -> Result<PathBuf, StoreError> {
        let variable = || std::env::var_os(DB_VARIABLE).filter(|value| !value.is_empty());
        let named = self.db.clone().or_else(|| variable().map(PathBuf::from));
        named.map_or_else(Store::default_path, Ok)
    }

    /// The files of the database, which no target or output may overwrite.
    pub(crate) fn kept(&self) -> Vec<InUse> {
        let files = self.file().map(|path| Store::files_at(&path)).into_iter().flatten();
        files.map(|path| InUse::new(path, "the database of results")).collect()
    }

    /// Opens the database; creates it if it is missing.
    pub(crate) fn open(&self) -> anyhow::Result<Store> {
        let opened = self.file().and_then(|path| Store::open(&path));
        opened.context("cannot save results")
    }

    /// Opens the database, which must exist.
    pub(crate) fn existing(&self) -> Result<Store, StoreError> {
        Store::open_existing(&self.file()?)
    }

    /// The saved profile of an id, the beginning of one, or "last". A remark says if it is partial.
    pub(crate) fn profile(&self, id: &str) -> Result<Profile, StoreError> {
        let profile: Profile = self.existing()?.document(id)?;
        if profile.partial().is_some() {
            output::remark(&format!(
                "profile {} is partial: loads that its check did not reach are missing",
                short_id(&profile.id)
            ));
        }
        Ok(profile)
    }

    /// The profiles to compare devices with. The profile with the given id applies to every device. Without
    /// an id, these are the latest profiles of the database, if it exists and can be read.
    pub(crate) fn profiles_for_devices(&self, id: Option<&str>) -> anyhow::Result<ProfileSet> {
        if let Some(id) = id {
            return Ok(ProfileSet::chosen(self.profile(id)?));
        }
        match self.file() {
            Err(StoreError::NoDefaultPath) => Ok(ProfileSet::default()),
            file => match latest_profiles(&file?) {
                Err(error) if !error.is_wrong_file() => {
                    output::remark(&format!("saved profiles are not used: {error}"));
                    Ok(ProfileSet::default())
                }
                profiles => {
                    let profiles = profiles?;
                    if let Some(other) = of_sudo_user().filter(|_| profiles.is_empty()) {
                        output::remark(&format!(
                            "no saved profiles for root; to use those of the user who called sudo, \
                             add --db {}",
                            other.display()
                        ));
                    }
                    Ok(ProfileSet::saved(profiles))
                }
            },
        }
    }
}

/// The database of the user who called sudo, if it exists. Only its path is used: as root, halfpower
/// opens no file of a user who did not name it.
fn of_sudo_user() -> Option<PathBuf> {
    let user = std::env::var("SUDO_USER").ok()?;
    let accounts = input::text(Path::new("/etc/passwd"), input::ACCOUNTS).ok()?;
    let of_user = |line: &&str| line.split(':').next() == Some(&user);
    let home = accounts.lines().find(of_user)?.split(':').nth(5)?;
    Store::path_in_home(home.into()).filter(|path| path.is_file())
}

/// The kinds that `--kind` selects.
pub(crate) fn kinds(only: Option<DocumentKind>) -> Vec<DocumentKind> {
    only.map_or(DocumentKind::ALL.to_vec(), |kind| vec![kind])
}

/// The latest profiles of a database, oldest first; empty if the database does not exist.
pub(crate) fn latest_profiles(file: &Path) -> Result<Vec<Profile>, StoreError> {
    let store = match Store::open_existing(file) {
        Err(StoreError::Missing(_)) => return Ok(Vec::new()),
        opened => opened?,
    };
    let rows = store.list::<Profile>()?;
    let latest = rows.iter().skip(rows.len().saturating_sub(LATEST_PROFILES));
    latest.map(|row| store.document(&row.id)).collect()
}

/// Flags of a command that reads saved documents: the output format and the database.
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
        output::document(self.json, document, || output::page(story))
    }
}

/// Prints on standard error that a result was not saved, why, and what to do.
pub(crate) fn warn_not_saved(error: &StoreError) {
    output::remark(&format!("not saved: {error}"));
}

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

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

impl SaveArgs {
    /// The database, unless `--no-save` is given. If it cannot be opened, a warning is printed before the
    /// measurement, and the result is only printed.
    ///
    /// # Errors
    /// If the file is of another kind or version: the command names the wrong file.
    pub(crate) fn store(&self) -> anyhow::Result<Option<Store>> {
        if self.no_save {
            return Ok(None);
        }
        match self.keeping.file().and_then(|path| Store::open(&path)) {
            Err(error) if !error.is_wrong_file() => {
                warn_not_saved(&error);
                Ok(None)
            }
            opened => {
                Ok(Some(opened.context("cannot save results (--no-save runs without saving)")?))
            }
        }
    }

    /// Prints a document that the driver has saved, as JSON or as the page of its story. If saving failed, a
    /// warning is printed; the exit code still depends only on the result.
    pub(crate) fn show(
        &self,
        driver: &mut Driver<'_>,
        document: &impl Serialize,
        findings: &[Finding],
        story: impl FnOnce() -> Story,
    ) -> anyhow::Result<Verdict> {
        // The page of an unsaved document has no commands that look it up.
        let page =
            |story: Story, saved| output::page(&if saved { story } else { story.unsaved("") });
        output::document(self.json, document, || page(story(), driver.store().is_some()))?;
        if let Some(error) = driver.unsaved() {
            warn_not_saved(&error);
        }
        Ok(Verdict::of(Finding::none_invalid(findings)))
    }
}

//! Adding documents and finding them again.
//!
//! A measured document has a unique id and is kept once. A simulated one has an id that is the
//! hash of what was asked, and the same question gives the same answer, so that running it again
//! replaces the row: otherwise every repeat of an example would be an error, or a duplicate.
//!
//! Each document is read back from its own text before it is written: JSON has no infinity, and a
//! document that went in and cannot come out would be found years later.

use crate::{Store, StoreError};
use record::{Profile, Target, TargetKind, Trial};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Serialize, de::DeserializeOwned};

/// How many ids an ambiguous prefix is answered with.
const CANDIDATES: usize = 5;

/// One line of the list of profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRow {
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339 in UTC; `None` where simulated.
    pub time: Option<String>,
    /// The target as the user named it.
    pub target: String,
    /// What the target is.
    pub kind: TargetKind,
    /// The kernel's name of the whole disk; `None` where there is none.
    pub device: Option<String>,
    /// The disk's model, where known.
    pub model: Option<String>,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// Trials kept with it.
    pub trials: u32,
}

/// One of the two kinds of document, and its table.
trait Document: Serialize + DeserializeOwned {
    /// Table, and word in messages.
    const KIND: &'static str;
    /// Its id.
    fn id(&self) -> &str;
    /// Whether its id is a hash of what was asked.
    fn simulated(&self) -> bool;
}

impl Document for Trial {
    const KIND: &'static str = "trial";
    fn id(&self) -> &str {
        &self.id
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
}

impl Document for Profile {
    const KIND: &'static str = "profile";
    fn id(&self) -> &str {
        &self.id
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
}

impl Store {
    /// Adds a trial; it is committed when this returns. A trial that is there already with the
    /// same content is left alone; a simulated one is replaced.
    ///
    /// # Errors
    /// If the file cannot be written, holds another trial of this id, or the trial cannot be
    /// written as JSON (an infinite number).
    pub fn add_trial(&mut self, trial: &Trial) -> Result<(), StoreError> {
        let document = self.text(trial)?;
        if !self.wanted(trial, &document)? {
            return Ok(());
        }
        let (target, kind, device) = key_columns(trial.targets.first());
        self.connection
            .execute(
                "INSERT INTO trial (id, time, cell, target, kind, device, simulated, clean, document)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (id) DO UPDATE SET clean = ?8, document = ?9",
                params![
                    trial.id,
                    trial.time,
                    trial.cell,
                    target,
                    kind,
                    device,
                    trial.simulated,
                    trial.clean(),
                    document
                ],
            )
            .map_err(|cause| self.failed(cause))?;
        Ok(())
    }

    /// Adds a profile with the trials that it rests on, all of which must be kept already; both
    /// are committed together when this returns. Repeats as in [`Store::add_trial`].
    ///
    /// # Errors
    /// As [`Store::add_trial`]; also if one of the trials is not in the file, in which case
    /// nothing is added.
    pub fn add_profile(
        &mut self,
        profile: &Profile,
        trial_ids: &[String],
    ) -> Result<(), StoreError> {
        let document = self.text(profile)?;
        if !self.wanted(profile, &document)? {
            return Ok(());
        }
        for id in trial_ids {
            if self.kept_text::<Trial>(id)?.is_none() {
                return Err(self.not_found::<Trial>(id));
            }
        }
        let path = self.path.clone();
        let failed = |cause| StoreError::from_sqlite(&path, cause);
        let transaction = self.connection.transaction().map_err(failed)?;
        insert_profile(&transaction, profile, &document, trial_ids).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The trial with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// If there is none or more than one, or the file cannot be read.
    pub fn trial(&self, id_or_prefix: &str) -> Result<Trial, StoreError> {
        self.document(id_or_prefix)
    }

    /// The profile with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// If there is none or more than one, or the file cannot be read.
    pub fn profile(&self, id_or_prefix: &str) -> Result<Profile, StoreError> {
        self.document(id_or_prefix)
    }

    /// All profiles, in the order in which they were saved.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn profiles(&self) -> Result<Vec<ProfileRow>, StoreError> {
        self.rows(
            "SELECT id, time, target, kind, device, model, simulated,
                    (SELECT count(*) FROM profile_trial WHERE profile_id = profile.id)
             FROM profile ORDER BY rowid",
            &[],
            |row| {
                let kind: String = row.get(3)?;
                Ok(ProfileRow {
                    id: row.get(0)?,
                    time: row.get(1)?,
                    target: row.get(2)?,
                    kind: serde_json::from_value(kind.into()).map_err(|cause| {
                        let text = rusqlite::types::Type::Text;
                        rusqlite::Error::FromSqlConversionFailure(3, text, Box::new(cause))
                    })?,
                    device: row.get(4)?,
                    model: row.get(5)?,
                    simulated: row.get(6)?,
                    trials: row.get(7)?,
                })
            },
        )
    }

    /// The trials that a profile rests on, in the order in which they were given with it.
    ///
    /// # Errors
    /// If there is no such profile, or the file cannot be read.
    pub fn trials_of_profile(&self, id_or_prefix: &str) -> Result<Vec<Trial>, StoreError> {
        let id = self.full_id::<Profile>(id_or_prefix)?;
        let kept: Vec<(String, String)> = self.rows(
            "SELECT trial.id, trial.document
             FROM profile_trial JOIN trial ON trial.id = profile_trial.trial_id
             WHERE profile_id = ?1 ORDER BY position",
            &[&id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        kept.iter().map(|(id, text)| self.parse(id, text)).collect()
    }

    /// The JSON text of a document, known to read back.
    fn text<D: Document>(&self, document: &D) -> Result<String, StoreError> {
        let bad = |cause| self.bad_document::<D>(document.id(), cause);
        let text = serde_json::to_string(document).map_err(bad)?;
        serde_json::from_str::<D>(&text).map_err(bad)?;
        Ok(text)
    }

    /// Whether the document is to be written: not where the same text is there already.
    fn wanted<D: Document>(&self, document: &D, text: &str) -> Result<bool, StoreError> {
        match self.kept_text::<D>(document.id())? {
            None => Ok(true),
            Some(kept) if kept == text => Ok(false),
            Some(_) if document.simulated() => Ok(true),
            Some(_) => Err(StoreError::Duplicate {
                kind: D::KIND,
                id: document.id().to_owned(),
                path: self.path.clone(),
            }),
        }
    }

    /// The text kept under exactly this id.
    fn kept_text<D: Document>(&self, id: &str) -> Result<Option<String>, StoreError> {
        let sql = format!("SELECT document FROM {} WHERE id = ?1", D::KIND);
        self.connection
            .query_row(&sql, [id], |row| row.get(0))
            .optional()
            .map_err(|cause| self.failed(cause))
    }

    /// The document with this id or prefix.
    fn document<D: Document>(&self, id_or_prefix: &str) -> Result<D, StoreError> {
        let id = self.full_id::<D>(id_or_prefix)?;
        let text = self.kept_text::<D>(&id)?.ok_or_else(|| self.not_found::<D>(&id))?;
        self.parse(&id, &text)
    }

    /// The only id that begins with `prefix`. All our ids are lower-case hexadecimal.
    fn full_id<D: Document>(&self, prefix: &str) -> Result<String, StoreError> {
        let prefix = prefix.to_lowercase();
        if prefix.is_empty() {
            return Err(self.not_found::<D>(&prefix));
        }
        // A range, for the index's sake: `g` sorts behind every character of an id.
        let sql = format!(
            "SELECT id FROM {} WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {CANDIDATES}",
            D::KIND
        );
        let mut ids: Vec<String> = self.rows(&sql, &[&prefix], |row| row.get(0))?;
        match ids.as_slice() {
            [] => Err(self.not_found::<D>(&prefix)),
            // An id in full wins over longer ones that it begins: it sorts first.
            [first, _, ..] if *first != prefix => Err(StoreError::Ambiguous {
                kind: D::KIND,
                id: prefix,
                candidates: ids,
                path: self.path.clone(),
            }),
            _ => Ok(ids.swap_remove(0)),
        }
    }

    /// All rows of a query.
    fn rows<T>(
        &self,
        sql: &str,
        parameters: &[&dyn rusqlite::ToSql],
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |cause| self.failed(cause);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map(parameters, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    fn parse<D: Document>(&self, id: &str, text: &str) -> Result<D, StoreError> {
        serde_json::from_str(text).map_err(|cause| self.bad_document::<D>(id, cause))
    }

    fn bad_document<D: Document>(&self, id: &str, cause: serde_json::Error) -> StoreError {
        let (id, path) = (id.to_owned(), self.path.clone());
        StoreError::Document { kind: D::KIND, id, path, cause }
    }

    fn not_found<D: Document>(&self, id: &str) -> StoreError {
        StoreError::NotFound { kind: D::KIND, id: id.to_owned(), path: self.path.clone() }
    }

    fn failed(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, cause)
    }
}

/// Writes a profile and its list of trials.
fn insert_profile(
    connection: &Connection,
    profile: &Profile,
    document: &str,
    trial_ids: &[String],
) -> rusqlite::Result<()> {
    let (target, kind, device) = key_columns(Some(&profile.target));
    let model = profile.target.device.as_ref().and_then(|device| device.model.as_deref());
    connection.execute(
        "INSERT INTO profile (id, time, target, kind, device, model, simulated, document)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (id) DO UPDATE SET document = ?8",
        params![profile.id, profile.time, target, kind, device, model, profile.simulated, document],
    )?;
    connection.execute("DELETE FROM profile_trial WHERE profile_id = ?1", [&profile.id])?;
    let mut insert = connection.prepare(
        "INSERT INTO profile_trial (profile_id, position, trial_id) VALUES (?1, ?2, ?3)",
    )?;
    for (position, id) in trial_ids.iter().enumerate() {
        insert.execute(params![profile.id, position as i64, id])?;
    }
    Ok(())
}

/// Path, kind and disk of a target. A trial always has one; an empty path stands for none.
fn key_columns(target: Option<&Target>) -> (&str, String, Option<&str>) {
    let Some(target) = target else {
        return ("", String::new(), None);
    };
    let kind = serde_json::to_value(target.kind)
        .ok()
        .and_then(|kind| kind.as_str().map(str::to_owned))
        .unwrap_or_default();
    (&target.path, kind, target.device.as_ref().map(|device| device.disk.as_str()))
}

//! Trials and profiles, which have more columns to be found by than other documents, and the
//! trials that a profile rests on.
//!
//! They have tables of their own since the first version, and names of their own for what
//! [`crate::Document`] does for all kinds, because nearly everything uses them.

use crate::{Document, Store, StoreError};
use record::{DeviceFacts, Profile, Target, TargetKind, Trial};
use rusqlite::{Connection, params};

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

impl Document for Trial {
    const KIND: &'static str = "trial";
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        self.targets.first().map(|target| target.path.clone()).unwrap_or_default()
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
    fn write(&self, connection: &Connection, text: &str) -> rusqlite::Result<()> {
        let (target, kind, device) = key_columns(self.targets.first());
        connection.execute(
            "INSERT INTO trial (id, time, cell, target, kind, device, simulated, clean, document)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET clean = ?8, document = ?9",
            params![
                self.id,
                self.time,
                self.cell,
                target,
                kind,
                device,
                self.simulated,
                self.clean(),
                text
            ],
        )?;
        Ok(())
    }
}

impl Document for Profile {
    const KIND: &'static str = "profile";
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        self.target.path.clone()
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
    fn write(&self, connection: &Connection, text: &str) -> rusqlite::Result<()> {
        let (target, kind, device) = key_columns(Some(&self.target));
        let model = self.target.device.as_ref().and_then(|device| device.model.as_deref());
        connection.execute(
            "INSERT INTO profile (id, time, target, kind, device, model, simulated, document)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET document = ?8, rowid = CASE WHEN simulated
             THEN (SELECT max(rowid) + 1 FROM profile) ELSE rowid END",
            params![self.id, self.time, target, kind, device, model, self.simulated, text],
        )?;
        Ok(())
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
        self.add_document(trial)
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

    /// The profiles of one disk, by its model and serial number as well, the newest first and at
    /// most so many. Those that cannot be read are left out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn profiles_of(
        &self,
        device: &DeviceFacts,
        most: usize,
    ) -> Result<Vec<Profile>, StoreError> {
        let same = |other: &DeviceFacts| {
            (&other.disk, &other.model, &other.serial)
                == (&device.disk, &device.model, &device.serial)
        };
        let rows = self.profiles()?;
        let of_disk = rows.iter().rev().filter(|row| row.device.as_ref() == Some(&device.disk));
        let profiles = of_disk.take(most).filter_map(|row| self.profile(&row.id).ok());
        Ok(profiles.filter(|profile| profile.target.device.as_ref().is_some_and(same)).collect())
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
}

/// Writes a profile and its list of trials.
fn insert_profile(
    connection: &Connection,
    profile: &Profile,
    document: &str,
    trial_ids: &[String],
) -> rusqlite::Result<()> {
    profile.write(connection, document)?;
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

//! Links documents with their trials: the trials of a profile, and those of an experiment.
//!
//! An experiment is saved with its plan before its first trial. Each trial and its link are committed
//! together. However the program ends, each place of the plan either has its trial or is still to be run. A
//! list of trials in the document would have to be rewritten after each of them, and would duplicate the
//! information.

use crate::document::write;
use crate::find::COMPLETE;
use crate::{Document, Store, StoreError};
use record::{DeviceFacts, DoneTrial, Experiment, Profile, Trial};
use rusqlite::{Connection, Transaction, params};
use std::collections::BTreeMap;

impl Store {
    /// Adds a trial that belongs to a document which does not exist yet. A repeated call behaves as in
    /// [`Store::add_document`].
    ///
    /// # Errors
    /// As [`Store::add_document`].
    pub fn add_part(&mut self, trial: &Trial) -> Result<(), StoreError> {
        let text = self.text(trial)?;
        if !self.wanted(trial, &text)? {
            return Ok(());
        }
        self.transaction(|open| {
            write(trial, open, &text, None)?;
            mark_part(open, &trial.id)
        })
    }

    /// Adds a profile and links it to its trials, all of which must be saved already. Both are committed
    /// together before this returns. A repeated call behaves as in [`Store::add_document`].
    ///
    /// # Errors
    /// As [`Store::add_document`]; also if one of the trials is not in the file, in which case
    /// nothing is added.
    pub fn add_profile(&mut self, profile: &Profile, trials: &[String]) -> Result<(), StoreError> {
        let text = self.text(profile)?;
        if !self.wanted(profile, &text)? {
            return Ok(());
        }
        for id in trials {
            if self.kept_text::<Trial>(id)?.is_none() {
                return Err(self.not_found(id, &[Trial::KIND]));
            }
        }
        self.transaction(|open| {
            write(profile, open, &text, None)?;
            open.execute("DELETE FROM profile_trial WHERE profile_id = ?1", [&profile.id])?;
            let mut insert = open.prepare(
                "INSERT INTO profile_trial (profile_id, position, trial_id) VALUES (?1, ?2, ?3)",
            )?;
            for (position, id) in trials.iter().enumerate() {
                insert.execute(params![profile.id, position as i64, id])?;
                mark_part(open, id)?;
            }
            Ok(())
        })
    }

    /// The complete profiles of one disk, which must match in model and serial number too, newest first and at most
    /// `most`. Profiles that cannot be read are left out.
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
        let sql = format!(
            "SELECT id FROM profile WHERE device = ?1{COMPLETE} ORDER BY rowid DESC LIMIT ?2"
        );
        let ids: Vec<String> =
            self.rows(&sql, &[&device.disk, &(most as i64)], |row| row.get(0))?;
        let profiles = ids.iter().filter_map(|id| self.document::<Profile>(id).ok());
        Ok(profiles.filter(|profile| profile.target.device.as_ref().is_some_and(same)).collect())
    }

    /// The trials that are linked to a document. For a profile, in the order in which they were added with
    /// it. For an experiment, those of [`Experiment::done`], one for one, in the order of the plan.
    ///
    /// # Errors
    /// If no such document exists, or the file cannot be read.
    pub fn trials_of<D: Document>(&self, id: &str) -> Result<Vec<Trial>, StoreError> {
        let (kind, id) = self.only(id, &[D::KIND])?;
        let kind = kind.name();
        let sql = format!(
            "SELECT trial.id, trial.document
             FROM {kind}_trial JOIN trial ON trial.id = {kind}_trial.trial_id
             WHERE {kind}_id = ?1 ORDER BY position"
        );
        let kept: Vec<(String, String)> =
            self.rows(&sql, &[&id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        kept.iter().map(|(id, text)| self.parse(id, text)).collect()
    }

    /// Saves an experiment that has not run yet. A simulated experiment from an earlier run is reset.
    ///
    /// # Errors
    /// As [`Store::add_document`].
    pub fn start_experiment(&mut self, experiment: &Experiment) -> Result<(), StoreError> {
        let text = self.text(experiment)?;
        self.transaction(|open| {
            write(experiment, open, &text, None)?;
            let sql = "DELETE FROM experiment_trial WHERE experiment_id = ?1";
            open.execute(sql, [&experiment.id]).map(drop)
        })
    }

    /// Saves a trial of an experiment at its place in the plan. Both are committed together before this
    /// returns. An earlier trial at this place is replaced.
    ///
    /// # Errors
    /// As [`Store::add_document`]; also if the experiment does not exist.
    pub fn add_experiment_trial(
        &mut self,
        experiment_id: &str,
        position: u32,
        trial: &Trial,
        extras: &BTreeMap<String, f64>,
    ) -> Result<(), StoreError> {
        if self.kept_text::<Experiment>(experiment_id)?.is_none() {
            return Err(self.not_found(experiment_id, &[Experiment::KIND]));
        }
        let text = self.text(trial)?;
        let wanted = self.wanted(trial, &text)?;
        let bad = |cause| self.bad_document::<Trial>(&trial.id, cause);
        let extras_text = serde_json::to_string(extras).map_err(bad)?;
        serde_json::from_str::<BTreeMap<String, f64>>(&extras_text).map_err(bad)?;
        self.transaction(|open| {
            if wanted {
                write(trial, open, &text, None)?;
            }
            open.execute(
                "INSERT INTO experiment_trial (experiment_id, position, trial_id, extras)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (experiment_id, position) DO UPDATE SET trial_id = ?3, extras = ?4",
                params![experiment_id, position, trial.id, extras_text],
            )?;
            mark_part(open, &trial.id)
        })
    }

    /// The completed trials of an experiment, in the order of the plan.
    pub(crate) fn done_trials(&self, id: &str) -> Result<Vec<DoneTrial>, StoreError> {
        let kept: Vec<(u32, String, String)> = self.rows(
            "SELECT position, trial_id, extras FROM experiment_trial
             WHERE experiment_id = ?1 ORDER BY position",
            &[&id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let read = |(position, trial_id, extras): (u32, String, String)| {
            let extras = serde_json::from_str(&extras)
                .map_err(|cause| self.bad_document::<Experiment>(id, cause))?;
            Ok(DoneTrial { position, trial_id, extras })
        };
        kept.into_iter().map(read).collect()
    }

    fn transaction(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let done = self.connection.transaction().and_then(|open| {
            work(&open)?;
            open.commit()
        });
        done.map_err(|cause| StoreError::from_sqlite(&self.path, cause))
    }
}

/// Marks a saved trial as a part of another document.
fn mark_part(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection.execute("UPDATE trial SET part = 1 WHERE id = ?1", [id]).map(drop)
}

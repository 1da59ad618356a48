//! Experiments: the plan is kept first, and each trial is linked to its place in it as it ends.
//!
//! Trial and link are committed together: after any kind of end each place of the plan either has
//! its trial or is still to be run. The document holds the plan and the conclusions, the links say
//! what was run; a list of trials in the document would have to be written again after each of
//! them, and would be a second truth.

use crate::{Document, Store, StoreError};
use record::{DoneTrial, Experiment, Trial};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

impl Document for Experiment {
    const KIND: &'static str = "experiment";
    const GROWS: bool = true;
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        let paths: Vec<&str> = self.targets.iter().map(|target| target.path.as_str()).collect();
        paths.join(" ")
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Self { done: Vec::new(), ..self.clone() })
    }
    fn write(&self, connection: &Connection, text: &str) -> rusqlite::Result<()> {
        connection.execute(
            "INSERT INTO experiment (id, time, target, simulated, document)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET document = ?5, rowid = CASE WHEN simulated
             THEN (SELECT max(rowid) + 1 FROM experiment) ELSE rowid END",
            params![self.id, self.time, self.target(), self.simulated, text],
        )?;
        Ok(())
    }
    fn read_beside(&mut self, store: &Store) -> Result<(), StoreError> {
        self.done = store.done_trials(&self.id)?;
        Ok(())
    }
}

impl Store {
    /// Keeps an experiment of which nothing was run yet. A simulated one that is there from an
    /// earlier run begins anew.
    ///
    /// # Errors
    /// As [`Store::add_document`].
    pub fn start_experiment(&mut self, experiment: &Experiment) -> Result<(), StoreError> {
        let text = self.text(experiment)?;
        let path = self.path.clone();
        let failed = |cause| StoreError::from_sqlite(&path, cause);
        let transaction = self.connection.transaction().map_err(failed)?;
        experiment.write(&transaction, &text).map_err(failed)?;
        transaction
            .execute("DELETE FROM experiment_trial WHERE experiment_id = ?1", [&experiment.id])
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// Keeps a trial of an experiment, at its place in the plan; both are committed together when
    /// this returns. A trial that was at that place is replaced.
    ///
    /// # Errors
    /// As [`Store::add_trial`]; also if there is no such experiment.
    pub fn add_experiment_trial(
        &mut self,
        experiment_id: &str,
        position: u32,
        trial: &Trial,
        extras: &BTreeMap<String, f64>,
    ) -> Result<(), StoreError> {
        if self.kept_text::<Experiment>(experiment_id)?.is_none() {
            return Err(self.not_found::<Experiment>(experiment_id));
        }
        let text = self.text(trial)?;
        let wanted = self.wanted(trial, &text)?;
        let bad = |cause| self.bad_document::<Trial>(&trial.id, cause);
        let extras_text = serde_json::to_string(extras).map_err(bad)?;
        serde_json::from_str::<BTreeMap<String, f64>>(&extras_text).map_err(bad)?;
        let path = self.path.clone();
        let failed = |cause| StoreError::from_sqlite(&path, cause);
        let transaction = self.connection.transaction().map_err(failed)?;
        if wanted {
            trial.write(&transaction, &text).map_err(failed)?;
        }
        transaction
            .execute(
                "INSERT INTO experiment_trial (experiment_id, position, trial_id, extras)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (experiment_id, position) DO UPDATE SET trial_id = ?3, extras = ?4",
                params![experiment_id, position, trial.id, extras_text],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The trials of an experiment that were run, in the order of the plan: those of
    /// [`Experiment::done`], one for one.
    ///
    /// # Errors
    /// If there is no such experiment, or the file cannot be read.
    pub fn trials_of_experiment(&self, id_or_prefix: &str) -> Result<Vec<Trial>, StoreError> {
        let id = self.full_id::<Experiment>(id_or_prefix)?;
        let kept: Vec<(String, String)> = self.rows(
            "SELECT trial.id, trial.document
             FROM experiment_trial JOIN trial ON trial.id = experiment_trial.trial_id
             WHERE experiment_id = ?1 ORDER BY position",
            &[&id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        kept.iter().map(|(id, text)| self.parse(id, text)).collect()
    }

    /// What was run of an experiment, in the order of the plan.
    fn done_trials(&self, id: &str) -> Result<Vec<DoneTrial>, StoreError> {
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
}

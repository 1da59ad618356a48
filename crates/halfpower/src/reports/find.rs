//! Which documents are meant: ids, beginnings of ids, "last", and files.
//!
//! An existing file is read as one; everything else is an id. Ids of all kinds are looked through,
//! because a reader who pastes one does not know of kinds. "last" is the newest document that is
//! not a part of another: trials belong to the profile or experiment that they were run for, so
//! that they come last of all. Documents of simulated targets have no time: among them, and against
//! others, the order of the kinds decides.

use crate::failure::UsageError;
use crate::store_args::{LAST, StoreArgs};
use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use record::{Comparison, Diagnosis, Experiment, LimitsRun, Observation, Profile, Trial, ZoneMap};
use report::Saved;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use store::{Document, Store, StoreError};

/// How many ids an ambiguous beginning is answered with.
const CANDIDATES: usize = 5;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentKind {
    Experiment,
    Profile,
    Limits,
    Zones,
    Observation,
    Diagnosis,
    Trial,
}

impl DocumentKind {
    /// All of them; "last" prefers the earlier.
    const ALL: [Self; 7] = [
        Self::Experiment,
        Self::Profile,
        Self::Limits,
        Self::Zones,
        Self::Observation,
        Self::Diagnosis,
        Self::Trial,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Experiment => Experiment::KIND,
            Self::Profile => Profile::KIND,
            Self::Limits => LimitsRun::KIND,
            Self::Zones => ZoneMap::KIND,
            Self::Observation => Observation::KIND,
            Self::Diagnosis => Diagnosis::KIND,
            Self::Trial => Trial::KIND,
        }
    }

    /// The document of this kind with this id or beginning of it, and what belongs to it.
    fn read(self, store: &Store, id: &str) -> Result<Saved, StoreError> {
        match self {
            Self::Experiment => {
                let experiment: Experiment = store.document(id)?;
                let trials = store.trials_of_experiment(&experiment.id)?;
                Ok(Saved::Experiment(Box::new(experiment), trials))
            }
            Self::Profile => {
                let profile = store.profile(id)?;
                let trials = store.trials_of_profile(&profile.id)?;
                Ok(Saved::Profile(Box::new(profile), trials))
            }
            Self::Limits => Ok(Saved::Limits(Box::new(store.document(id)?))),
            Self::Zones => Ok(Saved::Zones(Box::new(store.document(id)?))),
            Self::Observation => Ok(Saved::Observation(Box::new(store.document(id)?))),
            Self::Diagnosis => Ok(Saved::Diagnosis(Box::new(store.document(id)?))),
            Self::Trial => Ok(Saved::Trial(Box::new(store.trial(id)?))),
        }
    }

    /// The newest of this kind: id and time.
    fn newest(self, store: &Store) -> Result<Option<(String, Option<String>)>, StoreError> {
        let mut rows = match self {
            Self::Experiment => store.list::<Experiment>()?,
            Self::Profile => store.list::<Profile>()?,
            Self::Limits => store.list::<LimitsRun>()?,
            Self::Zones => store.list::<ZoneMap>()?,
            Self::Observation => store.list::<Observation>()?,
            Self::Diagnosis => store.list::<Diagnosis>()?,
            Self::Trial => store.list::<Trial>()?,
        };
        Ok(rows.pop().map(|row| (row.id, row.time)))
    }
}

/// The documents that are meant, in the order in which they were named.
pub(super) fn documents(
    what: &[String],
    kind: Option<DocumentKind>,
    keeping: &StoreArgs,
) -> anyhow::Result<Vec<Saved>> {
    let mut source = Source { keeping, store: None };
    let mut kept = Vec::new();
    for each in what {
        let path = Path::new(each);
        if path.is_file() {
            kept.extend(source.file(path)?);
        } else if path.is_dir() || each.contains('/') || each.ends_with(".json") {
            bail!("{each:?} is no file; name a JSON document or an id");
        } else {
            kept.push(source.kept(each, kind)?);
        }
    }
    if let Some(kind) = kind
        && let Some(other) = kept.iter().find(|kept| kind_of(kept) != Some(kind))
    {
        let text = format!(
            "--kind {} does not fit a file with another document: {}",
            kind.name(),
            id_of(other)
        );
        return Err(UsageError(text).into());
    }
    Ok(kept)
}

fn kind_of(kept: &Saved) -> Option<DocumentKind> {
    match kept {
        Saved::Trial(_) => Some(DocumentKind::Trial),
        Saved::Profile(..) => Some(DocumentKind::Profile),
        Saved::Experiment(..) => Some(DocumentKind::Experiment),
        Saved::Observation(_) => Some(DocumentKind::Observation),
        Saved::Limits(_) => Some(DocumentKind::Limits),
        Saved::Zones(_) => Some(DocumentKind::Zones),
        Saved::Diagnosis(_) => Some(DocumentKind::Diagnosis),
        // Saved in files alone.
        Saved::Comparison(_) => None,
    }
}

fn id_of(kept: &Saved) -> &str {
    match kept {
        Saved::Trial(trial) => &trial.id,
        Saved::Profile(profile, _) => &profile.id,
        Saved::Experiment(experiment, _) => &experiment.id,
        Saved::Observation(observation) => &observation.id,
        Saved::Limits(run) => &run.id,
        Saved::Zones(map) => &map.id,
        Saved::Comparison(comparison) => &comparison.id,
        Saved::Diagnosis(diagnosis) => &diagnosis.id,
    }
}

/// The database, opened when something of it is asked for.
struct Source<'a> {
    keeping: &'a StoreArgs,
    store: Option<Store>,
}

impl Source<'_> {
    fn store(&mut self) -> anyhow::Result<&Store> {
        if self.store.is_none() {
            self.store = Some(Store::open_existing(&self.keeping.file()?)?);
        }
        self.store.as_ref().ok_or_else(|| anyhow!("the database was not opened"))
    }

    /// The document of an id, of one kind or of any.
    fn kept(&mut self, id: &str, kind: Option<DocumentKind>) -> anyhow::Result<Saved> {
        let store = self.store()?;
        let kinds: Vec<DocumentKind> = match kind {
            Some(kind) => vec![kind],
            None => DocumentKind::ALL.to_vec(),
        };
        if id == LAST {
            return last(store, &kinds);
        }
        let mut found: Vec<Saved> = Vec::new();
        let mut several: Vec<StoreError> = Vec::new();
        for kind in &kinds {
            match kind.read(store, id) {
                Ok(kept) => found.push(kept),
                Err(StoreError::NotFound { .. }) => {}
                Err(error @ StoreError::Ambiguous { .. }) => several.push(error),
                Err(error) => return Err(error.into()),
            }
        }
        match (found.len(), several.len()) {
            (1, 0) => Ok(found.remove(0)),
            (0, 1) => Err(several.remove(0).into()),
            (0, 0) => {
                let path = store.path().display();
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                Err(anyhow!(
                    "no document {id:?} in {path} (looked for: {}); `halfpower profile list` shows \
                     the profiles, \"last\" is the newest document",
                    kinds.join(", ")
                ))
            }
            _ => {
                let of_several = several.iter().flat_map(StoreError::candidates);
                let all = found.iter().map(id_of).chain(of_several.map(String::as_str));
                let ids: Vec<&str> = all.take(CANDIDATES).collect();
                Err(UsageError(format!(
                    "{id:?} stands for more than one document: {}; give more of the id, or --kind",
                    ids.join(", ")
                ))
                .into())
            }
        }
    }

    /// The documents of a file: one, or an array of them.
    fn file(&mut self, path: &Path) -> anyhow::Result<Vec<Saved>> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {path:?}; name a JSON document or an id"))?;
        let value: Value = serde_json::from_str(&text)
            .with_context(|| format!("{path:?} is no JSON document of this program"))?;
        let documents = match value {
            Value::Array(documents) => documents,
            one => vec![one],
        };
        documents.into_iter().map(|document| self.read(document, path)).collect()
    }

    /// A document; the trials that belong to it come from the database, as far as they are there.
    fn read(&mut self, document: Value, path: &Path) -> anyhow::Result<Saved> {
        let schema = document["schema"].as_str().unwrap_or_default().to_owned();
        let name = schema.split('/').nth(1).unwrap_or_default();
        let known = schema.starts_with("halfpower/");
        if schema == record::COMPARISON_SCHEMA {
            let comparison: Comparison = parsed(document, path)?;
            return Ok(Saved::Comparison(Box::new(comparison)));
        }
        let Some(kind) = DocumentKind::ALL.into_iter().find(|kind| known && kind.name() == name)
        else {
            bail!(
                "{path:?} holds a document of another kind ({schema:?}), which report cannot show"
            );
        };
        let kept = match kind {
            DocumentKind::Trial => Saved::Trial(Box::new(parsed(document, path)?)),
            DocumentKind::Observation => Saved::Observation(Box::new(parsed(document, path)?)),
            DocumentKind::Limits => Saved::Limits(Box::new(parsed(document, path)?)),
            DocumentKind::Zones => Saved::Zones(Box::new(parsed(document, path)?)),
            DocumentKind::Diagnosis => Saved::Diagnosis(Box::new(parsed(document, path)?)),
            DocumentKind::Profile => {
                let profile: Profile = parsed(document, path)?;
                let ids = profile.cells.iter().flat_map(|cell| &cell.trial_ids);
                let trials = self.at_hand(ids.map(String::as_str));
                Saved::Profile(Box::new(profile), trials)
            }
            DocumentKind::Experiment => {
                let experiment: Experiment = parsed(document, path)?;
                let trials =
                    self.at_hand(experiment.done.iter().map(|done| done.trial_id.as_str()));
                Saved::Experiment(Box::new(experiment), trials)
            }
        };
        Ok(kept)
    }

    /// The trials with these ids that the database has; none where there is none.
    fn at_hand<'i>(&mut self, ids: impl Iterator<Item = &'i str>) -> Vec<Trial> {
        let Ok(store) = self.store() else { return Vec::new() };
        ids.filter_map(|id| store.trial(id).ok()).collect()
    }
}

fn parsed<D: DeserializeOwned>(document: Value, path: &Path) -> anyhow::Result<D> {
    serde_json::from_value(document)
        .with_context(|| format!("{path:?} is not what its schema says, or of a newer program"))
}

/// The newest document; see the module.
fn last(store: &Store, kinds: &[DocumentKind]) -> anyhow::Result<Saved> {
    let mut newest: Option<(DocumentKind, String, Option<String>)> = None;
    for kind in kinds {
        let Some((id, time)) = kind.newest(store)? else { continue };
        let later = match (&newest, &time) {
            (None, _) => true,
            // A trial that stands alone is not told from one of a profile by its time.
            (Some(_), _) if *kind == DocumentKind::Trial => false,
            (Some((_, _, Some(so_far))), Some(time)) => time > so_far,
            (Some(_), _) => false,
        };
        if later {
            newest = Some((*kind, id, time));
        }
    }
    match newest {
        Some((kind, id, _)) => Ok(kind.read(store, &id)?),
        None => bail!(
            "nothing to report is saved in {}; run `halfpower check` or `halfpower run` first",
            store.path().display()
        ),
    }
}

//! Any saved document, and the kinds of documents.

use crate::{
    COMPARISON_SCHEMA, Comparison, CostFit, Diagnosis, Experiment, FLEET_SCHEMA, FleetDiagnosis,
    LimitsRun, Observation, PREDICTION_SCHEMA, PredictionDocument, Profile, REQUESTS_SCHEMA,
    RequestsSummary, SETTINGS_SCHEMA, SHARED_SCHEMA, Settings, SharedDiagnosis, Trial, Validation,
    WHATIF_SCHEMA, WhatIf, ZoneMap,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

/// SQLite's `application_id` of a results database, which distinguishes it from all other files.
pub const DATABASE_MARK: [u8; 4] = *b"hpow";

/// Characters of a short id: 48 bits, so that two of a hundred thousand documents are very unlikely to share
/// one.
pub const SHORT_ID: usize = 12;

/// The last characters of an id, which identify a document where space is short. The first ones are the time,
/// which documents from the same minute share.
#[must_use]
pub fn short_id(id: &str) -> &str {
    id.len().checked_sub(SHORT_ID).and_then(|from| id.get(from..)).unwrap_or(id)
}

/// A kind of document in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// [`Experiment`].
    Experiment,
    /// [`Profile`].
    Profile,
    /// [`LimitsRun`].
    Limits,
    /// [`ZoneMap`].
    Zones,
    /// [`Observation`].
    Observation,
    /// [`Diagnosis`].
    Diagnosis,
    /// [`Validation`].
    Validation,
    /// [`CostFit`].
    CostFit,
    /// [`Trial`].
    Trial,
}

// Trials come last, because most are parts of other documents.
crate::words! { DocumentKind:
    Experiment = "experiment",
    Profile = "profile",
    Limits = "limits",
    Zones = "zones",
    Observation = "observation",
    Diagnosis = "diagnosis",
    Validation = "validation",
    CostFit = "cost-fit",
    Trial = "trial",
}

/// A saved document with the trials that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SavedDocument {
    /// A trial.
    Trial(Box<Trial>),
    /// A profile and its trials, as far as they are available.
    #[serde(serialize_with = "document_alone")]
    Profile(Box<Profile>, Vec<Trial>),
    /// An experiment and the trials of [`Experiment::done`], as far as they are available.
    #[serde(serialize_with = "document_alone")]
    Experiment(Box<Experiment>, Vec<Trial>),
    /// Counters over time.
    Observation(Box<Observation>),
    /// The path to a disk.
    Limits(Box<LimitsRun>),
    /// Throughput as a function of position.
    Zones(Box<ZoneMap>),
    /// Two measurements compared with each other; never in a database.
    Comparison(Box<Comparison>),
    /// The diagnosis of an observation.
    Diagnosis(Box<Diagnosis>),
    /// Predicted effect of a change to a load; never in a database.
    WhatIf(Box<WhatIf>),
    /// Prediction for a load; never in a database.
    Prediction(Box<PredictionDocument>),
    /// Accuracy of predictions.
    Validation(Box<Validation>),
    /// CPU cost of requests.
    CostFit(Box<CostFit>),
    /// Settings of another program; never in a database.
    Settings(Box<Settings>),
    /// Summary of recorded requests; never in a database.
    Requests(Box<RequestsSummary>),
    /// Which disks of a fleet are slow; never in a database.
    Fleet(Box<FleetDiagnosis>),
    /// Which of several hosts saturates a disk; never in a database.
    Shared(Box<SharedDiagnosis>),
}

/// Writes the document itself, without the trials that belong to it.
fn document_alone<D: Serialize, S: Serializer>(
    document: &D,
    _trials: &[Trial],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    document.serialize(serializer)
}

/// An entry in the list of saved documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDocument {
    /// Its kind: a name of [`DocumentKind`].
    pub kind: String,
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339 in UTC; `None` if simulated.
    pub time: Option<String>,
    /// The target, as the user named it; empty without a target.
    pub target: String,
    /// Whether it is for a simulated device.
    pub simulated: bool,
}

impl SavedDocument {
    /// Parses a document from its JSON, without the trials that belong to it.
    ///
    /// # Errors
    /// If its kind is unknown, or if it does not match its schema.
    pub fn from_json(document: &str) -> Result<Self, String> {
        #[derive(Default, Deserialize)]
        struct Head {
            schema: String,
        }
        fn read<D: DeserializeOwned>(document: &str) -> Result<Box<D>, String> {
            serde_json::from_str(document).map(Box::new).map_err(|error| {
                format!(
                    "it does not match its schema, or it was written by a newer version: \
                         {error}"
                )
            })
        }
        let schema = serde_json::from_str::<Head>(document).unwrap_or_default().schema;
        // Kinds that no database stores.
        match schema.as_str() {
            COMPARISON_SCHEMA => return read(document).map(Self::Comparison),
            WHATIF_SCHEMA => return read(document).map(Self::WhatIf),
            PREDICTION_SCHEMA => return read(document).map(Self::Prediction),
            SETTINGS_SCHEMA => return read(document).map(Self::Settings),
            REQUESTS_SCHEMA => return read(document).map(Self::Requests),
            FLEET_SCHEMA => return read(document).map(Self::Fleet),
            SHARED_SCHEMA => return read(document).map(Self::Shared),
            _ => {}
        }
        let name = schema.strip_prefix("halfpower/").and_then(|rest| rest.split('/').next());
        let kind = DocumentKind::ALL.into_iter().find(|kind| Some(kind.name()) == name);
        let kind =
            kind.ok_or_else(|| format!("it contains a document of another kind ({schema:?})"))?;
        Ok(match kind {
            DocumentKind::Experiment => Self::Experiment(read(document)?, Vec::new()),
            DocumentKind::Profile => Self::Profile(read(document)?, Vec::new()),
            DocumentKind::Limits => Self::Limits(read(document)?),
            DocumentKind::Zones => Self::Zones(read(document)?),
            DocumentKind::Observation => Self::Observation(read(document)?),
            DocumentKind::Diagnosis => Self::Diagnosis(read(document)?),
            DocumentKind::Validation => Self::Validation(read(document)?),
            DocumentKind::CostFit => Self::CostFit(read(document)?),
            DocumentKind::Trial => Self::Trial(read(document)?),
        })
    }

    /// Its kind; `None` for kinds that no database stores.
    #[must_use]
    pub fn kind(&self) -> Option<DocumentKind> {
        Some(match self {
            Self::Trial(_) => DocumentKind::Trial,
            Self::Profile(..) => DocumentKind::Profile,
            Self::Experiment(..) => DocumentKind::Experiment,
            Self::Observation(_) => DocumentKind::Observation,
            Self::Limits(_) => DocumentKind::Limits,
            Self::Zones(_) => DocumentKind::Zones,
            Self::Diagnosis(_) => DocumentKind::Diagnosis,
            Self::Validation(_) => DocumentKind::Validation,
            Self::CostFit(_) => DocumentKind::CostFit,
            _ => return None,
        })
    }

    /// Its id; empty for a kind that is computed anew each time and has none.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Trial(trial) => &trial.id,
            Self::Profile(profile, _) => &profile.id,
            Self::Experiment(experiment, _) => &experiment.id,
            Self::Observation(observation) => &observation.id,
            Self::Limits(run) => &run.id,
            Self::Zones(map) => &map.id,
            Self::Comparison(comparison) => &comparison.id,
            Self::Diagnosis(diagnosis) => &diagnosis.id,
            Self::Validation(validation) => &validation.id,
            Self::CostFit(fit) => &fit.id,
            _ => "",
        }
    }

    /// The document itself if it is a trial, otherwise the trials that belong to it.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        match self {
            Self::Trial(trial) => std::slice::from_ref(trial),
            Self::Profile(_, trials) | Self::Experiment(_, trials) => trials,
            _ => &[],
        }
    }

    /// The ids of the trials that belong to it, and the list to fill with them.
    pub fn trials_beside(&mut self) -> Option<(Vec<String>, &mut Vec<Trial>)> {
        match self {
            Self::Profile(profile, trials) => {
                let ids = profile.cells.iter().flat_map(|cell| &cell.trial_ids);
                Some((ids.cloned().collect(), trials))
            }
            Self::Experiment(experiment, trials) => {
                let ids = experiment.done.iter().map(|done| done.trial_id.clone());
                Some((ids.collect(), trials))
            }
            _ => None,
        }
    }
}

//! Any saved document, and the kinds that there are.

use crate::{
    COMPARISON_SCHEMA, Comparison, CostFit, Diagnosis, Experiment, FLEET_SCHEMA, FleetDiagnosis,
    LimitsRun, Observation, PREDICTION_SCHEMA, PRICE_SCHEMA, PredictionDocument, PriceDocument,
    Profile, REQUESTS_SCHEMA, RequestsSummary, SETTINGS_SCHEMA, SHARED_SCHEMA, Settings,
    SharedDiagnosis, Trial, Validation, WHATIF_SCHEMA, WhatIf, ZoneMap,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

/// What SQLite's `application_id` of a database of results is, which tells one from all other files.
pub const DATABASE_MARK: [u8; 4] = *b"hpow";

/// Letters of a short id: of a hundred thousand documents, two share one with a chance of one per cent in all.
const SHORT_ID: usize = 12;

/// The end of an id, which names its document where ids are printed in little space. The beginning is the
/// time, which documents of one minute share.
#[must_use]
pub fn short_id(id: &str) -> &str {
    id.len().checked_sub(SHORT_ID).and_then(|from| id.get(from..)).unwrap_or(id)
}

/// A kind of document that a database keeps.
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

impl DocumentKind {
    /// All of them; trials come last, because most are parts of others.
    pub const ALL: [Self; 9] = [
        Self::Experiment,
        Self::Profile,
        Self::Limits,
        Self::Zones,
        Self::Observation,
        Self::Diagnosis,
        Self::Validation,
        Self::CostFit,
        Self::Trial,
    ];

    /// Its name in flags, schemas and databases.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Experiment => "experiment",
            Self::Profile => "profile",
            Self::Limits => "limits",
            Self::Zones => "zones",
            Self::Observation => "observation",
            Self::Diagnosis => "diagnosis",
            Self::Validation => "validation",
            Self::CostFit => "cost-fit",
            Self::Trial => "trial",
        }
    }
}

/// A saved document with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedDocument {
    /// A trial.
    Trial(Box<Trial>),
    /// A profile and the trials that it rests on, as far as they are at hand.
    Profile(Box<Profile>, Vec<Trial>),
    /// An experiment and the trials of [`Experiment::done`], as far as they are at hand.
    Experiment(Box<Experiment>, Vec<Trial>),
    /// Counters over time.
    Observation(Box<Observation>),
    /// The path to a disk.
    Limits(Box<LimitsRun>),
    /// Throughput over position.
    Zones(Box<ZoneMap>),
    /// Two measurements compared with each other; never in a database.
    Comparison(Box<Comparison>),
    /// What an observation means.
    Diagnosis(Box<Diagnosis>),
    /// What would become of a load; never in a database.
    WhatIf(Box<WhatIf>),
    /// What a load would see; never in a database.
    Prediction(Box<PredictionDocument>),
    /// How good predictions were.
    Validation(Box<Validation>),
    /// What accesses cost in money; never in a database.
    Price(Box<PriceDocument>),
    /// What requests cost in processor time.
    CostFit(Box<CostFit>),
    /// Settings of another program; never in a database.
    Settings(Box<Settings>),
    /// What recorded requests come to; never in a database.
    Requests(Box<RequestsSummary>),
    /// Which disks of a fleet are slow; never in a database.
    Fleet(Box<FleetDiagnosis>),
    /// Which host fills a disk of several; never in a database.
    Shared(Box<SharedDiagnosis>),
}

/// The document itself, without the trials that belong to it.
impl Serialize for SavedDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Trial(document) => document.serialize(serializer),
            Self::Profile(document, _) => document.serialize(serializer),
            Self::Experiment(document, _) => document.serialize(serializer),
            Self::Observation(document) => document.serialize(serializer),
            Self::Limits(document) => document.serialize(serializer),
            Self::Zones(document) => document.serialize(serializer),
            Self::Comparison(document) => document.serialize(serializer),
            Self::Diagnosis(document) => document.serialize(serializer),
            Self::WhatIf(document) => document.serialize(serializer),
            Self::Prediction(document) => document.serialize(serializer),
            Self::Validation(document) => document.serialize(serializer),
            Self::Price(document) => document.serialize(serializer),
            Self::CostFit(document) => document.serialize(serializer),
            Self::Settings(document) => document.serialize(serializer),
            Self::Requests(document) => document.serialize(serializer),
            Self::Fleet(document) => document.serialize(serializer),
            Self::Shared(document) => document.serialize(serializer),
        }
    }
}

/// A document in a list of what is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDocument {
    /// Its kind: a name of [`DocumentKind`].
    pub kind: String,
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339 in UTC; `None` where simulated.
    pub time: Option<String>,
    /// The target, as the user named it; empty where there is none.
    pub target: String,
    /// Whether it is of a simulated device.
    pub simulated: bool,
}

impl SavedDocument {
    /// A document from its JSON, without the trials that belong to it.
    ///
    /// # Errors
    /// If it is of no such kind, or is not what its schema says.
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
        // What no database keeps.
        match schema.as_str() {
            COMPARISON_SCHEMA => return read(document).map(Self::Comparison),
            WHATIF_SCHEMA => return read(document).map(Self::WhatIf),
            PREDICTION_SCHEMA => return read(document).map(Self::Prediction),
            PRICE_SCHEMA => return read(document).map(Self::Price),
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

    /// Its kind; `None` of what no database keeps.
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

    /// Its id; empty of an answer that is computed anew each time, which has none.
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

    /// The trials that it is or holds.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        match self {
            Self::Trial(trial) => std::slice::from_ref(trial),
            Self::Profile(_, trials) | Self::Experiment(_, trials) => trials,
            _ => &[],
        }
    }

    /// The ids of the trials that belong to it, and where they are put.
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

//! JSON Schemas, generated from the types and committed under `docs/schema/`.

use crate::{
    COMPARISON_SCHEMA, COST_FIT_SCHEMA, Comparison, CostFit, LIMITS_SCHEMA, LimitsRun,
    PRICE_SCHEMA, PROFILE_SCHEMA, PriceDocument, Profile, TRIAL_SCHEMA, Trial, ZONES_SCHEMA,
    ZoneMap,
};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

/// The schema of a trial document.
#[must_use]
pub fn trial_schema() -> Value {
    document_schema::<Trial>(TRIAL_SCHEMA)
}

/// The schema of a profile document.
#[must_use]
pub fn profile_schema() -> Value {
    document_schema::<Profile>(PROFILE_SCHEMA)
}

/// The schema of a cost fit.
#[must_use]
pub fn cost_fit_schema() -> Value {
    document_schema::<CostFit>(COST_FIT_SCHEMA)
}

/// The schema of a comparison.
#[must_use]
pub fn comparison_schema() -> Value {
    document_schema::<Comparison>(COMPARISON_SCHEMA)
}

/// The schema of a run of limits.
#[must_use]
pub fn limits_schema() -> Value {
    document_schema::<LimitsRun>(LIMITS_SCHEMA)
}

/// The schema of a zone map.
#[must_use]
pub fn zones_schema() -> Value {
    document_schema::<ZoneMap>(ZONES_SCHEMA)
}

/// The schema of a price document.
#[must_use]
pub fn price_schema() -> Value {
    document_schema::<PriceDocument>(PRICE_SCHEMA)
}

/// The schema of a diagnosis.
#[must_use]
pub fn diagnosis_schema() -> Value {
    document_schema::<crate::Diagnosis>(crate::DIAGNOSIS_SCHEMA)
}

/// The schema of an experiment.
#[must_use]
pub fn experiment_schema() -> Value {
    document_schema::<crate::Experiment>(crate::EXPERIMENT_SCHEMA)
}

/// The schema of a prediction.
#[must_use]
pub fn prediction_schema() -> Value {
    document_schema::<crate::PredictionDocument>(crate::PREDICTION_SCHEMA)
}

/// The schema of a validation.
#[must_use]
pub fn validation_schema() -> Value {
    document_schema::<crate::Validation>(crate::VALIDATION_SCHEMA)
}

/// The schema of an observation.
#[must_use]
pub fn observation_schema() -> Value {
    document_schema::<crate::Observation>(crate::OBSERVATION_SCHEMA)
}

/// The schema of a what-if.
#[must_use]
pub fn whatif_schema() -> Value {
    document_schema::<crate::WhatIf>(crate::WHATIF_SCHEMA)
}

/// The schema of settings.
#[must_use]
pub fn settings_schema() -> Value {
    document_schema::<crate::Settings>(crate::SETTINGS_SCHEMA)
}

/// The generated schema, with the document's own name pinned.
fn document_schema<T: JsonSchema>(name: &str) -> Value {
    let mut schema = schema_for!(T).to_value();
    schema["$id"] = Value::String(name.to_owned());
    schema["properties"]["schema"]["const"] = Value::String(name.to_owned());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HALFPOWER_BLESS=1` rewrites the committed files.
    #[test]
    fn the_committed_schemas_are_those_of_the_types() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
        let schemas = [
            ("observation-1", observation_schema()),
            ("trial-1", trial_schema()),
            ("profile-1", profile_schema()),
            ("cost-fit-1", cost_fit_schema()),
            ("experiment-1", experiment_schema()),
            ("diagnosis-1", diagnosis_schema()),
            ("limits-1", limits_schema()),
            ("zones-1", zones_schema()),
            ("cost-1", price_schema()),
            ("comparison-1", comparison_schema()),
            ("prediction-1", prediction_schema()),
            ("validation-1", validation_schema()),
            ("whatif-1", whatif_schema()),
            ("settings-1", settings_schema()),
        ];
        for (name, schema) in schemas {
            let path = format!("{folder}/{name}.schema.json");
            let text = format!("{schema:#}\n");
            if std::env::var_os("HALFPOWER_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == text,
                "{path} is stale: run HALFPOWER_BLESS=1 cargo test -p halfpower-record"
            );
        }
    }
}

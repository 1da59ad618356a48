//! JSON Schemas, generated from the types and committed under `docs/schema/`.

use crate::{COST_FIT_SCHEMA, CostFit, PROFILE_SCHEMA, Profile, TRIAL_SCHEMA, Trial};
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
            ("trial-1", trial_schema()),
            ("profile-1", profile_schema()),
            ("cost-fit-1", cost_fit_schema()),
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

//! Names in JSON, and JSON Schemas. Schemas are generated from the types and committed under `docs/schema/`.

use crate::{CauseCode, Doubt, FindingCode, LayerKind, NoteCode, Strategy, Verdict};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

/// The schema of a document type, with its `schema` field fixed to `name`.
#[must_use]
pub fn document_schema<T: JsonSchema>(name: &str) -> Value {
    let mut schema = schema_for!(T).to_value();
    schema["$id"] = Value::String(name.to_owned());
    schema["properties"]["schema"]["const"] = Value::String(name.to_owned());
    schema
}

/// The text form of an enum in JSON.
pub fn word<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

macro_rules! names_in_json {
    ($($kind:ty),+) => {
        $(impl $kind {
            /// The name as in JSON.
            #[must_use]
            pub fn name(self) -> String {
                word(self)
            }
        })+
    };
}

names_in_json!(CauseCode, Doubt, FindingCode, LayerKind, NoteCode, Strategy, Verdict);

//! The JSON Schema of the document, generated from the types and committed under `docs/schema/`.

use crate::row::{PAPERS_SCHEMA, Report};
use schemars::schema_for;
use serde_json::Value;

/// The schema of a report on the papers, with the document's own name pinned.
#[must_use]
pub fn papers_schema() -> Value {
    let mut schema = schema_for!(Report).to_value();
    schema["$id"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema["properties"]["schema"]["const"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HALFPOWER_BLESS=1` rewrites the committed file.
    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/papers-1.schema.json");
        let text = format!("{:#}\n", papers_schema());
        if std::env::var_os("HALFPOWER_BLESS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == text,
            "{path} is stale: run HALFPOWER_BLESS=1 cargo test -p halfpower-papers"
        );
    }
}

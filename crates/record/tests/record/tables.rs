//! Compares codes, quantities and schemas with the pages that explain them.

use halfpower_record as record;
use record::{FindingCode, QUANTITIES, document_schema};
use serde_json::Value;

/// Collects all codes from the schema of their type.
fn codes(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("const", Value::String(code)) => found.push(code.clone()),
                    ("enum", Value::Array(codes)) => {
                        found.extend(
                            codes.iter().filter_map(|code| code.as_str().map(str::to_owned)),
                        );
                    }
                    _ => codes(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| codes(item, found)),
        _ => {}
    }
}

#[test]
fn the_page_of_findings_explains_each_code_and_no_other() {
    let page = include_str!("../../../../docs/findings.md");
    let mut all = Vec::new();
    codes(&serde_json::to_value(schemars::schema_for!(FindingCode)).unwrap(), &mut all);
    assert!(all.contains(&FindingCode::IoErrors.name()), "{all:?}");
    let sections: Vec<&str> = page.split("\n### ").skip(1).collect();
    let of = |section: &str| section.split('`').nth(1).unwrap_or_default().to_owned();
    let mut explained: Vec<String> = sections.iter().map(|section| of(section)).collect();
    for section in sections {
        for part in ["- Severity: ", "- Evidence: ", "- Threshold: ", "- Remedy: "] {
            assert!(section.contains(part), "{part} is missing for {}", of(section));
        }
    }
    all.sort();
    explained.sort();
    assert_eq!(explained, all);
}

#[test]
fn identifiers_are_unique_and_every_help_is_a_sentence() {
    for (position, quantity) in QUANTITIES.iter().enumerate() {
        assert!(quantity.help.ends_with('.'), "{}", quantity.id);
        assert!(
            QUANTITIES[..position].iter().all(|other| other.id != quantity.id),
            "{} twice",
            quantity.id
        );
    }
}

/// `HALFPOWER_BLESS=1` rewrites the committed files.
#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
    let schemas = [
        document_schema::<record::Observation>(record::OBSERVATION_SCHEMA),
        document_schema::<record::Trial>(record::TRIAL_SCHEMA),
        document_schema::<record::Profile>(record::PROFILE_SCHEMA),
        document_schema::<record::CostFit>(record::COST_FIT_SCHEMA),
        document_schema::<record::Experiment>(record::EXPERIMENT_SCHEMA),
        document_schema::<record::Diagnosis>(record::DIAGNOSIS_SCHEMA),
        document_schema::<record::LimitsRun>(record::LIMITS_SCHEMA),
        document_schema::<record::ZoneMap>(record::ZONES_SCHEMA),
        document_schema::<record::Comparison>(record::COMPARISON_SCHEMA),
        document_schema::<record::PredictionDocument>(record::PREDICTION_SCHEMA),
        document_schema::<record::Validation>(record::VALIDATION_SCHEMA),
        document_schema::<record::WhatIf>(record::WHATIF_SCHEMA),
        document_schema::<record::Settings>(record::SETTINGS_SCHEMA),
        document_schema::<record::RequestsSummary>(record::REQUESTS_SCHEMA),
        document_schema::<record::FleetDiagnosis>(record::FLEET_SCHEMA),
        document_schema::<record::SharedDiagnosis>(record::SHARED_SCHEMA),
    ];
    for schema in schemas {
        // `halfpower/trial/1` is in `trial-1.schema.json`.
        let id = schema["$id"].as_str().unwrap();
        let name = id.strip_prefix("halfpower/").unwrap().replace('/', "-");
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

/// Documents of a custom build with its own engines stay readable, and are written unchanged.
#[test]
fn the_engine_of_another_build_is_read_and_written_by_its_name() {
    let read = |text: &str| serde_json::from_str::<record::EngineName>(text);
    let own = read("\"spdk-2\"").unwrap();
    assert!(matches!(own, record::EngineName::Own(_)));
    assert_eq!(
        (own.name(), serde_json::to_string(&own).unwrap().as_str()),
        ("spdk-2", "\"spdk-2\"")
    );
    assert_eq!(own, read("\"spdk-2\"").unwrap());
    for known in ["io_uring", "libaio", "sync", "threads", "mmap", "null", "sim"] {
        let engine = read(&format!("\"{known}\"")).unwrap();
        assert!(!matches!(engine, record::EngineName::Own(_)), "{known}");
        assert_eq!(engine.name(), known);
    }
    for wrong in ["\"\"", "\"two words\"", "\"A\"", "7", "null"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    assert!(read(&format!("\"{}\"", "a".repeat(33))).is_err());
}

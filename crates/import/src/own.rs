//! Reads an observation of halfpower, as `--json` prints it.
//!
//! Our own code wrote it, so it is parsed strictly: a document that does not fit its schema is rejected.
//! Its figures are checked like those of every source.

use crate::ImportError;
use record::{ImpossibleFigures, OBSERVATION_SCHEMA, Observation};

pub(crate) fn read(text: &str) -> Result<Observation, ImportError> {
    let failed = |why: String| ImportError::OwnDocument(why);
    let mut document: Observation =
        serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
    if document.schema != OBSERVATION_SCHEMA {
        let schema = &document.schema;
        return Err(failed(format!(
            "its schema is {schema}, and this version reads {OBSERVATION_SCHEMA}"
        )));
    }
    if document.intervals.iter().any(|interval| interval.duration_ns == 0) {
        return Err(failed("it contains an interval of length 0".to_owned()));
    }
    let mut impossible = ImpossibleFigures::default();
    document.intervals.retain_mut(|interval| impossible.admits(interval));
    document.findings.extend(impossible.finding());
    record::doubt_busy_counters(&mut document);
    Ok(document)
}

//! Reads the program's CSV data files: records by column title, with their line numbers.

use std::collections::BTreeMap;

/// One line: its fields by column title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line in the file, from 1.
    pub line: u64,
    fields: BTreeMap<String, String>,
}

impl Record {
    /// A field; empty if the file has no such column.
    #[must_use]
    pub fn get(&self, title: &str) -> &str {
        self.fields.get(title).map_or("", String::as_str)
    }
}

/// The column titles in order.
#[must_use]
pub fn titles(text: &str) -> Vec<String> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    reader
        .headers()
        .map_or_else(|_| Vec::new(), |titles| titles.iter().map(str::to_owned).collect())
}

/// The records below the titles.
///
/// # Errors
/// If the number of fields in a line differs from the number of titles.
pub fn records(name: &str, text: &str) -> Result<Vec<Record>, String> {
    let titles = titles(text);
    let record = |record: Result<::csv::StringRecord, ::csv::Error>| {
        let record = record.map_err(|error| format!("{name}: {error}"))?;
        let line = record.position().map_or(0, ::csv::Position::line);
        let fields = titles.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
        Ok(Record { line, fields })
    };
    ::csv::Reader::from_reader(text.as_bytes()).into_records().map(record).collect()
}

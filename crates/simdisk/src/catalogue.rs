//! The catalogue of parts: every number of a drive, bus, adapter or host, with its source.
//!
//! A part is a file below `catalogue/`, in the format in which a user describes a part. Each line holds one
//! value; the comment after it is its source, which the documentation prints. A source is a paper, a
//! derivation from one, an assumption, or a fit on one named figure. Assumptions are made only where the
//! papers give no value and the published figures hardly depend on it. A fitted value is never fitted again
//! on another figure. A file is read when its part is first named, so that the start-up cost covers only
//! the parts in use.

mod adapters;
mod buses;
mod drives;
mod fields;
mod hosts;

pub(crate) use adapters::ADAPTERS;
pub use adapters::AdapterSpec;
pub(crate) use buses::BUSES;
pub(crate) use drives::DRIVES;
pub(crate) use fields::{Row, Rows};
pub(crate) use hosts::HOSTS;
pub use hosts::HostSpec;

use crate::keys::{about, near};
use crate::toml_text::{self, Entry, Fault, Given};
use fields::Field;
use std::sync::OnceLock;

/// The key that names another part as the base.
pub(crate) const LIKE: &str = "like";

/// One value of a part.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Its value, in its unit; 0 and 1 for off and on.
    pub value: u64,
    /// Its unit; empty for a plain number, the word for a choice.
    pub unit: &'static str,
    /// Its source: "paper", "derived", "assumed" or "fitted", a colon, and the place, the derivation, the
    /// reason or the figure.
    pub source: String,
}

/// A part of the catalogue.
#[derive(Clone, Debug)]
pub struct Part {
    /// Drive, bus, adapter, host or flash drive.
    pub kind: &'static str,
    /// Name of the part.
    pub name: &'static str,
    /// One sentence about it.
    pub help: &'static str,
    /// Its values.
    pub parameters: Vec<Parameter>,
}

/// A part in the catalogue: its name and its file.
struct Model {
    name: &'static str,
    text: &'static str,
    rows: OnceLock<Rows>,
}

const fn model(name: &'static str, text: &'static str) -> Model {
    Model { name, text, rows: OnceLock::new() }
}

/// All parts of a kind; `S` is the specification that the simulator uses.
pub(crate) struct Parts<S: 'static> {
    kind: &'static str,
    fields: &'static [Field<S>],
    models: &'static [Model],
}

impl<S: Default> Parts<S> {
    pub(crate) fn build(&self, rows: &[Row]) -> S {
        let mut spec = S::default();
        for (field, row) in self.fields.iter().zip(rows) {
            (field.set)(&mut spec, row.value);
        }
        spec
    }

    pub(crate) fn get(&self, name: &str) -> Option<S> {
        self.rows(name).map(|rows| self.build(&rows))
    }
}

/// Access to parts of any kind.
pub(crate) trait AnyParts: Sync {
    fn kind(&self) -> &'static str;
    fn names(&self) -> String;
    /// The values of a part in the catalogue.
    fn rows(&self, name: &str) -> Option<Rows>;
    /// As [`Self::rows`], with an error for an unknown name.
    fn named(&self, entry: &Entry<'_>) -> Result<Rows, Fault>;
    /// The values of a table in a file; missing ones are taken from `base`.
    fn read(&self, base: Option<&Rows>, table: &[Entry<'_>], line: usize) -> Result<Rows, Fault>;
    /// The lines of a file, each with its comment.
    fn lines(&self, rows: &[Row]) -> Vec<(String, String)>;
    /// All parts of this kind, for documentation.
    fn parts(&self) -> Vec<Part>;
}

impl<S: Default> AnyParts for Parts<S> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn names(&self) -> String {
        self.models.iter().map(|model| model.name).collect::<Vec<_>>().join(", ")
    }

    fn rows(&self, name: &str) -> Option<Rows> {
        let model = self.models.iter().find(|model| model.name == name)?;
        let read = || {
            let entries = toml_text::read(model.text);
            entries.and_then(|entries| self.read(None, &entries, 1)).unwrap_or_else(|fault| {
                unreachable!("{} {name}, line {}: {}", self.kind, fault.line, fault.why)
            })
        };
        Some(model.rows.get_or_init(read).clone())
    }

    fn named(&self, entry: &Entry<'_>) -> Result<Rows, Fault> {
        let name = entry.text()?;
        self.rows(name).ok_or_else(|| {
            let (hint, known) = near(name, self.models.iter().map(|model| model.name));
            entry.fault(format!("no {} is named {name:?}{hint}; known names: {known}", self.kind))
        })
    }

    fn read(&self, base: Option<&Rows>, table: &[Entry<'_>], line: usize) -> Result<Rows, Fault> {
        let like = table.iter().find(|entry| entry.key == LIKE);
        let like = like.map(|entry| self.named(entry)).transpose()?;
        let base = like.as_ref().or(base);
        let mut rows: Vec<Option<Row>> = match base {
            Some(base) => base.iter().cloned().map(Some).collect(),
            None => vec![None; self.fields.len()],
        };
        for entry in table.iter().filter(|entry| entry.key != LIKE) {
            let place = self.fields.iter().position(|field| field.key() == entry.key);
            let place = place.ok_or_else(|| Field::unknown(self.fields, self.kind, entry))?;
            rows[place] = Some(self.fields[place].read(entry)?);
        }
        let missing = self.fields.iter().zip(&rows).filter(|(_, row)| row.is_none());
        let missing: Vec<String> = missing.map(|(field, _)| field.key()).collect();
        if !missing.is_empty() {
            let (kind, missing, known) = (self.kind, missing.join(", "), self.names());
            let why = format!(
                "the {kind} has no value for {missing}; add the values, or start from another \
                 {kind} with like = \"NAME\": one of {known}"
            );
            return Err(Fault { line, why });
        }
        Ok(rows.into_iter().flatten().collect())
    }

    fn lines(&self, rows: &[Row]) -> Vec<(String, String)> {
        let rows = self.fields.iter().zip(rows);
        rows.map(|(field, row)| (field.written(row.value), row.remark.clone())).collect()
    }

    fn parts(&self) -> Vec<Part> {
        let parameters = |rows: &Rows| {
            let rows = self.fields.iter().zip(rows.iter());
            rows.map(|(field, Row { value, remark })| Parameter {
                name: field.name,
                value: *value,
                unit: field.unit.name(*value),
                source: remark.clone(),
            })
            .collect()
        };
        let parts = self.models.iter().filter_map(|model| {
            let (kind, name, help) = (self.kind, model.name, about(model.text));
            Some(Part { kind, name, help, parameters: parameters(&self.rows(name)?) })
        });
        parts.collect()
    }
}

/// The kinds of parts of a machine, in the order in which it names them.
pub(crate) const KINDS_OF_PARTS: [&dyn AnyParts; 4] = [&DRIVES, &BUSES, &ADAPTERS, &HOSTS];

/// The part that an entry of a file names or describes; missing values are taken from `base`.
pub(crate) fn part(
    kind: &dyn AnyParts,
    base: Option<&Rows>,
    entry: &Entry<'_>,
) -> Result<Rows, Fault> {
    match &entry.value {
        Given::Text(_) => kind.named(entry),
        Given::Table(table) => kind.read(base, table, entry.line),
    }
}

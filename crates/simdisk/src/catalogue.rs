//! The parts that are known: every number of a drive, bus, adapter or host, with its source.
//!
//! A part is a file below `catalogue/`, in the form in which a user describes one of his own. A value
//! is a line; the comment behind it is its source, and is printed in the documentation. A source is a
//! paper, a derivation from one, an assumption where the papers are silent and the published figures
//! hardly depend on it, or a fit on one named figure; what was fitted is never fitted again on another
//! one. A file is read when its part is first named, so that a start pays for no other.

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

/// What begins with another part of the kind.
pub(crate) const LIKE: &str = "like";

/// One value of a part.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value, in its unit; 0 and 1 for off and on.
    pub value: u64,
    /// Its unit; empty for a number, the word for a choice.
    pub unit: &'static str,
    /// Where it comes from: paper, derived, assumed or fitted, a colon, and where, how, why or on
    /// what.
    pub source: String,
}

/// A part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Drive, bus, adapter, host or flash drive.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub parameters: Vec<Parameter>,
}

/// A part by its name, with its file.
struct Model {
    name: &'static str,
    text: &'static str,
    rows: OnceLock<Rows>,
}

const fn model(name: &'static str, text: &'static str) -> Model {
    Model { name, text, rows: OnceLock::new() }
}

/// All parts of a kind, `S` is what is simulated of one.
pub(crate) struct Parts<S: 'static> {
    kind: &'static str,
    fields: &'static [Field<S>],
    models: &'static [Model],
}

impl<S: Default> Parts<S> {
    /// What the rows of a part are to the simulator.
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

/// What is asked of parts, whatever they are.
pub(crate) trait AnyParts: Sync {
    fn kind(&self) -> &'static str;
    fn names(&self) -> String;
    /// The values of a part that is known.
    fn rows(&self, name: &str) -> Option<Rows>;
    /// The same, with what is wrong with a name that is not known.
    fn named(&self, entry: &Entry<'_>) -> Result<Rows, Fault>;
    /// The values of a table of a file; those that it does not give are of `base`.
    fn read(&self, base: Option<&Rows>, table: &[Entry<'_>], line: usize) -> Result<Rows, Fault>;
    /// The lines of a file, each with its comment.
    fn lines(&self, rows: &[Row]) -> Vec<(String, String)>;
    /// All of them, for documentation.
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

/// The kinds of parts that a machine is made of, in the order in which it names them.
pub(crate) const KINDS_OF_PARTS: [&dyn AnyParts; 4] = [&DRIVES, &BUSES, &ADAPTERS, &HOSTS];

/// The part that an entry of a file names or describes; what it does not give is of `base`.
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

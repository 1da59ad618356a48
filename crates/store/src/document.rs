//! Defines how each kind of document is stored, and adds documents.
//!
//! A measured document has a unique id and is stored once. The id of a simulated document is the hash of
//! its request. The same request gives the same result, so a rerun replaces the row and makes it the
//! newest. A kind that is saved before it is complete (an experiment, whose conclusions come last) is
//! replaced by its later state.
//!
//! Each document is parsed back from its own text before it is written. JSON has no infinity, and a
//! document that cannot be read would otherwise be discovered years later.

use crate::{Store, StoreError};
use record::{
    CostFit, Diagnosis, DocumentKind, Experiment, KeptDocument, LimitsRun, Observation, Profile,
    Target, Trial, Validation, ZoneMap,
};
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde::{Serialize, de::DeserializeOwned};

/// The next free row id over all tables.
const NEXT_ROW: &str = "(SELECT 1 + max(coalesce((SELECT max(rowid) FROM trial), 0), \
    coalesce((SELECT max(rowid) FROM profile), 0), \
    coalesce((SELECT max(rowid) FROM experiment), 0), \
    coalesce((SELECT max(rowid) FROM document), 0)))";

/// A kind of document that can be saved.
pub trait Document: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: DocumentKind;
    /// Whether it is saved before it is complete, so that a later state replaces an earlier one.
    const GROWS: bool = false;

    /// The columns by which it is listed and found.
    fn row(&self) -> KeptDocument;

    /// Additional columns of its table.
    #[doc(hidden)]
    fn columns(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The JSON text to save.
    #[doc(hidden)]
    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Data saved in binary columns instead of the text; `None` if this kind has none. An error if the
    /// columns could not be read back.
    #[doc(hidden)]
    fn compact(&self) -> serde_json::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Fills in the fields that are stored in other tables and columns.
    #[doc(hidden)]
    fn read_beside(&mut self, _store: &Store) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The columns of a document about these targets.
fn row<'a>(
    kind: DocumentKind,
    (id, time): (&str, &Option<String>),
    targets: impl IntoIterator<Item = &'a Target>,
    simulated: bool,
) -> KeptDocument {
    let paths: Vec<&str> = targets.into_iter().map(|target| target.path.as_str()).collect();
    KeptDocument {
        kind: kind.name().to_owned(),
        id: id.to_owned(),
        time: time.clone(),
        target: paths.join(" "),
        simulated,
    }
}

/// Kind and disk of a target, as columns. Trials always have a target.
fn target_columns(target: Option<&Target>) -> Vec<(&'static str, Value)> {
    let kind = target.and_then(|target| serde_json::to_value(target.kind).ok());
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let disk = target.and_then(|target| target.device.as_ref()).map(|device| device.disk.clone());
    vec![("kind", kind.into()), ("device", disk.into())]
}

impl Document for Trial {
    const KIND: DocumentKind = DocumentKind::Trial;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), self.targets.first(), self.simulated)
    }
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut columns = target_columns(self.targets.first());
        columns.extend([
            ("cell", self.cell.clone().into()),
            ("clean", self.clean().into()),
            ("part", false.into()),
        ]);
        columns
    }
}

impl Document for Profile {
    const KIND: DocumentKind = DocumentKind::Profile;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), [&self.target], self.simulated)
    }
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut columns = target_columns(Some(&self.target));
        let model = self.target.device.as_ref().and_then(|device| device.model.clone());
        columns.push(("model", model.into()));
        columns
    }
}

impl Document for Experiment {
    const KIND: DocumentKind = DocumentKind::Experiment;
    const GROWS: bool = true;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), &self.targets, self.simulated)
    }
    /// Without its trials, which are linked in another table.
    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Self { done: Vec::new(), ..self.clone() })
    }
    fn read_beside(&mut self, store: &Store) -> Result<(), StoreError> {
        self.done = store.done_trials(&self.id)?;
        Ok(())
    }
}

impl Document for LimitsRun {
    const KIND: DocumentKind = DocumentKind::Limits;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), &self.targets, self.simulated)
    }
}

impl Document for ZoneMap {
    const KIND: DocumentKind = DocumentKind::Zones;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), [&self.target], self.simulated)
    }
}

impl Document for Validation {
    const KIND: DocumentKind = DocumentKind::Validation;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), [&self.target], self.simulated)
    }
}

impl Document for CostFit {
    const KIND: DocumentKind = DocumentKind::CostFit;
    fn row(&self) -> KeptDocument {
        row(Self::KIND, (&self.id, &self.time), &self.targets, false)
    }
}

impl Document for Observation {
    const KIND: DocumentKind = DocumentKind::Observation;
    const GROWS: bool = true;
    fn row(&self) -> KeptDocument {
        let simulated = self.source == "simulated";
        let row = row(Self::KIND, (&self.id, &self.time), [], simulated);
        KeptDocument { target: self.source.clone(), ..row }
    }
    /// Without its intervals and contexts, which are stored in columns.
    fn text(&self) -> serde_json::Result<String> {
        let Self {
            schema,
            halfpower_version,
            id,
            time,
            source,
            host,
            kernel,
            devices,
            paths,
            intervals: _,
            contexts: _,
            wake_ups,
            facts,
            facts_not_read,
            findings,
        } = self;
        serde_json::to_string(&Self {
            schema: schema.clone(),
            halfpower_version: halfpower_version.clone(),
            id: id.clone(),
            time: time.clone(),
            source: source.clone(),
            host: host.clone(),
            kernel: kernel.clone(),
            devices: devices.clone(),
            paths: paths.clone(),
            intervals: Vec::new(),
            contexts: Vec::new(),
            wake_ups: wake_ups.clone(),
            facts: facts.clone(),
            facts_not_read: facts_not_read.clone(),
            findings: findings.clone(),
        })
    }
    fn compact(&self) -> serde_json::Result<Option<Vec<u8>>> {
        crate::columns::write(&self.intervals, &self.contexts).map(Some)
    }
    fn read_beside(&mut self, store: &Store) -> Result<(), StoreError> {
        // An older document has them in its text.
        if let Some(columns) = store.kept_columns(&self.id)? {
            let read = crate::columns::read(&columns);
            (self.intervals, self.contexts) =
                read.map_err(|cause| store.bad_document::<Self>(&self.id, cause))?;
        }
        Ok(())
    }
}

/// The id is a hash of the observation and the profiles. A repeated diagnosis, perhaps by a later version
/// of the program, therefore replaces the earlier one.
impl Document for Diagnosis {
    const KIND: DocumentKind = DocumentKind::Diagnosis;
    const GROWS: bool = true;
    fn row(&self) -> KeptDocument {
        let names: Vec<&str> = self.devices.iter().map(|device| device.device.as_str()).collect();
        let row = row(Self::KIND, (&self.id, &self.time), [], self.source == "simulated");
        KeptDocument { target: names.join(" "), ..row }
    }
}

/// The table of a kind, if it has one. The other kinds share the table `document`.
fn own_table(kind: DocumentKind) -> Option<&'static str> {
    let has_own =
        matches!(kind, DocumentKind::Trial | DocumentKind::Profile | DocumentKind::Experiment);
    has_own.then(|| kind.name())
}

/// Table and condition that select the rows of a kind.
pub(crate) fn place(kind: DocumentKind) -> String {
    match own_table(kind) {
        Some(own) => format!("{own} WHERE 1"),
        None => format!("document WHERE kind = '{}'", kind.name()),
    }
}

/// Writes or replaces the row of a document. A simulated document that already exists becomes the newest.
pub(crate) fn write<D: Document>(
    document: &D,
    connection: &Connection,
    text: &str,
    compact: Option<Vec<u8>>,
) -> rusqlite::Result<()> {
    let (own, row) = (own_table(D::KIND), document.row());
    let mut columns: Vec<(&str, Value)> = document.columns();
    if own.is_none() {
        columns.push(("kind", row.kind.into()));
    }
    columns.extend([
        ("id", row.id.into()),
        ("time", row.time.into()),
        ("target", row.target.into()),
        ("simulated", row.simulated.into()),
        ("document", text.to_owned().into()),
    ]);
    columns.extend(compact.map(|bytes| ("columns", bytes.into())));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let (table, key) = own.map_or(("document", "kind, id"), |table| (table, "id"));
    let changed: Vec<String> = ["clean", "part", "time", "simulated", "document", "columns"]
        .iter()
        .filter(|name| names.contains(name))
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let newest = if row.simulated { ", rowid = excluded.rowid" } else { "" };
    let sql = format!(
        "INSERT INTO {table} (rowid, {}) VALUES ({NEXT_ROW}{})
         ON CONFLICT ({key}) DO UPDATE SET {}{newest}",
        names.join(", "),
        ", ?".repeat(names.len()),
        changed.join(", ")
    );
    connection.execute(&sql, params_from_iter(columns.into_iter().map(|(_, value)| value)))?;
    Ok(())
}

impl Store {
    /// Adds a document and commits it. An existing document with the same content is left unchanged. A
    /// simulated or incomplete one is replaced, and its links remain.
    ///
    /// # Errors
    /// If the file cannot be written, contains a different document of this kind and id, or the document
    /// cannot be written as JSON (an infinite number).
    pub fn add_document<D: Document>(&mut self, document: &D) -> Result<(), StoreError> {
        let text = self.text(document)?;
        let bad = |cause| self.bad_document::<D>(&document.row().id, cause);
        let compact = document.compact().map_err(bad)?;
        let same = match &compact {
            Some(bytes) => self.kept_columns(&document.row().id)?.is_some_and(|it| it == *bytes),
            None => true,
        };
        if !self.wanted(document, &text)? && same {
            return Ok(());
        }
        write(document, &self.connection, &text, compact).map_err(|cause| self.failed(cause))
    }

    /// The JSON text of a document, after a check that it can be read back.
    pub(crate) fn text<D: Document>(&self, document: &D) -> Result<String, StoreError> {
        let bad = |cause| self.bad_document::<D>(&document.row().id, cause);
        let text = document.text().map_err(bad)?;
        serde_json::from_str::<D>(&text).map_err(bad)?;
        Ok(text)
    }

    /// Whether the document must be written. If the same text is already saved, only a simulated document
    /// is written again, because that makes it the newest.
    pub(crate) fn wanted<D: Document>(&self, document: &D, text: &str) -> Result<bool, StoreError> {
        let row = document.row();
        match self.kept_text::<D>(&row.id)? {
            Some(kept) if !row.simulated && kept == text => Ok(false),
            Some(_) if !row.simulated && !D::GROWS => {
                let (kind, id, path) = (D::KIND, row.id, self.path.clone());
                Err(StoreError::Duplicate { kind, id, path })
            }
            _ => Ok(true),
        }
    }

    /// The text saved under exactly this id.
    pub(crate) fn kept_text<D: Document>(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.column("document", D::KIND, id)
    }

    /// The columns saved under exactly this id of an observation.
    pub(crate) fn kept_columns(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.column::<Option<_>>("columns", Observation::KIND, id)?.flatten())
    }

    fn column<T: FromSql>(
        &self,
        column: &str,
        kind: DocumentKind,
        id: &str,
    ) -> Result<Option<T>, StoreError> {
        let sql = format!("SELECT {column} FROM {} AND id = ?1", place(kind));
        let found = self.connection.query_row(&sql, [id], |row| row.get(0)).optional();
        found.map_err(|cause| self.failed(cause))
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        parameters: &[&dyn rusqlite::ToSql],
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |cause| self.failed(cause);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map(parameters, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    pub(crate) fn parse<D: Document>(&self, id: &str, text: &str) -> Result<D, StoreError> {
        serde_json::from_str(text).map_err(|cause| self.bad_document::<D>(id, cause))
    }

    pub(crate) fn bad_document<D: Document>(
        &self,
        id: &str,
        cause: serde_json::Error,
    ) -> StoreError {
        let (id, path) = (id.to_owned(), self.path.clone());
        StoreError::Document { kind: D::KIND, id, path, cause }
    }

    pub(crate) fn not_found(&self, id: &str, kinds: &[DocumentKind]) -> StoreError {
        StoreError::NotFound { kinds: kinds.to_vec(), id: id.to_owned(), path: self.path.clone() }
    }

    pub(crate) fn failed(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, cause)
    }
}

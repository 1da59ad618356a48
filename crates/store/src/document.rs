//! Adds, finds and lists documents of every kind.
//!
//! A measured document has a unique id and is stored once. The id of a simulated document is the hash of
//! its request. The same request gives the same result, so a rerun replaces the row and makes it the
//! newest. A kind that is saved before it is complete (an experiment, whose conclusions come last) is
//! replaced by its later state.
//!
//! Each document is parsed back from its own text before it is written. JSON has no infinity, and a
//! document that cannot be read would otherwise be discovered years later.
//!
//! Row ids are unique over all tables. They are the order in which documents of all kinds were saved, so
//! that "last" is the newest. Rejected: times, which simulated documents do not have.

use crate::{Store, StoreError};
use record::{
    CostFit, Diagnosis, DocumentKind, Experiment, KeptDocument, LimitsRun, Observation,
    ObservedDevice, Profile, SavedDocument, Target, Trial, Validation, ZoneMap,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde::{Serialize, de::DeserializeOwned};

/// Number of recordings that are searched for a device.
const LOOKED_THROUGH: u32 = 200;
/// Minimum number of letters that are also compared with the end of an id. The beginning is tried first.
const END_LEAST: usize = 6;
/// Number of ids listed when a prefix is ambiguous.
const CANDIDATES: usize = 5;
/// The kinds that have a table of the same name. The others share the table `document`.
const OWN_TABLES: [&str; 3] = ["trial", "profile", "experiment"];
/// The next free row id over all tables.
const NEXT_ROW: &str = "(SELECT 1 + max(coalesce((SELECT max(rowid) FROM trial), 0), \
    coalesce((SELECT max(rowid) FROM profile), 0), \
    coalesce((SELECT max(rowid) FROM experiment), 0), \
    coalesce((SELECT max(rowid) FROM document), 0)))";

/// Selects only trials that belong to no other document. Limits, validations and zone maps list their
/// trials in their JSON, as `trial_ids`.
const OF_NO_OTHER: &str = " AND NOT EXISTS (SELECT 1 FROM profile_trial WHERE trial_id = trial.id) \
    AND NOT EXISTS (SELECT 1 FROM experiment_trial WHERE trial_id = trial.id) \
    AND id NOT IN (SELECT entry.value FROM document AS other, json_tree(other.document) AS entry \
        WHERE other.kind IN ('limits', 'validation', 'zones') AND entry.path GLOB '*trial_ids*')";

/// The word for the newest document; `last~1` is the one before it.
pub const LAST: &str = "last";

/// The columns by which a document is listed and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// Lower-case hexadecimal, with or without dashes.
    pub id: String,
    /// Start time, RFC 3339 in UTC; `None` if simulated.
    pub time: Option<String>,
    /// The target as the user named it; empty if the document has no target.
    pub target: String,
    /// Whether the id is a hash of the request.
    pub simulated: bool,
}

impl DocumentRow {
    fn new<'a>(
        id: &str,
        time: Option<&str>,
        targets: impl IntoIterator<Item = &'a Target>,
        simulated: bool,
    ) -> Self {
        let paths: Vec<&str> = targets.into_iter().map(|target| target.path.as_str()).collect();
        let (id, time) = (id.to_owned(), time.map(str::to_owned));
        Self { id, time, target: paths.join(" "), simulated }
    }
}

/// A kind of document that can be saved.
pub trait Document: Serialize + DeserializeOwned {
    /// Its name in messages and in the file: lower-case letters and `-`.
    const KIND: &'static str;
    /// Whether it is saved before it is complete, so that a later state replaces an earlier one.
    const GROWS: bool = false;

    /// The columns by which it is listed and found.
    fn row(&self) -> DocumentRow;

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

/// Kind and disk of a target, as columns. Trials always have a target.
fn target_columns(target: Option<&Target>) -> Vec<(&'static str, Value)> {
    let kind = target.and_then(|target| serde_json::to_value(target.kind).ok());
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let disk = target.and_then(|target| target.device.as_ref()).map(|device| device.disk.clone());
    vec![("kind", kind.into()), ("device", disk.into())]
}

impl Document for Trial {
    const KIND: &'static str = "trial";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), self.targets.first(), self.simulated)
    }
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut columns = target_columns(self.targets.first());
        columns.extend([("cell", self.cell.clone().into()), ("clean", self.clean().into())]);
        columns
    }
}

impl Document for Profile {
    const KIND: &'static str = "profile";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), [&self.target], self.simulated)
    }
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut columns = target_columns(Some(&self.target));
        let model = self.target.device.as_ref().and_then(|device| device.model.clone());
        columns.push(("model", model.into()));
        columns
    }
}

impl Document for Experiment {
    const KIND: &'static str = "experiment";
    const GROWS: bool = true;
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), &self.targets, self.simulated)
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
    const KIND: &'static str = "limits";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), &self.targets, self.simulated)
    }
}

impl Document for ZoneMap {
    const KIND: &'static str = "zones";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), [&self.target], self.simulated)
    }
}

impl Document for Validation {
    const KIND: &'static str = "validation";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), [&self.target], self.simulated)
    }
}

impl Document for CostFit {
    const KIND: &'static str = "cost-fit";
    fn row(&self) -> DocumentRow {
        DocumentRow::new(&self.id, self.time.as_deref(), &self.targets, false)
    }
}

impl Document for Observation {
    const KIND: &'static str = "observation";
    const GROWS: bool = true;
    fn row(&self) -> DocumentRow {
        let row = DocumentRow::new(&self.id, self.time.as_deref(), [], self.source == "simulated");
        DocumentRow { target: self.source.clone(), ..row }
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
    const KIND: &'static str = "diagnosis";
    const GROWS: bool = true;
    fn row(&self) -> DocumentRow {
        let names: Vec<&str> = self.devices.iter().map(|device| device.device.as_str()).collect();
        let row = DocumentRow::new(&self.id, self.time.as_deref(), [], self.source == "simulated");
        DocumentRow { target: names.join(" "), ..row }
    }
}

/// The table in which a kind is stored.
fn table(kind: &str) -> &str {
    if OWN_TABLES.contains(&kind) { kind } else { "document" }
}

/// Table and condition that select the rows of a kind.
fn place(kind: &str) -> String {
    match table(kind) {
        own if own == kind => format!("{own} WHERE 1"),
        shared => format!("{shared} WHERE kind = '{kind}'"),
    }
}

/// Writes or replaces the row of a document. A simulated document that already exists becomes the newest.
pub(crate) fn write<D: Document>(
    document: &D,
    connection: &Connection,
    text: &str,
    compact: Option<Vec<u8>>,
) -> rusqlite::Result<()> {
    let (table, row) = (table(D::KIND), document.row());
    let mut columns: Vec<(&str, Value)> = document.columns();
    if table != D::KIND {
        columns.push(("kind", D::KIND.to_owned().into()));
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
    let key = if table == D::KIND { "id" } else { "kind, id" };
    let changed: Vec<String> = ["clean", "time", "simulated", "document", "columns"]
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

    /// Finds a document by full id, else by an unambiguous beginning or end of an id, or the newest.
    ///
    /// # Errors
    /// If none or several match, or the file cannot be read.
    pub fn document<D: Document>(&self, id: &str) -> Result<D, StoreError> {
        let (_, id) = self.only(id, &[D::KIND])?;
        let text = self.kept_text::<D>(&id)?.ok_or_else(|| self.not_found(&id, &[D::KIND]))?;
        let mut document: D = self.parse(&id, &text)?;
        document.read_beside(self)?;
        Ok(document)
    }

    /// The document of any of these kinds that [`Store::document`] would find, with its trials. Trials that
    /// belong to a profile or an experiment count as the newest only if nothing else is saved.
    ///
    /// # Errors
    /// If none or several match, or the file cannot be read.
    pub fn find(&self, id: &str, kinds: &[DocumentKind]) -> Result<SavedDocument, StoreError> {
        let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name()).collect();
        let (kind, id) = self.only(id, &names)?;
        Ok(match kinds.iter().find(|known| known.name() == kind) {
            Some(DocumentKind::Experiment) => SavedDocument::Experiment(
                Box::new(self.document(&id)?),
                self.trials_of::<Experiment>(&id)?,
            ),
            Some(DocumentKind::Profile) => SavedDocument::Profile(
                Box::new(self.document(&id)?),
                self.trials_of::<Profile>(&id)?,
            ),
            Some(DocumentKind::Limits) => SavedDocument::Limits(Box::new(self.document(&id)?)),
            Some(DocumentKind::Zones) => SavedDocument::Zones(Box::new(self.document(&id)?)),
            Some(DocumentKind::Observation) => {
                SavedDocument::Observation(Box::new(self.document(&id)?))
            }
            Some(DocumentKind::Diagnosis) => {
                SavedDocument::Diagnosis(Box::new(self.document(&id)?))
            }
            Some(DocumentKind::Validation) => {
                SavedDocument::Validation(Box::new(self.document(&id)?))
            }
            Some(DocumentKind::CostFit) => SavedDocument::CostFit(Box::new(self.document(&id)?)),
            Some(DocumentKind::Trial) | None => SavedDocument::Trial(Box::new(self.document(&id)?)),
        })
    }

    /// All documents of a kind, in the order in which they were saved.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list<D: Document>(&self) -> Result<Vec<DocumentRow>, StoreError> {
        let sql =
            format!("SELECT id, time, target, simulated FROM {} ORDER BY rowid", place(D::KIND));
        self.rows(&sql, &[], |row| {
            Ok(DocumentRow {
                id: row.get(0)?,
                time: row.get(1)?,
                target: row.get(2)?,
                simulated: row.get(3)?,
            })
        })
    }

    /// The saved documents of these kinds, in the order in which they were saved. Trials that belong to a
    /// profile or an experiment are omitted if other kinds are requested too.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn kept(&self, kinds: &[DocumentKind]) -> Result<Vec<KeptDocument>, StoreError> {
        let mut found: Vec<(i64, KeptDocument)> = Vec::new();
        for kind in kinds {
            let is_part = *kind == DocumentKind::Trial && kinds.len() > 1;
            let is_own = if is_part { OF_NO_OTHER } else { "" };
            let place = place(kind.name());
            let sql = format!("SELECT rowid, id, time, target, simulated FROM {place}{is_own}");
            found.extend(self.rows(&sql, &[], |row| {
                let kept = KeptDocument {
                    kind: kind.name().to_owned(),
                    id: row.get(1)?,
                    time: row.get(2)?,
                    target: row.get(3)?,
                    simulated: row.get(4)?,
                };
                Ok((row.get(0)?, kept))
            })?);
        }
        found.sort_by_key(|(row, _)| *row);
        Ok(found.into_iter().map(|(_, kept)| kept).collect())
    }

    /// The latest recordings that contain a `wanted` device and began before a time (RFC 3339 in UTC;
    /// `None` for no limit), latest first. Returns at most `most` recordings with at most `bytes_max` bytes
    /// in the file. In memory they take about twenty times as much.
    ///
    /// # Errors
    /// If the file or one of the recordings cannot be read.
    pub fn recordings_of(
        &self,
        wanted: impl Fn(&ObservedDevice) -> bool,
        before: Option<&str>,
        (most, bytes_max): (usize, i64),
    ) -> Result<Vec<Observation>, StoreError> {
        let sql = format!(
            "SELECT id, length(coalesce(columns, document)) FROM {} AND simulated = 0 \
             AND (?1 IS NULL OR time < ?1) ORDER BY rowid DESC LIMIT {LOOKED_THROUGH}",
            place(Observation::KIND)
        );
        let rows: Vec<(String, i64)> =
            self.rows(&sql, &[&before], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (mut found, mut left) = (Vec::new(), bytes_max);
        for (id, bytes) in rows {
            if found.len() < most
                && bytes <= left
                && let Some(head) = self.kept_text::<Observation>(&id)?
                && self.parse::<Observation>(&id, &head)?.devices.iter().any(&wanted)
            {
                left -= bytes;
                found.push(self.document(&id)?);
            }
        }
        Ok(found)
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
        let sql = format!("SELECT document FROM {} AND id = ?1", place(D::KIND));
        self.connection
            .query_row(&sql, [id], |row| row.get(0))
            .optional()
            .map_err(|cause| self.failed(cause))
    }

    /// The columns saved under exactly this id of an observation.
    pub(crate) fn kept_columns(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = format!("SELECT columns FROM {} AND id = ?1", place(Observation::KIND));
        let found: Option<Option<Vec<u8>>> = self
            .connection
            .query_row(&sql, [id], |row| row.get(0))
            .optional()
            .map_err(|cause| self.failed(cause))?;
        Ok(found.flatten())
    }

    /// Kind and id of the only document of these kinds that matches a word: the beginning or end of an id,
    /// `last`, or the name of a target (its newest document). All our ids are lower-case hexadecimal.
    pub(crate) fn only(
        &self,
        word: &str,
        kinds: &[&'static str],
    ) -> Result<(&'static str, String), StoreError> {
        if let Some(back) = back(word) {
            return self.newest(back, kinds, None)?.ok_or_else(|| self.not_found(word, kinds));
        }
        let part = word.to_lowercase();
        let ids = |condition: &str| -> Result<Vec<(&'static str, String)>, StoreError> {
            let mut found = Vec::new();
            for &kind in kinds.iter().filter(|_| !part.is_empty()) {
                let sql = format!(
                    "SELECT id FROM {} AND {condition} ORDER BY id LIMIT {CANDIDATES}",
                    place(kind)
                );
                found.extend(self.rows(&sql, &[&part], |row| Ok((kind, row.get(0)?)))?);
            }
            Ok(found)
        };
        // A range, so that SQLite uses the index: `g` sorts after every character of an id.
        let mut found = ids("id >= ?1 AND id < ?1 || 'g'")?;
        // A full id takes precedence over longer ids that begin with it.
        if found.iter().any(|(_, id)| *id == part) {
            found.retain(|(_, id)| *id == part);
        } else if found.is_empty() && part.len() >= END_LEAST {
            found = ids("substr(id, -length(?1)) = ?1")?;
        }
        // A profile begins in the same moment as its trials, and the user more likely means the profile.
        let others = || found.iter().filter(|(kind, _)| *kind != Trial::KIND);
        if found.len() > 1 && others().count() == 1 {
            let one = others().next().cloned();
            found = one.into_iter().collect();
        }
        match found.len() {
            0 => {
                let of_target = self.newest(0, kinds, Some(word))?;
                of_target.ok_or_else(|| self.not_found(word, kinds))
            }
            1 => Ok(found.swap_remove(0)),
            _ => Err(StoreError::Ambiguous {
                id: part,
                candidates: found.iter().map(|(kind, id)| format!("{kind} {id}")).collect(),
                path: self.path.clone(),
            }),
        }
    }

    /// The newest document of these kinds after skipping `back` newer ones; only those of `target` if
    /// given.
    fn newest(
        &self,
        back: usize,
        kinds: &[&'static str],
        target: Option<&str>,
    ) -> Result<Option<(&'static str, String)>, StoreError> {
        let mut found: Vec<(i64, &'static str, String)> = Vec::new();
        for &kind in kinds {
            let is_own = if kind == Trial::KIND && kinds.len() > 1 { OF_NO_OTHER } else { "" };
            let sql = format!(
                "SELECT rowid, id FROM {}{is_own} AND (?1 IS NULL OR target = ?1)
                 ORDER BY rowid DESC LIMIT {}",
                place(kind),
                back.saturating_add(1)
            );
            found.extend(self.rows(&sql, &[&target], |row| Ok((row.get(0)?, kind, row.get(1)?)))?);
        }
        found.sort_by_key(|(row, ..)| std::cmp::Reverse(*row));
        let newest = found.into_iter().nth(back).map(|(_, kind, id)| (kind, id));
        // An interrupted command may have left trials of a document that was never finished.
        match newest {
            None if kinds.len() > 1 && kinds.contains(&Trial::KIND) => {
                self.newest(back, &[Trial::KIND], target)
            }
            newest => Ok(newest),
        }
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

    pub(crate) fn not_found(&self, id: &str, kinds: &[&'static str]) -> StoreError {
        StoreError::NotFound { kinds: kinds.to_vec(), id: id.to_owned(), path: self.path.clone() }
    }

    pub(crate) fn failed(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, cause)
    }
}

/// How many documents `last` and `last~N` go back; `None` for any other word.
fn back(word: &str) -> Option<usize> {
    match word.strip_prefix(LAST)? {
        "" => Some(0),
        number => number.strip_prefix('~')?.parse().ok(),
    }
}

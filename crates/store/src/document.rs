//! What all kinds of document have in common: how one is added, found and listed.
//!
//! A measured document has a unique id and is kept once. A simulated one has an id that is the
//! hash of what was asked, and the same question gives the same answer, so that running it again
//! replaces the row: otherwise every repeat of an example would be an error, or a duplicate. A kind
//! that is kept while it still grows (an experiment, whose conclusions come last) is replaced by
//! its later state.
//!
//! Each document is read back from its own text before it is written: JSON has no infinity, and a
//! document that went in and cannot come out would be found years later.
//!
//! A new kind is one `impl` of [`Document`]. It shares a table with the others; a table per kind
//! was rejected, because each would be a step of the schema that says the same. Kinds of which more
//! is known (columns to search by, links to trials) override how they are written.

use crate::{Store, StoreError};
use record::{Observation, Validation};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Serialize, de::DeserializeOwned};

/// How many ids an ambiguous prefix is answered with.
const CANDIDATES: usize = 5;
/// The kinds with a table of their own, of their name; the others share the table `document`.
const OWN_TABLES: [&str; 3] = ["trial", "profile", "experiment"];

/// A kind of document that can be kept. Ids are lower-case hexadecimal, with or without dashes.
pub trait Document: Serialize + DeserializeOwned {
    /// Its name in messages and in the file: lower-case letters and `_`.
    const KIND: &'static str;
    /// Whether it is kept before it is complete, so that a later state replaces an earlier one.
    const GROWS: bool = false;

    /// Its id.
    fn id(&self) -> &str;
    /// When it began, RFC 3339 in UTC; `None` where simulated.
    fn time(&self) -> Option<&str>;
    /// What it is about, as the user named it; empty where it is about no target.
    fn target(&self) -> String;
    /// Whether its id is a hash of what was asked.
    fn simulated(&self) -> bool;

    /// The text that is kept.
    #[doc(hidden)]
    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Writes or replaces the row.
    #[doc(hidden)]
    fn write(&self, connection: &Connection, text: &str) -> rusqlite::Result<()> {
        connection.execute(
            "INSERT INTO document (kind, id, time, target, simulated, document)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (kind, id) DO UPDATE SET document = ?6, rowid = CASE WHEN simulated
             THEN (SELECT max(rowid) + 1 FROM document) ELSE rowid END",
            params![Self::KIND, self.id(), self.time(), self.target(), self.simulated(), text],
        )?;
        Ok(())
    }

    /// Fills in what other tables know of it.
    #[doc(hidden)]
    fn read_beside(&mut self, _store: &Store) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Document for Observation {
    const KIND: &'static str = "observation";
    const GROWS: bool = true;
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        self.source.clone()
    }
    fn simulated(&self) -> bool {
        false
    }
}

impl Document for Validation {
    const KIND: &'static str = "validation";
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        self.target.path.clone()
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
}

/// One line of a list of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339 in UTC; `None` where simulated.
    pub time: Option<String>,
    /// What it is about, as the user named it.
    pub target: String,
    /// Whether it is of a simulated target.
    pub simulated: bool,
}

/// Where the rows of a kind are: a table and a condition.
fn place<D: Document>() -> String {
    match OWN_TABLES.contains(&D::KIND) {
        true => format!("{} WHERE 1", D::KIND),
        false => format!("document WHERE kind = '{}'", D::KIND),
    }
}

impl Store {
    /// Adds a document; it is committed when this returns. One that is there already with the
    /// same content is left alone; a simulated or a growing one is replaced. What is linked to it
    /// stays.
    ///
    /// # Errors
    /// If the file cannot be written, holds another document of this kind and id, or the document
    /// cannot be written as JSON (an infinite number).
    pub fn add_document<D: Document>(&mut self, document: &D) -> Result<(), StoreError> {
        let text = self.text(document)?;
        if !self.wanted(document, &text)? {
            return Ok(());
        }
        document.write(&self.connection, &text).map_err(|cause| self.failed(cause))
    }

    /// The document with this id, or the only one of its kind whose id begins so.
    ///
    /// # Errors
    /// If there is none or more than one, or the file cannot be read.
    pub fn document<D: Document>(&self, id_or_prefix: &str) -> Result<D, StoreError> {
        let id = self.full_id::<D>(id_or_prefix)?;
        let text = self.kept_text::<D>(&id)?.ok_or_else(|| self.not_found::<D>(&id))?;
        let mut document: D = self.parse(&id, &text)?;
        document.read_beside(self)?;
        Ok(document)
    }

    /// All documents of a kind, in the order in which they were saved: a simulated one that is saved
    /// again is the newest.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list<D: Document>(&self) -> Result<Vec<DocumentRow>, StoreError> {
        let sql =
            format!("SELECT id, time, target, simulated FROM {} ORDER BY rowid", place::<D>());
        self.rows(&sql, &[], |row| {
            Ok(DocumentRow {
                id: row.get(0)?,
                time: row.get(1)?,
                target: row.get(2)?,
                simulated: row.get(3)?,
            })
        })
    }

    /// The JSON text of a document, known to read back.
    pub(crate) fn text<D: Document>(&self, document: &D) -> Result<String, StoreError> {
        let bad = |cause| self.bad_document::<D>(document.id(), cause);
        let text = document.text().map_err(bad)?;
        serde_json::from_str::<D>(&text).map_err(bad)?;
        Ok(text)
    }

    /// Whether the document is to be written: not where the same text is there already.
    pub(crate) fn wanted<D: Document>(&self, document: &D, text: &str) -> Result<bool, StoreError> {
        match self.kept_text::<D>(document.id())? {
            None => Ok(true),
            // Also with the same text: it is the newest one now.
            Some(_) if document.simulated() => Ok(true),
            Some(kept) if kept == text => Ok(false),
            Some(_) if D::GROWS => Ok(true),
            Some(_) => Err(StoreError::Duplicate {
                kind: D::KIND,
                id: document.id().to_owned(),
                path: self.path.clone(),
            }),
        }
    }

    /// The text kept under exactly this id.
    pub(crate) fn kept_text<D: Document>(&self, id: &str) -> Result<Option<String>, StoreError> {
        let sql = format!("SELECT document FROM {} AND id = ?1", place::<D>());
        self.connection
            .query_row(&sql, [id], |row| row.get(0))
            .optional()
            .map_err(|cause| self.failed(cause))
    }

    /// The only id that begins with `prefix`. All our ids are lower-case hexadecimal.
    pub(crate) fn full_id<D: Document>(&self, prefix: &str) -> Result<String, StoreError> {
        let prefix = prefix.to_lowercase();
        if prefix.is_empty() {
            return Err(self.not_found::<D>(&prefix));
        }
        // A range, for the index's sake: `g` sorts behind every character of an id.
        let sql = format!(
            "SELECT id FROM {} AND id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {CANDIDATES}",
            place::<D>()
        );
        let mut ids: Vec<String> = self.rows(&sql, &[&prefix], |row| row.get(0))?;
        match ids.as_slice() {
            [] => Err(self.not_found::<D>(&prefix)),
            // An id in full wins over longer ones that it begins: it sorts first.
            [first, _, ..] if *first != prefix => Err(StoreError::Ambiguous {
                kind: D::KIND,
                id: prefix,
                candidates: ids,
                path: self.path.clone(),
            }),
            _ => Ok(ids.swap_remove(0)),
        }
    }

    /// All rows of a query.
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

    /// A document from its text.
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

    pub(crate) fn not_found<D: Document>(&self, id: &str) -> StoreError {
        StoreError::NotFound { kind: D::KIND, id: id.to_owned(), path: self.path.clone() }
    }

    pub(crate) fn failed(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, cause)
    }
}

//! Finds documents by the words of a command line: files, targets, ids and prefixes of ids, `last`.
//!
//! A word that names an existing file means that file, because a user can write an id in another way, but
//! not a file name. A directory, a device or a simulated target means the newest document about it. The
//! database is opened only when a document in it is requested, so that files can be read on a machine
//! without a database.

use crate::{Store, StoreError};
use engine::input;
use record::{DocumentKind, SavedDocument, Trial};
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// Parses the results of another program: its trials, or an error. `None` if the text is not in its format.
pub type OtherReader = fn(&str) -> Option<Result<Vec<Trial>, String>>;

/// Documents in files, and a database that may not exist.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    store: OnceCell<Store>,
    other: Option<OtherReader>,
}

impl Library {
    /// With the database at this path.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, store: OnceCell::new(), other: None }
    }

    /// The same, but also reads files with results of another program.
    #[must_use]
    pub fn also_reading(self, other: OtherReader) -> Self {
        Self { other: Some(other), ..self }
    }

    /// The database, opened at its first use.
    ///
    /// # Errors
    /// As [`Store::open_existing`].
    pub fn store(&self) -> Result<&Store, StoreError> {
        if self.store.get().is_none() {
            let _ = self.store.set(Store::open_existing(&self.path)?);
        }
        self.store.get().ok_or_else(|| StoreError::Missing(self.path.clone()))
    }

    /// The documents of a file, or the document of these kinds in the database that the word names. A
    /// target means its newest document.
    ///
    /// # Errors
    /// If no such document exists, or it cannot be read.
    pub fn named(
        &self,
        word: &str,
        kinds: &[DocumentKind],
    ) -> Result<Vec<SavedDocument>, StoreError> {
        let path = Path::new(word);
        if path.is_file() {
            return self.file(path);
        }
        let is_target = path.is_dir() || word.starts_with("/dev/");
        let of_target = path.canonicalize().ok().filter(|_| is_target);
        if let Some(target) = of_target.as_ref().and_then(|path| path.to_str()) {
            return Ok(vec![self.store()?.find(target, kinds)?]);
        }
        if word.contains('/') || word.ends_with(".json") {
            return Err(StoreError::NoFile(path.to_owned()));
        }
        Ok(vec![self.store()?.find(word, kinds)?])
    }

    /// The documents of a file: one, an array, or a sequence. Their trials come from the file and the
    /// database, if present.
    ///
    /// # Errors
    /// If the file contains anything else.
    pub fn file(&self, path: &Path) -> Result<Vec<SavedDocument>, StoreError> {
        let other = |head: &[u8]| {
            let head = String::from_utf8_lossy(head);
            self.other.is_some_and(|read| read(&head).is_some())
        };
        let is_known = |head: &[u8]| input::may_start_with(head, b"{[") || other(head);
        let text = input::text_if_known(path, input::DOCUMENT, is_known)?;
        let name = match path.as_os_str() == input::STANDARD_INPUT {
            true => Path::new("standard input"),
            false => path,
        };
        self.text(name, &text)
    }

    /// The documents of a text; `name` identifies it in errors.
    ///
    /// # Errors
    /// If the text contains anything else.
    pub fn text(&self, name: &Path, text: &str) -> Result<Vec<SavedDocument>, StoreError> {
        let cannot = |why: String| StoreError::File(name.to_owned(), why);
        if let Some(trials) = self.other.and_then(|read| read(text)) {
            let trials = trials.map_err(cannot)?;
            return Ok(trials
                .into_iter()
                .map(|trial| SavedDocument::Trial(Box::new(trial)))
                .collect());
        }
        let mut found = Vec::new();
        let no_json = |error| cannot(format!("it is not a halfpower JSON document: {error}"));
        for value in Deserializer::from_str(text).into_iter::<&RawValue>() {
            let value = value.map_err(no_json)?;
            let documents = match value.get().starts_with('[') {
                true => serde_json::from_str(value.get()).map_err(no_json)?,
                false => vec![value],
            };
            for document in documents {
                found.push(SavedDocument::from_json(document.get()).map_err(cannot)?);
            }
        }
        if found.is_empty() {
            return Err(cannot("it is not a halfpower JSON document: it is empty".to_owned()));
        }
        let beside: Vec<Trial> = found.iter().flat_map(SavedDocument::trials).cloned().collect();
        for document in &mut found {
            let Some((ids, trials)) = document.trials_beside() else { continue };
            let in_file = |id: &String| beside.iter().find(|trial| trial.id == *id).cloned();
            let saved = |id: &String| self.store().ok().and_then(|store| store.document(id).ok());
            trials.extend(ids.iter().filter_map(|id| in_file(id).or_else(|| saved(id))));
        }
        Ok(found)
    }
}

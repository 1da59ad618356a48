//! Documents by the words of a command line: files, targets, ids and beginnings of ids, `last`.
//!
//! A word that names a file is a file, because it can be named otherwise and an id cannot; a directory, a device or
//! a simulated one stands for the newest document about it. The
//! database is opened where something of it is asked for, so that files can be read on a machine
//! that has none.

use crate::{Store, StoreError};
use engine::input;
use record::{DocumentKind, SavedDocument, Trial};
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// Reads the results of another program, where a text is that: trials, or what is wrong with it.
pub type OtherReader = fn(&str) -> Option<Result<Vec<Trial>, String>>;

/// Files, and a database that may be missing.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    store: OnceCell<Store>,
    other: Option<OtherReader>,
}

impl Library {
    /// With the database at this place.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, store: OnceCell::new(), other: None }
    }

    /// The same, which also takes files with results of another program.
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

    /// The documents of a file, or the one of these kinds that the word names in the database: of a target the
    /// newest one.
    ///
    /// # Errors
    /// If there is no such document, or it cannot be read.
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

    /// The documents of a file: one, an array, or one after the other. The trials that belong to
    /// them come from the file and the database, as far as they are there.
    ///
    /// # Errors
    /// If it holds anything else.
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

    /// The same of a text, which errors call by this name.
    ///
    /// # Errors
    /// If it holds anything else.
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
